"""Responses of vLLM, SGLang and OpenAI-compatible servers."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.data.readers import openai, sglang, vllm
from opd_widgets.data.readers.registry import sniff
from opd_widgets.data.scores import response_pieces
from opd_widgets.data.tokens import display_cells
from opd_widgets.errors import ReadError, RolloutError


def entry(logprob, rank=None, text=None):
    return {"logprob": logprob, "rank": rank, "decoded_token": text}


def logprobs(rollout):
    return [None if np.isnan(value) else round(float(value), 4) for value in rollout.tracks["student"].logprobs]


# --- vLLM

OUTPUT = {
    "request_id": "r",
    "prompt": "q",
    "prompt_token_ids": [1, 2],
    "prompt_logprobs": None,
    "outputs": [
        {
            "index": 0,
            "text": " It is",
            "token_ids": [20, 21],
            "logprobs": [
                {"7": entry(-0.2, 1, " So"), "20": entry(-1.9, 2, " It")},
                {"9": entry(-0.1, 1), "21": entry(-7.5, 41)},
            ],
            "finish_reason": "length",
        }
    ],
}


def test_a_request_output_is_a_rollout_with_its_own_ids():
    (rollout,) = vllm.from_record(OUTPUT)
    assert (rollout.id, rollout.prompt_ids.tolist(), rollout.response_ids.tolist()) == ("r", [1, 2], [20, 21])
    assert (rollout.status, rollout.question, rollout.response_text) == ("truncated", "q", " It is")
    assert logprobs(rollout) == [-1.9, -7.5]
    track = rollout.tracks["student"]
    assert track.rank.tolist() == [2, 41]
    assert track.topk.ids.tolist() == [[7, 20], [9, -1]]
    assert (track.provenance.engine, track.provenance.logprob_mode) == ("vllm", "unknown")


def test_the_prompts_tokens_stand_before_what_was_generated_and_do_not_count():
    asked = {**OUTPUT, "prompt_logprobs": [None, {"2": entry(-3.0, 4)}]}
    (rollout,) = vllm.from_record(asked)
    assert rollout.response_ids.tolist() == [1, 2, 20, 21]
    assert logprobs(rollout) == [None, -3.0, -1.9, -7.5]
    assert rollout.response_mask.tolist() == [False, False, True, True]
    assert rollout.metadata["prompt_tokens"] == 2


@pytest.mark.parametrize("lead", [[None], []])
def test_a_leading_null_or_none(lead):
    record = {"prompt_token_ids": [1, 2, 3], "prompt_logprobs": [*lead, {"2": entry(-1.0)}, {"3": entry(-2.0)}]}
    (rollout,) = vllm.from_record(record)
    assert logprobs(rollout) == [None, -1.0, -2.0]


def test_entries_of_other_positions_are_found_out():
    record = {"prompt_token_ids": [1, 2, 3], "prompt_logprobs": [{"2": entry(-1.0)}, {"3": entry(-2.0)}, None]}
    with pytest.raises(ReadError, match=r"at 0, id 1 is not among \[2\].*shifted"):
        vllm.from_record(record)


def test_an_entry_without_its_token_is_missing():
    record = {"prompt_token_ids": [1, 2, 3], "prompt_logprobs": [None, {"9": entry(-1.0)}, {"3": entry(-2.0)}]}
    assert logprobs(vllm.from_record(record)[0]) == [None, None, -2.0]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"prompt_logprobs": [None]}, "without prompt_token_ids"),
        ({"prompt_token_ids": [1, 2, 3], "prompt_logprobs": [None]}, "3 token ids and 1 entries"),
        ({"outputs": [{"token_ids": [1], "logprobs": [{}, {}]}]}, "1 token ids and 2 entries"),
        ({"choices": [{"token_ids": [1], "logprobs": {"content": []}}]}, "1 token_ids and 0 log-probabilities"),
    ],
)
def test_lengths_that_do_not_fit_are_both_named(record, said):
    with pytest.raises(ReadError, match=said):
        vllm.from_record(record)


def test_choices_with_ids_and_a_leading_prompt_of_their_own():
    choice = {
        "index": 1,
        "text": "5",
        "token_ids": [20],
        "prompt_token_ids": [1],
        "logprobs": {"tokens": ["5"], "token_logprobs": [-9999.0], "top_logprobs": [None], "text_offset": [0]},
    }
    record = {"id": "cmpl", "model": "Qwen3", "choices": [{**choice, "index": 0}, choice]}
    assert sniff(record) is vllm
    one, two = vllm.from_record(record)
    assert (one.id, two.id) == ("cmpl/0", "cmpl/1")
    assert logprobs(two) == [float("-inf")]
    assert two.tracks["student"].censored.tolist() == [True]
    assert two.tracks["student"].provenance.model == "Qwen3"
    assert two.tokens == ("5",)


def test_ids_written_in_place_of_strings():
    said = {"tokens": ["token_id:20", "token_id:2"], "token_logprobs": [-0.1, -0.2]}
    record = {"choices": [{"text": "5", "token_ids": None, "logprobs": said}]}
    assert sniff(record) is vllm
    (rollout,) = vllm.from_record(record)
    assert rollout.response_ids.tolist() == [20, 2]
    assert rollout.prompt_ids is None


def test_minus_infinity_among_the_likeliest():
    record = {"outputs": [{"token_ids": [1], "logprobs": [{"1": entry(-0.1, 1), "2": entry(float("-inf"), 2)}]}]}
    (rollout,) = vllm.from_record(record)
    assert rollout.tracks["student"].topk.logprobs.tolist() == [[pytest.approx(-0.1), float("-inf")]]


# --- SGLang


def response(**info):
    return {"text": " 5", "meta_info": {"finish_reason": {"type": "stop", "matched": 2}, "id": "s", **info}}


def test_sglang_output_only():
    (rollout,) = sglang.from_record(
        response(output_token_logprobs=[[-0.3, 20, " 5"], [-0.1, 2, None]], output_top_logprobs=None)
    )
    assert (rollout.status, rollout.id, rollout.prompt_ids) == ("stop", "s", None)
    assert rollout.tokens == (" 5", "token_id:2")
    assert rollout.tracks["student"].rank is None


def test_sglang_input_does_not_count_once_something_was_generated():
    (rollout,) = sglang.from_record(
        response(input_token_logprobs=[[-2.0, 11, None]], output_token_logprobs=[[-0.1, 2, None]])
    )
    assert logprobs(rollout) == [-2.0, -0.1]
    assert rollout.response_mask.tolist() == [False, True]


INPUT = [[None, 1, "a"], [-2.0, 2, "b"], [-3.0, 3, "c"]]
OUTPUTS = [[-0.5, 10, " d"], [-0.25, 11, " e"]]


def test_sglang_input_that_covers_the_prompt_is_the_prompt():
    tops = {
        "input_top_logprobs": [None, [[-0.1, 7, None]], [[-0.2, 8, None]]],
        "output_top_logprobs": [[[-0.5, 10, None]], [[-0.125, 9, None], [-0.25, 11, None]]],
    }
    info = response(prompt_tokens=3, input_token_logprobs=INPUT, output_token_logprobs=OUTPUTS, **tops)
    (rollout,) = sglang.from_record({**info, "text": " d e", "output_ids": [10, 11]})
    assert (rollout.prompt_ids.tolist(), rollout.response_ids.tolist()) == ([1, 2, 3], [10, 11])
    assert rollout.response_mask.all()
    assert logprobs(rollout) == [-0.5, -0.25]
    assert rollout.tracks["student"].rank.tolist() == [1, 2]
    assert rollout.tracks["student"].topk.ids.tolist() == [[10, -1], [9, 11]]
    assert rollout.metadata == {"prompt_logprobs": [None, -2.0, -3.0]}
    assert (rollout.tokens, rollout.response_text) == ((" d", " e"), " d e")


def test_sglang_input_that_covers_the_records_own_ids():
    info = response(input_token_logprobs=INPUT, output_token_logprobs=OUTPUTS)
    (rollout,) = sglang.from_record({**info, "input_ids": [1, 2, 3]})
    assert (rollout.prompt_ids.tolist(), rollout.response_ids.tolist()) == ([1, 2, 3], [10, 11])
    with pytest.raises(ReadError, match="3 input_ids and log-probabilities of 3 tokens that differ from number 0"):
        sglang.from_record({**info, "input_ids": [9, 2, 3]})


def test_sglang_input_that_begins_later_is_shown_after_the_prompt():
    info = response(prompt_tokens=5, input_token_logprobs=INPUT, output_token_logprobs=OUTPUTS)
    (known,) = sglang.from_record({**info, "input_ids": [8, 9, 1, 2, 3]})
    assert (known.prompt_ids.tolist(), known.response_ids.tolist()) == ([8, 9], [1, 2, 3, 10, 11])
    assert logprobs(known) == [None, -2.0, -3.0, -0.5, -0.25]
    assert known.response_mask.tolist() == [False] * 3 + [True] * 2
    (unknown,) = sglang.from_record(info)
    assert (unknown.prompt_ids, unknown.response_ids.tolist()) == (None, [1, 2, 3, 10, 11])


def test_sglang_scoring_alone_shows_the_input():
    (rollout,) = sglang.from_record(response(prompt_tokens=3, input_token_logprobs=INPUT))
    assert (rollout.prompt_ids.tolist(), rollout.response_ids.tolist()) == ([], [1, 2, 3])
    assert logprobs(rollout) == [None, -2.0, -3.0]


def test_sglang_output_ids_without_log_probabilities_are_the_response():
    info = response(prompt_tokens=3, input_token_logprobs=INPUT)
    (rollout,) = sglang.from_record({**info, "output_ids": [10, 11]})
    assert (rollout.prompt_ids.tolist(), rollout.response_ids.tolist()) == ([1, 2, 3], [10, 11])
    assert rollout.tracks == {}


def test_sglang_minus_infinity_and_rank():
    rows = [[[-0.1, 7, None], [-1.9, 20, None]]]
    (rollout,) = sglang.from_record(response(output_token_logprobs=[["-inf", 20, None]], output_top_logprobs=rows))
    assert logprobs(rollout) == [float("-inf")]
    assert rollout.tracks["student"].rank.tolist() == [2]


@pytest.mark.parametrize(
    ("info", "said"),
    [
        ({"output_token_logprobs": [[-0.1, 2, None]], "output_top_logprobs": [None, None]}, "1 tokens and 2 rows"),
        ({"output_token_logprobs": [5]}, "entry 0 of output_token_logprobs"),
    ],
)
def test_sglang_broken(info, said):
    with pytest.raises(ReadError, match=said):
        sglang.from_record(response(**info))


def test_sglang_without_log_probabilities():
    assert sglang.from_record(response())[0].text_source == "text"
    assert sglang.from_record({**response(), "output_ids": [3]})[0].response_ids.tolist() == [3]
    with pytest.raises(ReadError, match="neither token"):
        sglang.from_record({"meta_info": {}})


# --- OpenAI


def chat(*content, **message):
    return {"choices": [{"message": {"content": "x", **message}, "logprobs": {"content": list(content)}}]}


def test_bytes_that_are_null_are_the_strings_own():
    record = chat({"token": "é", "bytes": None, "logprob": -1}, {"token": "?", "bytes": [0xF0], "logprob": -1})
    (rollout,) = openai.from_record(record)
    assert rollout.token_bytes == ("é".encode(), b"\xf0")


def test_a_family_of_emoji_in_pieces_is_whole_again():
    data = "👩‍👧".encode()
    parts = [data[:3], data[3:5], data[5:8], data[8:]]
    record = chat(*[{"token": "\ufffd", "bytes": list(part), "logprob": -0.5} for part in parts])
    cells = display_cells(response_pieces(openai.from_record(record)[0], {}))
    assert [(cell.start, cell.stop) for cell in cells] == [(0, 4)]


def test_the_bytes_a_completion_writes_as_text():
    said = {"tokens": ["bytes:\\xf0\\x9f", "bytes:\\x91\\x8d"], "token_logprobs": [-1, -2]}
    (rollout,) = openai.from_record({"choices": [{"text": "👍", "logprobs": said}]})
    assert [cell.text for cell in display_cells(response_pieces(rollout, {}))] == ["👍"]


def test_tokens_spelled_in_a_models_own_alphabet_are_slices_of_the_text():
    said = {"tokens": ["It", "Ġis"], "token_logprobs": [-1, -2], "text_offset": [10, 12]}
    (rollout,) = openai.from_record({"choices": [{"text": "It is", "logprobs": said}]})
    assert rollout.tokens == ("It", " is")


def test_an_echoed_prompt_does_not_count_once_something_was_generated():
    said = {"tokens": ["q", "?", "5"], "token_logprobs": [None, -1, -2], "text_offset": [0, 1, 2]}
    record = {"usage": {"prompt_tokens": 2}, "choices": [{"text": "q?5", "logprobs": said}]}
    assert openai.from_record(record)[0].response_mask.tolist() == [False, False, True]


def test_a_batch_line_and_the_request_beside_it():
    body = {"id": "c", "choices": [{"message": {"content": "5"}, "finish_reason": "length"}]}
    record = {
        "custom_id": "q1",
        "response": {"body": body},
        "request": {"messages": [{"role": "user", "content": "2+3?"}]},
    }
    assert sniff(record) is openai
    (rollout,) = openai.from_record(record)
    assert (rollout.response_text, rollout.question, rollout.status) == ("5", "2+3?", "truncated")
    assert rollout.text_source == "text"


def test_openai_broken():
    with pytest.raises(ReadError, match="neither text nor"):
        openai.from_record({"choices": [{"message": {"content": None}}]})
    with pytest.raises(ReadError, match="2 tokens and 1 values in token_logprobs"):
        openai.from_record({"choices": [{"text": "ab", "logprobs": {"tokens": ["a", "b"], "token_logprobs": [-1]}}]})
    with pytest.raises(ReadError, match="as token 0"):
        openai.from_record(chat({"logprob": -1}))
    with pytest.raises(RolloutError, match=r"above 0: 0\.7"):
        openai.from_record(chat({"token": "a", "logprob": 0.7}))
