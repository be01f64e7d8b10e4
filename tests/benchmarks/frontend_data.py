"""What the front end's benchmark shows: English prose in a real tokenizer's pieces, scored under eight teachers."""

from __future__ import annotations

import copy
import re
from functools import lru_cache
from typing import Any

import numpy as np

import opd_widgets as opd
from tests import tiny

LONG, SHORT = 32_768, 4_096
BESIDE = 512  # tokens of each of two further rollouts, so that the Explorer's list is one
EXTERNAL = SELF = 4
PIECES = 2_048
SHARPER = 2.0  # random heads say little: with this their entropies are spread, and so are the differences


def prose() -> str:
    """Return the language reference that Python carries, 700,000 characters on every machine; a paragraph is a line."""
    from pydoc_data.topics import topics

    return re.sub(r"(?<=\S)\n(?=\S)", " ", "\n\n".join(topics[name] for name in sorted(topics)))


@lru_cache
def tokenizer() -> Any:
    """Return a byte-level BPE tokenizer learnt from the prose: as long a token, and as many unlike ones, as in use."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.BPE())
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=PIECES, initial_alphabet=alphabet, special_tokens=["<|end|>"], show_progress=False
    )
    inner.train_from_iterator([prose()], trainer)
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>")
    made.chat_template = tiny.TEMPLATE
    return made


def _model(seed: int, name: str, limit: int, share: float = 0.0) -> opd.HFModel:
    """Return the random student, its weights moved by `share` towards those of another random model."""
    import torch

    student, other = (tiny.qwen(s, PIECES, layers=1, limit=limit) for s in (0, seed))
    inner = copy.deepcopy(student)
    with torch.no_grad():
        for weight, towards in zip(inner.parameters(), other.parameters(), strict=True):
            weight.lerp_(towards, share)
        inner.lm_head.weight.mul_(SHARPER)
    return opd.HFModel((inner, tokenizer()), device="cpu", name=name)


def scored(length: int, beside: int = BESIDE) -> opd.Scores:
    """Return really measured scores of one rollout of `length` tokens and two shorter ones, by random models.

    Four external teachers and the student under four contexts; every signal that scoring measures by default.
    """
    limit = length + 256
    student = _model(0, "student", limit)
    teachers = {f"model-{n}": opd.Teacher(_model(n, f"model-{n}", limit, 0.04 * n)) for n in range(1, EXTERNAL + 1)}
    for n in range(1, SELF + 1):
        told = opd.contexts.free_text("Prefer the shorter of two names. " * n)
        teachers[f"Self-{n}"] = opd.Teacher(student, told)
    rollouts = [_rollout(n, tokens) for n, tokens in enumerate((length, beside, beside))]
    return opd.score(rollouts, student, teachers, noise_rollouts=0, progress=False)


def _rollout(number: int, tokens: int) -> opd.Rollout:
    asked = opd.Message("user", "Explain the language, in order.")
    ids = np.array(tokenizer().encode(prose())[number : number + tokens])
    prompt = tokenizer().apply_chat_template(
        [{"role": "user", "content": asked.content}], add_generation_prompt=True, return_dict=False
    )
    outcome = ("correct", "incorrect", "unverified")[number % 3]
    return opd.Rollout(
        id=f"reference-{number}", question="language", prompt_ids=prompt, response_ids=ids, messages=(asked,),
        outcome=outcome, status="truncated",
    )  # fmt: skip
