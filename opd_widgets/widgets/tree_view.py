"""The TreeView: a question's rollouts merged where they agree, with what the diagnosis knows of each branch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import traitlets

from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._diagnosis_widget import DiagnosisWidget
from opd_widgets.widgets.wire.tree import wire_tree

if TYPE_CHECKING:
    from opd_widgets.diagnosis.result import Diagnosis


class TreeView(DiagnosisWidget):
    """See where a question's rollouts part, and which branches end correct.

    A row is a run of tokens without a branch; its bar is as wide as the share of rollouts that pass it, its colour is
    the success from there: the posterior mean of the diagnosis where it has one (nodes and their candidates), else the
    share of correct ones among the rollouts with a verdict that are the student's own from there on. Branches open
    without Python; search looks through whole paths, closed ones too.

    Example:
        >>> result = opd.diagnose(lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=50_000)
        >>> opd.TreeView(result, question="q1", teacher="Self-1C")

    A character whose bytes are split over several tokens shows as replacement signs: a diagnosis keeps texts by token.

    Args:
        result: what is shown.
        **traits: initial values of `question`, `rollout`, `token`, `node`, `teacher`, `visits` and `colour`.

    Traits:
        tree (dict): the trees as the browser takes them; written by Python only.
        visits (str, "all"): what the widths and counts are of: "initial" rollouts, or "all" with the targeted ones.
        colour (str, "mean"): success in colour around the question's own ("mean"), or from 0 to 1 ("success").

    Raises:
        InvalidInputError: something else than an `opd.Diagnosis`, or a name that is not in it.

    """

    _esm = bundle("tree_view", "js")
    _css = bundle("tree_view", "css")
    rollouts_by_token = False  # the tree has their tokens, each once
    page_traits = (*DiagnosisWidget.page_traits, "tree", "visits", "colour")
    tree: traitlets.Dict[str, Any] = traitlets.Dict().tag(sync=True)
    visits = traitlets.Enum(("initial", "all"), "all").tag(sync=True)
    colour = traitlets.Enum(("mean", "success"), "mean").tag(sync=True)

    def __init__(self, result: Diagnosis, **traits: Any) -> None:
        super().__init__(result, **traits)
        self.tree = wire_tree(result)
