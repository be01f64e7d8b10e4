"""Rows that come from rollouts and not from a node's distributions: MiniLLM and Dr. GRPO, at every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from opd_widgets.diagnosis.alignments import renormalised
from opd_widgets.diagnosis.drawn import UNVERIFIED, Drawn
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.tables.candidates_taken import candidates_taken
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from opd_widgets.diagnosis.tables.verdict import COUNTED, NO_SIGNAL, TOO_FEW
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.node_gradient import NodeGradient, alignment, ideal, softmax_gradient
from opd_widgets.measures.sampled_gradients import dr_grpo, minillm
from opd_widgets.measures.support import ENOUGH_MASS, POINTS_OUTSIDE

if TYPE_CHECKING:
    import pandas as pd

    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.settings import DiagnosisSettings

MINILLM_COLUMNS = (
    "question", "node", "depth", "teacher", "n_support", "rollouts", "student_mass", "teacher_mass", "verdict",
    "alignment", "alignment_low", "alignment_high", "p_positive",
)  # fmt: skip
DR_GRPO_LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
DR_GRPO_COLUMNS = (
    "question", "node", "depth", "n_support", "student_mass", "verdict", "rollouts", "groups", "no_direction",
    "mean_cosine", *(f"q{round(100 * level):02d}" for level in DR_GRPO_LEVELS),
)  # fmt: skip
_STREAM = 0x6D696E69  # apart from the streams that drew the posterior
Advantages = Mapping[str, Sequence[NDArray[np.floating] | None]]


def minillm_rows(evidence: Evidence, settings: DiagnosisSettings, advantages: Advantages) -> pd.DataFrame:
    """Return the alignment of MiniLLM's gradient with the ideal one at each node, by teacher.

    Its signal at a candidate is the mean reward-to-go of the rollouts that are on-policy behind it: those of the same
    tree; what they cost to score is `minillm_cost`. K is the support of the exact rows, less the candidates that no
    scored rollout passes on-policy. Each draw takes a draw of P_succ, and reweighs the rollouts of each candidate at
    random (Bayesian bootstrap), for their mean is no better known; that of a single rollout does not vary, though it
    should. That both come from the same rollouts is not taken into account.

    Args:
        evidence: one question.
        settings: how it is read.
        advantages: by teacher, for each of the R rollouts log p_T - log p_S of its tokens, nats, [length of the
            rollout]; what lies before the node is not read. None, or NaN from the node on: not scored.

    Returns:
        One row a node and teacher: `question`, `node`, `depth`, `teacher`, `n_support`, `rollouts` behind the support,
        `student_mass` and `teacher_mass` on it, `verdict`, and the `alignment`: median of the draws, `_low`, `_high`,
        and `p_positive`. The numbers stand beside "points outside the support", too: those are not to be averaged.

    Raises:
        InvalidInputError: a teacher that the nodes do not have, or not one array for each rollout, as long as it.

    """
    import pandas as pd

    _check(evidence, advantages)
    reading = Reading.of(evidence, settings)
    rng = np.random.default_rng([settings.seed, _STREAM, *evidence.question.encode("utf-8", "surrogatepass")])
    behind = candidates_taken(evidence.nodes, evidence.rollouts)
    rows = []
    for teacher, scored in advantages.items():
        t = evidence.nodes.teachers.index(teacher)
        for node, passing in enumerate(behind):
            rows.append((evidence.question, node, int(evidence.nodes.depths[node]), teacher))
            rows[-1] += _minillm_row(reading, node, t, _rewards_to_go(evidence, node, passing, scored), rng)
    return pd.DataFrame(rows, columns=list(MINILLM_COLUMNS))


@dataclass(frozen=True)
class MinillmCost:
    """What a teacher has to score before MiniLLM's row is known.

    Args:
        rollouts: distinct ones that are on-policy behind a candidate of some node.
        scored_tokens: of these, those from the first such node on: each needs log p_T.
        read_tokens: all response tokens of these rollouts: the teacher reads them, and the prompt before each.

    """

    rollouts: int
    scored_tokens: int
    read_tokens: int


def minillm_cost(evidence: Evidence) -> MinillmCost:
    """Return what MiniLLM's row of a question costs each teacher; an identical response is scored once."""
    first: dict[tuple[int, ...], int] = {}
    behind = candidates_taken(evidence.nodes, evidence.rollouts)
    for depth, passing in zip(evidence.nodes.depths.tolist(), behind, strict=True):
        for row in passing:
            ids = tuple(evidence.rollouts[row].ids.tolist())
            first[ids] = min(depth, first.get(ids, depth))
    read = sum(len(ids) for ids in first)
    return MinillmCost(len(first), read - sum(first.values()), read)


def dr_grpo_rows(
    evidence: Evidence, settings: DiagnosisSettings, held_out: Sequence[Drawn], group: int = 8
) -> pd.DataFrame:
    """Return how Dr. GRPO's gradient of one group of rollouts lies to the ideal one, over groups, at each node.

    It knows no teacher: it is what a reward alone says with so many rollouts, to hold a teacher's alignment against.
    Held out are rollouts that are on-policy at the node and took no part in P_succ: from the same ones the cosine would
    be 1 by construction. Those that are unverified, or leave the support, are left out before they are grouped, in the
    order given; a last group that is not full is dropped. The ideal gradient is that at the posterior mean of P_succ;
    how unsure it is is not in these quantiles. A group whose outcomes are all equal has no direction.

    Args:
        evidence: one question.
        settings: how it is read.
        held_out: other rollouts of the same question; none of `evidence.rollouts`.
        group: G, rollouts in a group, two or more.

    Returns:
        One row a node: `question`, `node`, `depth`, `n_support`, `student_mass` on it, `verdict`, `rollouts` that could
        be grouped, `groups`, `no_direction` (their share without one), and over the others `mean_cosine` and quantiles
        `q05`, `q25`, `q50`, `q75`, `q95`.

    Raises:
        InvalidInputError: a held-out rollout that is among the evidence's, or a group that is no whole number of two or
            more.

    """
    import pandas as pd

    known = {id(drawn) for drawn in evidence.rollouts}
    again = [place for place, drawn in enumerate(held_out) if id(drawn) in known]
    if again:
        msg = (
            f"found {len(again)} held-out rollouts, the first at {again[0]}, among those that P_succ is estimated "
            "from, expected others: draw them anew, or leave them out of the evidence"
        )
        raise InvalidInputError(msg)
    size: Any = group
    if not isinstance(size, int | np.integer) or size < 2:
        msg = f"found group={group!r}, expected a whole number of two or more rollouts in a group"
        raise InvalidInputError(msg)
    reading = Reading.of(evidence, settings)
    judged = [drawn for drawn in held_out if drawn.outcome != UNVERIFIED]
    outcome = np.array([drawn.outcome for drawn in judged], np.int64)
    behind = candidates_taken(evidence.nodes, judged, chosen=True)
    rows = [
        (evidence.question, node, depth, *_dr_grpo_row(reading, node, behind[node], outcome, group))
        for node, depth in enumerate(evidence.nodes.depths.tolist())
    ]
    return pd.DataFrame(rows, columns=list(DR_GRPO_COLUMNS))


def _check(evidence: Evidence, advantages: Advantages) -> None:
    for teacher, scored in advantages.items():
        if teacher not in evidence.nodes.teachers:
            msg = f"found advantages of {teacher!r}, expected those of {', '.join(evidence.nodes.teachers)}"
            raise InvalidInputError(msg)
        if len(scored) != len(evidence.rollouts):
            msg = (
                f"found advantages of {len(scored)} rollouts under {teacher!r}, expected {len(evidence.rollouts)}: an "
                "array for each rollout, or None where it is not scored"
            )
            raise InvalidInputError(msg)
        for row, (one, drawn) in enumerate(zip(scored, evidence.rollouts, strict=True)):
            if one is not None and np.shape(one) != (len(drawn.ids),):
                msg = (
                    f"found advantages of shape {np.shape(one)} for rollout {row} under {teacher!r}, expected "
                    f"[{len(drawn.ids)}]: one for each of its ids"
                )
                raise InvalidInputError(msg)


def _rewards_to_go(
    evidence: Evidence, node: int, passing: Mapping[int, int], scored: Sequence[NDArray[np.floating] | None]
) -> dict[int, list[NDArray[np.float64]]]:
    """Return advantages from the node on of the scored rollouts, by the candidate that they take."""
    depth = int(evidence.nodes.depths[node])
    found: dict[int, list[NDArray[np.float64]]] = {}
    for row, column in passing.items():
        advantage = scored[row]
        to_end = None if advantage is None else np.asarray(advantage[depth:], np.float64)
        if to_end is not None and not np.isnan(to_end).any():
            found.setdefault(column, []).append(to_end)
    return found


def _minillm_row(
    reading: Reading, node: int, t: int, to_go: Mapping[int, list[NDArray[np.float64]]], rng: np.random.Generator
) -> tuple[Any, ...]:
    """Return the columns from `n_support` on."""
    nodes, kept = reading.evidence.nodes, reading.kept[node, t].copy()
    kept &= np.array([column in to_go for column in range(len(kept))], np.bool_)
    columns = np.flatnonzero(kept).tolist()
    mass = (_mass(nodes.student_logp[node], kept), _mass(nodes.teacher_logp[node, t], kept))
    taken = [(place, one) for place, column in enumerate(columns) for one in to_go[column]]
    found = (len(columns), len(taken), *mass)
    if len(columns) < 2:
        return (*found, TOO_FEW, *[np.nan] * 4)
    p = np.exp(renormalised(nodes.student_logp[node], kept))[columns]
    pulled = minillm(p, np.array([place for place, _ in taken]), [one for _, one in taken])
    success = np.clip(reading.fit.posterior[node, columns].astype(np.float64).T, 0.0, 1.0)  # [D, K]
    sums = [np.array([one.sum() for one in to_go[column]]) for column in columns]
    drawn = np.stack([rng.dirichlet(np.ones(len(one)), len(success)) @ one for one in sums], axis=-1)
    finite = np.isfinite(pulled.gradient).all()
    draws = alignment(ideal(p, success), softmax_gradient(p, drawn) if finite else pulled)
    if not _differs(reading, node, columns) or not np.isfinite(draws).any():
        return (*found, NO_SIGNAL, *[np.nan] * 4)
    middle, low, high = (float(one) for one in quantiles(draws, (0.5, *reading.settings.tails)))
    verdict = POINTS_OUTSIDE if min(mass) < ENOUGH_MASS else COUNTED
    return (*found, verdict, middle, low, high, float(mean(np.where(np.isnan(draws), np.nan, draws > 0))))


def _dr_grpo_row(
    reading: Reading, node: int, passing: Mapping[int, int], outcome: NDArray[np.int64], group: int
) -> tuple[Any, ...]:
    """Return the columns from `n_support` on."""
    nodes, fit = reading.evidence.nodes, reading.fit
    enough = (fit.visits[node] >= reading.settings.n_sig) | fit.known[node]
    kept = enough & (nodes.tokens[node] >= 0) & np.isfinite(nodes.student_logp[node])
    columns = np.flatnonzero(kept).tolist()
    mass = _mass(nodes.student_logp[node], kept)
    place_of = {column: place for place, column in enumerate(columns)}
    taken = [(place_of[column], int(outcome[row])) for row, column in passing.items() if column in place_of]
    groups = len(taken) // group
    nothing = [np.nan] * (len(DR_GRPO_LEVELS) + 2)
    if len(columns) < 2:
        return len(columns), mass, TOO_FEW, len(taken), groups, *nothing
    if not _differs(reading, node, columns):
        return len(columns), mass, NO_SIGNAL, len(taken), groups, *nothing
    verdict = POINTS_OUTSIDE if mass < ENOUGH_MASS else COUNTED
    if not groups:
        return len(columns), mass, verdict, len(taken), 0, *nothing
    p = np.exp(renormalised(nodes.student_logp[node], kept))[columns]
    grouped = np.array(taken[: groups * group], np.int64).reshape(groups, group, 2)
    pulled = dr_grpo(p, grouped[..., 0], grouped[..., 1].astype(np.float64))
    wanted = ideal(p, np.clip(mean(fit.posterior[node, columns]), 0.0, 1.0))
    alone = NodeGradient(wanted.signal[None], wanted.gradient[None])
    cosine = np.asarray(alignment(alone, pulled), np.float64)
    ends = [float(one) for one in quantiles(cosine, DR_GRPO_LEVELS)]
    none = float(np.isnan(cosine).mean())
    return len(columns), mass, verdict, len(taken), groups, none, float(mean(cosine)), *ends


def _differs(reading: Reading, node: int, columns: Sequence[int]) -> bool:
    """Return whether outcomes differ among the candidates of the support."""
    right, wrong = reading.fit.any_correct[node, columns], reading.fit.any_incorrect[node, columns]
    return bool(right.any() and wrong.any())


def _mass(logp: NDArray[np.float64], kept: NDArray[np.bool_]) -> float:
    return float(np.exp(logp[kept]).sum())
