"""The model card, written from the measurements and each model's training record alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from safetensors import safe_open

from opd_widgets.demo.arithmetic import (
    CONTEXT_KINDS,
    CONTEXT_NAMES,
    HELD_OUT_PERCENT,
    MAX_NUMBER,
    MIN_NUMBER,
    Problem,
    context,
)
from opd_widgets.demo.corpus import TRAINED_KINDS
from opd_widgets.demo.recipes import RECIPES
from opd_widgets.demo.storage import training_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

EXAMPLE = Problem(43, "-", 40, "-", 36)

ROLES = {
    "student": "the student, and with a context the self-distillation teachers",
    "teacher": "a larger teacher of the student's own style",
    "other_style": "a teacher that is as accurate, but works in another order",
}

INTRO = """\
---
license: apache-2.0
library_name: transformers
pipeline_tag: text-generation
tags: [on-policy-distillation, arithmetic, toy]
---

# The opd_widgets lab: three tiny arithmetic models

Trained from random weights on generated problems by `python -m opd_widgets.demo.train`, which
also measured the stored weights and wrote this card. Licence: Apache-2.0.

## Task

`a op b op c`, numbers {low} to {high}, `+` and `-`. The problems are generated; {held_out}% of all
chains, chosen by crc32, are held out and were never trained on. The answer is what stands after
`</think>`, compared exactly.

- prompt: `{question}`
- student and teacher write: `{left}<eos>`
- other_style writes: `{right}<eos>`

One tokenizer for all: {tokens} tokens, one a character, and `<think>`, `</think>` and the end token
as one each. The embeddings have {rows} rows; the rows above the tokenizer's are padding.
"""

RECIPE = """\
## Training

Qwen3 architecture with tied embeddings, from scratch, float32 on {threads} CPU threads, torch
{torch}. AdamW (betas {betas}, weight decay {decay}), peak rate {rate}, {warmup} warm-up steps, then
a cosine to {floor:.0%} of the peak; gradients clipped at {clip}; batches of {batch} fresh random
problems; the loss is on the completion only. A share of the batches carries a context line of one
of the {kinds} trained kinds; in the kinds with a wrong solution, right and wrong come in either
order.
"""

LIMITS = """\
## Limits

- The models know this task and nothing else. Any other prompt gives noise, and a character without
  a token becomes `<unk>`.
- The student trusts a solution marked `Right:`, also where it is wrong (row `{misled}`): it copies
  what it is told. Its skill without context is its own.
- `Self-1C (large)` shows the solution that other_style wrote (a sample at temperature 1 that the
  verifier accepted; there was one for {large} of the {n} problems, a generated one for the rest).
- Steps are deterministic given the problem, so a correct rollout leaves little to choose; real
  reasoning varies more.
- Same seed, machine, versions and thread count give the same weights. Elsewhere the skill, which
  appears suddenly in training, can come some steps sooner or later, and the student's accuracy with
  it.
"""


def model_card(folder: Path, measured: dict[str, Any]) -> str:
    """The card's text in Markdown, for the models in ``folder``."""
    records = {name: training_record(folder / name) for name in RECIPES}
    parts = [
        _intro(folder),
        _training(records),
        "## Models",
        _models_table(folder, records),
        "## Accuracy",
        _accuracy_lead(measured),
        _table(("model, no context", "at temperature 1", "greedy"), _accuracy_rows(measured["plain"])),
        _table(
            ("student with", "context line", "at temperature 1", "greedy"),
            (
                (CONTEXT_NAMES[kind], f"`{context(EXAMPLE, kind)}`", *cells)
                for kind, (_, *cells) in zip(
                    CONTEXT_KINDS, _accuracy_rows(measured["student_with_context"]), strict=True
                )
            ),
        ),
        "## What the teachers think of student rollouts",
        _contrast_lead(measured["contrast"]),
        _table(
            ("teacher", "correct rollouts", "incorrect rollouts"),
            _contrast_rows(measured["contrast"]),
        ),
        LIMITS.format(
            misled=CONTEXT_NAMES["self_1c_misled"],
            large=measured["larger_solutions_found"],
            n=measured["problems"]["n"],
        ).rstrip(),
    ]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _intro(folder: Path) -> str:
    config = json.loads((folder / "student" / "config.json").read_text(encoding="utf-8"))
    tokenizer = json.loads((folder / "student" / "tokenizer.json").read_text(encoding="utf-8"))
    return INTRO.format(
        low=MIN_NUMBER,
        high=MAX_NUMBER,
        held_out=HELD_OUT_PERCENT,
        question=EXAMPLE.question,
        left=EXAMPLE.completion("left_to_right"),
        right=EXAMPLE.completion("right_pair_first"),
        tokens=len(tokenizer["model"]["vocab"]),
        rows=config["vocab_size"],
    )


def _training(records: dict[str, dict[str, Any]]) -> str:
    # The recipes share what is named here; what differs stands in the table of models.
    record = records["student"]
    recipe = record["recipe"]
    return RECIPE.format(
        threads=record["threads"],
        torch=record["torch"],
        betas=" and ".join(map(str, recipe["betas"])),
        decay=recipe["weight_decay"],
        rate=recipe["learning_rate"],
        warmup=recipe["warmup_steps"],
        floor=recipe["final_rate_share"],
        clip=recipe["max_grad_norm"],
        batch=recipe["batch_size"],
        kinds=len(TRAINED_KINDS),
    )


def _models_table(folder: Path, records: dict[str, dict[str, Any]]) -> str:
    rows = []
    for name, record in records.items():
        recipe, weights = record["recipe"], folder / name / "model.safetensors"
        rows.append(
            (
                f"`{name}`",
                ROLES[name],
                f"{recipe['hidden_size']} x {recipe['num_layers']}",
                f"{_parameters(weights):,}",
                f"{weights.stat().st_size:,}",
                f"{recipe['steps']:,}",
                f"{recipe['context_share']:.0%}",
                str(recipe["seed"]),
                f"{record['seconds'] / 60:.1f}",
            )
        )
    head = ("model", "role", "width x layers", "parameters", "bytes (float16)", "steps")
    return _table((*head, "batches with context", "seed", "minutes"), rows)


def _parameters(weights: Path) -> int:
    with safe_open(weights, framework="pt") as tensors:
        return sum(tensors.get_tensor(name).numel() for name in tensors.keys())  # noqa: SIM118 (not a dict)


def _accuracy_lead(measured: dict[str, Any]) -> str:
    n, samples = measured["problems"]["n"], measured["sampling"]["samples_per_problem"]
    return (
        f"{n} held-out problems (seed {measured['problems']['seed']}); at temperature 1, {samples} "
        f"completions each, {n * samples:,} in all, top_p 1, top_k off, min_p 0, no penalties; "
        "greedy, one each. Float16 weights as stored, computed in float32."
    )


def _accuracy_rows(table: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (f"`{name}`", f"{row['sampled']['accuracy']:.1%}", f"{row['greedy']['accuracy']:.1%}")
        for name, row in table.items()
    ]


def _contrast_lead(contrast: dict[str, Any]) -> str:
    return (
        f"Mean advantage, {contrast['unit']}, on {contrast['correct_rollouts']:,} correct and "
        f"{contrast['incorrect_rollouts']:,} incorrect rollouts of the student without context. "
        "Near zero on correct rollouts and well below it on incorrect ones: the teacher tells the "
        "outcomes apart. Far below zero on both: it would have written something else, right or "
        "wrong. The size of an advantage does not say whether following it helps."
    )


def _contrast_rows(contrast: dict[str, Any]) -> list[tuple[str, str, str]]:
    names: dict[str, str] = {str(kind): name for kind, name in CONTEXT_NAMES.items()}
    return [
        (names.get(name, f"`{name}`"), f"{row['correct']:+.3f}", f"{row['incorrect']:+.3f}")
        for name, row in contrast["mean_advantage"].items()
    ]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
