"""What can be said about a teacher at a node: an alignment, or why there is none to average."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.measures.support import POINTS_OUTSIDE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading

COUNTED = ""
NO_SIGNAL = "no signal"
TOO_FEW = "not enough visits"
VERDICTS = (COUNTED, NO_SIGNAL, POINTS_OUTSIDE, TOO_FEW)


def verdicts(reading: Reading) -> NDArray[np.object_]:
    """Return a verdict for each node and teacher, [M, T]: one of `VERDICTS`.

    - "not enough visits": fewer than two candidates have the visits of the support, and more rollouts would change it.
    - "points outside the support": p_S(K) or p_T(K) is below 0.9, so that no number on K is one to average.
    - "no signal": the alignment is undefined. On K no outcome differed from another, or the loss wants the student as
      it is, or the teacher gives probability 0 to a token of K (reverse KL), or there is one candidate only.
    - "": there is an alignment.
    """
    nodes = reading.evidence.nodes
    could = nodes.said_by_both
    few = (reading.n_support < 2) & (could.sum(axis=-1) >= 2)
    undefined = np.isnan(reading.draws).all(axis=-1)
    found = np.full(few.shape, COUNTED, object)
    found[undefined] = NO_SIGNAL
    found[reading.outside] = POINTS_OUTSIDE
    found[few] = TOO_FEW
    return found
