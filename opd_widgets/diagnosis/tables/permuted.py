"""A null: the same tree, with outcomes that have nothing to do with what the rollouts say."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import UNVERIFIED
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from opd_widgets.diagnosis.settings import DiagnosisSettings

_PERMUTATION = 1  # keeps this stream apart from others of the same seed and question


def permuted(evidence: Evidence, rng: np.random.Generator) -> Evidence:
    """Return the question with its outcomes permuted over its distinct verified responses.

    Identical responses keep one outcome in common, as a verifier gives it: each distinct response counts once in the
    permutation, however often it was drawn. So the share of correct responses stays among the distinct ones; that among
    the rollouts may not. Ids, probabilities, nodes, weights and the tree stay as they are, and an unverified response
    stays unverified. Where one response was given both outcomes, that of its first rollout stands for all.

    Where responses repeat, P_succ under permuted outcomes still varies from token to token. What the null takes away is
    every relation to what the response says, and so to the teachers; not the variation itself.

    Split by outcome it is no null of zero. A response that was dealt "correct" lends its success to its own tokens, and
    is itself one of the correct rollouts that are averaged over. Hold an outcome against the same outcome of the null.

    Args:
        evidence: one question.
        rng: of the permutation.

    """
    verified = np.flatnonzero(evidence.outcome != UNVERIFIED)
    keys = [np.asarray(evidence.rollouts[row].ids, np.int64).tobytes() for row in verified]
    place = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    first = np.zeros(len(place), np.int64)
    for row, key in zip(reversed(verified), reversed(keys), strict=True):
        first[place[key]] = evidence.outcome[row]
    dealt = rng.permutation(first)
    rollouts = list(evidence.rollouts)
    for row, key in zip(verified, keys, strict=True):
        rollouts[row] = replace(rollouts[row], outcome=int(dealt[place[key]]))
    made = Evidence(evidence.question, evidence.nodes, tuple(rollouts))
    # The tree and its places know nothing of outcomes: they need not be made again.
    made.__dict__.update({name: getattr(evidence, name) for name in ("tree", "node_place", "candidate_place")})
    return made


def null_of(evidence: Evidence, settings: DiagnosisSettings, seed: int | None = None) -> Evidence:
    """Return the question with permuted outcomes, the same for the same seed and question id.

    Args:
        evidence: one question.
        settings: whose seed is taken where none is given.
        seed: of the permutation.

    Raises:
        InvalidInputError: a seed below 0, or no whole number.

    """
    own = check_seed(seed, settings)
    name = evidence.question.encode("utf-8", "surrogatepass")
    return permuted(evidence, np.random.default_rng([own, _PERMUTATION, *name]))


def check_seed(seed: Any, settings: DiagnosisSettings) -> int:
    """Return the seed of the permutation, that of the settings where none is given.

    Raises:
        InvalidInputError: a seed below 0, or no whole number.

    """
    own: Any = settings.seed if seed is None else seed
    if not isinstance(own, int | np.integer) or own < 0:
        msg = f"found seed={own!r} for the permutation, expected a whole number of at least 0"
        raise InvalidInputError(msg)
    return int(own)
