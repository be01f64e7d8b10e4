"""A diagnosis while it runs: what it costs, what it has bought, what is open; stop and resume."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import traitlets

from opd_widgets.widgets._base import OpdWidget, bundle
from opd_widgets.widgets._rpc import Rpc
from opd_widgets.widgets.running.paced import Paced
from opd_widgets.widgets.running.run import RunningDiagnosis

if TYPE_CHECKING:
    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.policies.policy_of import Speaker
    from opd_widgets.diagnosis.result import Diagnosis
    from opd_widgets.scoring.judging import Verifier


class ProgressView(OpdWidget):
    """Run a diagnosis in the background and watch it: the cell returns at once, and the notebook stays usable.

    Example:
        >>> run = opd.ProgressView(  # doctest: +SKIP
        ...     lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=200_000, seed=0, out="run")
        >>> run.stop(), run.wait(), run.result.summary()  # doctest: +SKIP
        >>> run.resume()  # doctest: +SKIP

    It ends as `opd.diagnose` called with the same arguments does, value by value, also when it was stopped and went on.
    A stop takes effect after the batch in hand (`batch_rows`), or the question whose nodes are being read; nothing is
    lost. With `out` everything is kept in that folder, where a later call of either goes on. Without, it is kept in
    memory: it can be stopped and resumed, and is gone with the kernel, or with the view.

    Limits: one diagnosis at a time in a process. It shares one thread with live scoring of contexts, which goes first
    between two batches. A model that a cell uses at the same time is used from two threads. Student and teachers are
    asked who they are before the cell returns. Closing the view stops the run.

    Args:
        questions: as for `opd.diagnose`, like all arguments.
        student: likewise.
        teachers: likewise.
        verifier: likewise; it is called in the background thread.
        budget: likewise.
        arguments: the other arguments of `opd.diagnose`; `progress` has no effect.

    Raises:
        InvalidInputError: as `opd.diagnose` does; or another diagnosis is running in this process.
        LengthLimitError: as `opd.diagnose` does.

    Traits:
        progress (dict): what is shown, read-only. "state" is waiting, running, stopping, stopped, done or failed;
            "spent" and "budget" are tokens.
        question (str, ""): id of the question of the selected node.
        node (int, -1): its index among the question's nodes; -1 is none.
        teacher (str, ""): the teacher under whom it was selected.
    """

    _esm = bundle("progress_view", "js")
    _css = bundle("progress_view", "css")
    page_traits = ("progress", "question", "node", "teacher")

    progress: traitlets.Dict[str, Any] = traitlets.Dict(default_value={}).tag(sync=True)
    question = traitlets.Unicode("").tag(sync=True)
    node = traitlets.Int(-1).tag(sync=True)
    teacher = traitlets.Unicode("").tag(sync=True)

    def __init__(
        self,
        questions: Sequence[Question],
        student: Speaker,
        teachers: Mapping[str, Speaker],
        *,
        verifier: Verifier,
        budget: int,
        **arguments: Any,
    ) -> None:
        self._words = Paced(self._publish)
        given = {**arguments, "verifier": verifier, "budget": budget}
        self._run = RunningDiagnosis(
            {"questions": questions, "student": student, "teachers": teachers, **given}, self._words.tell
        )
        super().__init__(progress=dict(self._run.shown))
        self._rpc = Rpc(self, {"stop": self._asked_to_stop, "resume": self._asked_to_resume}, lambda _: None)
        try:
            self._run.start()
        except BaseException:
            self.close()
            raise

    def __repr__(self) -> str:
        """Say how far it is, in one line: this is what a reader of a saved notebook sees without the widget."""
        shown = self.progress
        if not shown:
            return "ProgressView()"
        return f"ProgressView({shown['state']}, {shown['spent']:,} of {shown['budget']:,} tokens)"

    @property
    def result(self) -> Diagnosis:
        """What is there now, whatever the run does meanwhile; at its end, the result.

        Raises:
            InvalidInputError: no question's nodes are read yet.

        """
        return self._run.result()

    def stop(self) -> None:
        """Stop after the batch in hand; what was drawn stays. Nothing happens where nothing runs."""
        self._run.stop()

    def resume(self) -> None:
        """Go on with a run that was stopped or has failed.

        Raises:
            InvalidInputError: it is running, or at its end, or closed; or another diagnosis is running.

        """
        self._run.start()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the run is done or stopped. An interrupt ends the waiting, not the run.

        Args:
            timeout: seconds; None for no limit.

        Returns:
            False if it is still under way after that time.

        Raises:
            Exception: the run failed; the error itself.

        """
        ended = self._run.wait(timeout)
        self._words.flush()  # `progress` then tells of the end, too
        if ended and self._run.error is not None:
            raise self._run.error
        return ended

    def close(self) -> None:
        """Close the view and stop the run after the batch in hand; what was drawn stays in `out`."""
        run: RunningDiagnosis | None = getattr(self, "_run", None)  # none yet where the constructor failed
        if run is not None:
            run.close()
            self._words.close()
        super().close()

    def page_state(self) -> dict[str, Any]:
        """Return the state of a page without Python: nothing can be stopped or resumed there."""
        state = super().page_state()
        return {**state, "progress": {**self._run.shown, "live": False}}

    def place(self) -> dict[str, Any]:
        """Return what is selected here, by the names of `Selection`."""
        if not self.question:
            return {}
        return {
            "question": self.question,
            "rollout": None,
            "token": None,
            "node": self.node if self.node >= 0 else None,
            "teacher": self.teacher or None,
        }

    def go_to(self, place: Mapping[str, Any]) -> None:
        """Select a node by its question and index."""
        node = place.get("node")
        with self.hold_trait_notifications():
            self.question = place.get("question") or ""
            self.node = node if isinstance(node, int) else -1
            self.teacher = place.get("teacher") or ""

    def _publish(self) -> None:
        self.progress = dict(self._run.shown)

    def _asked_to_stop(self, **_: Any) -> Mapping[str, Any]:
        return {"stopping": self._run.stop()}

    def _asked_to_resume(self, **_: Any) -> Mapping[str, Any]:
        self.resume()
        return {}
