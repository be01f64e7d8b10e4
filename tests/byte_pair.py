"""Byte-level tokenizers with merges of one's choice, and small random models of their vocabulary: real, and unlike."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from tests import tiny

TEMPLATE = (
    "{% for m in messages %}[{{ m['role'] }}] {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}[assistant] {% endif %}"
)
OTHER_TEMPLATE = (
    "{% for m in messages %}<{{ m['role'] }}> {{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant> {% endif %}"
)
ENGLISH = ("th", "the", " the", "in", "ing", "er", "an", "and", " and", "on", "12", "10", "=?", "Hello", " world", "ab")
OTHER = ("he", "ng", "hat", "is", " is", "re", "nd", "bc", "1 ", "2=", "lo", "llo", "wor", " wor", "ld")


def merges_of(words: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return merges that build each word from left to right."""
    found: dict[tuple[str, str], None] = {}
    for word in words:
        spelled = word.replace(" ", "Ġ")
        for end in range(1, len(spelled)):
            found[(spelled[:end], spelled[end])] = None
    return list(found)


@lru_cache
def tokenizer(
    words: tuple[str, ...] = ENGLISH,
    special: tuple[str, ...] = ("<|end|>",),
    begin: str | None = None,
    template: str | None = TEMPLATE,
) -> Any:
    """Return a byte-level BPE tokenizer; the first special token ends a text, `begin` begins a plain one."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    merges = merges_of(words)
    alphabet = [*sorted(pre_tokenizers.ByteLevel.alphabet()), *dict.fromkeys(one + other for one, other in merges)]
    inner = Tokenizer(models.BPE({token: index for index, token in enumerate(alphabet)}, merges))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    inner.decoder = decoders.ByteLevel()
    named = [*special, *([begin] if begin and begin not in special else [])]
    inner.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in named])
    if begin:
        inner.post_processor = processors.TemplateProcessing(f"{begin} $A", None, [(begin, inner.token_to_id(begin))])
    made = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token=special[0], bos_token=begin)
    made.chat_template = template
    return made


def model(seed: int, tokenizer: Any, name: str, limit: int = 512) -> Any:
    """Return an `HFModel` of random weights with this tokenizer."""
    from opd_widgets.models.hf import HFModel

    rows = max(tokenizer.get_vocab().values()) + 3
    return HFModel((tiny.qwen(seed, rows, limit=limit), tokenizer), device="cpu", name=name)


def student(seed: int = 0) -> Any:
    """Return the student of these tests."""
    return model(seed, tokenizer(), "student")


def teacher(seed: int = 1) -> Any:
    """Return a teacher of another tokenizer: other merges, other special tokens, another template."""
    return model(seed, tokenizer(OTHER, ("</s>",), "<s>", OTHER_TEMPLATE), "teacher")
