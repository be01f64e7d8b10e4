"""SkyRL's evaluation dumps."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.skyrl import from_record
from opd_widgets.errors import ReadError

RECORD = {
    "input_prompt": "<|im_start|>user\n2+3?<|im_end|>",
    "output_response": "5<|im_end|>",
    "score": 1.0,
    "stop_reason": "stop",
    "env_class": "gsm8k",
    "env_extras": {"answer": "5"},
    "data_source": "gsm8k",
}


def test_a_record():
    (rollout,) = from_record(RECORD)
    assert (rollout.prompt_text, rollout.response_text) == (RECORD["input_prompt"], "5<|im_end|>")
    assert (rollout.reward, rollout.status, rollout.text_source) == (1.0, "stop", "text")
    assert rollout.metadata == {"env_class": "gsm8k", "env_extras": {"answer": "5"}, "data_source": "gsm8k"}


def test_rewards_a_token_are_summed_and_kept():
    (rollout,) = from_record({**RECORD, "score": [0.0, 0.25, None, 0.5]})
    assert rollout.reward == 0.75
    assert rollout.metadata["token_rewards"] == [0.0, 0.25, None, 0.5]


@pytest.mark.parametrize(("reason", "status"), [("length", "truncated"), ("abort", "aborted"), (None, "unknown")])
def test_how_it_ended(reason, status):
    assert from_record({**RECORD, "stop_reason": reason})[0].status == status


def test_a_broken_record_says_why():
    with pytest.raises(ReadError, match="output_response of type list"):
        from_record({**RECORD, "output_response": ["5"]})
