"""What `read_rollouts` does whatever the format: outcomes, retokenising, tables, forced formats, faults."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, ReadError

TRL = {"step": 20, "prompt": "q", "completion": "a b", "advantage": 0.5}
VERL = {"input": "q", "output": "a", "score": 1.0, "step": 20, "acc": True, "pred": "5"}


def dump(tmp_path, *records):
    path = tmp_path / "dump.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def outcomes(path, outcome):
    return [rollout.outcome for rollout in opd.read_rollouts(path, outcome=outcome)]


def test_a_named_reward_decides(tmp_path):
    rows: list[dict[str, Any]] = [
        {"accuracy": 1.0, "form": 0.0},
        {"accuracy": 0.4, "form": 1.0},
        {"accuracy": None, "form": 1.0},
    ]
    path = dump(tmp_path, *[{**TRL, **row} for row in rows])
    assert outcomes(path, "accuracy") == ["correct", "incorrect", "unverified"]
    assert outcomes(path, "form") == ["incorrect", "correct", "correct"]
    assert outcomes(path, None) == ["unknown"] * 3


def test_several_rewards_and_none_named_is_an_error(tmp_path):
    path = dump(tmp_path, {**TRL, "accuracy": 1.0, "form": 0.0})
    with pytest.raises(InvalidInputError, match=r"rewards \['accuracy', 'form'\], expected one.*outcome='accuracy'"):
        outcomes(path, True)


@pytest.mark.parametrize("outcome", [True, "score", "acc"])
def test_an_only_reward_and_a_truth_value(tmp_path, outcome):
    assert outcomes(dump(tmp_path, VERL, {**VERL, "score": -1.0, "acc": False}), outcome) == ["correct", "incorrect"]


def test_a_reward_that_no_rollout_has(tmp_path):
    with pytest.raises(InvalidInputError, match=r"no reward 'accurracy' in any rollout, expected one of \['accuracy'"):
        outcomes(dump(tmp_path, {**TRL, "accuracy": 1.0}), "accurracy")


def test_an_advantage_is_not_offered_and_a_truth_value_is(tmp_path):
    with pytest.raises(
        InvalidInputError, match=r"no reward 'x' in any rollout, expected one of \['accuracy', 'solved'\]"
    ):
        outcomes(dump(tmp_path, {**TRL, "accuracy": 1.0, "solved": True}), "x")
    with pytest.raises(InvalidInputError, match="no reward 'x' in any rollout, and there is no other"):
        outcomes(dump(tmp_path, TRL), "x")


def test_a_score_of_nan_is_a_missing_reward_and_counted(tmp_path):
    path = dump(tmp_path, VERL, {**VERL, "score": "NaN"}, {**VERL, "score": float("nan")})
    with pytest.warns(
        UserWarning, match=r"2 of 3 rewards are NaN and taken as missing; first that of rollout 'dump:2'"
    ):
        rollouts = opd.read_rollouts(path, outcome="score")
    assert [rollout.reward for rollout in rollouts] == [1.0, None, None]
    assert [rollout.outcome for rollout in rollouts] == ["correct", "unverified", "unverified"]


def test_a_rollout_without_the_reward_that_others_have_is_unverified(tmp_path):
    path = dump(tmp_path, {**TRL, "accuracy": 1.0}, {**TRL, "form": 1.0})
    assert outcomes(path, "accuracy") == ["correct", "unverified"]


class Letters:
    """Knows a to z and the space; anything else becomes a question mark."""

    known = "abcdefghijklmnopqrstuvwxyz ?"

    def encode(self, text):
        return [self.known.find(letter) if letter in self.known else len(self.known) - 1 for letter in text]

    def decode(self, ids):
        return "".join(self.known[token] for token in ids)


class WithTemplate(Letters):
    chat_template = "a turn: its role's first two letters, and what is said"

    def apply_chat_template(self, turns, *, tokenize, add_generation_prompt):
        assert (tokenize, add_generation_prompt) == (False, True)
        return "".join(f"{turn['role'][:2]} {turn['content']}" for turn in turns) + "as "


def test_text_is_tokenised_at_reading_and_says_so(tmp_path):
    (rollout,) = opd.read_rollouts(dump(tmp_path, TRL), tokenizer=Letters())
    assert rollout.text_source == "retokenised"
    assert rollout.response_ids.tolist() == [0, 26, 1]
    assert "retokenising_differs" not in rollout.metadata


def test_the_first_place_where_retokenising_differs_is_named(tmp_path):
    (rollout,) = opd.read_rollouts(dump(tmp_path, {**TRL, "completion": "it is 5!"}), tokenizer=Letters())
    assert rollout.metadata["retokenising_differs"] == "the response from character 6: '5!' came back as '??'"


def test_ids_that_came_with_a_dump_are_kept(tmp_path):
    record = {"prompt_tokens": [1], "response_tokens": [2], "logprobs": [-1.0]}
    (rollout,) = opd.read_rollouts(dump(tmp_path, record), tokenizer=Letters())
    assert (rollout.text_source, rollout.response_ids.tolist()) == ("exact_ids", [2])
    assert "student" in rollout.tracks


def test_tracks_of_a_texts_own_tokens_are_named_as_left_out(tmp_path):
    track = opd.LogprobTrack([-1.0, -2.0])
    rollout = opd.Rollout(id="a", prompt_text="q", response_text="a b", text_source="text", tracks={"student": track})
    path = opd.write_rollouts(
        [rollout, opd.Rollout(id="b", response_text="a", text_source="text")], tmp_path / "r.jsonl"
    )
    one, two = opd.read_rollouts(path, tokenizer=Letters())
    assert (one.tracks, one.metadata["tracks_left_out"]) == ({}, ["student"])
    assert "tracks_left_out" not in two.metadata


def test_turns_are_tokenised_turn_by_turn(tmp_path):
    turns = [("user", "q"), ("assistant", "a"), ("user", "sure"), ("assistant", "X")]
    record = {"messages": [{"role": role, "content": content} for role, content in turns]}
    (rollout,) = opd.read_rollouts(dump(tmp_path, record), tokenizer=WithTemplate())
    assert rollout.response_mask.tolist() == [True] + [False] * 10 + [True]
    assert rollout.metadata["retokenising_differs"].startswith("turn 3 from character 0: 'X'")


def test_something_that_is_no_tokenizer(tmp_path):
    with pytest.raises(InvalidInputError, match="tokenizer of type int, expected an object with encode and decode"):
        opd.read_rollouts(dump(tmp_path, TRL), tokenizer=5)


def test_a_frame_is_read_row_by_row():
    frame = pd.DataFrame([{**TRL, "accuracy": 1.0}, {**TRL, "accuracy": float("nan")}])
    rollouts = opd.read_rollouts(frame)
    assert [rollout.id for rollout in rollouts] == ["table:1", "table:2"]
    assert [rollout.reward for rollout in rollouts] == [{"accuracy": 1.0}, {"accuracy": None}]


def test_a_forced_format_reads_what_sniffing_would_not(tmp_path):
    path = dump(tmp_path, {"prompt": "q", "completion": "a", "accuracy": 1.0})
    (sniffed,) = opd.read_rollouts(path)
    (forced,) = opd.read_rollouts(path, format="trl")
    assert (sniffed.reward, forced.reward) == (None, {"accuracy": 1.0})


def test_formats_may_change_within_a_file(tmp_path):
    rollouts = opd.read_rollouts(dump(tmp_path, VERL, TRL, VERL))
    assert [rollout.prompt_text for rollout in rollouts] == ["q"] * 3


def test_a_broken_sample_of_a_document_costs_that_sample(tmp_path):
    sample = {"tokens": [1, 2], "response_length": 1, "group_index": 0}
    path = tmp_path / "3.json"
    path.write_text(json.dumps({"rollout_id": 3, "samples": [sample, {**sample, "response_length": 5}, sample]}))
    with pytest.warns(UserWarning, match="2 rollouts read, 1 lines not: line 1 sample 2: found response_length 5"):
        rollouts = opd.read_rollouts(path)
    assert [(rollout.id, rollout.step) for rollout in rollouts] == [("3:1.1", 3), ("3:1.2", 3)]


def test_many_broken_lines_are_counted_and_three_are_shown(tmp_path):
    path = dump(tmp_path, VERL, *[[]] * 9)
    with pytest.warns(UserWarning, match=r"1 rollouts read, 9 lines not: line 2: .*; line 4: [^;]* and 6 more$"):
        opd.read_rollouts(path)


def test_nothing_in_any_of_several_files(tmp_path):
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text('{"x": 1}\n')
    with pytest.raises(ReadError, match=r"no line could be read in '2 files': a\.jsonl line 1: no known format"):
        opd.read_rollouts(tmp_path)


def test_markup_in_a_text_stays_text(tmp_path):
    markup = "<img src=x onerror=alert(1)>"
    (rollout,) = opd.read_rollouts(dump(tmp_path, {**VERL, "output": markup}))
    assert rollout.response_text == markup


def test_a_table_in_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    pd.DataFrame([{**TRL, "accuracy": 1.0, "form": None}]).to_parquet(tmp_path / "completions_00020.parquet")
    (rollout,) = opd.read_rollouts(tmp_path)
    assert rollout.id == "completions_00020:1"
    assert rollout.reward == {"accuracy": 1.0, "form": None}
    np.testing.assert_equal(rollout.step, 20)


def test_a_record_whose_values_are_of_another_kind_names_its_format(tmp_path):
    path = dump(tmp_path, {"prompt_token_ids": [1], "outputs": [{"token_ids": [2], "logprobs": [{"2": 5}]}]})
    with pytest.raises(
        ReadError, match=r"line 1: found a record with the keys of the format 'vllm' .*: AttributeError"
    ):
        opd.read_rollouts(path)
