"""Real tokenizers and models for the faults, and the numbers they are checked against."""

from __future__ import annotations

import json
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import torch

import opd_widgets as opd
from tests import tiny

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LLAMA = (
    "{{ bos_token }}{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}[/]{% endfor %}"
    "{% if add_generation_prompt %}[assistant]{% endif %}"
)


def hand_softmax(net: Any, prompt: Any, response: Any) -> Any:
    """Log-probabilities, float64 [R, V], that predict each response token: one plain forward, a softmax by hand."""
    ids = torch.tensor(np.concatenate([prompt, response]).astype(np.int64))[None]
    with torch.no_grad():
        logits = net(input_ids=ids).logits[0].double().numpy()
    shifted = logits - logits.max(-1, keepdims=True)
    logp = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return logp[len(prompt) - 1 : -1]


def at(rows: Any, response: Any) -> Any:
    """The values of the sampled tokens."""
    return rows[np.arange(len(response)), np.asarray(response)]


@lru_cache
def bytes_tokenizer() -> Any:
    """A byte-level tokenizer without merges: every byte is a token, in GPT-2's own alphabet."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = ["<pad>", "<eos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    inner = Tokenizer(models.BPE({letter: index for index, letter in enumerate(letters)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="<pad>", eos_token="<eos>")


@lru_cache
def letters(
    special: tuple[str, ...],
    eos: str,
    *,
    bos: str | None = None,
    pad: str = "<pad>",
    template: str | None = None,
    adds_bos: bool = False,
) -> Any:
    """A tokenizer of single characters with these special tokens in front; `adds_bos` puts one before every text."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = {token: index for index, token in enumerate([*special, *tiny.CHARACTERS, *"[]/|<>_"])}
    inner = Tokenizer(models.WordLevel(vocabulary, unk_token=special[0]))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    inner.decoder = decoders.Fuse()
    if adds_bos and bos is not None:
        inner.post_processor = processors.TemplateProcessing(f"{bos} $A", special_tokens=[(bos, vocabulary[bos])])
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token=special[0], pad_token=pad, eos_token=eos, bos_token=bos,
        additional_special_tokens=list(special[1:]),
    )  # fmt: skip
    made.chat_template = template
    return made


def llama() -> Any:
    """A tokenizer that writes <s> before every text, and whose chat template writes it too."""
    return letters(("<pad>", "<s>", "<eos>"), "<eos>", bos="<s>", template=LLAMA, adds_bos=True)


def chatml(eos: str = "<|im_end|>", pad: str = "<pad>") -> Any:
    """A tokenizer of Qwen's kind: base models end with <|endoftext|>, instructed ones with <|im_end|>."""
    return letters(("<pad>", "<|endoftext|>", "<|im_start|>", "<|im_end|>"), eos, pad=pad, template=CHATML)


def model(seed: int, tokenizer: Any, name: str | None = None, **options: Any) -> opd.HFModel:
    """A real random Qwen3 around a tokenizer."""
    net = tiny.qwen(seed, max(64, len(tokenizer)), limit=options.pop("limit", 256))
    return opd.HFModel((net, tokenizer), device="cpu", name=name or f"tiny-{seed}", **options)


def scored(rollouts: Any, student: Any, teachers: Any = None, **options: Any) -> opd.Scores:
    """Score without a progress bar and without the noise band."""
    return opd.score(
        rollouts, student, teachers or {}, options=opd.Options(**options), noise_rollouts=0, progress=False
    )


def read(tmp_path: Any, *records: Any, **options: Any) -> list[opd.Rollout]:
    """Write records as JSON Lines and read them the way a user does; a warning is a failure."""
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return opd.read_rollouts(path, **options)


# One response of two tokens, and of one, in every format that brings log-probabilities along.
def _entry(token: int, value: Any) -> dict[str, Any]:
    return {str(token): {"logprob": value, "rank": 1, "decoded_token": "x"}}


def dumps(values: list[Any]) -> dict[str, Any]:
    """The same response, with these log-probabilities, as each format writes it; its ids are 20, 21, ..."""
    ids = list(range(20, 20 + len(values)))
    words = [f"w{token}" for token in ids]
    content = [
        {"token": w, "bytes": None, "logprob": v, "top_logprobs": []} for w, v in zip(words, values, strict=True)
    ]
    turn = {"role": "assistant", "content": "".join(words)}
    return {
        "open_instruct": {"prompt_tokens": [10, 11], "response_tokens": ids, "logprobs": values},
        "slime": {"tokens": [10, 11, *ids], "response_length": len(ids), "rollout_log_probs": values},
        "nemo_rl": {
            "content": [["q", "".join(words)]], "rewards": [1.0], "input_lengths": [2 + len(ids)],
            "token_ids": [[10, 11, *ids, 0, 0]], "token_loss_mask": [[0, 0, *[1] * len(ids), 0, 0]],
            "generation_logprobs": [[0, 0, *values, 0, 0]],
        },
        "prime_rl": {
            "schema_version": 1, "token_ids": [10, 11, *ids], "loss_mask": [False, False, *[True] * len(ids)],
            "inference_logprobs": [0.0, 0.0, *values],
        },
        "verifiers": {
            "nodes": [
                {"parent": None, "message": {"role": "user", "content": "q"}, "sampled": False, "token_ids": [10, 11],
                 "mask": [False, False], "logprobs": []},
                {"parent": 0, "message": turn, "sampled": True, "token_ids": ids, "mask": [True] * len(ids),
                 "logprobs": values},
            ],
            "rewards": {},
        },
        "rlloggingboard": {"prompt": "q", "response": "".join(words), "response_tokens": words, "logprobs": values},
        "vllm": {
            "prompt_token_ids": [10, 11], "prompt_logprobs": None,
            "outputs": [{"token_ids": ids, "text": "".join(words),
                         "logprobs": [_entry(t, v) for t, v in zip(ids, values, strict=True)]}],
        },
        "sglang": {
            "text": "".join(words), "input_ids": [10, 11],
            "meta_info": {"output_token_logprobs": [[v, t, None] for t, v in zip(ids, values, strict=True)]},
        },
        "openai_chat": {"choices": [{"message": turn, "logprobs": {"content": content}}]},
        "openai_completion": {
            "choices": [{"text": "".join(words), "logprobs": {"tokens": words, "token_logprobs": values}}]
        },
        "inspect_ai": {
            "input": "q", "epoch": 1, "messages": [{"role": "user", "content": "q"}, turn],
            "output": {"choices": [{"message": turn, "logprobs": {"content": content}}]},
        },
    }  # fmt: skip


FORMATS = sorted(dumps([-1.0]))
