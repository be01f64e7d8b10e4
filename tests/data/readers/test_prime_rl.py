"""prime-rl's token exports and episodes."""

from __future__ import annotations

import pytest

from opd_widgets.data.readers.prime_rl import from_record, parts
from opd_widgets.errors import ReadError
from tests.reader_cases import EXPECTED, assert_ids, assert_track, records

FILE = "prime_rl_token_export.jsonl"


def changed(**fields):
    return {**records(FILE)[0], **fields}


def test_case():
    (rollout,) = from_record(records(FILE)[0])
    (expected,) = EXPECTED[FILE]
    assert_ids(rollout, expected)
    assert rollout.response_text is None
    assert rollout.step == 3
    assert rollout.tracks["student"].provenance.engine == "vllm"
    assert rollout.metadata["trainer_logprobs"] == [-0.22, -0.9, -0.01]
    assert "ref_kl_weights" not in rollout.metadata


def test_the_first_tokens_value_is_a_placeholder_even_where_the_mask_counts_it():
    (rollout,) = from_record(changed(loss_mask=[True] * 5))
    assert rollout.prompt_len == 0
    assert_track(rollout, "student", [None, 0.0, -0.2, None, -0.01])


def test_without_the_engines_values_the_trainers_are_the_students_and_say_so():
    (rollout,) = from_record(changed(inference_logprobs=[None] * 5))
    assert_track(rollout, "student", [-0.22, -0.9, -0.01])
    assert rollout.tracks["student"].provenance.logprob_mode == "processed"


def test_nothing_sampled_is_an_empty_response_without_tracks():
    (rollout,) = from_record(changed(loss_mask=[False] * 5))
    assert (rollout.prompt_len, len(rollout), rollout.tracks) == (5, 0, {})


def test_an_episode_gives_the_rollouts_of_all_its_traces():
    trace = records("verifiers_trace.json")[0]
    record = {"env": {"id": "gsm8k"}, "task": {}, "group": {"id": 7}, "run": "r", "traces": [trace, trace]}
    rollouts = from_record(record)
    assert [rollout.response_ids.tolist() for rollout in rollouts] == [[20, 2, 13], [23, 2, 13]] * 2
    assert {rollout.question for rollout in rollouts} == {"7"}
    assert rollouts[0].metadata["env"] == {"id": "gsm8k"}
    assert [len(from_record(part)) for part in parts(record)] == [2, 2]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"schema_version": 2}, "schema_version 2"),
        ({"loss_mask": [True]}, "5 token_ids and 1 loss_mask values"),
        ({"inference_logprobs": [-1.0]}, "5 token_ids and 1 inference_logprobs"),
        ({"trainer_logprobs": "x"}, "trainer_logprobs is of type str"),
        ({"token_ids": 5}, "token_ids of type int"),
        ({"step": "three"}, "'three' as a step"),
        ({"traces": [{"hello": 1}]}, r"a trace with \['hello'\]"),
        ({"traces": []}, "without traces"),
    ],
)
def test_a_broken_record_says_why(fields, said):
    with pytest.raises(ReadError, match=said):
        from_record(changed(**fields))
