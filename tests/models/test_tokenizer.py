"""What an id stands for, with tokenizers of the kinds in use: byte-level, SentencePiece-like, plain."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from opd_widgets.data.tokens import display_cells
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.tokenizer import HFTokenizer
from tests import tiny


def byte_level():
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    inner = Tokenizer(models.BPE({token: index for index, token in enumerate(sorted(alphabet))}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|end|>", bos_token="<|begin|>")


def sentencepiece():
    pieces = ["<unk>", "<s>", "</s>", *[f"<0x{byte:02X}>" for byte in range(256)], "▁", "a", "b", "▁a"]
    inner = Tokenizer(
        models.BPE({p: i for i, p in enumerate(pieces)}, [("▁", "a")], unk_token="<unk>", byte_fallback=True)
    )
    inner.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    inner.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    inner.post_processor = processors.TemplateProcessing("<s> $A", None, [("<s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=inner, bos_token="<s>", eos_token="</s>", unk_token="<unk>")


@pytest.mark.parametrize("make", [byte_level, sentencepiece])
@pytest.mark.parametrize("text", ["a b", "是", "👩‍👧", "a\n\tb", "한국"])
def test_pieces_give_the_text_back(make, text):
    tokenizer = HFTokenizer(make())
    ids = tokenizer.encode(text)
    assert b"".join(tokenizer.piece(int(i)).data for i in ids).decode() == text


def test_an_emoji_family_of_byte_tokens_is_readable():
    tokenizer = HFTokenizer(byte_level())
    cells = display_cells([tokenizer.piece(int(i)) for i in tokenizer.encode("👩‍👧 是")])
    assert [cell.text for cell in cells] == ["👩", "⟨U+200D⟩", "👧", " ", "是"]


def test_special_tokens_by_name():
    tokenizer = HFTokenizer(byte_level())
    end = tokenizer.inner.eos_token_id
    assert tokenizer.piece(end).special
    assert tokenizer.piece(end).data == b"<|end|>"
    assert end in tokenizer.end_ids


def test_one_beginning_of_text_and_not_two():
    tokenizer = HFTokenizer(sentencepiece())
    assert tokenizer.encode_prompt("a").tolist()[0] == 1
    assert tokenizer.encode_prompt("<s>a").tolist().count(1) == 1
    assert 1 not in tokenizer.encode("a").tolist()


def test_size_counts_real_tokens_and_not_rows():
    model = tiny.model(0)
    assert model.tokenizer.size == max(tiny.tokenizer().get_vocab().values()) + 1
    assert model.vocab_size == 64


@pytest.mark.parametrize("encode", ["encode", "encode_prompt"])
def test_half_a_surrogate_pair_is_named_with_its_place(encode):
    with pytest.raises(InvalidInputError, match=r"lone surrogate U\+D83D at character 1 of 3"):
        getattr(HFTokenizer(tiny.tokenizer()), encode)("a\ud83db")
