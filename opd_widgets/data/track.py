"""Log-probabilities of one model along one response."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.plain import array_of, floats_of
from opd_widgets.errors import RolloutError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from opd_widgets.data.topk import TopK

CENSORED_AT = -9999.0  # servers write this for "too unlikely to say"
ROUNDING = 1e-3  # a probability of one may come back this much above zero from a float32 or bfloat16 engine


@dataclass(frozen=True)
class Provenance:
    """Where log-probabilities come from; unlike tracks are not subtracted silently.

    Args:
        engine: what computed them ("transformers", "vllm", ...).
        model: the model's name.
        dtype: the precision of the computation, "unknown" if not recorded.
        temperature: what the logits were divided by before the softmax.
        logprob_mode: "raw" (before temperature and truncation), "processed", or "unknown".

    """

    engine: str = "unknown"
    model: str = "unknown"
    dtype: str = "unknown"
    temperature: float | None = None
    logprob_mode: str = "unknown"

    def differences(self, other: Provenance) -> list[str]:
        """Name the settings, both known, in which two tracks differ; the model is meant to differ."""
        found = []
        for name in ("engine", "dtype", "temperature", "logprob_mode"):
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs and "unknown" not in (mine, theirs) and None not in (mine, theirs):
                found.append(f"{name} {mine} against {theirs}")
        return found


@dataclass(frozen=True, eq=False)
class LogprobTrack:
    """One log-probability for each response token, at the token it scores.

    Args:
        logprobs: float32 [R], nats. NaN is missing; -inf is a value.
        rank: int32 [R], 1 = likeliest, 0 = not known; optional.
        entropy: float32 [R], nats, of the full next-token distribution; optional.
        topk: the likeliest tokens at each position; optional.
        censored: bool [R], True where a server said only "less likely than I report"; its value is -inf.
        provenance: engine, model, dtype, temperature and mode.
        context_hash: names the prompt the model saw, so that tracks of two contexts are not confused.

    Raises:
        RolloutError: a log-probability above 0, or arrays of different lengths.

    """

    logprobs: NDArray[np.float32]
    rank: NDArray[np.int32] | None = None
    entropy: NDArray[np.float32] | None = None
    topk: TopK | None = None
    censored: NDArray[np.bool_] | None = None
    provenance: Provenance = field(default_factory=Provenance)
    context_hash: str = ""

    def __post_init__(self) -> None:
        """Coerce dtypes, turn sentinels into -inf, compare lengths."""
        logprobs = array_of("logprobs", self.logprobs, np.float32).reshape(-1)
        sentinel = logprobs <= CENSORED_AT
        censored = sentinel & np.isfinite(logprobs)
        if self.censored is not None:
            censored |= _aligned("censored", self.censored, len(logprobs), np.bool_)
        logprobs[censored] = -np.inf
        above = np.flatnonzero(logprobs > ROUNDING)
        if above.size:
            where = int(above[0])
            msg = (
                f"found a log-probability above 0: {logprobs[where]:.6g} at token {where}; expected natural logarithms "
                "of probabilities. Check for plain probabilities or a sign that was turned"
            )
            raise RolloutError(msg)
        self._set("logprobs", np.minimum(logprobs, np.float32(0)))
        self._set("censored", censored)
        for name, dtype in (("rank", np.int32), ("entropy", np.float32)):
            value = getattr(self, name)
            if value is not None:
                self._set(name, _aligned(name, value, len(logprobs), dtype))
        if self.topk is not None:
            _same_length("topk", len(self.topk), len(logprobs))

    def _set(self, name: str, array: NDArray[np.generic]) -> None:
        array.setflags(write=False)
        object.__setattr__(self, name, array)

    def __len__(self) -> int:
        """Return the number of response tokens."""
        return len(self.logprobs)

    def __repr__(self) -> str:
        """Say what it is in one line: how many values, and how many of them are missing or infinite."""
        missing, infinite = int(np.isnan(self.logprobs).sum()), int(np.isinf(self.logprobs).sum())
        return f"LogprobTrack({len(self)} tokens, {missing} missing, {infinite} infinite, {self.provenance})"

    @classmethod
    def from_optional(cls, values: Iterable[float | None], provenance: Provenance | None = None) -> LogprobTrack:
        """Make a track from a list in which None stands for missing.

        Raises:
            RolloutError: a value that is no number, or one above 0.

        """
        return cls(floats_of("log-probabilities", values), provenance=provenance or Provenance())

    def masked(self, keep: NDArray[np.bool_]) -> LogprobTrack:
        """Return the track with NaN where `keep` is False: placeholders are not values."""
        return replace(self, logprobs=np.where(keep, self.logprobs, np.float32(np.nan)))


def _aligned(name: str, raw: object, length: int, dtype: DTypeLike) -> NDArray[Any]:
    array = array_of(name, raw, dtype)
    if array.ndim != 1:
        msg = f"{name} has shape {array.shape}; expected a flat list of {length}, one a response token"
        raise RolloutError(msg)
    _same_length(name, len(array), length)
    return array


def _same_length(name: str, found: int, expected: int) -> None:
    if found != expected:
        msg = f"{name} has {found} values and logprobs has {expected}; expected one a response token"
        raise RolloutError(msg)
