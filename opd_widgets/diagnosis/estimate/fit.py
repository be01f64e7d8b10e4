"""Success probabilities of a question's candidates: an estimate by name, and draws that say how sure it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from opd_widgets.diagnosis.estimate.backup import backed_up
from opd_widgets.diagnosis.estimate.posterior import Posterior, beta
from opd_widgets.diagnosis.estimate.visits import Visits
from opd_widgets.diagnosis.evidence import NOWHERE
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence

Estimator = Literal["backup", "on_policy", "pooled"]
ESTIMATORS: tuple[str, ...] = get_args(Estimator)
DRAWS = 200
PRIOR_VISITS = 2.0  # of `pooled` and `on_policy`: each candidate is shrunk toward the question's success by so many
MOST_NUMBERS = 4_000_000  # draws of all places held at a time: 32 MB an array


@dataclass(frozen=True, eq=False)
class Fit:
    """Success of one question's candidates.

    Args:
        estimator: "backup", "on_policy" or "pooled".
        visits: int64 [M, C], rollouts that the estimate counts at each candidate; 0 where there is no candidate.
        success: float64 [M, C], the estimate of P_succ; NaN without a visit. That of `backup` is without bias and may
            lie a little outside 0 to 1.
        posterior: float32 [M, C, D], draws of P_succ, 0 to 1; NaN where there is no candidate. A candidate without a
            visit has draws too: wide ones.
        known: bool [M, C], whether the response ends with the candidate, so that one visit says all.
        any_correct: bool [M, C], whether a rollout that the estimate sees there ended correct.
        any_incorrect: bool [M, C], whether one ended incorrect.

    """

    estimator: Estimator
    visits: NDArray[np.int64]
    success: NDArray[np.float64]
    posterior: NDArray[np.float32]
    known: NDArray[np.bool_]
    any_correct: NDArray[np.bool_]
    any_incorrect: NDArray[np.bool_]


def fit(
    evidence: Evidence,
    estimator: Estimator = "backup",
    use: NDArray[np.bool_] | None = None,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Fit:
    """Estimate the success of a question's candidates.

    - `pooled`: the share of correct ones among all rollouts through a candidate, forced further on or not: the paper's
      counts, as we read them. Forced ones bias it.
    - `on_policy`: among those that are on-policy behind the candidate: without that bias.
    - `backup`: from the children and their exact probabilities; see `estimate/backup.py`. Its draws know every
      path seen for certain; see `estimate/posterior.py`.

    Args:
        evidence: nodes and rollouts.
        estimator: by name.
        use: which rollouts may count, bool [R]; None for all.
        draws: D.
        seed: of the draws, 0 or more.

    Raises:
        InvalidInputError: an unknown estimator, or a `use` of another length.

    """
    if estimator not in ESTIMATORS:
        msg = f"found estimator {estimator!r}, expected one of {', '.join(ESTIMATORS)}"
        raise InvalidInputError(msg)
    weight = evidence.weights(use)
    visits = Visits.of(evidence, weight)
    place = evidence.candidate_place
    counted = visits.all if estimator == "pooled" else visits.own
    right = visits.all_correct if estimator == "pooled" else visits.own_correct
    n, s = _at(place, counted), _at(place, right)
    posterior: NDArray[np.floating]
    rng = np.random.default_rng([seed, *evidence.question.encode("utf-8", "surrogatepass")])
    if estimator == "backup":
        success = _at(place, backed_up(evidence.tree, visits), np.nan)
        posterior = _backup_draws(evidence, visits, weight, draws, rng)
    else:
        success = s / np.where(n > 0, n, np.nan)
        base = (visits.own_correct[0] + 0.5) / (visits.own[0] + 1)
        shape = (*n.shape, draws)
        a, b = PRIOR_VISITS * base + s, PRIOR_VISITS * (1 - base) + n - s
        posterior = beta(np.broadcast_to(a[..., None], shape), np.broadcast_to(b[..., None], shape), rng)
    known = _at(place, evidence.tree.ends.astype(np.float64)) > 0
    if estimator != "backup":
        posterior = np.where((known & (n > 0))[..., None], success[..., None], posterior)
    posterior = np.where((evidence.nodes.tokens >= 0)[..., None], posterior, np.nan)
    # `backup` learns from what was forced further on, too
    passed, right = (n, s) if estimator == "on_policy" else (_at(place, visits.all), _at(place, visits.all_correct))
    return Fit(
        estimator,
        n.astype(np.int64),
        success,
        posterior.astype(np.float32),
        known & (n > 0),
        any_correct=right > 0,
        any_incorrect=passed > right,
    )


def _backup_draws(
    evidence: Evidence, visits: Visits, weight: NDArray[np.float64], draws: int, rng: np.random.Generator
) -> NDArray[np.float32]:
    tree, place, node = evidence.tree, evidence.candidate_place, evidence.node_place
    length = np.array([len(drawn.ids) for drawn in evidence.rollouts], np.float64)
    total = tree.count(weight * length, on_policy=False)
    posterior = Posterior(tree, visits, total / np.maximum(visits.all, 1) - tree.depth)
    seen = (place != NOWHERE) & (_at(place, visits.all) > 0)
    # what no rollout passed lies around the node, or where that is new too, around the whole question
    blind = (evidence.nodes.tokens >= 0) & ~seen
    around = np.broadcast_to(np.where(node == NOWHERE, 0, node)[:, None], place.shape)[blind]
    found, start = np.full((*place.shape, draws), np.nan, np.float32), 0
    for size in _sizes(draws, max(1, MOST_NUMBERS // len(tree))):
        level, value = posterior.draw(size, rng)
        here = found[..., start : start + size]
        here[seen], here[blind] = value[place[seen]], posterior.unvisited(around, level, rng)
        start += size
    # rounding, as of a server's log-probabilities, may make what was seen a little more than everything
    return np.clip(found, 0.0, 1.0, out=found)


def _at(place: NDArray[np.int64], values: NDArray[np.float64], missing: float = 0.0) -> NDArray[np.float64]:
    return np.where(place == NOWHERE, missing, values[np.where(place == NOWHERE, 0, place)])


def _sizes(total: int, most: int) -> list[int]:
    return [min(most, total - start) for start in range(0, total, most)]
