"""Ranks and the likeliest tokens of next-token distributions, over the array API."""

from __future__ import annotations

from array_api_compat import array_namespace, is_torch_array

from opd_widgets.measures.distribution import Array

_BLOCK = 128  # tokens of which one maximum is taken
_LARGE = 64 * _BLOCK  # vocabulary from which that pays


def rank_of(logp: Array, ids: Array, top: Array | None = None, among: int | None = None) -> Array:
    """Return the rank of one token a row: 1 + the number of tokens strictly likelier.

    Args:
        logp: [N, V].
        ids: int [N].
        top: [N, K], the largest values among the first `among`, largest first, if they are known: most sampled tokens
            are above the last of them, and then only the rest need be counted.
        among: how many columns `top` was taken of; all V if left out.

    Returns:
        int [N]; 1 is the likeliest.

    """
    xp = array_namespace(logp)
    own = take(logp, ids[:, None])
    if top is None or not top.shape[-1]:
        return 1 + xp.count_nonzero(logp > own, axis=-1)
    rank = 1 + xp.count_nonzero(top > own, axis=-1)
    if among is not None and among < logp.shape[-1]:
        rank += xp.count_nonzero(logp[:, among:] > own, axis=-1)
    below = ~(own[:, 0] >= top[:, -1])
    if bool(xp.any(below)):
        rank[below] = rank_of(logp[below], ids[below])
    return rank


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
        return _top_k_of_blocks(logp, k) if logp.shape[-1] >= _LARGE else _torch_top_k(logp, k)
    ids = xp.argsort(logp, axis=-1, descending=True, stable=True)[:, :k]
    return take(logp, ids), ids


def _torch_top_k(logp: Array, k: int) -> tuple[Array, Array]:
    values, ids = logp.topk(k, dim=-1)
    return values, ids


def _top_k_of_blocks(logp: Array, k: int) -> tuple[Array, Array]:
    """Return the k likeliest of every row by way of the largest of each block.

    A token among the k likeliest lies in one of the k blocks with the largest maxima, so that only those are sorted.
    """
    whole = logp.shape[-1] // _BLOCK * _BLOCK
    blocks = logp[:, :whole].unflatten(1, (-1, _BLOCK))
    if blocks.shape[1] <= k:
        return _torch_top_k(logp, k)
    _, which = blocks.amax(-1).topk(k, dim=-1, sorted=False)
    found = blocks.gather(1, which[:, :, None].expand(-1, -1, _BLOCK))
    xp = array_namespace(logp)
    values, at = xp.concat([found.flatten(1), logp[:, whole:]], axis=-1).topk(k, dim=-1)
    inside = at < k * _BLOCK
    block = take(which, xp.where(inside, at // _BLOCK, xp.zeros_like(at)))
    return values, xp.where(inside, block * _BLOCK + at % _BLOCK, whole + at - k * _BLOCK)
