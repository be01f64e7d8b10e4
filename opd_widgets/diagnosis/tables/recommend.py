"""Which teacher or context to distil from, on which rollouts, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.tables.best import EQUAL
from opd_widgets.diagnosis.tables.bootstrap import resampled, totals
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from opd_widgets.diagnosis.tables.ratios import ratio
from opd_widgets.diagnosis.tables.recommended_words import words
from opd_widgets.diagnosis.tables.tally import ALL as ALL_OUTCOMES
from opd_widgets.diagnosis.tables.tally import BY_OUTCOME, SUMS, Tally

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.settings import DiagnosisSettings

SURE = 0.9  # a probability from which on something is taken as so
ALL, INCORRECT_ONLY, NONE = "all", "incorrect only", "none"
OUTCOME_OF = {ALL: BY_OUTCOME.index(ALL_OUTCOMES), INCORRECT_ONLY: BY_OUTCOME.index("incorrect")}
COLUMNS = ("teacher", "on", "mean_cosine", "low", "high", "p_positive", "gain", "p_best", "n_questions", "recommended")
_CORRECT = BY_OUTCOME.index("correct")
_COSINE = SUMS.index("cosine")


@dataclass(frozen=True, eq=False)
class Recommendation:
    """What to distil from.

    Args:
        teacher: its name; None where none is recommended.
        on: "all", "incorrect only", or "none".
        p_positive: probability that the mean cosine of what is recommended is above 0; where none is, the largest such
            probability of any. NaN where nothing could be measured.
        p_best: probability that this teacher, on all or on incorrect rollouts, has the largest gain; of "none", that no
            teacher gains.
        budget_share: share of the variance of the decision that comes from P_succ not being known, 0 to 1; the rest
            comes from the number of questions. NaN with fewer than two questions, or where nothing varies.
        table: one row an option; see `recommend`.
        text: the same in words.

    """

    teacher: str | None
    on: str
    p_positive: float
    p_best: float
    budget_share: float
    table: pd.DataFrame
    text: str

    def __str__(self) -> str:
        """Return the recommendation in words."""
        return self.text


def recommend(tallies: Sequence[Tally], teachers: Sequence[str], settings: DiagnosisSettings) -> Recommendation:
    """Recommend a teacher and the rollouts to distil on, or none.

    Each option, a teacher on all or on incorrect rollouts only, has a mean cosine: over the nodes of those rollouts,
    cross-fitted. Its gain is on one scale for all options: the same sum over the nodes of all rollouts, those not
    distilled on counting 0, as "none" does. A large advantage or divergence counts for nothing.

    The rule, in this order:

    1. An option stands where its mean cosine is above 0 with a probability of 0.9 or more. Where none stands, none is
       recommended.
    2. A teacher is taken on all rollouts, unless that does not stand, or its mean over correct rollouts is below 0 with
       a probability of 0.9 or more. That incorrect rollouts have the larger mean is no reason to drop the correct ones:
       they then help less, and still help.
    3. Of the teachers that stand, the one with the largest gain.

    Probabilities and intervals are over replicates: questions with replacement, and one posterior draw with each. With
    one question they are the posterior's alone. A cosine has no length: it says where a gradient points, and not how
    far training on it leads.

    Args:
        tallies: sums of each of Q questions, cross-fitted.
        teachers: T names.
        settings: level and seed.

    Returns:
        A table of one row an option, "none" last: `teacher`, `on`, `mean_cosine` with `low` and `high`, `p_positive`
        (that its mean is above 0), `gain`, `p_best` (that its gain is the largest of all rows'; they sum to one),
        `n_questions` with a node that counts, `recommended`; and a text. In a replicate in which n teachers have the
        largest gain, each counts 1/n.

    """
    options = [(name, on) for name in teachers for on in OUTCOME_OF]
    if not tallies or not options:
        return _nothing(options)
    known = _Sums.of(tallies)
    measured = _Options.of(known, settings)
    if not np.isfinite(measured.mean).any():
        return _nothing(options)
    chosen = _choose(measured, len(teachers))
    table = _table(options, measured, chosen)
    share, against = _budget_share(known, measured, settings, chosen)
    per_teacher = measured.p_best[:-1].reshape(len(teachers), 2).sum(axis=1)
    best = -1 if chosen is None else chosen // 2
    p_best = float(measured.p_best[-1] if chosen is None else per_teacher[best])
    surest = int(np.nanargmax(measured.p_positive)) if chosen is None else chosen
    says = words(
        table.iloc[surest],
        none=chosen is None,
        p_best=p_best,
        runner_up=None if against is None else (options[against][0], float(per_teacher[against // 2])),
        correct=(float(measured.correct[surest // 2]), float(measured.p_correct_hurts[surest // 2])),
        budget_share=share,
        level=settings.level,
        n_questions=len(tallies),
    )
    name, on = (None, NONE) if chosen is None else options[chosen]
    return Recommendation(name, on, float(measured.p_positive[surest]), p_best, share, table, says)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of cosines, draws of them [Q, 3, T, D], and of weights [Q, 3, T, 1], by outcome."""

    cosine: NDArray[np.float64]
    weight: NDArray[np.float64]

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> _Sums:
        cosine = np.stack([one.sums[_COSINE].sum(axis=-2) for one in tallies])
        return cls(cosine, np.stack([one.weight.sum(axis=-1) for one in tallies])[..., None])

    def replicates(
        self, times: NDArray[np.float64], *, posterior: bool = True
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean cosine by outcome [3, T, B], and gain of each option [2T, B]; 0 where nothing is to be gained."""
        cosine = self.cosine if posterior else self.cosine.mean(axis=-1, keepdims=True)
        above, below = totals(times, cosine), totals(times, self.weight)
        gain = ratio(above, below[OUTCOME_OF[ALL]][None])
        return ratio(above, below), np.nan_to_num(_by_option(gain))


@dataclass(frozen=True, eq=False)
class _Options:
    """What is known of each option: float64 [2T], a teacher's two side by side; `p_best` [2T + 1], that of none last.

    `correct`, the mean cosine over correct rollouts, and `p_correct_hurts`, that it is below 0: [T].
    """

    mean: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    p_positive: NDArray[np.float64]
    gain: NDArray[np.float64]
    p_best: NDArray[np.float64]
    n_questions: NDArray[np.int64]
    correct: NDArray[np.float64]
    p_correct_hurts: NDArray[np.float64]

    @classmethod
    def of(cls, sums: _Sums, settings: DiagnosisSettings) -> _Options:
        n_questions, n_draws = len(sums.cosine), sums.cosine.shape[-1]
        point, gain = (values[..., 0] for values in sums.replicates(np.ones((1, 1, n_questions)), posterior=False))
        taken, gains = sums.replicates(resampled(n_questions, n_draws, settings.seed))
        of_option = _by_option(taken)
        low, high = quantiles(of_option, settings.tails)
        return cls(
            mean=_by_option(point[..., None])[:, 0],
            low=low,
            high=high,
            p_positive=_share(of_option, of_option > 0),
            gain=gain,
            p_best=_p_best(gains),
            n_questions=_by_option((sums.weight > 0).sum(axis=0).astype(np.float64))[:, 0].astype(np.int64),
            correct=point[_CORRECT],
            p_correct_hurts=_share(taken[_CORRECT], taken[_CORRECT] < 0),
        )


def _by_option(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return values by outcome, [3, T, ...], as [2T, ...] by option."""
    picked = np.stack([values[outcome] for outcome in OUTCOME_OF.values()], axis=1)
    return picked.reshape(-1, *values.shape[2:])


def _p_best(gains: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return how often each option has the largest of the gains [2T, B], and last how often none has any: [2T + 1]."""
    largest = gains.max(axis=0)
    none = largest <= EQUAL
    top = (gains >= largest - EQUAL) & ~none
    top[1::2] &= ~top[::2]  # incorrect rollouts gain as much as all: there are no others, or they count for nothing
    share = top / np.maximum(top.sum(axis=0), 1)
    found: NDArray[np.float64] = np.append(share.mean(axis=1), none.mean())
    return found


def _share(values: NDArray[np.float64], so: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the share of replicates in which it is so, among those that have a value."""
    return mean(np.where(np.isnan(values), np.nan, so))


def _choose(measured: _Options, n_teachers: int) -> int | None:
    """Return the option that the rule takes, or None."""
    stands = measured.p_positive >= SURE
    taken = []
    for teacher in range(n_teachers):
        everywhere, incorrect = 2 * teacher, 2 * teacher + 1
        hurts = measured.p_correct_hurts[teacher] >= SURE
        if stands[incorrect] and (hurts or not stands[everywhere]):
            taken.append(incorrect)
        elif stands[everywhere]:
            taken.append(everywhere)
    return max(taken, key=lambda option: measured.gain[option]) if taken else None


def _budget_share(
    sums: _Sums, measured: _Options, settings: DiagnosisSettings, chosen: int | None
) -> tuple[float, int | None]:
    """Return which share of the decision's variance the posterior makes, and the best option of another teacher.

    The decision is the chosen option's lead in gain over that one; without another teacher, its gain; where none is
    chosen, the gain of the option that is surest to have one.
    """
    n_questions, n_draws = len(sums.cosine), sums.cosine.shape[-1]
    option = int(np.nanargmax(measured.p_positive)) if chosen is None else chosen
    others = [other for other in range(len(measured.gain)) if other // 2 != option // 2]
    against = max(others, key=lambda other: measured.gain[other]) if others and chosen is not None else None
    spread = []
    for times, posterior in (
        (np.ones((n_draws, 1, n_questions)), True),
        (resampled(n_questions, n_draws, settings.seed), False),
    ):
        gains = sums.replicates(times, posterior=posterior)[1]
        spread.append(float(np.var(gains[option] - (0.0 if against is None else gains[against]))))
    total = sum(spread)
    return (spread[0] / total if n_questions > 1 and total > 0 else float("nan")), against


def _table(options: Sequence[tuple[str, str]], measured: _Options, chosen: int | None) -> pd.DataFrame:
    import pandas as pd

    nan, rows = float("nan"), []
    for at, (name, on) in enumerate(options):
        values = (measured.mean, measured.low, measured.high, measured.p_positive, measured.gain, measured.p_best)
        numbers = [float(one[at]) for one in values]
        rows.append((name, on, *numbers, int(measured.n_questions[at]), at == chosen))
    rows.append(("", NONE, nan, nan, nan, nan, 0.0, float(measured.p_best[-1]), 0, chosen is None))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _nothing(options: Sequence[tuple[str, str]]) -> Recommendation:
    """Return the recommendation where no node counts."""
    import pandas as pd

    nan = float("nan")
    rows = [(name, on, nan, nan, nan, nan, nan, nan, 0, False) for name, on in options]
    table = pd.DataFrame([*rows, ("", NONE, nan, nan, nan, nan, 0.0, nan, 0, True)], columns=list(COLUMNS))
    text = (
        "No teacher is recommended: no node has an alignment to average. Outcomes that differ and more rollouts "
        "through each important token would give one."
    )
    return Recommendation(None, NONE, nan, nan, nan, table, text)
