"""A view of a diagnosis: its result and a place in it, by names that linked views know too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import traitlets

from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets._base import OpdWidget


class DiagnosisWidget(OpdWidget):
    """A view of a diagnosis with a selection that both sides read and write.

    Traits:
        result (Diagnosis): what is shown; read-only.
        question (str): id of the selected question; the first by default.
        rollout (str, ""): id of the selected rollout, "question/index in its evidence".
        token (int, -1): index of the selected token of that rollout; -1 is none.
        node (int, -1): index of the selected node among the question's nodes; -1 is none.
        teacher (str): name of the selected teacher; the first by default.
    """

    page_traits = ("question", "rollout", "token", "node", "teacher")
    result = traitlets.Instance(Diagnosis, read_only=True)  # not synced: what a view takes from it has a trait there
    question = traitlets.Unicode("").tag(sync=True)
    rollout = traitlets.Unicode("").tag(sync=True)
    token = traitlets.Int(-1).tag(sync=True)
    node = traitlets.Int(-1).tag(sync=True)
    teacher = traitlets.Unicode("").tag(sync=True)

    def __init__(self, result: Diagnosis, **traits: Any) -> None:
        if not isinstance(result, Diagnosis):
            msg = (
                f"found {type(result).__name__}, expected an opd.Diagnosis as opd.diagnose(...) and "
                "opd.load_diagnosis(path) return it"
            )
            raise InvalidInputError(msg)
        self.set_trait("result", result)
        traits.setdefault("question", next(iter(result.questions), ""))
        traits.setdefault("teacher", next(iter(result.teachers), ""))
        super().__init__(**traits)

    def __repr__(self) -> str:
        """Say what is shown, in one line: this is what a reader of a saved notebook sees without the widget."""
        return f"{type(self).__name__}({self.result!r})"

    def place(self) -> dict[str, Any]:
        """Return what is selected here, by the names of `Selection`."""
        return {
            "question": self.question or None,
            "rollout": self.rollout or None,
            "token": self.token if self.token >= 0 else None,
            "node": self.node if self.node >= 0 else None,
            "teacher": self.teacher or None,
        }

    def go_to(self, place: Mapping[str, Any]) -> None:
        """Select what of a place this diagnosis has; what it does not have stays as it is."""
        if place.get("teacher") in self.result.teachers:
            self.teacher = place["teacher"]
        if place.get("question") not in self.result.questions:
            return
        with self.hold_trait_notifications():
            self.question = place["question"]
            self.rollout = place.get("rollout") or ""
            self.token = _index(place.get("token"))
            self.node = _index(place.get("node"))

    @traitlets.validate("question")
    def _check_question(self, proposal: dict[str, Any]) -> str:
        return _one_of("question", str(proposal["value"]), self.result.questions)

    @traitlets.validate("teacher")
    def _check_teacher(self, proposal: dict[str, Any]) -> str:
        return _one_of("teacher", str(proposal["value"]), self.result.teachers)


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if known and value not in known:
        msg = f"found {what}={value!r}, expected one of {list(known)}"
        raise InvalidInputError(msg)
    return value


def _index(value: object) -> int:
    return value if isinstance(value, int) else -1
