"""Rollouts from a local model, drawn from its own distribution and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import GenerationConfig

from opd_widgets.models.hf_fill import filled_left
from opd_widgets.models.hf_weights import evaluating
from opd_widgets.models.protocol import Generation, Sampling

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids


@torch.no_grad()
def draw(
    model: Any, prompts: Sequence[Ids], ends: frozenset[int], *, n: int, new: int, seed: int, sampling: Sampling
) -> list[list[Generation]]:
    """Return n continuations of every prompt, seeded, leaving the process's own random state as it was.

    Args:
        model: a causal language model of transformers.
        prompts: int [P] each, none empty.
        ends: ids that end a response; the model's generation_config decides nothing.
        n: continuations of each.
        new: most tokens of a continuation.
        seed: any whole number.
        sampling: how tokens are drawn.

    """
    tokens, attended = filled_left(prompts)
    devices = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices), _own_settings(model), evaluating(model):
        torch.manual_seed(seed)
        drawn = model.generate(
            input_ids=tokens.to(model.device),
            attention_mask=attended.to(model.device),
            generation_config=_config(sampling, n, new, sorted(ends)),
        )
    cut = [_cut(row.cpu().numpy(), ends) for row in drawn[:, tokens.shape[1] :]]
    return [cut[i * n : (i + 1) * n] for i in range(len(prompts))]


def _config(sampling: Sampling, n: int, new: int, ends: list[int]) -> GenerationConfig:
    return GenerationConfig(
        do_sample=sampling.temperature > 0,
        temperature=sampling.temperature or None,
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        min_p=sampling.min_p or None,
        repetition_penalty=sampling.repetition_penalty,
        num_return_sequences=n,
        max_new_tokens=new,
        eos_token_id=ends or None,
        pad_token_id=ends[0] if ends else 0,
    )


class _own_settings:  # noqa: N801 - used as a with-statement, reads as one
    """Takes a model's own generation settings away for a while: transformers fills unset values from them."""

    def __init__(self, model: Any) -> None:
        self._model, self._kept = model, model.generation_config

    def __enter__(self) -> None:
        self._model.generation_config = GenerationConfig()

    def __exit__(self, *_: object) -> None:
        self._model.generation_config = self._kept


def _cut(ids: NDArray[np.int64], ends: frozenset[int]) -> Generation:
    """Return the sampled ids up to and with the first end token; what follows is padding."""
    found = np.flatnonzero(np.isin(ids, list(ends)))
    stop = int(found[0]) + 1 if found.size else len(ids)
    return Generation(ids[:stop].astype(np.int32), stopped=bool(found.size))
