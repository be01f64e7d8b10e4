"""Timing by pairs: two ways of doing the same, taken in turns, compared by the ratio of their medians."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Seconds of two ways in turns; `ratio` is the first over the second."""

    first: list[float]
    second: list[float]

    @property
    def ratio(self) -> float:
        """Median of the first over the median of the second."""
        return statistics.median(self.first) / statistics.median(self.second)

    @property
    def spread(self) -> tuple[float, float]:
        """Smallest and largest ratio of two neighbours in time."""
        ratios = [a / b for a, b in zip(self.first, self.second, strict=True)]
        return min(ratios), max(ratios)

    def __str__(self) -> str:
        """Return ratio, spread and medians in one line."""
        low, high = self.spread
        one, two = statistics.median(self.first), statistics.median(self.second)
        return f"{self.ratio:.2f} (pairs {low:.2f} to {high:.2f}; medians {one:.3f} s and {two:.3f} s)"


def pairs(first: Callable[[], object], second: Callable[[], object], rounds: int = 5) -> Pair:
    """Time two ways in turns, after one round that does not count."""
    first()
    second()
    one, two = [], []
    for _ in range(rounds):
        one.append(seconds(first))
        two.append(seconds(second))
    return Pair(one, two)


def seconds(work: Callable[[], object]) -> float:
    """Return how long a call takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
