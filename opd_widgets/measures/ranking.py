"""Ranks and the likeliest tokens of next-token distributions, over the array API."""

from __future__ import annotations

from array_api_compat import array_namespace, is_torch_array

from opd_widgets.measures.distribution import Array


def rank_of(logp: Array, ids: Array) -> Array:
    """Return the rank of one token a row: 1 + the number of tokens strictly likelier.

    Args:
        logp: [N, V].
        ids: int [N].

    Returns:
        int [N]; 1 is the likeliest.

    """
    xp = array_namespace(logp)
    own = take(logp, ids[:, None])
    return 1 + xp.count_nonzero(logp > own, axis=-1)


def take(logp: Array, ids: Array) -> Array:
    """Return the values at `ids` along the last axis: logp [N, V], ids int [N, K] -> [N, K]."""
    xp = array_namespace(logp)
    return xp.take_along_axis(logp, ids, axis=-1)


def top_k(logp: Array, k: int) -> tuple[Array, Array]:
    """Return the k likeliest tokens of every row, likeliest first.

    Args:
        logp: [N, V].
        k: how many; all V where V is smaller.

    Returns:
        values [N, k] and ids int [N, k].

    """
    xp = array_namespace(logp)
    k = min(k, logp.shape[-1])
    if is_torch_array(logp):  # the array API has no partial sort; torch's costs O(V) where a full one costs O(V log V)
        values, ids = logp.topk(k, dim=-1)
        return values, ids
    ids = xp.argsort(logp, axis=-1, descending=True, stable=True)[:, :k]
    return take(logp, ids), ids
