"""A diagnosis in a few lines that a person can read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

NAME_WIDTH = 28
OUTCOMES = ("all", "correct", "incorrect")


def as_text(
    heading: str, summary: pd.DataFrame, best: pd.DataFrame, notes: Sequence[str], level: float, *, asked: int
) -> str:
    """Return a diagnosis as plain text: means by teacher, the best teacher by question, and what a reader must know.

    Args:
        heading: what was diagnosed.
        summary: by teacher and outcome.
        best: by question.
        notes: each on a line.
        level: of the intervals.
        asked: how many questions were asked, those without a node too.

    """
    lines = [heading]
    if len(summary):
        title = f"mean cosine ({level:.0%} interval)"
        lines += ["", f"{title:<{NAME_WIDTH}}" + "".join(f"{name:>24}" for name in OUTCOMES) + f"{'above 0':>9}"]
        lines += [_line(str(name), rows) for name, rows in summary.groupby("teacher", sort=False)]
        lines += ["", *_left_out(summary, asked)]
    if len(best) and len(set(summary["teacher"])) > 1:  # the best of one says nothing
        lines += ["", *_winners(best)]
    return "\n".join([*lines, *(f"note: {note}" for note in notes)]).rstrip()


def signed(value: float) -> str:
    """Return a number with its sign; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")


def _line(teacher: str, rows: pd.DataFrame) -> str:
    by_outcome = {row["outcome"]: row for row in rows.to_dict("records")}
    cells = "".join(f"{_interval(by_outcome[name]):>24}" for name in OUTCOMES)
    share = by_outcome["all"]["share_positive"]
    above = "–" if math.isnan(share) else f"{share:.0%}"
    name = teacher if len(teacher) <= NAME_WIDTH - 2 else teacher[: NAME_WIDTH - 3] + "…"
    return f"  {name:<{NAME_WIDTH - 2}}{cells}{above:>9}"


def _interval(row: Mapping[Any, Any]) -> str:
    if math.isnan(row["mean_cosine"]):
        return "–"
    return f"{signed(row['mean_cosine'])} [{signed(row['mean_cosine_low'])}, {signed(row['mean_cosine_high'])}]"


def _left_out(summary: pd.DataFrame, asked: int) -> list[str]:
    """Return how many nodes and teachers stand behind the means, and what is in none of them."""
    every = summary[summary["outcome"] == "all"]
    reasons = {
        "n_undefined": "without a signal",
        "n_outside": "point outside the support",
        "n_few_visits": "with too few visits",
    }
    counts = {text: int(every[name].sum()) for name, text in reasons.items()}
    said = [f"{count} {text}" for text, count in counts.items() if count]
    behind = f"behind the means: {int(every['n_nodes'].sum())} (pairs of a node and a teacher)"
    lines = [behind + (f"; in no mean: {', '.join(said)}" if said else "")]
    if every["n_questions"].max() == 1:
        one = "one question" if asked < 2 else f"1 of {asked} questions has a node that counts"
        lines.append(f"{one}: the intervals say nothing about other questions")
    return lines


def _winners(best: pd.DataFrame) -> list[str]:
    found = best[best["teacher"] != ""]
    if found.empty:
        return []
    counts = found["teacher"].value_counts()
    sure = int((found["probability"] >= 0.9).sum())
    said = ", ".join(f"{name} at {count}" for name, count in counts.items())
    return [f"largest mean cosine by question: {said}; at {sure} of {len(found)} with a probability of 90% or more"]
