"""RLLoggingBoard's token strings."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.rlloggingboard import from_record
from opd_widgets.errors import ReadError, RolloutError
from tests.reader_cases import EXPECTED, assert_track, records

RECORD = {
    "prompt": "2+3?", "response": "It is 5", "response_tokens": ["It", " is", " 5"],
    "logprobs": [-0.2, None, -0.01], "ref_logprobs": [-0.1, -0.4, -0.3], "values": [0.1, 0.2, 0.3], "reward": 1.0,
    "step": 3,
}  # fmt: skip


def test_a_record():
    (rollout,) = from_record(RECORD)
    assert (rollout.tokens, rollout.text_source, rollout.step) == (("It", " is", " 5"), "strings", 3)
    assert_track(rollout, "student", [-0.2, None, -0.01])
    assert_track(rollout, "teacher", [-0.1, -0.4, -0.3])
    assert rollout.metadata == {"values": [0.1, 0.2, 0.3]}


def test_text_that_looks_like_markup_stays_text():
    (rollout,) = from_record(records("html_in_tokens.jsonl")[0])
    (expected,) = EXPECTED["html_in_tokens.jsonl"]
    assert rollout.response_text == "".join(rollout.tokens) == expected["text"]
    assert_track(rollout, "student", expected["student"])
    assert_track(rollout, "teacher", expected["teacher"])


def test_control_characters_stay_tokens():
    (rollout,) = from_record(records("rtl_cjk_controls.jsonl")[0])
    assert len(rollout) == EXPECTED["rtl_cjk_controls.jsonl"][0]["tokens"]


def test_no_reference_is_no_teacher():
    (rollout,) = from_record({**RECORD, "ref_logprobs": None})
    assert list(rollout.tracks) == ["student"]


def test_lists_of_different_lengths_are_named_with_both():
    with pytest.raises(ReadError, match="3 response_tokens and 2 logprobs"):
        from_record(records("board_length_mismatch.jsonl")[0])


@pytest.mark.parametrize("field", ["logprobs", "ref_logprobs", "values"])
def test_thirteen_tokens_and_twelve_values(field):
    record = {**RECORD, "response_tokens": ["a"] * 13, "logprobs": [-1.0] * 13, "ref_logprobs": [-1.0] * 13}
    with pytest.raises(ReadError, match=f"13 response_tokens and 12 {field}"):
        from_record({**record, "values": [0.0] * 13, field: [0.0] * 12})


def test_a_probability_above_one_is_refused():
    with pytest.raises(RolloutError, match="above 0"):
        from_record({**RECORD, "logprobs": [-0.2, 0.4, -0.1]})
