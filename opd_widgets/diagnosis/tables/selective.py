"""Selective distillation as an oracle: what is left of a selection when other rollouts judge it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import UNVERIFIED
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.tables.bootstrap import resampled
from opd_widgets.diagnosis.tables.crossfit import through_nodes
from opd_widgets.diagnosis.tables.permuted import check_seed, null_of
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from opd_widgets.diagnosis.tables.ratios import interval, ratio
from opd_widgets.diagnosis.tables.verdict import COUNTED, verdicts
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.settings import DiagnosisSettings

THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(-9, 10))
LABEL = (
    "oracle: nodes are selected by their own measured alignment, which no training run knows. Split-half: select on "
    "one half of the rollouts, report on the other. Columns in _naive select and report on the same rollouts, and find "
    "a gain where there is none; columns in null_ are the same with outcomes permuted over the responses"
)
MEASURES = ("kept_share", "mean_cosine", "weighted_cosine")
VARIANTS = (("", ""), ("", "_naive"), ("null_", ""), ("null_", "_naive"))  # (before, behind) a measure's name
_ALL, _ALL_COSINE, _KEPT, _COSINE, _SPREAD, _SPREAD_COSINE = range(6)


def selective(
    evidences: Sequence[Evidence],
    settings: DiagnosisSettings,
    thresholds: Sequence[float] = THRESHOLDS,
    null_seed: int | None = None,
) -> pd.DataFrame:
    """Return what selecting nodes by alignment seems to gain, and what of it is chance.

    A node is kept where the posterior median of its alignment is above the threshold. Reported is the posterior mean of
    those kept, each node weighted by the verified initial rollouts through it; in `weighted_cosine`, by its success
    range as well. The rollouts of a question are dealt in two halves, in turn within each starting prefix; each half
    selects for the other, and both ways are added. A node takes part where both halves give it a number: a candidate of
    the support then needs `settings.n_sig` visits in a half.

    The null permutes outcomes over the distinct responses of each question, once, and goes through all the same again.
    Where responses repeat, a permuted outcome is as lasting as a real one: the split-half null then says what an oracle
    would gain from a teacher that knows nothing, which is not 0.

    Args:
        evidences: Q questions.
        settings: how they are read.
        thresholds: alignments, each above which nodes are kept.
        null_seed: of the permutation; that of the settings by default.

    Returns:
        One row a teacher and threshold: `teacher`, `threshold`, `n_questions` with a number, `mean_cosine_all` (of the
        nodes that take part, none selected), and `kept_share`, `mean_cosine`, `weighted_cosine`: split-half; the same
        with `_naive`, `null_`, and both. Each with `_low` and `_high`: bootstrap over questions, NaN with fewer than
        two. `attrs["label"]` says that it is an oracle.

    Raises:
        InvalidInputError: no sequence of thresholds, or one that is no number; a seed below 0, or no whole number.

    """
    cuts = _cuts(thresholds)
    check_seed(null_seed, settings)
    teachers = tuple(dict.fromkeys(name for one in evidences for name in one.nodes.teachers))
    sums = np.zeros((len(evidences), len(VARIANTS), len(cuts), len(teachers), 6))
    for question, evidence in enumerate(evidences):
        columns = [teachers.index(name) for name in evidence.nodes.teachers]
        null = null_of(evidence, settings, null_seed)
        sums[question][..., columns, :] = np.concatenate([_sums_of(one, settings, cuts) for one in (evidence, null)])
    table = _table(sums, cuts, teachers, settings)
    table.attrs.update(label=LABEL, n_questions=len(evidences))
    return table


def _cuts(thresholds: Any) -> NDArray[np.float64]:
    """Return thresholds as an array, [cuts]."""
    try:
        cuts = np.asarray(list(thresholds), np.float64)
    except (TypeError, ValueError):
        cuts = np.full((1, 1), np.nan)
    if isinstance(thresholds, str | bytes) or cuts.ndim != 1 or np.isnan(cuts).any():
        msg = f"found thresholds={thresholds!r}, expected a sequence of alignments from -1 to 1, such as [0.0, 0.5]"
        raise InvalidInputError(msg)
    return cuts


def split(evidence: Evidence) -> NDArray[np.bool_]:
    """Return which rollouts are of the first half, bool [R]: dealt in turn within each starting prefix.

    The first of a prefix goes to either half in turn, so that prefixes with one rollout do not all go to the same.
    """
    met: dict[bytes, list[int]] = {}
    first = np.zeros(len(evidence.rollouts), np.bool_)
    for row, drawn in enumerate(evidence.rollouts):
        known = met.setdefault(np.asarray(drawn.ids[: drawn.start], np.int64).tobytes(), [len(met), 0])
        first[row] = sum(known) % 2 == 0
        known[1] += 1
    return first


@dataclass(frozen=True, eq=False)
class _Judged:
    """Alignment of M nodes under T teachers as some rollouts give it: float64 [M, T], bool [M, T]."""

    median: NDArray[np.float64]
    mean: NDArray[np.float64]
    spread: NDArray[np.float64]
    counts: NDArray[np.bool_]

    @classmethod
    def of(cls, reading: Reading) -> _Judged:
        middle = quantiles(reading.draws, [0.5])[0]
        return cls(middle, mean(reading.draws), mean(reading.success_range), verdicts(reading) == COUNTED)


def _sums_of(evidence: Evidence, settings: DiagnosisSettings, cuts: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums of one question, split-half and naive, [2, cuts, T, 6]."""
    weight = through_nodes(evidence, evidence.initial & (evidence.outcome != UNVERIFIED))
    half = split(evidence)
    apart = replace(settings, seed=settings.seed + 1)  # the noise of draws in common would select as well
    one, other = _Judged.of(Reading.of(evidence, settings, half)), _Judged.of(Reading.of(evidence, apart, ~half))
    whole = _Judged.of(Reading.of(evidence, settings))
    crossed = _sums(one, other, weight, cuts) + _sums(other, one, weight, cuts)
    return np.stack([crossed, _sums(whole, whole, weight, cuts)])


def _sums(
    select: _Judged, report: _Judged, weight: NDArray[np.float64], cuts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what the means are made of, [cuts, T, 6]."""
    w = np.where(select.counts & report.counts, weight[:, None], 0.0)  # [M, T]
    cosine, spread = np.nan_to_num(report.mean), np.nan_to_num(report.spread)
    with np.errstate(invalid="ignore"):
        kept = w * (select.median > cuts[:, None, None])  # [cuts, M, T]
    whole = np.broadcast_to(w, kept.shape)
    parts = (whole, whole * cosine, kept, kept * cosine, kept * spread, kept * spread * cosine)
    return np.stack([part.sum(axis=1) for part in parts], axis=-1)


def _means(sums: NDArray[np.float64]) -> dict[str, NDArray[np.float64]]:
    """Return the means of sums over questions, [..., variants, cuts, T, 6], by column, [..., cuts, T]."""
    made = {"mean_cosine_all": ratio(sums[..., 0, :, :, _ALL_COSINE], sums[..., 0, :, :, _ALL])}
    over = {"kept_share": (_KEPT, _ALL), "mean_cosine": (_COSINE, _KEPT), "weighted_cosine": (_SPREAD_COSINE, _SPREAD)}
    for number, (before, behind) in enumerate(VARIANTS):
        for measure in MEASURES:
            above, below = (sums[..., number, :, :, part] for part in over[measure])
            made[f"{before}{measure}{behind}"] = ratio(above, below)
    return made


def _table(
    sums: NDArray[np.float64], cuts: NDArray[np.float64], teachers: tuple[str, ...], settings: DiagnosisSettings
) -> pd.DataFrame:
    import pandas as pd

    n_questions = (sums[:, 0, 0, :, _ALL] > 0).sum(axis=0) if len(cuts) else np.zeros(len(teachers), np.int64)
    columns: dict[str, object] = {
        "teacher": np.repeat(np.array(teachers, object), len(cuts)),
        "threshold": np.tile(cuts, len(teachers)),
        "n_questions": np.repeat(n_questions, len(cuts)),
    }
    times = resampled(len(sums), 1, settings.seed)[0] if len(sums) else np.zeros((1, 0))
    boots = _means(np.tensordot(times, sums, axes=1))
    for name, found in _means(sums.sum(axis=0)).items():
        low, high = interval(np.moveaxis(boots[name], 0, -1), settings.tails, n_questions)
        columns |= {name: found.T.ravel(), f"{name}_low": low.T.ravel(), f"{name}_high": high.T.ravel()}
    return pd.DataFrame(columns)
