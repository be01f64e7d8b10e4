"""The Explorer: rollouts, teachers, signals and contexts in one view."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import traitlets

from opd_widgets.data.rollout import Rollout
from opd_widgets.data.scores import Scores
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.score import score
from opd_widgets.widgets._base import ScoresWidget, bundle
from opd_widgets.widgets._live import LiveScoring, Progress
from opd_widgets.widgets._rpc import Handler, Rpc
from opd_widgets.widgets._traits import TOP_K
from opd_widgets.widgets._wire_live import wire_live

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Model
    from opd_widgets.models.teacher import Teacher
    from opd_widgets.scoring.jobs import Job


class Explorer(ScoresWidget):
    """Look at rollouts token by token, switch teachers and signals, edit a context and see the colours follow.

    With scores alone it only reads. With a student and teachers it also scores: contexts can be edited in the view, or
    from Python with `set_context`. Given rollouts in place of scores, it scores them first.

    Example:
        >>> lab = opd.demo()
        >>> explorer = opd.Explorer(lab.rollouts, lab.student, lab.teachers)
        >>> explorer.teacher, explorer.rollout = "Self-1C", 3
        >>> explorer.observe(lambda change: print(change.new), "token")

    Limits: every rollout's text and the top 10 tokens of either side travel to the browser when the view opens, so a
    run of more than a million scored tokens and teachers opens slowly. Edits are kept in this object:
    `edited_scores()` returns the scores with them.

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
        **traits: Any,
    ) -> None:
        if (student is None) != (teachers is None):
            msg = "found only one of student and teachers, expected both (to score live) or neither (to read scores)"
            raise InvalidInputError(msg)
        if not isinstance(scores, Scores):
            if student is None or teachers is None:
                msg = "found rollouts alone, expected Explorer(rollouts, student, teachers), or Explorer(scores)"
                raise InvalidInputError(msg)
            scores = score(scores, student, teachers, options=options)
        self._live: LiveScoring | None = None
        self._asked: dict[str, tuple[str, int]] = {}
        self.editable_teachers = _editable(scores, teachers)
        state = "none" if student is None else "idle"
        super().__init__(scores, job=asdict(Progress(state)), **traits)
        if student is not None and teachers is not None:
            self._live = LiveScoring(scores, Panel.of(student, teachers, options), self._publish)
        methods: dict[str, Handler] = {
            "set_context": self._on_set,
            "reset_context": self._on_reset,
            "cancel_job": self._on_cancel,
        }
        self._rpc = Rpc(self, methods, self._on_given_up)

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
        job, _ = self._scoring().edit(teacher, self._rollout(rollout), text)
        return job

    def reset_context(self, teacher: str, rollout: int | None = None) -> None:
        """Show one question under the context it was first scored with."""
        self._scoring().reset(teacher, self._rollout(rollout))
        self._publish(Progress("idle"))

    def edited_scores(self) -> Scores:
        """Return the scores with all edits in their place."""
        return self.scores if self._live is None else self._live.merged()

    def _rollout(self, index: int | None) -> int:
        index = self.rollout if index is None else index
        self.scores.item(index)
        return index

    def _scoring(self) -> LiveScoring:
        if self._live is None:
            msg = (
                "this Explorer only reads scores; make it with opd.Explorer(rollouts, student, teachers) to score live"
            )
            raise InvalidInputError(msg)
        return self._live

    def _publish(self, progress: Progress) -> None:
        live = self._live
        if live is None:
            return
        with self.hold_sync():
            self.live = wire_live(live, min(TOP_K, int(self.scores.settings.get("top_k", TOP_K))))
            self.job = asdict(progress)

    def _on_set(self, *, request_id: str, teacher: str, rollout: int, text: str) -> Mapping[str, Any]:
        job, count = self._scoring().edit(teacher, self._rollout(int(rollout)), str(text))
        self._asked = {**self._asked, request_id: (teacher, int(rollout))}
        return {"rollouts": count, "queued": not job.cancelled}

    def _on_reset(self, *, request_id: str, teacher: str, rollout: int) -> Mapping[str, Any]:
        del request_id
        self.reset_context(teacher, int(rollout))
        return {}

    def _on_cancel(self, *, request_id: str, teacher: str = "", rollout: int = -1) -> Mapping[str, Any]:
        del request_id
        name = teacher or self.teacher
        index = self.rollout if rollout < 0 else int(rollout)
        return {"cancelled": self._scoring().cancel(name, index)}

    def _on_given_up(self, request_id: str) -> None:
        asked = self._asked.pop(request_id, None)
        if asked is not None and self._live is not None:
            self._live.cancel(*asked)


def _editable(scores: Scores, teachers: Mapping[str, Teacher] | None) -> frozenset[str]:
    names: Iterable[str] = teachers or ()
    return frozenset(n for n in names if n in scores.teachers and teachers and teachers[n].context is not None)
