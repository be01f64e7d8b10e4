"""What a running diagnosis shows: its cost beforehand, and what it has bought so far."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any, Self

from tqdm.auto import tqdm

from opd_widgets.diagnosis.run.bought import Bought

if TYPE_CHECKING:
    from opd_widgets.diagnosis.run.rounds import Plan, Rounds
    from opd_widgets.diagnosis.settings import DiagnosisSettings

PAUSE = 2.0  # seconds between two looks at what was bought
SLOWEST = 20.0  # and as many times what a look takes: about 5% of the run


class Progress:
    """A progress bar over the budget. Called by `Rounds` after every batch and round.

    Args:
        plan: how much is drawn.
        settings: how nodes are read.
        shown: whether anything is printed.

    """

    def __init__(self, plan: Plan, settings: DiagnosisSettings, *, shown: bool) -> None:
        self._plan, self._settings, self._shown = plan, settings, shown
        self._bar: Any = None
        self._said_cost, self._round, self._again = False, 0, 0.0

    def __enter__(self) -> Self:
        """Show the bar."""
        self._bar = tqdm(
            total=self._plan.budget, desc="diagnosing", unit="tok", disable=not self._shown, leave=False, smoothing=0.1
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        self._bar.close()

    def __call__(self, state: Rounds) -> None:
        """Say what was drawn, and now and then what it has bought."""
        if not self._shown:
            return
        if not self._said_cost and state.probed:
            self._said_cost = True
            tqdm.write(state.cost().to_text(len(state.teachers[0])), file=sys.stderr)
        self._bar.update(min(state.spent, self._plan.budget) - self._bar.n)
        now = time.perf_counter()
        if len(state.nodes) == len(state.rollouts) and state.round != self._round and now >= self._again:
            self._round = state.round
            self._bar.set_postfix_str(bought(state, self._settings), refresh=True)
            took = time.perf_counter() - now
            self._again = now + max(PAUSE, SLOWEST * took)


def bought(state: Rounds, settings: DiagnosisSettings) -> str:
    """Return in words at how many nodes and teachers the sign is sure, and the median width of the intervals."""
    found = Bought.of(state, settings)
    if not found.scored:
        return "no node scored yet"
    return f"sign sure at {found.sure:,} of {found.scored:,}, median interval {found.width:.2f}"
