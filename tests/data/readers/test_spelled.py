"""Tokens as strings: what bytes they stand for, by the text they make up."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opd_widgets.data.readers.spelled import given_bytes, token_bytes
from opd_widgets.errors import ReadError

E6, B98, AF = b"\xe6", b"\x98", b"\xaf"  # the bytes of 是


@pytest.mark.parametrize(
    ("tokens", "text", "data"),
    [
        (["a", "b"], "ab", None),
        (["a", "\ufffd"], "a\ufffd", None),  # cut within a character: the text has no more to say
        (["\ufffd", "\ufffd", "\ufffd"], "是", (E6, B98, AF)),
        (["\ufffd", "\ufffd"], "是", (E6, B98 + AF)),
        (["", "", "是"], "是", (E6, B98, AF)),
        (["a", "", "b"], "ab", (b"a", b"", b"b")),  # an empty token between two letters is no part of either
        (["a", "", "", "b"], "a是b", (b"a", E6, B98 + AF, b"b")),
        (["x\ufffd", "\ufffdy"], "x是y", (b"x" + E6, B98 + AF + b"y")),
        (["\ufffd", "\ufffd", "<end>"], "是", (E6, B98 + AF, b"<end>")),
        (["Ġa", "æĺ¯"], " a是", (b" a", E6 + B98 + AF)),
        (["Ġa", "<|im_end|>"], " a", (b" a", b"<|im_end|>")),
        (["▁a", "<0x0A>"], "a\n", (b"a", b"\n")),
        (["a", "\ufffd", "c"], "b是c", None),
        (["a", "b"], "something else", None),
        (["a"], None, None),
        ([], "a", None),
    ],
)
def test_by_hand(tokens, text, data):
    assert token_bytes(tokens, text) == data


@given(st.text(max_size=12), st.data(), st.booleans())
def test_what_a_server_sends_is_the_text_again_or_left_as_it_is(text, data, waits):
    """Bytes cut anywhere, shown as U+FFFD, or held back until the character is whole."""
    whole = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    parts = [whole[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    decoder = codecs.getincrementaldecoder("utf-8")()
    tokens = [decoder.decode(part) if waits else part.decode("utf-8", "replace") for part in parts]
    found = token_bytes(tokens, text)
    if found is None:
        assert "".join(tokens) == text or not waits
    else:
        assert b"".join(found) == whole
        assert len(found) == len(tokens)


@pytest.mark.parametrize("raw", [10**9, "61", [256], [-1], [1.0], [True], [None], {}])
def test_what_is_no_list_of_bytes_is_refused(raw):
    """bytes(10**9) would be a gigabyte of zeros."""
    with pytest.raises(ReadError, match="as the bytes of token 'a', expected a list of numbers from 0 to 255"):
        given_bytes("a", raw)


def test_given_bytes():
    assert given_bytes("\ufffd", [0xE6, 0x98]) == E6 + B98
    assert given_bytes("é", None) == "é".encode()
    assert given_bytes("a", []) == b""
