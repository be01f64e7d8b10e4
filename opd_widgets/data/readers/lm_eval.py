"""lm-evaluation-harness: `samples_{task}_{date}.jsonl`, the text of generation tasks.

A document stands in the file once a filter. `merge` joins these to one rollout with a reward for each filter, and is to
be called with all rollouts of a file. A reward is called after its filter, or after its metric where the harness names
no filter ("none"); the metadata has every score under the harness's own name, "metric,filter", too. Rows of
loglikelihood tasks hold a total for each choice and no response. A real dump has been tried: no, written from the
published shape.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from opd_widgets.data.readers.foreign import are_turns, conversation, is_number
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "lm_eval"
NO_FILTER = "none"  # the harness's own word
_DOCUMENT = ("doc_id", "doc_hash", "prompt_hash", "target")


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return {"doc_id", "resps"} <= record.keys() and bool({"arguments", "filtered_resps"} & record.keys())


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return a rollout for each response of a document: one, or as many as the task repeats it.

    Raises:
        ReadError: a loglikelihood task, or no prompt or response.

    """
    prompt, options = _request(record.get("arguments"))
    responses = _responses(record["resps"], options)
    name = str(record.get("filter", NO_FILTER))
    found = _scores(record)
    scores = _named(found, name)
    metadata: dict[str, Any] = {field: record[field] for field in _DOCUMENT if field in record}
    metadata |= {"doc": record.get("doc"), "filtered": {name: record.get("filtered_resps")}}
    if len(responses) > 1:  # the metric is of all repeats together: whose it is, is not recorded
        metadata |= {"scores_of_all_repeats": scores, "repeats": len(responses)}
        scores = {}
    else:
        metadata |= {f"{metric},{name}": value for metric, value in found.items()}
    return [
        Rollout(id="", reward=scores or None, metadata={**metadata, "repeat": number}, **conversation(prompt, text))
        for number, text in enumerate(responses)
    ]


def merge(rollouts: Iterable[Rollout]) -> list[Rollout]:
    """Join the rollouts that are one response under several filters; the first of them gives the order and the id.

    A filter that returns for the same response is a second run in one file and stays a rollout of its own.
    """
    merged: list[Rollout] = []
    places: dict[tuple[object, ...], int] = {}
    for rollout in rollouts:
        about = rollout.metadata
        if "filtered" not in about:  # another format's, read from the same folder
            merged.append(rollout)
            continue
        where = (*(str(about.get(field)) for field in _DOCUMENT), about.get("repeat"), rollout.prompt_text)
        key = (*where, rollout.messages, rollout.response_text)
        place = places.get(key)
        if place is None or about["filtered"].keys() & merged[place].metadata["filtered"].keys():
            places[key] = len(merged)
            merged.append(rollout)
        else:
            merged[place] = _joined(merged[place], rollout)
    return merged


def _joined(one: Rollout, two: Rollout) -> Rollout:
    metadata = {**two.metadata, **one.metadata}
    for name in ("filtered", "scores_of_all_repeats"):
        if name in two.metadata:
            metadata[name] = {**metadata.get(name, {}), **two.metadata[name]}
    rewards = [rollout.reward for rollout in (one, two) if isinstance(rollout.reward, Mapping)]
    return replace(one, reward={name: value for r in rewards for name, value in r.items()} or None, metadata=metadata)


def _request(arguments: Any) -> tuple[Any, Any]:
    """Return prompt and options of a document's one request, from either way it has been written."""
    requests = list(arguments.values()) if isinstance(arguments, Mapping) else arguments
    if not isinstance(requests, list) or not requests:
        msg = f"found arguments {arguments!r:.60}, expected the request with its prompt"
        raise ReadError(msg)
    first = requests[0]
    if isinstance(first, Mapping):
        prompt, options = first.get("arg_0"), first.get("arg_1")
    elif isinstance(first, list) and first:
        prompt, options = first[0], first[1] if len(first) > 1 else None
    else:
        prompt, options = None, None
    if isinstance(options, str) or len(requests) > 1:
        raise ReadError(_no_response(len(requests)))
    return _prompt(prompt), options


def _prompt(prompt: Any) -> Any:
    """Return a text, or turns where the harness asked a chat server and kept its request as JSON."""
    if isinstance(prompt, list) and len(prompt) == 1 and isinstance(prompt[0], str):
        prompt = prompt[0]
    if isinstance(prompt, str) and prompt.startswith("[{"):
        try:
            turns = json.loads(prompt)
        except json.JSONDecodeError:
            return prompt
        return turns if are_turns(turns) else prompt
    if not isinstance(prompt, str) and not are_turns(prompt):
        msg = f"found a prompt of type {type(prompt).__name__}, expected a text"
        raise ReadError(msg)
    return prompt


def _responses(resps: Any, options: Any) -> list[str]:
    texts = resps[0] if isinstance(resps, list) and len(resps) == 1 and isinstance(resps[0], list) else resps
    if not isinstance(texts, list) or not texts:
        msg = f"found resps {resps!r:.60}, expected a list with the responses"
        raise ReadError(msg)
    if not all(isinstance(text, str) for text in texts) or (options is None and _is_loglikelihood(texts)):
        raise ReadError(_no_response(len(resps)))
    return texts


def _is_loglikelihood(texts: list[str]) -> bool:
    return len(texts) == 2 and texts[1] in {"True", "False"}


def _no_response(requests: int) -> str:
    return (
        f"found a loglikelihood task ({requests} requests): a total for each choice and no response, so there are no "
        "tokens to show. Expected a generate_until task"
    )


def _scores(record: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the metrics' values."""
    return {
        metric: float(record[metric])
        for metric in record.get("metrics") or []
        if is_number(record.get(metric)) or isinstance(record.get(metric), bool)
    }


def _named(found: Mapping[str, float | None], name: str) -> dict[str, float | None]:
    """Return one metric's value under the filter's name, where it has one; several as the harness writes them."""
    if len(found) == 1:
        return {(metric if name == NO_FILTER else name): value for metric, value in found.items()}
    return {f"{metric},{name}": value for metric, value in found.items()}
