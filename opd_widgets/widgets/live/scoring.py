"""Live scoring under edited contexts: validate now, score in the worker, hand the results out as they come."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import Cancelled
from opd_widgets.scoring.jobs import WORKER, Job
from opd_widgets.scoring.local import hidden_states
from opd_widgets.scoring.prepare import Task, make_task
from opd_widgets.scoring.rows import Rows
from opd_widgets.scoring.score import iterate, top_ids
from opd_widgets.scoring.session import Session

if TYPE_CHECKING:
    from opd_widgets.data.piece import Piece
    from opd_widgets.data.scores import RolloutScores, Scores, TeacherScores
    from opd_widgets.scoring.panel import Panel

INTERVAL = 0.1  # seconds between two updates: hosts drop messages that come faster
Edit = tuple[str, int]  # teacher, index of the rollout
Key = tuple[int, str, str]  # whose, teacher, question


@dataclass(frozen=True)
class Progress:
    """How far a job is; the front end's `JobTrait`."""

    state: str
    teacher: str | None = None
    question: str | None = None
    done: int = 0
    total: int = 0
    seconds: float = 0.0
    message: str = ""


@dataclass(eq=False)
class LiveScoring:
    """Scores rollouts again when a context is edited.

    Args:
        scores: what is being shown.
        panel: who scores.
        publish: called with this, the job and its progress, in the worker's thread, ten times a second at most and at
            every end; what comes of a job that is no longer `current` is old news.

    """

    scores: Scores
    panel: Panel
    publish: Callable[[LiveScoring, Job, Progress], None]
    edited: dict[Edit, TeacherScores] = field(default_factory=dict)
    pieces: dict[int, Piece] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    _jobs: dict[Key, Job] = field(default_factory=dict)
    _before: dict[Edit, TeacherScores | None] = field(default_factory=dict)
    _session: Session = field(default_factory=lambda: Session(live=True))

    def __post_init__(self) -> None:
        """Have the teachers read the rollouts as they did when they were scored."""
        self.panel = self.panel.reading(self.scores.rollouts)

    def edit(self, teacher: str, rollout: int, text: str) -> tuple[Job, int]:
        """Queue the rollouts of one question under a new context; an older edit of the same one gives way.

        Args:
            teacher: whose context.
            rollout: index of the rollout in view; it is scored first.
            text: the privileged text.

        Returns:
            The job, and how many rollouts it scores.

        Raises:
            InvalidInputError: no such teacher here.
            ContextError: the teacher has no context.
            LengthLimitError: the prompt and a response would be longer than the model takes.

        """
        self.scores.check_teacher(teacher)
        panel = self.panel.only(teacher)
        indices = self._of_question(rollout)
        tasks = {i: make_task(self.scores.rollouts[i], panel, {teacher: text}) for i in indices}
        key = self.key(teacher, self.scores.rollouts[rollout].group)
        with self.lock:  # it may begin at once, and is asked whether it is current
            job = WORKER.submit(key, lambda job: self._run(job, key, panel, tasks))
            self._jobs = {**{k: j for k, j in self._jobs.items() if not j.ended}, key: job}
        return job, len(tasks)

    def current(self, job: Job) -> bool:
        """Return whether a job's edit stands: no newer one has come, and it was not reset."""
        with self.lock:
            return any(one is job for one in self._jobs.values())

    def prepare(self, teacher: str, rollout: int) -> Job:
        """Queue the reading of one rollout ahead of an edit: what an edit does not change is then known already.

        Raises:
            InvalidInputError: no such teacher here.

        """
        self.scores.check_teacher(teacher)
        panel = self.panel.only(teacher)
        known = self.edited.get((teacher, rollout)) or self.scores.items[rollout].teachers[teacher]
        rows = Rows.of(make_task(self.scores.rollouts[rollout], panel, {teacher: known.context or ""}))

        def read(job: Job) -> None:
            if rows.count:
                hidden_states([rows], panel, self._session, job.checkpoint)

        return WORKER.submit(self._ahead(teacher), read)

    def cancel(self, teacher: str, question: str) -> bool:
        """Stop the job of an edit; what it has scored so far stays. Return whether there was one."""
        return WORKER.cancel(self.key(teacher, question))

    def close(self) -> None:
        """Stop all jobs: what they would show is not shown any more."""
        with self.lock:
            for key in [*self._jobs, *map(self._ahead, self.panel.teachers)]:
                WORKER.cancel(key)
            self._jobs = {}

    def reset(self, teacher: str, rollout: int) -> None:
        """Forget the edits of one question and show the context it was first scored with."""
        self.scores.check_teacher(teacher)
        with self.lock:
            question = self.scores.rollouts[rollout].group
            self.cancel(teacher, question)
            self._jobs.pop(self.key(teacher, question), None)
            for index in self._of_question(rollout):
                self.edited.pop((teacher, index), None)
                self._before.pop((teacher, index), None)

    def merged(self) -> Scores:
        """Return the scores with all edits in their place."""
        scores = self.scores
        with self.lock:
            if not self.edited:
                return scores
            for (teacher, index), scored in self.edited.items():
                scores = scores.with_rollout(index, teacher, scored)
            return replace(scores, pieces={**scores.pieces, **self.pieces})

    def key(self, teacher: str, question: str) -> Key:
        """Return what the jobs of one edit have in common."""
        return (id(self), teacher, question)

    def _ahead(self, teacher: str) -> tuple[int, str]:
        """Return what jobs that read ahead of an edit have in common."""
        return (id(self), teacher)

    def _of_question(self, rollout: int) -> list[int]:
        rollouts = self.scores.rollouts
        others = [i for i, r in enumerate(rollouts) if r.group == rollouts[rollout].group and i != rollout]
        return [rollout, *others]

    def _run(self, job: Job, key: Key, panel: Panel, tasks: Mapping[int, Task]) -> None:
        _, teacher, question = key
        steps = _Steps(lambda progress: self.publish(self, job, progress), teacher, question, len(tasks))
        order = list(tasks)
        try:
            steps.say("running", force=True)
            for group in (order[:1], order[1:]):  # the rollout in view recolours first, part by part
                some = [tasks[i] for i in group]
                self._session.heard = self._parts(job, (teacher, order[0]), steps) if group == order[:1] else None
                for index, item in iterate(some, panel, job.checkpoint, self._session):
                    self._keep(job, (teacher, group[index]), item.teachers[teacher], top_ids(item))
                    steps.done += 1
                    steps.say("running")
            panel.forget()
            steps.say("done", force=True)
        except Cancelled:
            self._drop_part((teacher, order[0]))
            steps.say("cancelled", force=True)
            raise
        except Exception as error:
            self._drop_part((teacher, order[0]))
            steps.say("failed", message=f"{type(error).__name__}: {error}", force=True)
            raise

    def _parts(self, job: Job, edit: Edit, steps: _Steps) -> Callable[[RolloutScores], None]:
        """Return what takes a rollout's scores as far as they go, and what was there before it."""

        def heard(item: RolloutScores) -> None:
            with self.lock:
                self._before.setdefault(edit, self.edited.get(edit))
                self._keep(job, edit, item.teachers[edit[0]], top_ids(item), whole=False)
            steps.say("running")

        return heard

    def _drop_part(self, edit: Edit) -> None:
        """Show again what was there before a rollout that was scored in part: half of it is of no use."""
        with self.lock:
            if edit in self._before:
                before = self._before.pop(edit)
                if before is None:
                    self.edited.pop(edit, None)
                else:
                    self.edited[edit] = before

    def _keep(self, job: Job, edit: Edit, scored: TeacherScores, ids: set[int], *, whole: bool = True) -> None:
        tokenizer = self.panel.model(edit[0]).tokenizer
        with self.lock:
            job.checkpoint()  # under the lock: a result that comes after a reset is thrown away
            self.edited[edit] = _as_before(self.scores.items[edit[1]].teachers[edit[0]], scored)
            if whole:
                self._before.pop(edit, None)
            for token in ids:
                if token >= 0 and token not in self.scores.pieces and token not in self.pieces:
                    self.pieces[token] = tokenizer.piece(token)


@dataclass
class _Steps:
    publish: Callable[[Progress], None]
    teacher: str
    question: str
    total: int
    done: int = 0
    started: float = field(default_factory=time.monotonic)
    said: float = 0.0

    def say(self, state: str, *, message: str = "", force: bool = False) -> None:
        now = time.monotonic()
        if force or now - self.said >= INTERVAL:
            self.said = now
            took = round(now - self.started, 3)
            self.publish(Progress(state, self.teacher, self.question, self.done, self.total, took, message))


def _as_before(before: TeacherScores, scored: TeacherScores) -> TeacherScores:
    """Give what was rescored all the signals it had; an alignment is unknown then, for no model says it."""
    unknown = np.full(len(scored.track), np.nan, np.float32)
    return replace(scored, signals={**dict.fromkeys(before.signals, unknown), **scored.signals})
