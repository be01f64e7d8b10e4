"""The Explorer: rollouts, teachers, signals and contexts in one view."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import traitlets

from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scores import Scores, TeacherScores
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.from_tracks import scores_from_tracks
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.score import score
from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._rpc import Handler
from opd_widgets.widgets._scores_widget import ScoresWidget, page_bytes
from opd_widgets.widgets.live.requests import EditRequests
from opd_widgets.widgets.live.scoring import LiveScoring, Progress
from opd_widgets.widgets.live.wire import EditedEntries

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Model
    from opd_widgets.models.teacher import Teacher
    from opd_widgets.scoring.jobs import Job


class Explorer(ScoresWidget):
    """Look at rollouts token by token, switch teachers and signals, edit a context and see the colours follow.

    With scores alone it only reads, and so it does with rollouts that bring their own log-probabilities. With a student
    and teachers it also scores: contexts can be edited in the view, or from Python with `set_context`. Given rollouts
    in place of scores, it scores them first. Given `diagnosis`, it has its alignment among the signals, as
    `diagnosis.along(scores)` adds it.

    Example:
        >>> lab = opd.demo()
        >>> explorer = opd.Explorer(lab.rollouts, lab.student, lab.teachers)
        >>> explorer.teacher, explorer.rollout = "Self-1C", 3
        >>> explorer.observe(lambda change: print(change.new), "token")

    Limits: every rollout's text and every signal's values (4 bytes a token, teacher and signal) travel to the browser
    when the view opens. The top 10 tokens of either side go with them up to 8 MB; of a larger run they are fetched for
    the tokens in view, and while the kernel is busy the panel says that they are still to come. Edits are kept in this
    object: `edited_scores()` returns the scores with them.

    Traits:
        scores, rollout, token, teacher, signal, live: see `ScoresWidget`.
        job (dict): the state of live scoring, read-only.
    """

    _esm = bundle("explorer", "js")
    _css = bundle("explorer", "css")

    job: traitlets.Dict[str, Any] = traitlets.Dict(default_value={}).tag(sync=True)

    def __init__(
        self,
        scores: Scores | Sequence[Rollout],
        student: Model | None = None,
        teachers: Mapping[str, Teacher] | None = None,
        *,
        options: Options | None = None,
        diagnosis: Diagnosis | None = None,
        **traits: Any,
    ) -> None:
        panel = _panel(scores, student, teachers, options)
        if not isinstance(scores, Scores):
            scores = _made(scores, panel)
        if diagnosis is not None:
            scores = _diagnosed(scores, diagnosis)
        self._panel = panel
        self._publishing = threading.RLock()
        self._edits = EditedEntries()
        self._requests = EditRequests(self)
        self._live = None if panel is None else LiveScoring(scores, panel, self._hear)
        state = "none" if panel is None else "idle"
        super().__init__(scores, job=asdict(Progress(state)), **traits)

    def set_context(self, teacher: str, text: str, rollout: int | None = None) -> Job:
        """Score the rollouts of one question under another context, in the background; the newest edit wins.

        Args:
            teacher: whose context.
            text: the privileged text, whole; nothing is cut to fit.
            rollout: which rollout's question; by default the one in view.

        Returns:
            The job; `job.wait()` waits for it.

        Raises:
            InvalidInputError: this view only reads, or there is no such teacher.
            ContextError: the teacher has no context.
            LengthLimitError: prompt and response would be longer than the model takes.

        """
        job, _ = self.live_scoring().edit(teacher, self._rollout(rollout), text)
        return job

    def prepare_context(self, teacher: str, rollout: int | None = None) -> Job:
        """Read a rollout ahead of an edit, in the background, so that the edit's first colours come sooner.

        The view asks for it when someone opens the editor.

        Args:
            teacher: whose context will be edited.
            rollout: which rollout; by default the one in view.

        Raises:
            InvalidInputError: this view only reads, or there is no such teacher.

        """
        return self.live_scoring().prepare(teacher, self._rollout(rollout))

    def reset_context(self, teacher: str, rollout: int | None = None) -> None:
        """Show one question under the context it was first scored with."""
        with self._publishing:
            self.live_scoring().reset(teacher, self._rollout(rollout))
            self._publish(Progress("idle"))

    def edited_scores(self) -> Scores:
        """Return the scores with all edits in their place."""
        return self.scores if self._live is None else self._live.merged()

    def page_state(self, *, top_k: bool | None = None) -> dict[str, Any]:
        """Return the state of a page without Python: nobody scores there."""
        state = {**super().page_state(top_k=top_k), "job": asdict(Progress("none"))}
        if self._live is None:
            return state
        edits = EditedEntries(page_bytes(top_k)).wire(self._live)  # with the likeliest tokens where the page has them
        return {**state, "live": {**edits, "generation": self.generation}}

    def rpc_methods(self) -> dict[str, Handler]:
        """Return what the front end may ask, by name."""
        return {**super().rpc_methods(), **self._requests.methods}

    def give_up(self, request_id: str) -> None:
        """Take back a request of the front end."""
        self._requests.give_up(request_id)

    def edited_version(self, teacher: str, rollout: int, version: int) -> TeacherScores | None:
        """Return what an edit shown in this version was made from; None where there is a newer one by now."""
        return self._edits.version(teacher, rollout, version)

    def close(self) -> None:
        """Close the view; edits under way stop, since nobody would see them."""
        live: LiveScoring | None = getattr(self, "_live", None)  # none yet where the constructor failed
        if live is not None:
            live.close()
        super().close()

    def live_scoring(self) -> LiveScoring:
        """Return what scores edits here.

        Raises:
            InvalidInputError: this view only reads.

        """
        if self._live is None:
            msg = (
                "this Explorer only reads scores; make it with opd.Explorer(rollouts, student, teachers) to score live"
            )
            raise InvalidInputError(msg)
        return self._live

    def editable(self, scores: Scores) -> frozenset[str]:
        """Return the teachers whose context can be edited here."""
        teachers = {} if self._panel is None else self._panel.teachers
        return frozenset(name for name, t in teachers.items() if t.context is not None and name in scores.teachers)

    @traitlets.validate("scores")
    def _check_scores(self, proposal: dict[str, Any]) -> Scores:
        scores: Scores = proposal["value"]
        if self._panel is not None:
            _check_student(scores, self._panel)
        return scores

    @traitlets.observe("scores")
    def _score_the_new_ones(self, change: dict[str, Any]) -> None:
        """Edits belong to the scores they were made on: new scores start without any."""
        if self._panel is None or not isinstance(change["old"], Scores):
            return
        panel = replace(self._panel, options=Options.of(self.scores.settings))
        with self._publishing:
            self.live_scoring().close()
            self._live = LiveScoring(self.scores, panel, self._hear)
            self.job = asdict(Progress("idle"))

    def _rollout(self, index: int | None) -> int:
        index = self.rollout if index is None else index
        self.scores.item(index)
        return index % len(self.scores)

    def _hear(self, live: LiveScoring, job: Job, progress: Progress) -> None:
        with self._publishing:
            if live is self._live and live.scores is self.scores and live.current(job):
                self._publish(progress)

    def _publish(self, progress: Progress) -> None:
        """Send edits and progress, from the worker or from here; one at a time, so that the last word is the newest."""
        with self._publishing:
            live = self._live
            if live is None:
                return
            with self.hold_sync():
                if progress.state != "running" or self._edits.due:
                    self.live = {**self._edits.wire(live), "generation": self.generation}
                self.job = asdict(progress)


def _made(rollouts: Sequence[Rollout], panel: Panel | None) -> Scores:
    """Score rollouts; without models, take the log-probabilities they came with."""
    if panel is not None:
        return score(rollouts, panel.student, panel.teachers, options=panel.options)
    given: object = rollouts
    if not isinstance(given, Sequence) or not all(isinstance(rollout, Rollout) for rollout in given):
        kind = type(given).__name__
        msg = f"found {kind}, expected opd.Scores, or a list of opd.Rollout as opd.read_rollouts(path) returns it"
        raise InvalidInputError(msg)
    if not any(rollout.tracks for rollout in rollouts):
        msg = (
            "found rollouts alone and no log-probabilities with them, expected Explorer(rollouts, student, teachers), "
            "Explorer(scores), or a dump with log-probabilities"
        )
        raise InvalidInputError(msg)
    return scores_from_tracks(rollouts)


def _diagnosed(scores: Scores, diagnosis: Diagnosis) -> Scores:
    """Return scores with a diagnosis's alignment among the signals."""
    if not isinstance(diagnosis, Diagnosis):
        msg = (
            f"found {type(diagnosis).__name__} as diagnosis, expected an opd.Diagnosis as opd.diagnose(...) returns it"
        )
        raise InvalidInputError(msg)
    return diagnosis.along(scores)


def _panel(
    scores: Scores | Sequence[Rollout],
    student: Model | None,
    teachers: Mapping[str, Teacher] | None,
    options: Options | None,
) -> Panel | None:
    if (student is None) != (teachers is None):
        msg = "found only one of student and teachers, expected both (to score live) or neither (to read scores)"
        raise InvalidInputError(msg)
    if student is None or teachers is None:
        return None
    if not isinstance(scores, Scores):
        return Panel.of(student, teachers, options)
    if options is not None and options.to_dict() != scores.settings:
        made, asked = dict(scores.settings), options.to_dict()
        msg = f"these scores were made with {made} and options ask for {asked}; leave options out"
        raise InvalidInputError(msg)
    panel = Panel.of(student, teachers, options or Options.of(scores.settings))
    _check_student(scores, panel)
    unknown = [name for name in panel.teachers if name not in scores.teachers]
    if unknown:
        msg = (
            f"these scores have teachers {list(scores.teachers)} and not {unknown}; score the rollouts with them first"
        )
        raise InvalidInputError(msg)
    return panel


def _check_student(scores: Scores, panel: Panel) -> None:
    """Refuse to rescore with another student: old and new values would not compare."""
    if scores.student != panel.student.name:
        msg = f"these scores are of student {scores.student!r} and the student given is {panel.student.name!r}"
        raise InvalidInputError(f"{msg}; give the one that was scored")
