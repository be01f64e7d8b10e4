"""OPSD: `generations/generations_step_{step}.json`, one file a step with prompts and completions.

Text only: the prompt without its special tokens, the completion with them. Other trainers that grew from it add fields
of their own, which are kept as metadata. A real dump has been tried: no, written from the published shape.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opd_widgets.data.readers.foreign import conversation, step_of, text_at
from opd_widgets.data.readers.values import rest_of
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import ReadError

NAME = "opsd"
_KNOWN = frozenset({"step", "prompt", "completion", "reward"})


def matches(record: Mapping[str, Any]) -> bool:
    """Return whether a record is in this format."""
    return isinstance(record.get("generations"), list) and bool({"step", "num_samples"} & record.keys())


def parts(record: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a step's generations one by one, so that a broken one costs that one."""
    for generation in record["generations"]:
        yield {"step": record.get("step"), "generations": [generation]}


def from_record(record: Mapping[str, Any]) -> list[Rollout]:
    """Return the rollouts of a step.

    Raises:
        ReadError: a generation without prompt and completion as texts.

    """
    rollouts = []
    for generation in record["generations"]:
        if not isinstance(generation, Mapping):
            msg = f"found a generation of type {type(generation).__name__}, expected a JSON object"
            raise ReadError(msg)
        fields = conversation(text_at(generation, "prompt"), text_at(generation, "completion"))
        step = generation.get("step")
        rollouts.append(
            Rollout(
                id="",
                step=step_of(record.get("step") if step is None else step),
                reward=generation.get("reward"),
                metadata=rest_of(generation, _KNOWN),
                **fields,
            )
        )
    return rollouts
