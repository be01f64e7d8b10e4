"""The student's response in another tokenizer's tokens: text, special tokens, turns, and what does not come back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opd_widgets.data.message import Message
from opd_widgets.models.respell import between_turns, respell
from opd_widgets.models.tokenizer import HFTokenizer
from tests import byte_pair, tiny
from tests.models.test_tokenizer import sentencepiece

STUDENT = HFTokenizer(byte_pair.tokenizer(special=("<|end|>", "<tool>", "<mine>")))
TEACHER = HFTokenizer(byte_pair.tokenizer(byte_pair.OTHER, ("</s>", "<tool>"), "<s>"))


def ids_of(*parts, tokenizer=STUDENT):
    """Return ids of texts and special tokens (given as one-tuples) in a row."""
    named = tokenizer.vocabulary()
    return np.concatenate([[named[p[0]]] if isinstance(p, tuple) else tokenizer.encode(p) for p in parts]).astype(
        np.int32
    )


def read(response, counted=None, student=STUDENT, teacher=TEACHER):
    counted = np.ones(len(response), bool) if counted is None else np.asarray(counted, bool)
    found = respell(np.asarray(response, np.int32), counted, student, teacher)
    return found, found.alignment.student.tolist(), found.alignment.teacher.tolist()


def spelled(found, teacher=TEACHER):
    return [teacher.piece(token).data for token in found.ids.tolist()]


def test_text_in_groups():
    response = ids_of("abc")  # the student's "ab", "c"; the teacher's "a", "bc"
    found, mine, theirs = read(response)
    assert [STUDENT.piece(int(token)).data for token in response] == [b"ab", b"c"]
    assert spelled(found) == [b"a", b"bc"]
    assert (mine, theirs) == ([0, 0], [0, 0])


def test_the_end_of_one_is_the_end_of_the_other():
    found, mine, theirs = read(ids_of("ab", ("<|end|>",)))
    assert spelled(found) == [b"a", b"b", b"</s>"]
    assert (mine, theirs) == ([0, 1], [0, 0, 1])


def test_an_end_in_the_middle_of_a_turn_is_not_the_teachers_end():
    found, mine, _ = read(ids_of("a", ("<|end|>",), "b"))
    assert spelled(found) == [b"a", b"<", b"|", b"e", b"nd", b"|", b">", b"b"]
    assert mine == [0, -1, 1]


def test_a_special_token_meets_only_its_namesake():
    found, mine, theirs = read(ids_of("a", ("<tool>",), "b", ("<mine>",), "c"))
    assert spelled(found)[:3] == [b"a", b"<tool>", b"b"]
    assert mine == [0, 1, 2, -1, 3]
    assert theirs == [0, 1, 2, *[-1] * len(b"<mine>"), 3]


def test_text_that_spells_a_special_token_is_not_compared_with_it():
    found, mine, theirs = read(STUDENT.encode("a</s>b"))
    assert spelled(found) == [b"a", b"</s>", b"b"]
    assert mine == [0, -1, -1, -1, -1, 1]
    assert theirs == [0, -1, 1]


def test_half_a_character_is_not_comparable_and_the_rest_is():
    response = ids_of("ab是c")
    assert len(response) == 1 + 3 + 1
    whole, mine, _ = read(response)
    assert mine == [0, 1, 2, 3, 4]
    assert b"".join(spelled(whole)) == "ab是c".encode()
    _, mine, _ = read(np.concatenate([response[:2], response[-1:]]))  # one byte of three
    assert mine == [0, -1, 1]
    _, mine, _ = read(response[:3])  # a response cut off inside a character
    assert mine == [0, -1, -1]


def test_a_character_the_teacher_does_not_know_costs_that_character():
    letters = HFTokenizer(tiny.tokenizer())  # knows lower-case letters only, one a token
    found, mine, theirs = read(ids_of("and X 12"), teacher=letters)
    tokens = [STUDENT.piece(int(token)).data for token in ids_of("and X 12")]
    assert tokens == [b"and", b" ", b"X", b" ", b"12"]
    assert mine == [0, 1, -1, 2, 3]
    assert theirs == [0, 0, 0, 1, -1, 2, 3, 3]
    assert letters.decode(found.ids) == "and <unk> 12"


def test_a_token_that_reaches_into_what_is_unknown_goes_with_it():
    letters = HFTokenizer(tiny.tokenizer("helo wrd"))
    _, mine, _ = read(ids_of("Hello world"), teacher=letters)  # "Hello" holds the unknown "H"
    assert mine == [-1, 0]


def test_a_space_that_the_tokenizer_puts_in_front_is_not_text():
    inner = sentencepiece()
    inner.backend_tokenizer.pre_tokenizer = type(inner.backend_tokenizer.pre_tokenizer)(prepend_scheme="always")
    teacher = HFTokenizer(inner)
    found, mine, theirs = read(ids_of("ab"), teacher=teacher)
    assert spelled(found, teacher) == [b" a", b"b"]
    assert (mine, theirs) == ([0], [0, 0])


def test_a_turn_is_read_by_itself_and_a_misfit_stays_in_it():
    one, two = ids_of("ab"), ids_of("c")
    apart, mine, _ = read(np.concatenate([one, two]), [True, False])
    assert spelled(apart) == [b"a", b"b", b"c"]  # together they would be "a", "bc"
    assert mine == [0, 1]
    broken = ids_of("是")[:1]
    _, mine, _ = read(np.concatenate([one, broken, two]), [True, False, True])
    assert mine == [0, -1, 1]


def test_between_turns_the_teacher_reads_its_own_template():
    first, tool, last = ids_of("ab", ("<|end|>",)), ids_of("[tool] c\n[assistant] "), ids_of("12")
    mask = [*[True] * len(first), *[False] * len(tool), *[True] * len(last)]
    response = np.concatenate([first, tool, last])
    found = respell(response, np.asarray(mask), STUDENT, TEACHER, ["</s><tool> c\n<assistant> "])
    # the special token <tool> too is read as the template wrote it, and the end is there once
    assert TEACHER.decode(found.ids) == "ab</s><tool> c\n<assistant> 12"
    assert (found.alignment.student == -1).tolist() == [not one for one in mask]
    assert set(found.alignment.teacher[3:-2]) == {-1}
    other = respell(response, np.asarray(mask), STUDENT, TEACHER, ["one", "too many"])
    assert TEACHER.decode(other.ids) == "ab</s>[tool] c\n[assistant] 12"


def test_what_a_template_writes_between_turns():
    asked, said, again = Message("user", "a"), Message("assistant", "b"), Message("user", "c")
    turns = (asked, said, again, Message("assistant", "d"))
    assert between_turns(turns, TEACHER, {}) == ["\n[user] c\n[assistant] "]
    assert between_turns((asked, said), TEACHER, {}) == []
    assert between_turns((asked, again), TEACHER, {}) is None
    assert between_turns(turns, HFTokenizer(byte_pair.tokenizer(template=None)), {}) is None
    forgets = byte_pair.tokenizer(template="{{ messages[-1]['content'] }}")  # a template that rewrites what was said
    assert between_turns(turns, HFTokenizer(forgets), {}) is None


def test_nothing_at_all():
    found, mine, _ = read([])
    assert found.ids.tolist() == mine == []


PARTS = st.lists(
    st.one_of(
        st.text(st.sampled_from("abchelo dnHw12=是👩"), max_size=8),
        st.sampled_from([("<|end|>",), ("<tool>",), ("<mine>",)]),
    ),
    max_size=5,
)


@given(PARTS, st.data())
def test_what_any_response_keeps(parts, data):
    response = ids_of(*parts) if parts else np.zeros(0, np.int32)
    counted = data.draw(st.lists(st.booleans(), min_size=len(response), max_size=len(response)))
    found, mine, theirs = read(response, counted)
    for group in range(max(mine, default=-1) + 1):
        places = [i for i, g in enumerate(mine) if g == group]
        tokens = [STUDENT.piece(int(response[i])) for i in places]
        others = [TEACHER.piece(int(t)) for t, g in zip(found.ids, theirs, strict=True) if g == group]
        assert places == [*range(places[0], places[-1] + 1)]
        assert len({counted[i] for i in places}) == 1  # no group crosses the edge of a turn
        if tokens[0].special:
            assert [len(tokens), len(others)] == [1, 1]
            assert others[0].special
            end = int(response[places[0]]) in STUDENT.end_ids
            assert others[0].data == (b"</s>" if end else tokens[0].data)
        else:
            assert b"".join(t.data for t in tokens) == b"".join(t.data for t in others)
            assert not any(t.special for t in (*tokens, *others))
    own = [STUDENT.piece(int(token)) for token in response]
    if all(counted) and not any(piece.special for piece in own):
        assert -1 not in mine  # two byte-level tokenizers give every text back
        assert found.ids.tolist() == TEACHER.encode(b"".join(p.data for p in own).decode()).tolist()


@pytest.mark.parametrize("text", ["", "Hello world and the 12"])
def test_with_ones_own_tokens_it_is_one_to_one(text):
    response = ids_of(text) if text else np.zeros(0, np.int32)
    found, mine, theirs = read(response, teacher=STUDENT)
    assert found.ids.tolist() == response.tolist()
    assert mine == theirs == [*range(len(response))]
