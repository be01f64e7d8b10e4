"""Small real models and tokenizers, made on the spot: random weights, true shapes, seconds to build."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

CHARACTERS = "abcdefghijklmnopqrstuvwxyz 0123456789+-=?:;\n"
TEMPLATE = (
    "{% for m in messages %}<{{ m['role'][0] }}>{{ m['content'] }}\n{% endfor %}"
    "{% if add_generation_prompt %}<a>{% endif %}"
)


@lru_cache
def tokenizer(characters: str = CHARACTERS, template: str | None = TEMPLATE) -> Any:
    """Return a one-character-a-token tokenizer with pad, end and role tokens in front."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<eos>", "<s>", "<u>", "<a>", "<unk>"]
    vocabulary = {token: index for index, token in enumerate([*special, *characters])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    inner.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        additional_special_tokens=["<s>", "<u>", "<a>"],
    )
    made.chat_template = template
    return made


@lru_cache
def qwen(seed: int = 0, vocab: int = 64, layers: int = 2, limit: int = 256, scale: float = 0.3) -> Any:
    """Return a random Qwen3 with a head of `vocab` rows; `scale` spreads the weights so that tokens differ."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=vocab, hidden_size=32, intermediate_size=64, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=2, head_dim=8, max_position_embeddings=limit,
        tie_word_embeddings=False, initializer_range=scale,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config).eval()


@lru_cache
def model(seed: int = 0, vocab: int = 64, limit: int = 256, name: str | None = None) -> Any:
    """Return an `HFModel` around a random Qwen3."""
    from opd_widgets.models.hf import HFModel

    return HFModel((qwen(seed, vocab, limit=limit), tokenizer()), device="cpu", name=name or f"tiny-{seed}")
