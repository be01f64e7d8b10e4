"""OpenAI's Responses API, from the published shape."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.data.readers import openai_responses
from opd_widgets.data.readers.registry import sniff
from opd_widgets.errors import ReadError, RolloutError


def token(text, logprob, *likeliest):
    top = [{"token": other, "logprob": value, "bytes": list(other.encode())} for other, value in likeliest]
    return {"token": text, "logprob": logprob, "bytes": list(text.encode()), "top_logprobs": top}


def part(text, *tokens):
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": list(tokens)}


def response(*parts, **fields):
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": list(parts)}
    return {"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [message], **fields}


FIVE = part("It is 5", token("It", -0.5, ("It", -0.5), ("So", -1.5)), token(" is", -0.25), token(" 5", -9999.0))


def test_a_response_with_log_probabilities():
    record = response(FIVE)
    assert sniff(record) is openai_responses
    (rollout,) = openai_responses.from_record(record)
    assert (rollout.id, rollout.response_text, rollout.status) == ("resp_1", "It is 5", "stop")
    assert (rollout.tokens, rollout.text_source) == (("It", " is", " 5"), "strings")
    assert rollout.token_bytes == (b"It", b" is", b" 5")
    track = rollout.tracks["student"]
    np.testing.assert_array_equal(track.logprobs, np.asarray([-0.5, -0.25, -np.inf], np.float32))
    assert track.censored.tolist() == [False, False, True]
    assert track.provenance.model == "m"
    assert rollout.metadata["top_logprobs"][0] == {"It": -0.5, "So": -1.5}


def test_parts_and_messages_are_one_response_and_what_is_none_is_counted():
    one, two = response(FIVE)["output"][0], response(part(".", token(".", -1.0)))["output"][0]
    (rollout,) = openai_responses.from_record(response(output=[{"type": "reasoning", "summary": []}, one, two]))
    assert (rollout.response_text, len(rollout.tracks["student"])) == ("It is 5.", 4)
    assert rollout.metadata["other_output"] == {"reasoning": 1}


def test_a_text_without_log_probabilities_is_text():
    for parts in ([part("5")], [{"type": "output_text", "text": "5"}], [{"type": "refusal", "refusal": "5"}]):
        (rollout,) = openai_responses.from_record(response(*parts))
        assert (rollout.response_text, rollout.text_source, rollout.tracks) == ("5", "text", {})
    (rollout,) = openai_responses.from_record(response(FIVE, part(" or 6")))
    assert (rollout.response_text, rollout.text_source) == ("It is 5 or 6", "text")


def test_how_it_ended():
    cut = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    filtered = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}
    found = [openai_responses.from_record(response(FIVE, **fields))[0].status for fields in (cut, filtered, {})]
    assert found == ["truncated", "aborted", "stop"]


def test_a_batch_line_and_the_request_beside_it():
    record = {
        "custom_id": "q1",
        "response": {"status_code": 200, "body": response(FIVE, instructions="Be brief.")},
        "request": {"body": {"input": "2+3?"}},
        "error": None,
    }
    assert sniff(record) is openai_responses
    (rollout,) = openai_responses.from_record(record)
    assert (rollout.id, rollout.question) == ("q1", "2+3?")
    assert [(turn.role, turn.content) for turn in rollout.messages] == [("system", "Be brief."), ("user", "2+3?")]
    (alone,) = openai_responses.from_record({name: record[name] for name in ("custom_id", "response")})
    assert (alone.id, alone.question, alone.messages) == ("q1", "q1", None)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (response(status="failed", error={"message": "server_error"}, output=[]), "failed request: server_error"),
        (
            response(output=[{"type": "function_call"}]),
            r"'completed' and the output \['function_call'\], expected a me",
        ),
        (
            {"custom_id": "q", "response": {"status_code": 500, "body": response()}},
            "failed request 'q' with status 500",
        ),
        (response(part("5", {"logprob": -1.0})), "as token 0, expected 'token' and 'logprob'"),
    ],
)
def test_broken(record, said):
    assert sniff(record) is openai_responses
    with pytest.raises(ReadError, match=said):
        openai_responses.from_record(record)


def test_a_value_above_zero_is_refused():
    with pytest.raises(RolloutError, match="above 0"):
        openai_responses.from_record(response(part("5", token("5", 0.5))))
