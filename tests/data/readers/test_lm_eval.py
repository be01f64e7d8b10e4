"""lm-evaluation-harness's samples."""

from __future__ import annotations

import json

import pytest

import opd_widgets as opd
from opd_widgets.data.readers.lm_eval import from_record, merge
from opd_widgets.errors import InvalidInputError, ReadError
from tests.reader_cases import EXPECTED, records

FILE = "lm_eval_samples.jsonl"


def changed(**fields):
    return {**records(FILE)[0], **fields}


def read(*rows):
    return merge(rollout for row in rows for rollout in from_record(row))


def test_case():
    (rollout,) = read(*records(FILE))
    (expected,) = EXPECTED[FILE]
    assert (rollout.prompt_text, rollout.response_text) == (expected["prompt"], expected["response"])
    assert (rollout.reward, rollout.text_source) == (expected["reward"], expected["source"])
    assert rollout.metadata["filtered"] == {"strict-match": "5", "flexible-extract": "5"}


def test_documents_stay_apart_and_in_order():
    rows = [changed(doc_id=1), changed(doc_id=0), changed(doc_id=1, filter="b"), changed(doc_id=0, filter="b")]
    rollouts = read(*rows)
    assert [rollout.metadata["doc_id"] for rollout in rollouts] == [1, 0]
    assert [list(rollout.reward) for rollout in rollouts] == [["strict-match", "b"]] * 2


def test_another_response_to_the_same_document_is_another_rollout():
    assert len(read(changed(), changed(filter="b", resps=[["six"]]))) == 2


def test_the_same_filter_twice_is_a_second_run():
    assert [r.reward for r in read(changed(), changed(exact_match=1.0))] == [
        {"strict-match": 0.0},
        {"strict-match": 1.0},
    ]


def test_several_metrics_are_named_as_the_harness_does():
    (rollout,) = read(changed(metrics=["exact_match", "f1", "bleu"], f1=0.5, bleu=["5", "5"]))
    assert rollout.reward == {"exact_match,strict-match": 0.0, "f1,strict-match": 0.5}


def judged_by(tmp_path, outcome, *rows):
    path = tmp_path / "samples.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [rollout.outcome for rollout in opd.read_rollouts(path, outcome=outcome)]


@pytest.mark.parametrize("outcome", ["exact_match", "strict-match", "exact_match,strict-match"])
def test_the_only_metric_may_be_named_by_itself(tmp_path, outcome):
    rows = [changed(exact_match=1.0), changed(doc_id=1)]
    assert judged_by(tmp_path, outcome, *rows) == ["correct", "incorrect"]


def test_without_a_filter_the_reward_is_called_after_its_metric(tmp_path):
    (rollout,) = read(changed(filter="none", exact_match=1.0))
    assert rollout.reward == {"exact_match": 1.0}
    assert judged_by(tmp_path, "exact_match,none", changed(filter="none", exact_match=1.0)) == ["correct"]


def test_a_metric_under_several_filters_needs_one_of_them(tmp_path):
    assert judged_by(tmp_path, "exact_match,flexible-extract", *records(FILE)) == ["correct"]
    with pytest.raises(InvalidInputError, match=r"several filters, \['exact_match,flexible-extract', 'exact_match,str"):
        judged_by(tmp_path, "exact_match", *records(FILE))


def test_numbers_of_documents_and_repeats_are_not_offered(tmp_path):
    offered = "'strict-match', 'flexible-extract'"
    with pytest.raises(InvalidInputError) as raised:
        judged_by(tmp_path, "accuracy", *records(FILE))
    assert "doc_id" not in str(raised.value)
    assert "repeat" not in str(raised.value)
    assert all(name in str(raised.value) for name in offered.split(", "))


def test_repeats_are_rollouts_of_one_question_without_a_reward_of_their_own():
    one, two = read(changed(resps=[["It is 5", "It is 5"]]), changed(filter="b", resps=[["It is 5", "It is 5"]]))
    assert one.question == two.question
    assert one.reward is None
    assert two.metadata["scores_of_all_repeats"] == {"strict-match": 0.0, "b": 0.0}


def test_an_older_file_and_a_chat_server():
    turns = [{"role": "user", "content": "2+3?"}]
    (old,) = from_record(changed(arguments=[["Q: 2+3?", {"until": ["\n"]}]]))
    (chat,) = from_record(changed(arguments={"gen_args_0": {"arg_0": [json.dumps(turns)], "arg_1": {}}}))
    assert old.prompt_text == "Q: 2+3?"
    assert [message.content for message in chat.messages] == ["2+3?"]


def test_rollouts_of_other_formats_pass():
    other = opd.Rollout(id="a", response_text="x", text_source="text")
    assert merge([other, other]) == [other, other]


CHOICES = {"gen_args_0": {"arg_0": "Q", "arg_1": " a"}, "gen_args_1": {"arg_0": "Q", "arg_1": " b"}}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"arguments": CHOICES, "resps": [[["-1.23", "False"]], [["-2.0", "True"]]]}, "loglikelihood task"),
        ({"arguments": {"gen_args_0": {"arg_0": "Q", "arg_1": " a"}}, "resps": [["-1.23", "False"]]}, "loglikelihood"),
        ({"arguments": [["Q"]], "resps": [["-1.23", "False"]]}, "loglikelihood"),
        ({"resps": [[[-1.23, False]]]}, "loglikelihood"),
        ({"resps": []}, r"found resps \[\]"),
        ({"arguments": {}}, "found arguments {}"),
        ({"arguments": {"gen_args_0": {}}}, "prompt of type NoneType"),
    ],
)
def test_a_broken_record_says_why(fields, said):
    with pytest.raises(ReadError, match=said):
        from_record(changed(**fields))
