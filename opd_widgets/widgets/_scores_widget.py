"""A view of scores: the data, the selection, and what follows for one from the other."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import traitlets

from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scores import Scores, TeacherScores
from opd_widgets.errors import InvalidInputError, MissingSignalError
from opd_widgets.measures.signals import REGISTRY, get_signal
from opd_widgets.widgets._base import OpdWidget
from opd_widgets.widgets._rpc import Handler, Rpc
from opd_widgets.widgets._traits import ScoresTrait, wire_scores
from opd_widgets.widgets.live.levels import LiveLevels
from opd_widgets.widgets.wire.top_windows import IN_PAGE, top_bytes, top_methods

NO_EDITS: dict[str, Any] = {"entries": [], "vocab": {}, "generation": 1}


class ScoresWidget(OpdWidget):
    """A view of scores with a selection that both sides read and write.

    Traits:
        scores (Scores): what is shown. Assign new ones to show those.
        rollout (int, 0): index of the selected rollout.
        token (int, -1): index of the selected response token; -1 is none.
        teacher (str): name of the selected teacher; the first one by default.
        signal (str, "advantage"): registry name of the signal in colour.
        live (dict): what was rescored under edited contexts; written by Python only.
    """

    page_traits: ClassVar[tuple[str, ...]] = ("rollout", "token", "teacher", "signal")
    scores = ScoresTrait().tag(sync=True)
    live: traitlets.Dict[str, Any] = traitlets.Dict(NO_EDITS)
    # what the front end has of `live`; see `LiveLevels`
    live_new: traitlets.Dict[str, Any] = traitlets.Dict(NO_EDITS).tag(sync=True)
    live_older: traitlets.Dict[str, Any] = traitlets.Dict(NO_EDITS).tag(sync=True)
    live_oldest: traitlets.Dict[str, Any] = traitlets.Dict(NO_EDITS).tag(sync=True)
    rollout = traitlets.Int(0).tag(sync=True)
    token = traitlets.Int(-1).tag(sync=True)
    teacher = traitlets.Unicode("").tag(sync=True)
    signal = traitlets.Unicode("advantage").tag(sync=True)

    def __init__(self, scores: Scores, **traits: Any) -> None:
        if not isinstance(scores, Scores):
            kind = type(scores).__name__
            msg = f"found {kind}, expected opd.Scores as opd.score(rollouts, student, teachers) returns them"
            raise InvalidInputError(msg)
        traits.setdefault("teacher", next(iter(scores.teachers), ""))
        traits.setdefault("signal", _first_signal(scores))
        self._levels = LiveLevels()
        self._counting = threading.Lock()
        self._counted: Scores | None = None
        self._generation = 0
        super().__init__(scores=scores, **traits)
        self._rpc = Rpc(self, self.rpc_methods(), self.give_up)

    def __repr__(self) -> str:
        """Say what is shown, in one line: this is what a reader of a saved notebook sees without the widget."""
        return f"{type(self).__name__}({self.scores!r})"

    @property
    def generation(self) -> int:
        """The number of the scores shown: edits carry it, so that none lands on scores it was not made for.

        Counted by what is there and not by assignments: one that is refused, or changes nothing, sends nothing.
        """
        with self._counting:
            if self._counted is not self.scores:
                self._counted = self.scores
                self._generation += 1
            return self._generation

    def place(self) -> dict[str, Any]:
        """Return what is selected here, by the names of `Selection`."""
        chosen = {"teacher": self.teacher or None, "signal": self.signal}
        if not len(self.scores):
            return chosen
        rollout = self.scores.rollouts[self.rollout]
        token = self.token if self.token >= 0 else None
        return {**chosen, "question": rollout.group, "rollout": rollout.id, "token": token, "node": None}

    def go_to(self, place: Mapping[str, Any]) -> None:
        """Select what of a place these scores have; what they do not have stays as it is."""
        ids = [rollout.id for rollout in self.scores.rollouts]
        with self.hold_trait_notifications():
            if place.get("teacher") in self.scores.teachers:
                self.teacher = place["teacher"]
            if place.get("signal") in _signals(self.scores):
                self.signal = place["signal"]
            if place.get("rollout") in ids:
                self.rollout = ids.index(place["rollout"])
                token = place.get("token")
                self.token = token if token is not None and token < len(self.scores.rollouts[self.rollout]) else -1

    def complete(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """Return a place with its rollout's question."""
        named = [rollout for rollout in self.scores.rollouts if rollout.id == place.get("rollout")]
        return {**place, "question": named[0].group} if named and place.get("question") is None else dict(place)

    def rollout_id(self, index: int) -> str | None:
        """Return the id of a rollout by its index, as `scores.to_pandas()` has it."""
        return self.scores.rollouts[index].id if 0 <= index < len(self.scores) else None

    def known_rollouts(self) -> Sequence[Rollout]:
        """Return the rollouts that this view selects by id."""
        scores: Scores = self.scores
        return scores.rollouts

    def rpc_methods(self) -> dict[str, Handler]:
        """Return what the front end may ask, by name."""
        return top_methods(self)

    def give_up(self, request_id: str) -> None:
        """Take back a request of the front end that is being carried out."""

    def edited_version(self, teacher: str, rollout: int, version: int) -> TeacherScores | None:
        """Return what an edit shown in this version was made from; None where there is a newer one by now.

        Raises:
            InvalidInputError: the edit is another view's.

        """
        del version
        msg = (
            f"rollout {rollout} is shown as another view has rescored it under {teacher!r}, and its likeliest tokens "
            "are there: select the token in the Explorer that edited the context"
        )
        raise InvalidInputError(msg)

    def page_state(self, *, top_k: bool | None = None) -> dict[str, Any]:
        """Return the state of a page without Python.

        Args:
            top_k: whether the likeliest tokens are in it; by default where they take no more than 64 MB. Where they are
                not, the page says so.

        """
        scores = wire_scores(
            self.scores, self.editable(self.scores), self.generation, most_top=page_bytes(top_k), otherwise="left_out"
        )
        if top_k is None and scores["meta"]["top_source"] == "left_out":
            scores["meta"]["notes"].append(_left_out(self.scores))
        return {"scores": scores, "live": self.live, **super().page_state()}

    def editable(self, scores: Scores) -> frozenset[str]:
        """Return the teachers whose context can be edited here."""
        del scores
        return frozenset()

    @traitlets.observe("live")
    def _send_what_changed(self, change: dict[str, Any]) -> None:
        with self.hold_sync():
            for name, value in self._levels.traits(change["new"]).items():
                setattr(self, name, value)

    @traitlets.observe("scores")
    def _keep_selection(self, change: dict[str, Any]) -> None:
        """Keep the selection where the new scores have it, and move it to the start where they do not."""
        if not isinstance(change["old"], Scores):
            return
        self.live = {**NO_EDITS, "generation": self.generation}
        before, ids = change["old"].rollouts[self.rollout :][:1], [rollout.id for rollout in self.scores.rollouts]
        here = [ids.index(rollout.id) for rollout in before if rollout.id in ids]
        self.rollout = next(iter(here), min(self.rollout, max(0, len(ids) - 1)))
        if self.token >= max((len(rollout) for rollout in self.scores.rollouts[self.rollout :][:1]), default=0):
            self.token = -1
        if self.teacher not in self.scores.teachers:
            self.teacher = next(iter(self.scores.teachers), "")
        if self.signal not in _signals(self.scores):
            self.signal = _first_signal(self.scores)
        if self.selection is not None:
            self.go_to(self.selection.place)

    @traitlets.validate("rollout")
    def _check_rollout(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        if not 0 <= value < max(1, len(self.scores)):
            msg = f"found rollout={value}, expected 0 to {len(self.scores) - 1}"
            raise InvalidInputError(msg)
        return value

    @traitlets.validate("token")
    def _check_token(self, proposal: dict[str, Any]) -> int:
        value = int(proposal["value"])
        longest = max((len(rollout) for rollout in self.scores.rollouts), default=0)
        if not -1 <= value < max(1, longest):
            msg = f"found token={value}, expected -1 (none) or the index of a response token, 0 to {longest - 1}"
            raise InvalidInputError(msg)
        return value

    @traitlets.validate("teacher")
    def _check_teacher(self, proposal: dict[str, Any]) -> str:
        value = str(proposal["value"])
        return self.scores.check_teacher(value) if self.scores.teachers else value

    @traitlets.validate("signal")
    def _check_signal(self, proposal: dict[str, Any]) -> str:
        signal = get_signal(str(proposal["value"]))
        if signal.name not in _signals(self.scores):
            reason = signal.reason or f"it needs {', '.join(signal.needs).replace('_', ' ')}, not measured here"
            msg = (
                f"signal {signal.name!r} is not available in these scores: {reason}. There are {_signals(self.scores)}"
            )
            raise MissingSignalError(msg)
        return signal.name


def page_bytes(top_k: bool | None) -> float:  # noqa: FBT001 - the choice a user made, passed on
    """Return how many bytes of likeliest tokens a page may hold."""
    return IN_PAGE if top_k is None else float("inf") if top_k else -1


def _left_out(scores: Scores) -> str:
    size = f"{top_bytes(scores) / 1e6:.0f} MB"
    what = f"The likeliest tokens of either side would take {size} and are not in this page"
    return f"{what}; opd.write_page(..., top_k=True) writes them too."


def _signals(scores: Scores) -> list[str]:
    """Return the signals these scores have, in registry order."""
    first = scores.items[:1]
    held = {name for item in first for name in item.signals}
    held |= {name for item in first for teacher in item.teachers.values() for name in teacher.signals}
    return [name for name in REGISTRY if name in held or not scores.items]


def _first_signal(scores: Scores) -> str:
    return next(iter(_signals(scores)), "advantage")
