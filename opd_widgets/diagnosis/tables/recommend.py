"""Which teacher or context to distil from, on which rollouts, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from opd_widgets.diagnosis.tables.best import EQUAL
from opd_widgets.diagnosis.tables.bootstrap import resampled, totals
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from opd_widgets.diagnosis.tables.ratios import ratio
from opd_widgets.diagnosis.tables.recommended_words import words
from opd_widgets.diagnosis.tables.tally import ALL as ALL_OUTCOMES
from opd_widgets.diagnosis.tables.tally import BY_OUTCOME, KINDS, SUMS, Tally
from opd_widgets.diagnosis.tables.verdict import COUNTED

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.settings import DiagnosisSettings

SURE = 0.9  # a probability from which on something is taken as so
ALL, INCORRECT_ONLY, NONE = "all", "incorrect only", "none"
OUTCOME_OF = {ALL: BY_OUTCOME.index(ALL_OUTCOMES), INCORRECT_ONLY: BY_OUTCOME.index("incorrect")}
COLUMNS = (
    *(
        "teacher",
        "on",
        "mean_cosine",
        "low",
        "high",
        "p_positive",
        "gain",
        "p_best",
        "n_questions",
        "n_nodes",
        "weight",
    ),
    "recommended",
)
UNLIKE = 0.1  # share by which the rollouts behind two teachers may differ before they are called so
_CORRECT = BY_OUTCOME.index("correct")
_COSINE = SUMS.index("cosine")
_COUNTED = KINDS.index(COUNTED)


@dataclass(frozen=True, eq=False, repr=False)
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

    def __repr__(self) -> str:
        """Return the recommendation in words: what a notebook shows."""
        return self.text


def recommend(
    tallies: Sequence[Tally], teachers: Sequence[str], settings: DiagnosisSettings, asked: int | None = None
) -> Recommendation:
    """Recommend a teacher and the rollouts to distil on, or none.

    Each option, a teacher on all or on incorrect rollouts only, has a mean cosine: over the nodes of those rollouts,
    cross-fitted. Its gain is on one scale for all options: the same sum over the nodes of all rollouts, those not
    distilled on counting 0, as "none" does. A large advantage or divergence counts for nothing.

    The rule, in this order:

    1. An option stands where its mean cosine is above 0 with a probability of 0.9 or more. Where none stands, none is
       recommended. One that was measured on a single question does not stand beside others measured on two or more,
       and is not compared with them: its `p_best` is 0.
    2. A teacher is taken on all rollouts, unless that does not stand, or its mean over correct rollouts is below 0 with
       a probability of 0.9 or more. That incorrect rollouts have the larger mean is no reason to drop the correct ones:
       they then help less, and still help.
    3. Of the teachers that stand, the one with the largest gain.

    Probabilities and intervals are over replicates: questions with replacement, and one draw of P_succ and of the
    rollouts' weights with each. With one question they say nothing about others; over a dozen or fewer they are rough.
    Each teacher is measured where it has an alignment, so that two may stand on different nodes. A cosine has no
    length: it says where a gradient points, and not how far training on it leads.

    Args:
        tallies: sums of each of Q questions, cross-fitted.
        teachers: T names.
        settings: level and seed.
        asked: how many questions were asked, those without a node too; Q where it is not said.

    Returns:
        A table of one row an option, "none" last: `teacher`, `on`, `mean_cosine` with `low` and `high`, `p_positive`
        (that its mean is above 0), `gain`, `p_best` (that its gain is the largest of all rows'; they sum to one),
        `n_questions` with a node that counts, `n_nodes` that count, `weight` (rollouts behind them), `recommended`; and
        a text. In a replicate in which n teachers have the
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
    p_best = float(measured.p_best[-1] if chosen is None else per_teacher[chosen // 2])
    surest = measured.surest if chosen is None else chosen
    says = words(
        table.iloc[surest],
        none=chosen is None,
        p_best=p_best,
        runner_up=None if against is None else (options[against][0], float(per_teacher[against // 2])),
        correct=(float(measured.correct[surest // 2]), float(measured.p_correct_hurts[surest // 2])),
        budget_share=share,
        level=settings.level,
        asked=len(tallies) if asked is None else asked,
        unlike=_unlike(measured, teachers),
        alone=_alone(measured, teachers),
    )
    name, on = (None, NONE) if chosen is None else options[chosen]
    return Recommendation(name, on, float(measured.p_positive[surest]), p_best, share, table, says)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of cosines and of weights by outcome, [Q, 3, T, D], each mean, [Q, 3, T, 1], and how many nodes.

    `posterior`: draws of the sum of cosines with plain counts for weights; `nodes`: int64 [3, T].
    """

    cosine: NDArray[np.float64]
    weight: NDArray[np.float64]
    middle: NDArray[np.float64]
    counted: NDArray[np.float64]
    posterior: NDArray[np.float64]
    nodes: NDArray[np.int64]

    @classmethod
    def of(cls, tallies: Sequence[Tally]) -> _Sums:
        return cls(
            np.stack([one.draws.sums[_COSINE].sum(axis=-2) for one in tallies]),
            np.stack([one.draws.weight.sum(axis=-2) for one in tallies]),
            np.stack([one.middle.sums[_COSINE].sum(axis=-2) for one in tallies]),
            np.stack([one.middle.weight.sum(axis=-2) for one in tallies]),
            np.stack([one.posterior.sum(axis=-2) for one in tallies]),
            np.sum([one.counts[_COUNTED].sum(axis=-1) for one in tallies], axis=0),
        )

    def replicates(
        self, times: NDArray[np.float64], kind: Literal["all", "questions", "posterior"] = "all"
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return mean cosine by outcome [3, T, B], and gain of each option [2T, B]; 0 where nothing is to be gained.

        What varies beside the questions: P_succ and the weights, nothing, or P_succ alone.
        """
        cosine = {"all": self.cosine, "questions": self.middle, "posterior": self.posterior}[kind]
        above, below = totals(times, cosine), totals(times, self.weight if kind == "all" else self.counted)
        gain = ratio(above, below[OUTCOME_OF[ALL]][None])
        # a sum's draws may reach a little past what a mean of cosines can be
        found = np.clip(ratio(above, below), -1.0, 1.0)
        return found, np.nan_to_num(np.clip(_by_option(gain), -1.0, 1.0))


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
    n_nodes: NDArray[np.int64]
    weight: NDArray[np.float64]
    correct: NDArray[np.float64]
    p_correct_hurts: NDArray[np.float64]

    @classmethod
    def of(cls, sums: _Sums, settings: DiagnosisSettings) -> _Options:
        n_questions, n_draws = len(sums.cosine), sums.cosine.shape[-1]
        point, gain = (values[..., 0] for values in sums.replicates(np.ones((1, 1, n_questions)), "questions"))
        taken, gains = sums.replicates(resampled(n_questions, n_draws, settings.seed))
        of_option = _by_option(taken)
        low, high = quantiles(of_option, settings.tails)
        behind = _by_option((sums.counted[..., 0] > 0).sum(axis=0))
        return cls(
            mean=_by_option(point),
            low=low,
            high=high,
            p_positive=_share(of_option, of_option > 0),
            gain=gain,
            p_best=_p_best(np.where(_comparable(behind)[:, None], gains, -np.inf)),
            n_questions=behind,
            n_nodes=_by_option(sums.nodes),
            weight=_by_option(sums.counted[..., 0].sum(axis=0)),
            correct=point[_CORRECT],
            p_correct_hurts=_share(taken[_CORRECT], taken[_CORRECT] < 0),
        )

    @property
    def surest(self) -> int:
        """The option that is surest to help, among those that can be compared."""
        return int(np.nanargmax(np.where(_comparable(self.n_questions), self.p_positive, np.nan)))


def _comparable(n_questions: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which options may stand beside the others: one question alone does not where others have two or more."""
    return np.asarray(n_questions >= min(2, int(n_questions.max(initial=0))), np.bool_)


def _alone(measured: _Options, teachers: Sequence[str]) -> list[str]:
    """Return the teachers that were measured, and cannot be compared."""
    beside = _comparable(measured.n_questions) & (measured.n_questions > 0)
    some = [bool(measured.n_questions[at : at + 2].any()) for at in range(0, len(beside), 2)]
    return [name for at, name in enumerate(teachers) if some[at] and not beside[2 * at : 2 * at + 2].any()]


def _unlike(measured: _Options, teachers: Sequence[str]) -> tuple[tuple[str, float], tuple[str, float]] | None:
    """Return the teachers with the least and the most rollouts behind them, where they differ by more than a tenth."""
    on_all = measured.weight[::2]
    there = np.flatnonzero(_comparable(measured.n_questions)[::2] & (on_all > 0))
    if not len(there):
        return None
    least, most = (int(there[pick(on_all[there])]) for pick in (np.argmin, np.argmax))
    if on_all[most] - on_all[least] <= UNLIKE * on_all[most]:
        return None
    return (teachers[least], float(on_all[least])), (teachers[most], float(on_all[most]))


def _by_option(values: NDArray[Any]) -> NDArray[Any]:
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
    stands = (measured.p_positive >= SURE) & _comparable(measured.n_questions)
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
    option = measured.surest if chosen is None else chosen
    beside = _comparable(measured.n_questions)
    others = [other for other in range(len(measured.gain)) if other // 2 != option // 2 and beside[other]]
    against = max(others, key=lambda other: measured.gain[other]) if others and chosen is not None else None
    spread = []
    kinds: tuple[tuple[NDArray[np.float64], Literal["questions", "posterior"]], ...] = (
        (np.ones((n_draws, 1, n_questions)), "posterior"),
        (resampled(n_questions, n_draws, settings.seed), "questions"),
    )
    for times, kind in kinds:
        gains = sums.replicates(times, kind)[1]
        spread.append(float(np.var(gains[option] - (0.0 if against is None else gains[against]))))
    total = sum(spread)
    return (spread[0] / total if n_questions > 1 and total > 0 else float("nan")), against


def _table(options: Sequence[tuple[str, str]], measured: _Options, chosen: int | None) -> pd.DataFrame:
    import pandas as pd

    nan, rows = float("nan"), []
    for at, (name, on) in enumerate(options):
        values = (measured.mean, measured.low, measured.high, measured.p_positive, measured.gain, measured.p_best)
        numbers = [float(one[at]) for one in values]
        behind = int(measured.n_questions[at]), int(measured.n_nodes[at]), float(measured.weight[at])
        rows.append((name, on, *numbers, *behind, at == chosen))
    rows.append(("", NONE, nan, nan, nan, nan, 0.0, float(measured.p_best[-1]), 0, 0, 0.0, chosen is None))
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _nothing(options: Sequence[tuple[str, str]]) -> Recommendation:
    """Return the recommendation where no node counts."""
    import pandas as pd

    nan = float("nan")
    rows = [(name, on, nan, nan, nan, nan, nan, nan, 0, 0, 0.0, False) for name, on in options]
    table = pd.DataFrame([*rows, ("", NONE, nan, nan, nan, nan, 0.0, nan, 0, 0, 0.0, True)], columns=list(COLUMNS))
    text = (
        "No teacher is recommended: no node has an alignment to average. Outcomes that differ and more rollouts "
        "through each important token would give one."
    )
    return Recommendation(None, NONE, nan, nan, nan, table, text)
