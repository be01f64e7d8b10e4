"""E_y[cos] of single-sample distillation, at all nodes and teachers of a question at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.alignments import renormalised
from opd_widgets.measures.node_gradient import alignment, ideal, softmax_gradient

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.nodes import Nodes


def expected_cosine(nodes: Nodes, success: NDArray[np.floating], kept: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the expected cosine when one token y ~ p_S is sampled, over the y of K where it is defined, [M, T].

    What `opd.gradients.single_sample_alignment` gives node by node as `expected`. It is not the cosine of the mean
    gradient, which is the reverse KL's.

    Args:
        nodes: M nodes, T teachers, C candidates.
        success: P_succ, [M, C], 0 to 1; read on K only.
        kept: K, bool [M, T, C].

    """
    if not kept.size:
        return np.full(kept.shape[:2], np.nan)
    p = np.exp(renormalised(nodes.student_logp[:, None], kept))
    wanted = ideal(p, np.where(kept, success[:, None], 0.0))
    with np.errstate(invalid="ignore"):
        raw = nodes.teacher_logp - nodes.student_logp[:, None]
    total, mass = np.zeros(p.shape[:2]), np.zeros(p.shape[:2])
    for y in range(p.shape[-1]):
        at = np.arange(p.shape[-1]) == y
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            force = np.where(at, raw[..., y : y + 1] / p, 0.0)
        cosine = alignment(wanted, softmax_gradient(p, force))
        defined = ~np.isnan(cosine)  # a y outside K has probability 0 here
        total += np.where(defined, p[..., y] * cosine, 0.0)
        mass += np.where(defined, p[..., y], 0.0)
    found: NDArray[np.float64] = np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), np.nan)
    return found
