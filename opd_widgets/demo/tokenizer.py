"""The lab's tokenizer: one token a character, shared by every model."""

from __future__ import annotations

import string
from typing import Final

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers.decoders import Fuse
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Split
from transformers import PreTrainedTokenizerFast

from opd_widgets.demo.arithmetic import END_THINK, EOS, THINK

PAD: Final = "<pad>"
UNK: Final = "<unk>"

#: Every character with a token of its own; any other becomes ``<unk>``.
ALPHABET: Final = string.digits + "+-=?;:,. \n" + string.ascii_lowercase + "QHRWASTI"

#: Rows of each model's embedding. More than the tokens: padded rows, as real checkpoints have.
MODEL_ROWS: Final = 64

# A system turn is the context line, a user turn the question; each ends its line. An assistant turn
# ends in <eos>. There is nothing to add before an answer, so `add_generation_prompt` makes no
# difference.
CHAT_TEMPLATE: Final = (
    "{%- for message in messages -%}"
    "{%- if message['role'] == 'assistant' -%}"
    "{{ message['content'] + '<eos>' }}"
    "{%- else -%}"
    "{{ message['content'] + '\n' }}"
    "{%- endif -%}"
    "{%- endfor -%}"
)


def build_tokenizer() -> PreTrainedTokenizerFast:
    """The tokenizer: five named tokens, then one for each character of the alphabet.

    ``<think>`` and ``</think>`` are ordinary added tokens, as in Qwen3: decoding without special
    tokens keeps them, and with them what the verifier looks for.
    """
    names = [PAD, EOS, UNK, THINK, END_THINK, *ALPHABET]
    inner = Tokenizer(WordLevel({name: i for i, name in enumerate(names)}, unk_token=UNK))
    inner.pre_tokenizer = Split(Regex(r"[\s\S]"), behavior="isolated")
    inner.decoder = Fuse()
    inner.add_special_tokens([AddedToken(name, normalized=False, special=True) for name in (PAD, EOS, UNK)])
    inner.add_tokens([AddedToken(name, normalized=False, special=False) for name in (THINK, END_THINK)])
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token=PAD,
        eos_token=EOS,
        unk_token=UNK,
        chat_template=CHAT_TEMPLATE,
        clean_up_tokenization_spaces=False,
        padding_side="left",
        model_max_length=512,
    )
