"""Lines of a batch's output, failed requests, and responses without choices."""

from __future__ import annotations

import json

import pytest

import opd_widgets as opd
from opd_widgets.data.readers import openai
from opd_widgets.data.readers.registry import sniff
from opd_widgets.errors import ReadError


def line(custom_id="q7", status=200, *, failed=None, **body):
    return {"id": "b", "custom_id": custom_id, "response": {"status_code": status, "body": body}, "error": failed}


def choice(text, index=0):
    return {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}


def dump(tmp_path, *records):
    path = tmp_path / "out.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def test_a_line_is_named_after_its_request():
    record = line(id="chatcmpl-1", object="chat.completion", choices=[choice("5")])
    assert sniff(record) is openai
    (rollout,) = openai.from_record(record)
    assert (rollout.id, rollout.question, rollout.response_text) == ("q7", "q7", "5")
    assert rollout.metadata == {"custom_id": "q7", "response_id": "chatcmpl-1"}
    several = openai.from_record(line(id="c", choices=[choice("5"), choice("6", 1)]))
    assert [(rollout.id, rollout.group) for rollout in several] == [("q7/0", "q7"), ("q7/1", "q7")]


FAILED = [
    (line(status=429, failed={"message": "Slow down", "code": "x"}), "'q7' with status 429: Slow down"),
    (line(status=400, error={"message": "Too long"}), "'q7' with status 400: Too long"),
    ({"custom_id": "q7", "response": None, "error": {"code": "expired", "message": "It expired"}}, "'q7': It expired"),
    (line(status=500), "'q7' with status 500: no message"),
    ({"error": {"message": "model not found", "type": "invalid_request_error"}}, "request: model not found"),
    ({"object": "error", "message": "too many tokens", "code": 400}, "request: too many tokens"),
]  # fmt: skip


@pytest.mark.parametrize(("record", "said"), FAILED)
def test_a_failed_request_is_reported_as_that(tmp_path, record, said):
    good = line("q8", id="c", choices=[choice("5")])
    with pytest.warns(UserWarning, match=f"1 rollouts read, 1 lines not: line 1: found a failed .*{said}"):
        (rollout,) = opd.read_rollouts(dump(tmp_path, record, good))
    assert rollout.id == "q8"


@pytest.mark.parametrize(
    "record", [line(id="c", choices=[]), {"id": "c", "object": "chat.completion", "choices": []}, {"choices": []}]
)
def test_a_response_without_choices_says_so(tmp_path, record):
    with pytest.raises(ReadError, match=r"line 1: found the response( '\w+')? without choices, expected at least one"):
        opd.read_rollouts(dump(tmp_path, record))


@pytest.mark.parametrize(
    "record", [{"error": "x"}, {"error": {"message": "x"}, "loss": 1}, {"choices": [], "question": "2+3?"}]
)
def test_what_only_has_an_error_or_choices_among_its_keys_is_no_response(record):
    assert sniff(record) is None
