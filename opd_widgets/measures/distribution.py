"""A next-token distribution with its log-probabilities and probabilities, each computed once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from array_api_compat import array_namespace, is_torch_array

Array = Any  # an array of any array-API library; the libraries share no static type


@dataclass(frozen=True, eq=False)
class Distribution:
    """Distributions over the last axis.

    Args:
        logp: [..., V], nats.
        p: [..., V]; 0 where the dtype holds no less.
        full: whether no probability is 0; then no term needs a guard, and the guards cost more than the terms.

    """

    logp: Array
    p: Array
    full: bool

    @classmethod
    def of(cls, logp: Array) -> Distribution:
        """Return the distributions of log-probabilities that sum to one."""
        xp = array_namespace(logp)
        p = xp.exp(logp)
        return cls(logp, p, full=_all_above_zero(p))

    @classmethod
    def of_logits(cls, logits: Array) -> Distribution:
        """Return the softmax of logits: one exponential gives both its logarithm and itself."""
        xp = array_namespace(logits)
        logp = logits - xp.max(logits, axis=-1, keepdims=True)
        p = xp.exp(logp)
        total = xp.sum(p, axis=-1, keepdims=True)
        logp -= xp.log(total)
        p /= total
        return cls(logp, p, full=_all_above_zero(p))

    def first(self, n: int) -> tuple[Distribution, Array]:
        """Return the distributions over the first n tokens, renormalised, and the probability of the rest [...]."""
        xp = array_namespace(self.logp)
        if n >= self.logp.shape[-1]:
            return self, xp.zeros_like(self.logp[..., 0])
        mass = xp.sum(self.p[..., :n], axis=-1, keepdims=True)
        kept = Distribution(self.logp[..., :n] - xp.log(mass), self.p[..., :n] / mass, self.full)
        return kept, xp.clip(1 - mass[..., 0], 0.0, 1.0)


def _all_above_zero(p: Array) -> bool:
    return 0 in p.shape or bool(array_namespace(p).min(p) > 0)


def log_softmax(logits: Array) -> Array:
    """Return log-probabilities of logits over the last axis: shape kept, nats."""
    if is_torch_array(logits):  # one pass in place of five
        return logits.log_softmax(-1)
    xp = array_namespace(logits)
    shifted = logits - xp.max(logits, axis=-1, keepdims=True)
    return shifted - xp.log(xp.sum(xp.exp(shifted), axis=-1, keepdims=True))
