"""What a finished run came to, for people and as JSON."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.scoring.summary import finite_mean, summarise

if TYPE_CHECKING:
    import pandas as pd

    from opd_widgets.data.scores import Scores

SIGNAL = "advantage"


@dataclass(frozen=True, eq=False)
class Report:
    """A run in a few lines.

    Args:
        path: the run's folder.
        student: the student's name.
        tokens: response tokens.
        seconds: from the start of the command to the end of scoring.
        outcomes: rollouts by outcome.
        truncated: how many of them ran into a length limit: their last token ends nothing.
        table: one row a teacher: mean advantage (nats a token) over all rollouts, correct and incorrect ones.
        notes: what a reader must be told.

    """

    path: Path
    student: str
    tokens: int
    seconds: float
    outcomes: Counter[str]
    truncated: int
    table: pd.DataFrame
    notes: tuple[str, ...]

    @classmethod
    def of(cls, scores: Scores, path: Path, seconds: float) -> Report:
        """Return the report on scores that lie at `path`."""
        table = summarise(scores, SIGNAL)
        if len(table):
            table.insert(1, "all", [_mean(scores, teacher) for teacher in table["teacher"]])
        return cls(
            path=path.resolve(),
            student=scores.student,
            tokens=sum(map(len, scores.rollouts)),
            seconds=seconds,
            outcomes=Counter(rollout.outcome for rollout in scores.rollouts),
            truncated=sum(rollout.status == "truncated" for rollout in scores.rollouts),
            table=table,
            notes=scores.notes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON values; a mean of nothing is None."""
        return {
            "run": str(self.path),
            "student": self.student,
            "rollouts": self.outcomes.total(),
            "outcomes": dict(self.outcomes),
            "truncated": self.truncated,
            "tokens": self.tokens,
            "seconds": self.seconds,
            "teachers": [{k: _none_for_nan(v) for k, v in row.items()} for row in self.table.to_dict("records")],
            "notes": list(self.notes),
        }

    def to_text(self) -> str:
        """Return it for people."""
        judged = _judged(self.outcomes) + (f", {self.truncated} truncated" if self.truncated else "")
        what = f"{self.outcomes.total()} rollouts of {self.student} ({judged}), {self.tokens} tokens"
        lines = [f"{what}, {self.seconds:.1f} s"]
        rows = self.table.to_dict("records")
        if rows:
            lines += ["", f"{'mean advantage, nats a token':<30}{'all':>9}{'correct':>10}{'incorrect':>11}"]
        for row in rows:
            means = f"{signed(row['all']):>9}{signed(row['correct']):>10}{signed(row['incorrect']):>11}"
            lines.append(f"  {row['teacher']:<28}{means}")
        for kind in ("infinite", "undefined"):
            count = int(self.table[kind].sum()) if rows else 0
            lines += [f"  ({count} {kind} values are in no mean)"] if count else []
        return "\n".join([*lines, "", *(f"note: {note}" for note in self.notes), f"run: {self.path}"])


def _judged(outcomes: Counter[str]) -> str:
    """Return how many rollouts have which outcome; correct and incorrect ones only where any was judged."""
    parts = []
    if outcomes["correct"] or outcomes["incorrect"]:
        parts = [f"{outcomes[name]} {name}" for name in ("correct", "incorrect")]
    parts += [f"{outcomes['unverified']} unverified"] if outcomes["unverified"] else []
    parts += [f"outcome unknown: {outcomes['unknown']}"] if outcomes["unknown"] else []
    return ", ".join(parts) or "none"


def _mean(scores: Scores, teacher: str) -> float:
    parts = [scores.signal(SIGNAL, i, teacher)[rollout.counted] for i, rollout in enumerate(scores.rollouts)]
    return finite_mean(np.concatenate([np.zeros(0, np.float32), *parts]))


def _none_for_nan(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def signed(value: float) -> str:
    """Return a mean with its sign; a dash where there is none."""
    return "–" if math.isnan(value) else f"{value:+.3f}".replace("-", "−")
