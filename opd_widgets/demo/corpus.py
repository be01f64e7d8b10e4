"""Training batches: fresh random problems every time, some behind a context line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch

from opd_widgets.demo import arithmetic

if TYPE_CHECKING:
    import random

    from transformers import PreTrainedTokenizerFast

    from opd_widgets.demo.arithmetic import ContextKind, Problem, Style
    from opd_widgets.demo.recipes import Recipe

#: Kinds a model meets in training. A wrong solution passed off as right is not among them.
TRAINED_KINDS: Final[tuple[ContextKind, ...]] = (
    "answer_only",
    "self_1c",
    "self_sum_1c",
    "self_1c1w",
    "self_sum_1c1w",
    "self_1c_large",
    "self_1w",
)

IGNORED: Final = -100  # the label that the loss leaves out


@dataclass(frozen=True, slots=True)
class Batch:
    """Ids and labels ``[B, T]``, padded on the right.

    Labels are ``IGNORED`` outside the completion.
    """

    ids: torch.Tensor
    labels: torch.Tensor


def prompt_text(problem: Problem, context: str | None = None) -> str:
    """The prompt as the chat template renders it, with the context's line first if there is one."""
    lines = [problem.question] if context is None else [context, problem.question]
    return "".join(f"{line}\n" for line in lines)


def training_context(problem: Problem, kind: ContextKind, rng: random.Random) -> str:
    """A context of a kind for training.

    The correct and the wrong solution come in either order, so that the mark tells them apart and
    not the place.
    """
    seed = rng.randrange(2**16)
    if kind in ("self_1c1w", "self_sum_1c1w") and rng.random() < 0.5:
        right, wrong = problem.solution(), problem.wrong_solution(seed)
        if kind == "self_sum_1c1w":
            right, wrong = arithmetic.summarise(right), arithmetic.summarise(wrong)
        return f"{arithmetic.one_wrong(wrong)} {arithmetic.one_correct(right)}"
    return arithmetic.context(problem, kind, seed)


def _texts(problem: Problem, kind: ContextKind | None, style: Style, rng: random.Random) -> tuple[str, str]:
    context = None if kind is None else training_context(problem, kind, rng)
    return prompt_text(problem, context), problem.completion(style) + arithmetic.EOS


def make_batch(recipe: Recipe, tokenizer: PreTrainedTokenizerFast, rng: random.Random) -> Batch:
    """One batch of training problems, all plain or all behind one kind of context.

    One kind a batch keeps lengths alike, and so the padding short.
    """
    kind = rng.choice(TRAINED_KINDS) if rng.random() < recipe.context_share else None
    pairs = [_texts(arithmetic.random_problem(rng, "train"), kind, recipe.style, rng) for _ in range(recipe.batch_size)]
    prompts = tokenizer([prompt for prompt, _ in pairs])["input_ids"]
    answers = tokenizer([answer for _, answer in pairs])["input_ids"]
    width = max(len(p) + len(a) for p, a in zip(prompts, answers, strict=True))
    ids = torch.full((len(pairs), width), tokenizer.pad_token_id)
    labels = torch.full_like(ids, IGNORED)
    for row, (p, a) in enumerate(zip(prompts, answers, strict=True)):
        ids[row, : len(p) + len(a)] = torch.tensor(p + a)
        labels[row, len(p) : len(p) + len(a)] = torch.tensor(a)
    return Batch(ids, labels)
