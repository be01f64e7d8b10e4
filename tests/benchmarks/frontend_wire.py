"""How many bytes the Python side sends, by what they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import opd_widgets as opd
from tests.benchmarks.frontend_measure import signals_of

SIGNALS = 10


@dataclass(frozen=True)
class Wire:
    """Bytes of one message; `per_value` is a signal's at one token under one teacher, top-k left out."""

    signals: int
    others: int
    text: int
    per_value: float

    @property
    def whole(self) -> int:
        """Bytes of the whole message."""
        return self.signals + self.others + self.text


def with_signals(scores: opd.Scores, count: int = SIGNALS) -> opd.Scores:
    """Return scores with the first `count` signals that belong to teachers: every one of them is sent for each."""
    chosen = [name for name in signals_of(scores) if name not in scores.items[0].signals][:count]
    items = tuple(
        replace(
            item,
            signals={},
            teachers={
                name: replace(scored, signals={key: scored.signals[key] for key in chosen})
                for name, scored in item.teachers.items()
            },
        )
        for item in scores.items
    )
    return replace(scores, items=items)


def wire(scores: opd.Scores) -> Wire:
    """Return what a widget of these scores sends when it is shown, its script and style sheet left out."""
    state = {key: value for key, value in opd.TokenStrip(scores).get_state().items() if key not in {"_esm", "_css"}}
    leaves = list(_leaves(state, ""))
    signals = sum(len(value) for path, value in leaves if _is_binary(value) and path.startswith("/scores/values"))
    others = sum(len(value) for _, value in leaves if _is_binary(value)) - signals
    text = len(json.dumps(_without_binary(state), default=str).encode())
    values = sum(len(rollout) for rollout in scores.rollouts) * sum(
        len(scored.signals) for scored in scores.items[0].teachers.values()
    )
    return Wire(signals, others, text, signals / values)


def _is_binary(value: object) -> bool:
    return isinstance(value, bytes | bytearray | memoryview)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _leaves(entry, f"{path}/{key}")
    elif isinstance(value, list | tuple):
        for number, entry in enumerate(value):
            yield from _leaves(entry, f"{path}/{number}")
    else:
        yield path, value


def _without_binary(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_binary(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_without_binary(entry) for entry in value]
    return None if _is_binary(value) else value
