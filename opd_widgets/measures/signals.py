"""The registry of per-token signals.

Tiers say what a signal needs: L1 the sampled token's log-probabilities; L1+C the same in several contexts; L2 the
likeliest tokens of one or both sides; L3 the full vocabulary (streamed, never stored); L4 success probabilities.

No signal here says whether a teacher helps. A large |advantage| is a large disagreement and nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import MissingSignalError
from opd_widgets.measures.distribution_signals import DISTRIBUTION_SIGNALS
from opd_widgets.measures.sampled_signals import SAMPLED_SIGNALS
from opd_widgets.measures.signal import Signal, SignalSettings
from opd_widgets.measures.unscored_signals import UNSCORED_SIGNALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.measures.measured import Measured

# in the order of a reader's interest: a view shows the first ones first
_FIRST = ("advantage", "reverse_kl", "forward_kl", "jsd", "student_entropy", "teacher_entropy")
_ALL = {signal.name: signal for signal in (*SAMPLED_SIGNALS, *DISTRIBUTION_SIGNALS, *UNSCORED_SIGNALS)}

REGISTRY: dict[str, Signal] = {name: _ALL[name] for name in (*_FIRST, *(name for name in _ALL if name not in _FIRST))}


def get_signal(name: str) -> Signal:
    """Return a signal by its registry name.

    Raises:
        MissingSignalError: no such signal; the message lists those there are.

    """
    if name not in REGISTRY:
        msg = f"no signal {name!r}; there are {', '.join(REGISTRY)}"
        raise MissingSignalError(msg)
    return REGISTRY[name]


def compute_signals(
    measured: Measured, settings: SignalSettings | None = None, *, per_teacher: bool, whole: bool = True
) -> dict[str, NDArray[np.float32]]:
    """Compute every signal that these measurements allow.

    Args:
        measured: what was measured along one response of R tokens.
        settings: parameters of the signals.
        per_teacher: True for signals of a teacher, False for the student's own.
        whole: whether the response is measured to its end; otherwise signals that depend on the rest are NaN.

    Returns:
        float32 [R] by name; signals whose needs are unmet are absent.

    """
    settings = settings or SignalSettings()
    unknown = np.full(len(measured.counted), np.nan, np.float32)
    found = {}
    for signal in REGISTRY.values():
        if signal.per_teacher == per_teacher and signal.compute is not None and signal.unmet(measured) is None:
            partial = signal.whole and not whole
            found[signal.name] = unknown if partial else np.asarray(signal.compute(measured, settings), np.float32)
    return found
