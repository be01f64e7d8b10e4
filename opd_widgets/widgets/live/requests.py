"""Requests of the front end that edit contexts: the newest edit wins, also where an older one is delivered later.

A host may hand messages over in another order than they were sent: a first one may wait for a running cell while later
ones run beside it. So every edit carries the view it comes from and a number that rises.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from opd_widgets.widgets._rpc import SUPERSEDED, remember

if TYPE_CHECKING:
    from opd_widgets.data.scores import Scores
    from opd_widgets.scoring.jobs import Job
    from opd_widgets.widgets._rpc import Handler
    from opd_widgets.widgets.live.scoring import LiveScoring


class Edited(Protocol):
    """A view whose contexts can be edited."""

    @property
    def scores(self) -> Scores:
        """What is shown."""

    def live_scoring(self) -> LiveScoring:
        """Return what scores edits."""

    def prepare_context(self, teacher: str, rollout: int) -> Job:
        """Read a rollout ahead of an edit."""

    def reset_context(self, teacher: str, rollout: int) -> None:
        """Show one question under the context it was first scored with."""


class EditRequests:
    """Answers `prepare_context`, `set_context`, `reset_context` and `cancel_job` for an Explorer."""

    def __init__(self, explorer: Edited) -> None:
        self._explorer = explorer
        self._newest: dict[tuple[str, str, str], int] = {}
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._given_up: OrderedDict[str, None] = OrderedDict()
        # What is newest, and what was taken back, must not change between being looked up and the edit being queued.
        self._lock = threading.Lock()

    @property
    def methods(self) -> dict[str, Handler]:
        """What may be asked, by name."""
        return {
            "prepare_context": self._prepare,
            "set_context": self._set,
            "reset_context": self._reset,
            "cancel_job": self._cancel,
        }

    def give_up(self, request_id: str) -> None:
        """Cancel the job of a request, or the request itself if it has not come yet."""
        with self._lock:
            job = self._jobs.pop(request_id, None)
            if job is not None:
                job.cancel()
            else:
                remember(self._given_up, request_id, None)

    def _prepare(self, *, request_id: str, teacher: str, rollout: int, **_: Any) -> Mapping[str, Any]:
        del request_id
        self._explorer.prepare_context(str(teacher), int(rollout))
        return {}

    def _set(self, *, request_id: str, teacher: str, rollout: int, text: str, **sent: Any) -> Mapping[str, Any]:
        with self._lock:
            if request_id in self._given_up or self._is_late(str(teacher), int(rollout), sent):
                return SUPERSEDED
            job, count = self._explorer.live_scoring().edit(str(teacher), int(rollout), str(text))
            remember(self._jobs, request_id, job)
        return {"rollouts": count, "superseded": False}

    def _reset(self, *, request_id: str, teacher: str, rollout: int, **sent: Any) -> Mapping[str, Any]:
        del request_id
        with self._lock:
            if self._is_late(str(teacher), int(rollout), sent):
                return SUPERSEDED
            self._explorer.reset_context(str(teacher), int(rollout))
        return {"superseded": False}

    def _is_late(self, teacher: str, rollout: int, sent: Mapping[str, Any]) -> bool:
        """Return whether the same view has since said something newer about this teacher and question."""
        place = (str(sent.get("view", "")), teacher, self._explorer.scores.rollouts[rollout].group)
        newest = self._newest.get(place, 0)
        sequence = int(sent.get("sequence", newest))
        self._newest[place] = max(sequence, newest)
        return sequence < newest

    def _cancel(self, *, request_id: str, teacher: str, question: str, **_: Any) -> Mapping[str, Any]:
        del request_id
        return {"cancelled": self._explorer.live_scoring().cancel(str(teacher), str(question))}
