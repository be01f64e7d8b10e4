"""NeMo-RL: `train_data_step{N}.jsonl` and `val_data_step{N}.jsonl`.

Every value is wrapped in a list of one. Training rows are padded to the longest of their batch and are cut at
`input_lengths`; log-probabilities stand at the token they score and are 0 at tokens that were not sampled. A
distillation run writes texts only. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from opd_widgets.data.readers.foreign import are_turns, conversation, one_a_token, only_where
from opd_widgets.data.readers.values import mask_of, rest_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.data.track import LogprobTrack
from opd_widgets.errors import ReadError

NAME = "nemo_rl"
_KNOWN = frozenset({
    "content", "rewards", "input_lengths", "token_ids", "token_loss_mask", "generation_logprobs", "prev_logprobs",
    "advantages",
})  # fmt: skip
_VERDICT = "Environment:"  # the mathematics environment writes what it found as a last text


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    wrapped = all(isinstance(record[name], list) for name in ("content", "token_ids") if name in record)
    return wrapped and (
        ("input_lengths" in record and bool({"content", "token_ids"} & record.keys()))
        or ({"content", "rewards", "idx"} <= record.keys())
    )


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollout a record holds.

    Raises:
        ReadError: a value that is not wrapped alone, lists that do not fit each other, texts whose roles are unknown.

    """
    content = _one(record, "content")
    reward = _one(record, "rewards")
    metadata = {name: _unwrapped(value) for name, value in rest_of(record, _KNOWN).items()}
    if _one(record, "token_ids") is not None:
        return [_with_ids(record, content, reward, metadata)]
    if are_turns(content):
        first = next((i for i, turn in enumerate(content) if turn.get("role") == "assistant"), len(content))
        last = max((i for i, turn in enumerate(content) if turn.get("role") == "assistant"), default=first)
        fields = conversation(content[:first], content[first : last + 1])
        return [Rollout(id="", reward=reward, metadata=metadata, **fields)]
    texts, verdict = _texts(content)
    if len(texts) != 2:
        msg = (
            f"found {len(texts)} texts without roles, expected [prompt, response]: which of them the student wrote is "
            "not recorded. The val_data_step files record roles"
        )
        raise ReadError(msg)
    return [Rollout(id="", reward=reward, metadata={**metadata, **verdict}, **conversation(texts[0], texts[1]))]


def _with_ids(record: Mapping[str, Any], content: object, reward: Any, metadata: dict[str, Any]) -> Rollout:
    ids, length = _padded_ids(record)
    mask = one_a_token("token_loss_mask values", _one(record, "token_loss_mask"), len(ids), "token_ids")[:length]
    mask = mask_of("token_loss_mask", mask)
    start = mask.index(True) if True in mask else length
    kept = mask[start:]
    scored = [sampled and position > 0 for position, sampled in enumerate(mask)][start:]  # nothing precedes the first
    sampled = {}
    for name in ("generation_logprobs", "prev_logprobs"):
        values = _one(record, name)
        if values is not None:
            values = one_a_token(name, values, len(ids), "token_ids")[start:length]
            sampled[name] = only_where(scored, values)
    # What the engine sampled with is the student's; the trainer's own pass stands in where a run did not log that.
    student = sampled.pop("generation_logprobs", None) or sampled.pop("prev_logprobs", None)
    texts, verdict = _texts(content) if isinstance(content, list) and not are_turns(content) else ([], {})
    known = len(texts) == 2
    advantages = _one(record, "advantages")
    if isinstance(advantages, list):
        sampled["advantages"] = one_a_token("advantages", advantages, len(ids), "token_ids")[start:length]
    return Rollout(
        id="",
        prompt_ids=ids[:start],
        response_ids=ids[start:length],
        prompt_text=texts[0] if known else None,
        response_text=texts[1] if known else None,
        response_mask=kept,  # type: ignore[arg-type]  # the record makes the array
        question=texts[0] if known else "",
        reward=reward,
        tracks={} if student is None else {"student": LogprobTrack.from_optional(student)},
        metadata={**metadata, **verdict, **sampled},
    )


def _padded_ids(record: Mapping[str, Any]) -> tuple[Any, int]:
    ids, length = _one(record, "token_ids"), _one(record, "input_lengths")
    count = len(ids) if isinstance(ids, list) else -1
    if not isinstance(length, int) or not 0 <= length <= count:
        found = f"{count} token_ids" if count >= 0 else f"token_ids of type {type(ids).__name__}"
        msg = f"found input_lengths {length!r} and {found}; expected a length within the padded ids"
        raise ReadError(msg)
    return ids, length


def _texts(content: object) -> tuple[list[str], dict[str, Any]]:
    """Return the turns' texts, and the environment's verdict where one follows the response."""
    if not isinstance(content, list) or not all(isinstance(text, str) for text in content):
        msg = f"found content {content!r:.60}, expected a list of texts or of turns"
        raise ReadError(msg)
    if len(content) > 2 and content[-1].startswith(_VERDICT):
        return content[:-1], {"environment": content[-1]}
    return content, {}


def _one(record: Mapping[str, Any], name: str) -> Any:
    value = record.get(name)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 1:
        found = f"{len(value)} values" if isinstance(value, list) else f"a {type(value).__name__}"
        msg = f"found {found} under {name!r}, expected a list of one: NeMo-RL wraps each value of a sample"
        raise ReadError(msg)
    return value[0]


def _unwrapped(value: Any) -> Any:
    return value[0] if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 1 else value
