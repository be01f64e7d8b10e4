"""The reader cases: their records, and what each is to give."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

FOLDER = Path(__file__).parent / "cases" / "readers"
EXPECTED: dict[str, Any] = json.loads((FOLDER / "expected.json").read_text("utf-8"))


def records(name: str) -> list[Any]:
    """The records of a file, without the lines that are cut off."""
    text = (FOLDER / name).read_text("utf-8")
    if name.endswith(".json"):
        return [json.loads(text)]
    found = []
    for line in text.splitlines():
        try:
            found.append(json.loads(line))
        except json.JSONDecodeError:
            continue
    return found


def all_records() -> dict[str, list[Any]]:
    names = sorted(path.name for path in FOLDER.iterdir() if path.suffix in {".json", ".jsonl"})
    return {name: records(name) for name in names if name != "expected.json"}


def assert_track(rollout, name, expected):
    """Compare with a list in which None is missing."""
    wanted = [np.nan if value is None else value for value in expected]
    np.testing.assert_array_equal(rollout.tracks[name].logprobs, np.asarray(wanted, np.float32))


def assert_ids(rollout, expected):
    np.testing.assert_array_equal(rollout.prompt_ids, expected["prompt_ids"])
    np.testing.assert_array_equal(rollout.response_ids, expected["response_ids"])
    mask = expected.get("mask", [True] * len(expected["response_ids"]))
    np.testing.assert_array_equal(rollout.response_mask, mask)
    for name in ("student", "teacher"):
        if name in expected:
            assert_track(rollout, name, expected[name])
        else:
            assert name not in rollout.tracks
