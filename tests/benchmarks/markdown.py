"""Tables of benchmarks as Markdown."""

from __future__ import annotations

import math
from collections.abc import Sequence


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value: float, low: float | None = None, high: float | None = None) -> str:
    """Return a number with two decimals and its sign, with its interval where there is one."""
    if math.isnan(value):
        return "-"
    if low is None or high is None:
        return f"{value:+.2f}"
    return f"{value:+.2f} ({low:+.2f} to {high:+.2f})"
