"""Success with what was cut or not judged taken for wrong, and taken for right."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT, UNVERIFIED
from opd_widgets.diagnosis.estimate.fit import fit
from opd_widgets.diagnosis.evidence import Evidence

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading


def success_bounds(reading: Reading) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the estimates of P_succ with all truncated and unverified rollouts wrong, and with all right, [M, C] each.

    By default a truncated one counts as not correct and an unverified one not at all. Without such rollouts both are
    the estimate itself.
    """
    evidence = reading.evidence
    if not any(drawn.truncated or drawn.outcome == UNVERIFIED for drawn in evidence.rollouts):
        return reading.fit.success, reading.fit.success
    return _with(reading, INCORRECT), _with(reading, CORRECT)


def _with(reading: Reading, outcome: int) -> NDArray[np.float64]:
    evidence = reading.evidence
    rollouts = tuple(
        replace(drawn, outcome=outcome) if drawn.truncated or drawn.outcome == UNVERIFIED else drawn
        for drawn in evidence.rollouts
    )
    other = Evidence(evidence.question, evidence.nodes, rollouts)
    # the tree and its places know nothing of outcomes: they need not be made again
    other.__dict__.update({name: getattr(evidence, name) for name in ("tree", "node_place", "candidate_place")})
    return fit(other, reading.settings.estimator, draws=1, seed=reading.settings.seed).success
