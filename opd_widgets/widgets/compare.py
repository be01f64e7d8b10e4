"""Compare: teachers on one rollout, rollouts of one question, checkpoints of one student, on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import traitlets

from opd_widgets.data.scores import Scores
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.signals import REGISTRY
from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._compare_steps import NO_STEPS, by_step, wire_steps
from opd_widgets.widgets._compare_table import steps_table, teachers_table
from opd_widgets.widgets._scores_widget import ScoresWidget

if TYPE_CHECKING:
    import pandas as pd

LAYOUTS = ("teachers", "rollouts", "steps")
DIFFERENCE = " difference"  # "advantage difference" names the scale of differences of the advantage


class Compare(ScoresWidget):
    """Lay teachers, rollouts or training steps side by side, token under token, on one scale.

    "teachers": one rollout under two or more teachers in aligned rows, and what the first says above the second.
    "rollouts": rollouts of one question side by side, with the beginning they share. "steps": one rollout as several
    checkpoints of the student score it.

    Args:
        scores: one run of scores, or runs by training step (`opd.load_steps` gives them); all steps must have scored
            the same rollouts under the same teachers.

    Traits:
        scores, rollout, token, teacher, signal, live: see `ScoresWidget`; with steps, `scores` is the first step's.
        across (str): "teachers", "rollouts" or "steps"; by default steps where there are any.
        compared (list of str): teachers in rows; the difference is the first minus the second. By default the first
            two.
        step (int): the selected step; by default the last.
        limits (dict): ends of scales that are pinned, by signal, in its unit: {"advantage": 2.0}; differences have
            their own under "advantage difference". A signal that is not there is fitted to all rollouts, teachers and
            steps.
        steps (dict): the other steps' values; written by Python only.

    Example:
        >>> opd.Compare(scores, compared=["Self-1C", "Teacher"])  # doctest: +SKIP
        >>> opd.Compare(opd.load_steps("runs/*"), across="steps")  # doctest: +SKIP

    Limits: reading only; contexts are edited in the Explorer. A difference is of two values of one signal: where a
    teacher has another tokenizer, it is taken over the smallest groups of tokens that both sides have whole.

    Raises:
        InvalidInputError: no scores, steps of other rollouts, an unknown teacher, layout or step, a limit that is no
            positive number.

    """

    _esm = bundle("compare", "js")
    _css = bundle("compare", "css")

    page_traits: ClassVar[tuple[str, ...]] = (
        *ScoresWidget.page_traits,
        "across",
        "compared",
        "step",
        "limits",
        "steps",
    )
    # not `layout`: that trait of every ipywidget holds the size of its box
    across = traitlets.Unicode("teachers").tag(sync=True)
    compared: traitlets.List[str] = traitlets.List(traitlets.Unicode()).tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    limits: traitlets.Dict[str, float] = traitlets.Dict().tag(sync=True)
    steps: traitlets.Dict[str, Any] = traitlets.Dict(NO_STEPS).tag(sync=True)

    def __init__(self, scores: Scores | Mapping[int, Scores], **traits: Any) -> None:
        self._by_step = by_step(scores)
        first = next(iter(self._by_step.values())) if self._by_step else scores
        if isinstance(first, Scores):
            teachers = list(first.teachers)
            traits.setdefault("across", self._first_layout(teachers))
            traits.setdefault("compared", teachers[:2])
            traits.setdefault("step", list(self._by_step)[-1] if self._by_step else 0)
        super().__init__(first, **traits)  # type: ignore[arg-type]
        self.steps = wire_steps(self._by_step, self.generation)

    def _first_layout(self, teachers: list[str]) -> str:
        if len(self._by_step) > 1:
            return "steps"
        return "teachers" if len(teachers) > 1 else "rollouts"

    def __repr__(self) -> str:
        """Say what is shown, in one line."""
        steps = f", steps {', '.join(map(str, self._by_step))}" if len(self._by_step) > 1 else ""
        return f"{type(self).__name__}({self.scores!r}{steps})"

    def difference(self) -> pd.DataFrame:
        """Return the compared values of the selected rollout and signal as numbers, in the signal's unit.

        Returns:
            For steps, one row a step and token: step, rollout, position, token_id, token, value, difference (to the
            first step). Otherwise one row a token: rollout, position, token_id, token, the first two compared teachers'
            values under their names, difference (the first minus the second), and `group` where tokens are compared in
            groups: a group's numbers stand at its last token. NaN where either is missing or both are the same
            infinity.

        Raises:
            InvalidInputError: fewer than two teachers are compared, or the signal is the student's own.
            MissingSignalError: a compared teacher does not have the signal.

        """
        if self.across == "steps":
            return steps_table(self._by_step, self.rollout, self.signal, self.teacher)
        if len(self.compared) < 2:
            msg = f"found compared={self.compared}, expected two teachers of {list(self.scores.teachers)}"
            raise InvalidInputError(msg)
        return teachers_table(self.scores, self.rollout, self.signal, (self.compared[0], self.compared[1]))

    @traitlets.observe("scores")
    def _leave_steps(self, change: dict[str, Any]) -> None:
        """Show one run where one was given in place of steps."""
        if not isinstance(change["old"], Scores):
            return
        teachers = list(self.scores.teachers)
        self._by_step = {}
        kept = [name for name in self.compared if name in teachers]
        with self.hold_trait_notifications():
            self.steps = wire_steps({}, self.generation)
            self.step = 0
            self.compared = kept if len(kept) > 1 else teachers[:2]
            if self.across == "steps":
                self.across = self._first_layout(teachers)

    @traitlets.validate("across")
    def _check_layout(self, proposal: dict[str, Any]) -> str:
        value = str(proposal["value"])
        if value not in LAYOUTS:
            msg = f"found across={value!r}, expected one of {', '.join(map(repr, LAYOUTS))}"
            raise InvalidInputError(msg)
        if value == "steps" and len(self._by_step) < 2:
            msg = (
                "found across='steps' and scores of one checkpoint, expected two: opd.Compare({100: early, 200: late})"
            )
            raise InvalidInputError(msg)
        return value

    @traitlets.validate("compared")
    def _check_compared(self, proposal: dict[str, Any]) -> list[str]:
        names = [self.scores.check_teacher(str(name)) for name in proposal["value"]]
        least = min(2, len(self.scores.teachers))
        if len(set(names)) < max(least, len(names)):
            msg = (
                f"found compared={names}, expected {least} or more teachers of {list(self.scores.teachers)}, each once"
            )
            raise InvalidInputError(msg)
        return names

    @traitlets.validate("step")
    def _check_step(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if self._by_step and value not in self._by_step:
            msg = f"found step={value}, expected one of {', '.join(map(str, self._by_step))}"
            raise InvalidInputError(msg)
        return value

    @traitlets.validate("limits")
    def _check_limits(self, proposal: dict[str, Any]) -> dict[str, float]:
        found = {}
        for name, value in proposal["value"].items():
            if str(name).removesuffix(DIFFERENCE) not in REGISTRY:
                msg = f"found a limit for {name!r}, expected signals ({', '.join(REGISTRY)}), or one + {DIFFERENCE!r}"
                raise InvalidInputError(msg)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                msg = f"found limits[{name!r}]={value!r}, expected a positive number in the signal's unit"
                raise InvalidInputError(msg)
            found[str(name)] = float(value)
        return found
