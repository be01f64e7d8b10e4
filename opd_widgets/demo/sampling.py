"""Sampling from a model's own distribution: temperature 1, the whole vocabulary, no penalty."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

MAX_NEW_TOKENS: Final = 48  # the longest completion has 28


@torch.inference_mode()
def complete(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[str],
    *,
    greedy: bool = False,
    seed: int = 0,
    batch_size: int = 256,
) -> list[list[int]]:
    """One completion per prompt, as token ids.

    The end token closes it, unless it did not come within ``MAX_NEW_TOKENS``.

    Sampling is from ``softmax(logits)`` in float32 over the tokenizer's own vocabulary (padded rows
    name no token) and nothing else: temperature 1, top_p 1, top_k off, min_p 0, no penalties; the
    model's generation_config is never read. ``greedy`` takes the likeliest token.
    """
    generator = torch.Generator().manual_seed(seed)
    done: list[list[int]] = []
    for start in range(0, len(prompts), batch_size):
        done += _complete_batch(
            model,
            tokenizer,
            prompts[start : start + batch_size],
            greedy=greedy,
            generator=generator,
        )
    return done


def _complete_batch(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    prompts: Sequence[str],
    *,
    greedy: bool,
    generator: torch.Generator,
) -> list[list[int]]:
    batch = tokenizer(list(prompts), padding=True, padding_side="left", return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    cache_name = _cache_argument(model)
    cache: Any = None
    columns: list[torch.Tensor] = []
    running = torch.ones(len(prompts), dtype=torch.bool)
    for _ in range(MAX_NEW_TOKENS):
        out = model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            use_cache=True,
            **{cache_name: cache},
        )
        cache = getattr(out, cache_name)
        logits = out.logits[:, -1, : len(tokenizer)].float()
        token = _choose(logits, greedy=greedy, generator=generator)
        token = torch.where(running, token, tokenizer.pad_token_id)
        columns.append(token)
        running &= token != tokenizer.eos_token_id
        if not running.any():
            break
        ids, positions = token[:, None], positions[:, -1:] + 1
        mask = torch.cat([mask, mask.new_ones(len(prompts), 1)], dim=1)
    return [_until_end(row, tokenizer.eos_token_id) for row in torch.stack(columns, 1).tolist()]


def _cache_argument(model: Qwen3ForCausalLM) -> str:
    # Newer versions of transformers call it `cache`, and warn about the older name.
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def _choose(logits: torch.Tensor, *, greedy: bool, generator: torch.Generator) -> torch.Tensor:
    if greedy:
        return logits.argmax(-1)
    return torch.multinomial(logits.softmax(-1), 1, generator=generator)[:, 0]


def _until_end(row: list[int], eos: int) -> list[int]:
    return row[: row.index(eos) + 1] if eos in row else row
