"""No reader claims a record that is another format's."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from opd_widgets.data.readers import (
    chat,
    inspect_ai,
    lm_eval,
    ms_swift,
    nemo_rl,
    opsd,
    prime_rl,
    rlloggingboard,
    skyrl,
    verifiers,
)
from opd_widgets.data.readers.registry import sniff
from opd_widgets.errors import OpdError
from tests.reader_cases import all_records

MODULES = [prime_rl, verifiers, nemo_rl, lm_eval, inspect_ai, opsd, skyrl, ms_swift, rlloggingboard, chat]
OWNERS = {
    "nemo_rl_train_data_step3.jsonl": "nemo_rl",
    "prime_rl_token_export.jsonl": "prime_rl",
    "verifiers_trace.json": "verifiers",
    "lm_eval_samples.jsonl": "lm_eval",
    "board_length_mismatch.jsonl": "rlloggingboard",
    "html_in_tokens.jsonl": "rlloggingboard",
    "rtl_cjk_controls.jsonl": "rlloggingboard",
}
ALL_OWNERS = {
    **OWNERS,
    "messages.jsonl": "messages",
    "open_instruct_rollouts.jsonl": "open_instruct",
    "positive_logprob.jsonl": "open_instruct",
    "openai_chat_logprobs.json": "openai",
    "openai_completion_echo.json": "openai",
    "sglang_generate.json": "sglang",
    "slime_samples.json": "slime",
    "trl_completions.jsonl": "trl",
    "verl_20.jsonl": "verl",
    "vllm_prompt_logprobs.json": "vllm",
}
TURNS = [{"role": "user", "content": "2+3?"}]
SAID = [{"role": "assistant", "content": "5"}]
OUTPUT = {"choices": [{"message": SAID[0], "stop_reason": "stop"}]}
INVENTED: dict[str, tuple[str | None, dict[str, Any]]] = {
    "episode": ("prime_rl", {"env": {}, "task": {}, "group": {}, "run": "r", "traces": []}),
    "result": ("verifiers", {"example_id": 0, "prompt": TURNS, "completion": SAID, "reward": 1.0, "accuracy": 1.0}),
    "validation": ("nemo_rl", {"content": [[*TURNS, *SAID]], "rewards": [1.0], "idx": 0}),
    "distillation": ("nemo_rl", {"content": [["2+3?", "5"]], "input_lengths": [6], "idx": 0}),
    "log": ("inspect_ai", {"version": 2, "eval": {}, "samples": []}),
    "sample": ("inspect_ai", {"id": 1, "epoch": 1, "input": "2+3?", "messages": TURNS, "output": OUTPUT, "scores": {}}),
    "generations": ("opsd", {"step": 100, "num_samples": 0, "generations": []}),
    "evaluation": ("skyrl", {"input_prompt": "2+3?", "output_response": "5", "score": 1.0, "data_source": "gsm8k"}),
    "columns": ("ms_swift", {"step": ["3"], "prompt": ["2+3?"], "completion": ["5"], "accuracy": [1.0]}),
    "row": ("ms_swift", {"gen_step": 3, "prompt": "2+3?", "completion": "5", "reward": 1.0}),
    "pair": ("chat", {"prompt": TURNS, "completion": SAID}),
    "texts": ("chat", {"prompt": "2+3?", "completion": "5"}),
    "step of TRL": (None, {"step": 1, "prompt": "2+3?", "completion": "5", "r": 1.0, "advantage": 0.1}),
    "in-memory slime": (None, {"rollout_id": 1, "samples": [{"tokens": [1], "response_length": 1}]}),
    "open-instruct": (None, {"prompt_tokens": [1], "response_tokens": [2], "logprobs": [-1.0]}),
    "empty": (None, {}),
}


def claims(record):
    return [module.NAME for module in MODULES if module.matches(record)]


@pytest.mark.parametrize("name", sorted(all_records()))
def test_the_first_to_claim_a_case_is_its_own_reader(name):
    for record in all_records()[name]:
        found = sniff(record)
        assert (found and found.NAME) == ALL_OWNERS.get(name)


@pytest.mark.parametrize("name", sorted(all_records()))
def test_a_case_is_claimed_by_its_own_reader_only(name):
    owner = OWNERS.get(name)
    for record in all_records()[name]:
        assert claims(record) == ([owner] if owner else [])


@pytest.mark.parametrize(("owner", "record"), INVENTED.values(), ids=INVENTED)
def test_a_shape_is_claimed_by_its_own_reader_only(owner, record):
    assert claims(record) == ([owner] if owner else [])


@pytest.mark.parametrize("odd", [None, 1, "x", [], [1], [[1]], {}, [None]])
@pytest.mark.parametrize("shape", INVENTED)
def test_odd_values_are_looked_at_without_a_fault(shape, odd):
    record = INVENTED[shape][1]
    for name in record:
        claims({**record, name: odd})


@pytest.mark.parametrize("odd", [None, 1, "x", [], [1], [[1]], {}, [None]])
@pytest.mark.parametrize("shape", [*INVENTED, *OWNERS])
def test_odd_values_cost_their_record_only(shape, odd):
    """Whatever stands in a field, a reader either reads the record or refuses it."""
    record = INVENTED[shape][1] if shape in INVENTED else all_records()[shape][0]
    for name in record:
        changed = {**record, name: odd}
        for module in MODULES:
            if module.matches(changed):
                with contextlib.suppress(OpdError, TypeError, ValueError, KeyError):
                    module.from_record(changed)
