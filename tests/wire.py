"""What was sent to the browser, read back independently of what wrote it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Cells(NamedTuple):
    """A rollout's cells: first token, text and kind of each."""

    starts: list[int]
    texts: list[str]
    kinds: str


def cells(wire: dict[str, Any], rollout: int) -> Cells:
    """Return a rollout's cells from the `scores` trait."""
    looks, packed = wire["meta"]["looks"], wire["meta"]["rollouts"][rollout]["cells"]
    width = "<u2" if len(looks["texts"]) <= 65536 else "<u4"
    numbers = np.frombuffer(wire["cells"], width)[packed["at"] : packed["at"] + packed["count"]].tolist()
    sizes = [1] * packed["count"]
    for cell, tokens in zip(packed["joined"][::2], packed["joined"][1::2], strict=True):
        sizes[cell] = tokens
    starts = [0, *np.cumsum(sizes).tolist()][: packed["count"]]
    return Cells(starts, [looks["texts"][n] for n in numbers], "".join(looks["kinds"][n] for n in numbers))
