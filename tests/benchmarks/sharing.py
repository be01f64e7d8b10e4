"""One question, many rollouts, a long context: the prefix read once against read every time."""

from __future__ import annotations

import numpy as np

import opd_widgets as opd
from tests.benchmarks import made
from tests.benchmarks.timing import Pair, pairs

ROLLOUTS, RESPONSE, CONTEXT = 64, 200, 1500


def shared_prefix(model: opd.HFModel, rounds: int) -> Pair:
    """Time scoring under one long context with the prefix shared over without."""
    ids = np.random.default_rng(0).integers(6, model.tokenizer.size, CONTEXT)
    rollouts = [
        opd.Rollout(id=str(seed), question="q", prompt_ids=ids, response_ids=made.random_rollout(
            seed, 1, RESPONSE, model.tokenizer.size).response_ids)
        for seed in range(ROLLOUTS)
    ]  # fmt: skip
    sharing, apart = made.many(model, 2)
    apart._reader.__dict__["shares"] = False  # what an architecture without such a cache gets

    def scored(student: opd.HFModel) -> None:
        student._reader.prefixes.clear()
        opd.score(rollouts, student, {}, noise_rollouts=0, progress=False)

    return pairs(lambda: scored(sharing), lambda: scored(apart), rounds)
