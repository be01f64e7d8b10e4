"""One question whose rollout stands at a node of every kind, spelled out by hand."""

from __future__ import annotations

import numpy as np

from opd_widgets.diagnosis.result import Diagnosis
from tests.diagnosis.handmade import evidence, rollout

# the rollout [0, 0, 0, 0, 0]: a node with an alignment, one without a signal (the teacher wants the student as it is),
# one whose tokens hold 0.7 of the probability, one with a single tried token, and a token that is no node
NODES = {
    (): {0: (0.75, 0.5), 1: (0.25, 0.5)},
    (0,): {0: (0.5, 0.5), 1: (0.5, 0.5)},
    (0, 0): {0: (0.5, 0.2), 1: (0.2, 0.5)},
    (0, 0, 0): {0: (0.6, 0.5), 1: (0.4, 0.5)},
}
KINDS = ["", "no signal", "points outside the support", "not enough visits"]
PIECES = {"0": "<b>a</b>", "1": " z"}


def marked() -> Diagnosis:
    """Return its diagnosis: everything that begins with token 0 ends correct, but for one path; token 1 ends wrong."""
    half = float(np.log(0.5))
    rollouts = [
        rollout([0, 0, 0, 0, 0], 1, logp=[float(np.log(0.75)), half, half, float(np.log(0.6)), half]),
        rollout([1], 0, logp=[float(np.log(0.25))]),
        rollout([0, 1], 0, logp=[float(np.log(0.75)), half]),
        rollout([0, 0, 1], 0, logp=[float(np.log(0.75)), half, float(np.log(0.2))]),
        rollout([0, 0, 0, 0, 0], 1, logp=[float(np.log(0.75)), half, half, float(np.log(0.6)), half]),
    ]
    about = {"pieces": PIECES, "titles": {"q": "What is <i>it</i>?"}, "student": "by hand"}
    return Diagnosis((evidence(NODES, rollouts),), about=about)
