"""The training loop: one recipe in, one model out."""

from __future__ import annotations

import math
import random
import time
from typing import TYPE_CHECKING

import torch
from torch.nn import functional
from transformers import Qwen3Config, Qwen3ForCausalLM

from opd_widgets.demo.corpus import IGNORED, make_batch
from opd_widgets.demo.tokenizer import MODEL_ROWS

if TYPE_CHECKING:
    from collections.abc import Callable

    from transformers import PreTrainedTokenizerFast

    from opd_widgets.demo.corpus import Batch
    from opd_widgets.demo.recipes import Recipe

MAX_POSITIONS = 512


def new_model(recipe: Recipe, tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """A fresh model of the recipe's shape; its first weights follow from the recipe's seed."""
    torch.manual_seed(recipe.seed)
    config = Qwen3Config(
        vocab_size=MODEL_ROWS,
        hidden_size=recipe.hidden_size,
        intermediate_size=recipe.hidden_size * 8 // 3,
        num_hidden_layers=recipe.num_layers,
        num_attention_heads=recipe.num_heads,
        num_key_value_heads=recipe.num_kv_heads,
        head_dim=recipe.hidden_size // recipe.num_heads,
        max_position_embeddings=MAX_POSITIONS,
        rope_parameters={"rope_type": "default", "rope_theta": 10_000.0},
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return Qwen3ForCausalLM(config)


def rate_at(recipe: Recipe, step: int) -> float:
    """Learning rate at a step: linear warm-up, then a cosine down to the final share."""
    if step < recipe.warmup_steps:
        return recipe.learning_rate * (step + 1) / recipe.warmup_steps
    done = (step - recipe.warmup_steps) / max(1, recipe.steps - recipe.warmup_steps)
    share = recipe.final_rate_share
    return recipe.learning_rate * (share + (1 - share) * 0.5 * (1 + math.cos(math.pi * done)))


def completion_loss(model: Qwen3ForCausalLM, batch: Batch) -> torch.Tensor:
    """Mean cross-entropy in nats over the completion's tokens."""
    # Padding stands on the right of a causal model, so nothing that counts ever sees it: no mask is
    # needed. Only the positions that count go through the head.
    targets = batch.labels[:, 1:]
    kept = targets != IGNORED
    hidden = model.model(input_ids=batch.ids[:, :-1], use_cache=False).last_hidden_state
    return functional.cross_entropy(model.lm_head(hidden[kept]), targets[kept])


def train(
    recipe: Recipe, tokenizer: PreTrainedTokenizerFast, report: Callable[[str], None] | None = None
) -> Qwen3ForCausalLM:
    """Train a model from scratch, in float32 on the CPU.

    ``report`` gets a line of progress every 100 steps. Repeatable to the bit with the same seed,
    thread count, machine and versions.
    """
    model = new_model(recipe, tokenizer)
    rng = random.Random(recipe.seed)
    optimizer = torch.optim.AdamW(
        model.parameters(),
        lr=recipe.learning_rate,
        betas=recipe.betas,
        weight_decay=recipe.weight_decay,
    )
    model.train()
    started, recent = time.perf_counter(), 0.0
    for step in range(recipe.steps):
        for group in optimizer.param_groups:
            group["lr"] = rate_at(recipe, step)
        loss = completion_loss(model, make_batch(recipe, tokenizer, rng))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.max_grad_norm)
        optimizer.step()
        recent += loss.item()
        if report and (step + 1) % 100 == 0:
            seconds = time.perf_counter() - started
            done = f"{recipe.name}: step {step + 1}/{recipe.steps}"
            report(f"{done}, loss {recent / 100:.4f}, {seconds:.0f} s")
            recent = 0.0
    model.eval()
    return model
