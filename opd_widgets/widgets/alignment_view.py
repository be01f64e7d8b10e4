"""The AlignmentView: where a teacher points along the ideal gradient, and where against it."""

from __future__ import annotations

from typing import Any

import traitlets

from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._diagnosis_widget import DiagnosisWidget
from opd_widgets.widgets.wire.alignment import wire_alignment


class AlignmentView(DiagnosisWidget):
    """See where a teacher points along the ideal gradient, and where against it, node by node.

    A rollout's text with the alignment at each of its nodes, all teachers under each other; for the selected node its
    candidates with their success, the ideal gradient beside each teacher's, and, for three tokens of the support, both
    as arrows on the simplex; and the means by teacher and outcome. Alignment is a posterior median with its interval:
    where the interval holds 0 it is drawn weaker, and tokens that were never scored are drawn as such.

    Example:
        >>> view = opd.AlignmentView(result, teacher="Self-1C")
        >>> view.node = int(result.nodes["alignment"].abs().argmax())  # brings a rollout that passes it
        >>> opd.write_page(view, "alignment.html")

    Limits: reading only, and the numbers are those of the result's tables. Of the rollouts the initial ones are shown.

    Traits:
        result, places, question, rollout, token, node, teacher: see `DiagnosisWidget`.
        alignment (dict): nodes, candidates and summary as the front end takes them; read-only.
    """

    _esm = bundle("alignment_view", "js")
    _css = bundle("alignment_view", "css")

    page_traits = (*DiagnosisWidget.page_traits, "alignment")
    alignment: traitlets.Dict[str, Any] = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, result: Diagnosis, **traits: Any) -> None:
        if isinstance(result, Diagnosis):  # anything else is refused by the base, with what was expected
            self.set_trait("alignment", wire_alignment(result))
        super().__init__(result, **traits)
