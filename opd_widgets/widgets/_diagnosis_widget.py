"""A view of a diagnosis: its result and a place in it, by names that linked views know too."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import traitlets

from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets._base import OpdWidget
from opd_widgets.widgets.wire.places import initial_nodes, wire_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.rollout import Rollout


class DiagnosisWidget(OpdWidget):
    """A view of a diagnosis with a selection that both sides read and write.

    A node brings the token at which it stands, and a token the node that stands there: set either.

    Traits:
        result (Diagnosis): what is shown; read-only.
        places (dict): its questions, rollouts and nodes as the front end takes them; read-only.
        question (str): id of the selected question; the first by default.
        rollout (str, ""): id of the selected rollout, "question/index in its evidence"; "" is none, and a view of one
            rollout then shows the first.
        token (int, -1): index of the selected token of that rollout; -1 is none.
        node (int, -1): index of the selected node among the question's nodes; -1 is none.
        teacher (str): name of the selected teacher; the first by default.
    """

    page_traits: ClassVar[tuple[str, ...]] = ("places", "question", "rollout", "token", "node", "teacher")
    rollouts_by_token: ClassVar[bool] = True  # whether `places` has the tokens of the initial rollouts
    result = traitlets.Instance(Diagnosis, read_only=True)  # not synced: what a view takes from it has a trait there
    places: traitlets.Dict[str, Any] = traitlets.Dict(read_only=True).tag(sync=True)
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
        self._along = {one.question: initial_nodes(one) for one in result.evidence}
        self.set_trait("places", wire_places(result, self._along, rollouts=self.rollouts_by_token))
        self._settled = {"question": "", "rollout": "", "token": -1, "node": -1}
        self._drawn = {one.question: len(one.rollouts) for one in result.evidence}
        traits.setdefault("question", next(iter(result.questions), ""))
        traits.setdefault("teacher", next(iter(result.teachers), ""))
        super().__init__(**traits)

    def __repr__(self) -> str:
        """Say what is shown, in one line: this is what a reader of a saved notebook sees without the widget."""
        return f"{type(self).__name__}({self.result!r})"

    def known_rollouts(self) -> Sequence[Rollout]:
        """Return the rollouts that this view selects by id."""
        return self.result.rollouts()

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
        question, rollout, node = place.get("question"), str(place.get("rollout") or ""), _index(place.get("node"))
        if question not in self.result.questions:
            return
        if self._is_rollout(question, rollout):
            self._go(question, rollout, _index(place.get("token")), node)
        elif node >= 0:
            self._go(question, "", -1, node)
        elif question != self.question:
            self._go(question, "", -1, -1)

    def complete(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """Return a place with what follows for it here: a node's rollout and token, or the node at a token."""
        rollout, node = str(place.get("rollout") or ""), _index(place.get("node"))
        question = rollout.rpartition("/")[0] if place.get("question") is None else str(place["question"])
        known = self._is_rollout(question, rollout)
        if question not in self.result.questions or (rollout and not known) or (node < 0 and not known):
            return dict(place)
        if not rollout and question == self.question:
            at = self._nodes_of(question, self.rollout)
            rollout = self.rollout if at is not None and node in at else ""
        rollout, token, node = self._whole(question, rollout, _index(place.get("token")), node)
        numbers = {"token": token if token >= 0 else None, "node": node if node >= 0 else None}
        return {**place, "question": question, "rollout": rollout or None, **numbers}

    def _whole(self, question: str, rollout: str, token: int, node: int) -> tuple[str, int, int]:
        """Return rollout, token and node of a place, with what follows: a node's token, or the node at a token."""
        at = self._nodes_of(question, rollout)
        lost = node >= 0 and (not rollout or (at is not None and node not in at))
        if lost and (passing := self._passing(question, node)) is not None:
            rollout, at = passing
        if at is not None and node >= 0 and node in at and not _stands(at, token, node):
            token = int(np.flatnonzero(at == node)[0])
        if at is not None:
            token = token if token < len(at) else -1
            node = int(at[token]) if token >= 0 else -1
        return rollout, token, node

    def _go(self, question: str, rollout: str, token: int, node: int) -> None:
        """Select a whole place."""
        rollout, token, node = self._whole(question, rollout, token, node)
        self._settled = {"question": question, "rollout": rollout, "token": token, "node": node}
        with self.hold_trait_notifications():
            self.question, self.rollout, self.token, self.node = question, rollout, token, node

    def _nodes_of(self, question: str, rollout: str) -> NDArray[np.int32] | None:
        """Return the node at each token of an initial rollout, int32 [R]; None for another one."""
        if not self._is_rollout(question, rollout):
            return None
        return self._along[question].get(int(rollout.rpartition("/")[2]))

    def _passing(self, question: str, node: int) -> tuple[str, NDArray[np.int32]] | None:
        """Return the first initial rollout that passes a node; None where only targeted ones do."""
        along = self._along[question].items()
        return next(((f"{question}/{index}", at) for index, at in along if node in at), None)

    def _is_rollout(self, question: str, rollout: str) -> bool:
        name, _, number = rollout.rpartition("/")
        return name == question and number.isdecimal() and int(number) < self._drawn.get(question, 0)

    @traitlets.observe("question", "rollout", "token", "node")
    def _complete(self, _: Mapping[str, Any]) -> None:
        """Let the rest follow what was set; what the front end writes is whole already."""
        now = {"question": self.question, "rollout": self.rollout, "token": self.token, "node": self.node}
        asked = {name for name, value in now.items() if value != self._settled[name]}
        if not asked or self.question not in self._along:
            return
        known = self._is_rollout(self.question, self.rollout)
        if "node" in asked and self.node >= 0:
            initial = self._nodes_of(self.question, self.rollout) is not None
            keeps = known and (initial or "rollout" in asked)
            self._go(self.question, self.rollout if keeps else "", self.token if "token" in asked else -1, self.node)
        elif "token" in asked and self.token >= 0:
            first = next((f"{self.question}/{index}" for index in self._along[self.question]), "")
            self._go(self.question, self.rollout if known else first, self.token, -1)
        elif not known or asked == {"question"}:
            self._go(self.question, "", -1, -1)
        else:
            self._go(self.question, self.rollout, -1 if asked == {"node"} else self.token, -1)

    @traitlets.validate("question")
    def _check_question(self, proposal: dict[str, Any]) -> str:
        return _one_of("question", str(proposal["value"]), self.result.questions)

    @traitlets.validate("teacher")
    def _check_teacher(self, proposal: dict[str, Any]) -> str:
        return _one_of("teacher", str(proposal["value"]), self.result.teachers)

    @traitlets.validate("rollout")
    def _check_rollout(self, proposal: dict[str, Any]) -> str:
        value = str(proposal["value"])
        if value and not any(self._is_rollout(question, value) for question in self.result.questions):
            msg = f"found rollout={value!r}, expected '' (none) or the id of one, such as '{self.question}/0'"
            raise InvalidInputError(msg)
        return value

    @traitlets.validate("node")
    def _check_node(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        nodes = {one.question: len(one.nodes) for one in self.result.evidence}.get(self.question, 0)
        if not -1 <= value < max(1, nodes):
            msg = f"found node={value}, expected -1 (none) or a node of question {self.question!r}, 0 to {nodes - 1}"
            raise InvalidInputError(msg)
        return value


def _one_of(what: str, value: str, known: tuple[str, ...]) -> str:
    if known and value not in known:
        msg = f"found {what}={value!r}, expected one of {list(known)}"
        raise InvalidInputError(msg)
    return value


def _stands(at: NDArray[np.int32], token: int, node: int) -> bool:
    """Return whether a node stands at a token of a rollout."""
    return 0 <= token < len(at) and node == at[token]


def _index(value: object) -> int:
    return value if isinstance(value, int) and value >= 0 else -1
