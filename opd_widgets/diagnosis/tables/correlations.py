"""Does alignment go with a divergence? Correlations over nodes, by teacher."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import rankdata

from opd_widgets.diagnosis.tables.bootstrap import resampled
from opd_widgets.diagnosis.tables.quantiles import mean
from opd_widgets.diagnosis.tables.ratios import interval
from opd_widgets.diagnosis.tables.verdict import COUNTED, verdicts

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading
    from opd_widgets.diagnosis.settings import DiagnosisSettings

MEASURES = ("reverse_kl", "forward_kl", "jsd", "student_entropy", "teacher_entropy", "abs_teacher_advantage")
COEFFICIENTS = ("spearman", "pearson")
LEAST_NODES = 3  # below, every correlation is -1 or 1
LEAST_REPLICATES = 200  # where there are fewer draws, each serves more than one
LABEL = (
    "a correlation over nodes, not a rule for one: a large divergence, entropy or advantage does not say which way "
    "success lies"
)


def correlations(readings: Sequence[Reading], settings: DiagnosisSettings) -> pd.DataFrame:
    """Return how alignment goes with what is cheaper to measure, over the nodes that have a number.

    Each posterior draw of P_succ gives an alignment at every node, and so one correlation over all of them; reported is
    the mean over the draws. (That of posterior means would be another: they vary less than what they estimate.) Nodes
    count once each. `abs_teacher_advantage` is that of the same draw: it shares its P_succ with the alignment.

    Args:
        readings: of Q questions.
        settings: level of the intervals and seed of the bootstrap.

    Returns:
        One row a teacher and measure: `teacher`, `measure`, `n_nodes`, `n_questions`, `spearman`, `pearson`; each
        coefficient with `_low` and `_high`. The interval resamples questions and takes a draw with each replicate; NaN
        with fewer than two questions. A coefficient is NaN with fewer than three nodes, or where a measure is constant.

    """
    import pandas as pd

    teachers = tuple(dict.fromkeys(name for one in readings for name in one.evidence.nodes.teachers))
    rows = [row for teacher in teachers for row in _rows_of(teacher, readings, settings)]
    names = ["teacher", "measure", "n_nodes", "n_questions"]
    names += [f"{one}{end}" for one in COEFFICIENTS for end in ("", "_low", "_high")]
    table = pd.DataFrame(rows, columns=names)
    table.attrs["label"] = LABEL
    return table


def _rows_of(teacher: str, readings: Sequence[Reading], settings: DiagnosisSettings) -> list[dict[str, object]]:
    """Return one teacher's rows, a measure each."""
    with_it = [one for one in readings if teacher in one.evidence.nodes.teachers]
    cosine, measured, question = _gathered(teacher, with_it)
    found = []
    for name in MEASURES:
        value = measured[name]
        kept = np.isfinite(value).all(axis=1)
        of_draws = _of_draws(cosine[kept], value[kept])
        taken = _of_replicates(cosine[kept], value[kept], question[kept], settings.seed)
        n_questions = len(np.unique(question[kept]))
        row: dict[str, object] = {"teacher": teacher, "measure": name, "n_nodes": int(kept.sum())}
        row["n_questions"] = n_questions
        low, high = interval(taken.T, settings.tails, n_questions)
        coefficients = mean(of_draws.T)
        for at, coefficient in enumerate(COEFFICIENTS):
            ends = {f"{coefficient}_low": float(low[at]), f"{coefficient}_high": float(high[at])}
            row |= {coefficient: float(coefficients[at]), **ends}
        found.append(row)
    return found


def _gathered(
    teacher: str, readings: Sequence[Reading]
) -> tuple[NDArray[np.float64], dict[str, NDArray[np.float64]], NDArray[np.int64]]:
    """Return the nodes that count: draws of the alignment [N, D], measures [N, 1] or [N, D], question int [N]."""
    cosines, questions = [np.zeros((0, 1))], [np.zeros(0, np.int64)]
    measured: dict[str, list[NDArray[np.float64]]] = {name: [np.zeros((0, 1))] for name in MEASURES}
    for number, reading in enumerate(readings):
        nodes = reading.evidence.nodes
        t = nodes.teachers.index(teacher)
        counts = verdicts(reading)[:, t] == COUNTED
        draws = reading.draws[:, t]
        draws = np.where(np.isnan(draws), mean(draws)[:, None], draws)  # as in `tally.py`
        # what teacher and draw do not change is [N, 1]
        own = {
            name: getattr(nodes, name)[:, t, None]
            for name in MEASURES
            if hasattr(nodes, name) and "student" not in name
        }
        own |= {
            "student_entropy": nodes.student_entropy[:, None],
            "abs_teacher_advantage": np.abs(reading.teacher_advantage[:, t]),
        }
        for name in MEASURES:
            measured[name].append(own[name][counts])
        cosines.append(draws[counts])
        questions.append(np.full(int(counts.sum()), number))
    if len(cosines) > 1:  # the empty first one only stands in for no question at all
        cosines, questions = cosines[1:], questions[1:]
        measured = {name: parts[1:] for name, parts in measured.items()}
    joined = {name: np.concatenate(parts) for name, parts in measured.items()}
    return np.concatenate(cosines), joined, np.concatenate(questions)


def _of_draws(cosine: NDArray[np.float64], value: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Spearman's and Pearson's coefficient of each draw, [D, 2]."""
    if len(cosine) < LEAST_NODES:
        return np.full((1, 2), np.nan)
    ranks = _pearson(rankdata(cosine, axis=0), rankdata(value, axis=0))
    return np.stack([ranks, _pearson(cosine, value)], axis=-1)


def _of_replicates(
    cosine: NDArray[np.float64], value: NDArray[np.float64], question: NDArray[np.int64], seed: int
) -> NDArray[np.float64]:
    """Return both coefficients of each replicate: questions resampled, at one draw; [B, 2]."""
    places = [np.flatnonzero(question == one) for one in np.unique(question)]
    n_draws = cosine.shape[1]
    if len(places) < 2:
        return np.full((n_draws, 2), np.nan)
    times = resampled(len(places), n_draws, seed, max(n_draws, LEAST_REPLICATES)).astype(np.int64)
    found = np.full((*times.shape[:2], 2), np.nan)
    for draw, replicate in np.ndindex(*times.shape[:2]):
        rows = np.concatenate([np.repeat(place, n) for place, n in zip(places, times[draw, replicate], strict=True)])
        of_draw = value[rows, draw if value.shape[1] > 1 else 0]
        found[draw, replicate] = _of_draws(cosine[rows, draw, None], of_draw[:, None])[0]
    return found.reshape(-1, 2)


def _pearson(one: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the correlation down the first axis, [D]; NaN where either is constant. [N, 1] goes with every draw."""
    a, b = one - one.mean(axis=0), other - other.mean(axis=0)
    length = np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    varies = (np.ptp(one, axis=0) > 0) & (np.ptp(other, axis=0) > 0) & (length > 0)
    product = (a * b).sum(axis=0)
    found: NDArray[np.float64] = np.divide(product, length, out=np.full(product.shape, np.nan), where=varies)
    return found
