"""Success with what was cut or not judged taken for wrong, and taken for right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT, UNVERIFIED
from opd_widgets.diagnosis.estimate.fit import Fit, fit
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.tables.quantiles import mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading


def success_bounds(reading: Reading) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `success` with all truncated and unverified rollouts wrong, and with all of them right, [M, C] each.

    By default a truncated one counts as not correct and an unverified one not at all. Without such rollouts both are
    what `success` gives. They hold it between them: where outcomes elsewhere in the tree, through what they say of how
    alike siblings are, or the noise of draws would push one past it, that one is it.
    """
    evidence, found = reading.evidence, success(reading.fit)
    if not any(drawn.truncated or drawn.outcome == UNVERIFIED for drawn in evidence.rollouts):
        return found, found
    wrong, right = success(_with(reading, INCORRECT)), success(_with(reading, CORRECT))
    return np.fmin(wrong, found), np.fmax(right, found)


def success(fitted: Fit) -> NDArray[np.float64]:
    """Return P_succ as tables give it, [M, C]; NaN where nothing is known.

    For "backup" the posterior mean: what is without bias there is rough, and may lie outside 0 to 1 and outside the
    interval. For "on_policy" and "pooled" the estimate itself, a share of rollouts.
    """
    return mean(fitted.posterior) if fitted.estimator == "backup" else fitted.success


def _with(reading: Reading, outcome: int) -> Fit:
    evidence = reading.evidence
    rollouts = tuple(
        replace(drawn, outcome=outcome) if drawn.truncated or drawn.outcome == UNVERIFIED else drawn
        for drawn in evidence.rollouts
    )
    other = Evidence(evidence.question, evidence.nodes, rollouts)
    # the tree and its places know nothing of outcomes: they need not be made again
    other.__dict__.update({name: getattr(evidence, name) for name in ("tree", "node_place", "candidate_place")})
    setting = reading.settings
    return fit(other, setting.estimator, draws=setting.draws, seed=setting.seed)
