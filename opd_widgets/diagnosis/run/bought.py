"""What the rollouts of a running diagnosis have bought so far: intervals of the alignment, roughly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.tables.bootstrap import resampled, totals
from opd_widgets.diagnosis.tables.crossfit import through_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.run.rounds import Rounds
    from opd_widgets.diagnosis.settings import DiagnosisSettings

DRAWS = 64  # posterior draws behind what is shown; the result has more
SURE = 0.95  # the sign of an alignment is sure when it is as probable as that
WIDEST = 8  # nodes named


@dataclass(frozen=True)
class TeacherBought:
    """One teacher's nodes, over all questions read so far.

    Args:
        name: the teacher's.
        nodes: all of them.
        scored: those with an alignment.
        sure: those among them whose sign is sure.
        width: median width of the alignment's interval there; NaN without any.
        mean_width: mean width; where most nodes have two tokens, most intervals are 0 or 2 wide and their median is 0.
        mean: posterior mean of the cosine, over the nodes with an alignment that do not point outside the support, each
            as often as initial rollouts with a verdict pass it, as in a summary, which keeps those that count a node
            out of its estimate besides; NaN without any.
        low: lower end of its interval, over questions and posterior; with one question, over the posterior alone.
        high: upper end.

    """

    name: str
    nodes: int
    scored: int
    sure: int
    width: float
    mean_width: float
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class OpenNode:
    """A node with a wide interval, under the teacher for whom it is widest.

    Args:
        question: its place among the questions.
        node: its place among the question's nodes.
        teacher: name.
        middle: posterior median of the alignment.
        low: lower end of its interval.
        high: upper end.

    """

    question: int
    node: int
    teacher: str
    middle: float
    low: float
    high: float

    @property
    def width(self) -> float:
        """Of the interval."""
        return self.high - self.low


@dataclass(frozen=True)
class Bought:
    """What is known by now.

    Args:
        teachers: one record each.
        width: median width of all intervals; NaN without any.
        mean_width: mean width of all.
        widest: the nodes with the widest intervals, the widest first.

    """

    teachers: tuple[TeacherBought, ...]
    width: float
    mean_width: float
    widest: tuple[OpenNode, ...]

    @classmethod
    def of(cls, state: Rounds, settings: DiagnosisSettings) -> Bought:
        """Read the questions whose nodes are read; nothing of the run changes by it."""
        rough = replace(settings, draws=min(DRAWS, settings.draws))
        nodes = [*state.nodes]
        read = [
            _Read.of(place, Reading.of(state.evidence(place), rough)) for place, its in enumerate(nodes) if len(its)
        ]
        if not read:
            return cls((), np.nan, np.nan, ())
        widths = np.concatenate([(one.high - one.low)[one.known] for one in read])
        names = nodes[read[0].question].teachers
        teachers = tuple(_teacher(index, name, read, settings) for index, name in enumerate(names))
        return cls(teachers, _median(widths), _mean(widths), _widest(read, names))

    @property
    def scored(self) -> int:
        """Pairs of node and teacher with an alignment."""
        return sum(one.scored for one in self.teachers)

    @property
    def sure(self) -> int:
        """Pairs of node and teacher whose sign is sure."""
        return sum(one.sure for one in self.teachers)


@dataclass(frozen=True, eq=False)
class _Read:
    """A question's M nodes under T teachers, [M, T] each, `draws` [M, T, D]; `passing` [M], the rollouts that count."""

    question: int
    passing: NDArray[np.float64]
    draws: NDArray[np.float64]
    known: NDArray[np.bool_]
    sure: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    low: NDArray[np.float64]
    middle: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, question: int, reading: Reading) -> _Read:
        draws = reading.draws
        known = np.asarray(~np.isnan(draws).any(axis=-1), np.bool_)
        positive = (draws > 0).mean(axis=-1)
        low, middle, high = (np.full(known.shape, np.nan) for _ in range(3))
        tails = reading.settings.tails
        if known.any():
            low[known], middle[known], high[known] = np.quantile(draws[known], (tails[0], 0.5, tails[1]), axis=-1)
        sure = known & (np.maximum(positive, 1 - positive) >= SURE)
        evidence = reading.evidence
        counted = evidence.initial & np.isin(evidence.outcome, (CORRECT, INCORRECT))
        passes = through_nodes(evidence, counted)
        return cls(question, passes, draws, known, sure, known & ~reading.outside, low, middle, high)


def _teacher(index: int, name: str, read: list[_Read], settings: DiagnosisSettings) -> TeacherBought:
    widths = np.concatenate([(one.high - one.low)[one.known[:, index], index] for one in read])
    mean, low, high = _mean_cosine(index, read, settings)
    return TeacherBought(
        name=name,
        nodes=sum(len(one.known) for one in read),
        scored=len(widths),
        sure=sum(int(one.sure[:, index].sum()) for one in read),
        width=_median(widths),
        mean_width=_mean(widths),
        mean=mean,
        low=low,
        high=high,
    )


def _mean_cosine(index: int, read: list[_Read], settings: DiagnosisSettings) -> tuple[float, float, float]:
    """Return the mean of a teacher's cosines and the ends of its interval; NaN where no node counts."""
    inside = [one.inside[:, index] for one in read]
    weight = np.array([one.passing[here].sum() for one, here in zip(read, inside, strict=True)])  # [Q]
    if not weight.any():
        return np.nan, np.nan, np.nan
    sums = np.stack([one.passing[here] @ one.draws[here, index] for one, here in zip(read, inside, strict=True)])
    mean = float(sums.sum(axis=0).mean() / weight.sum())
    some = weight > 0
    questions = int(some.sum())
    times = np.ones((sums.shape[1], 1, 1)) if questions == 1 else resampled(questions, sums.shape[1], settings.seed)
    spread = totals(times, sums[some]) / totals(times, weight[some, None])
    low, high = np.quantile(spread, settings.tails)
    return mean, float(low), float(high)


def _median(widths: NDArray[np.float64]) -> float:
    return float(np.median(widths)) if len(widths) else np.nan


def _mean(widths: NDArray[np.float64]) -> float:
    return float(widths.mean()) if len(widths) else np.nan


def _widest(read: list[_Read], teachers: tuple[str, ...]) -> tuple[OpenNode, ...]:
    """Return the nodes with the widest intervals, each once."""
    found = []
    for one in read:
        width = np.where(one.known, one.high - one.low, -np.inf)
        if not width.size:
            continue
        whose = width.argmax(axis=1)
        rows = np.argsort(-width.max(axis=1), kind="stable")[:WIDEST]
        for row in rows[width.max(axis=1)[rows] > 0]:
            its = (int(row), int(whose[row]))
            ends = float(one.middle[its]), float(one.low[its]), float(one.high[its])
            found.append(OpenNode(one.question, its[0], teachers[its[1]], *ends))
    return tuple(sorted(found, key=lambda node: -node.width)[:WIDEST])
