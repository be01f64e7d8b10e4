"""The `tree` trait: the generation tree of each question of a diagnosis, as buffers that open without Python.

The front end's half of this contract is `js/src/model/tree_contract.ts`. Places stand parents first, as in `Tree`. The
tokens that lead to a place from its parent follow those of the place before it in one buffer, so that a token that many
rollouts share is sent once. How many rollouts pass a place is counted in the browser, from where each begins and ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, UNVERIFIED
from opd_widgets.diagnosis.tables.place_success import place_success
from opd_widgets.diagnosis.tables.verdict import VERDICTS
from opd_widgets.widgets.wire.buffers import floats
from opd_widgets.widgets.wire.reading_columns import columns_of_nodes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.reading import Reading
    from opd_widgets.diagnosis.result import Diagnosis

VERSION = 1
ENDINGS = ("correct", "incorrect", "truncated", "unverified")
SMALL = 1 << 16  # so many distinct tokens fit into two bytes each


def wire_tree(result: Diagnosis) -> dict[str, Any]:
    """Return a diagnosis's trees as the front end takes them, beside its `places`: names and texts are there."""
    along = [tokens_along(one) for one in result.evidence]
    used = np.unique(np.concatenate([np.zeros(0, np.int32), *along]))
    width = 2 if len(used) <= SMALL else 4
    questions, buffers = [], []
    for reading, tokens in zip(result.readings, along, strict=True):
        one, made = reading.evidence, _buffers(reading)
        questions.append(
            {
                "places": len(one.tree),
                "tokens": len(tokens),
                "rollouts": len(one.rollouts),
                "nodes": len(one.nodes),
                "estimates": len(made["estimate_at_node"]),
            }
        )
        buffers.append({"tokens": np.searchsorted(used, tokens).astype(f"<u{width}").tobytes(), **made})
    meta = {
        "version": VERSION,
        "questions": questions,
        "ids": used.tolist(),
        "token_bytes": width,
        "verdicts": list(VERDICTS),
        "endings": list(ENDINGS),
        "level": result.settings.level,
    }
    return {"meta": meta, "questions": buffers}


def tokens_along(evidence: Evidence) -> NDArray[np.int32]:
    """Return the ids that lead to each place from its parent, place after place."""
    tree = evidence.tree
    source = np.full(len(tree), -1, np.int64)  # a rollout that passes
    source[tree.leaf] = np.arange(len(evidence.rollouts))
    passing, parents, depths = source.tolist(), tree.parent.tolist(), tree.depth.tolist()
    for place in range(len(tree) - 1, 0, -1):
        if passing[parents[place]] < 0:
            passing[parents[place]] = passing[place]
    parts = [
        evidence.rollouts[passing[place]].ids[depths[parents[place]] : depths[place]] for place in range(1, len(tree))
    ]
    return np.concatenate([np.zeros(0, np.int32), *parts]).astype(np.int32)


def ending(drawn: Drawn) -> int:
    """Return how a rollout ended, as its index in `ENDINGS`; each is one of the four."""
    if drawn.truncated:
        return ENDINGS.index("truncated")
    if drawn.outcome == UNVERIFIED:
        return ENDINGS.index("unverified")
    return ENDINGS.index("correct" if drawn.outcome == CORRECT else "incorrect")


def _buffers(reading: Reading) -> dict[str, bytes]:
    evidence, success = reading.evidence, place_success(reading)
    tree = evidence.tree
    columns = columns_of_nodes(reading)
    verdict = [VERDICTS.index(str(name)) for name in np.ravel(columns["verdict"])]
    return {
        "parent": _int32(tree.parent),
        "depth": _int32(tree.depth),
        "leaf": _int32(tree.leaf),
        "begin": _int32(tree.begin),
        "ending": np.array([ending(drawn) for drawn in evidence.rollouts], np.uint8).tobytes(),
        "estimate_place": _int32(success.place),
        "estimate_at_node": success.at_node.astype(np.uint8).tobytes(),
        "estimates": floats(np.stack([success.mean, success.low, success.high])),
        "node_place": _int32(evidence.node_place),
        "alignments": floats(
            np.stack(
                [np.asarray(columns[name], np.float64) for name in ("alignment", "alignment_low", "alignment_high")]
            )
        ),
        "verdict": np.array(verdict, np.uint8).tobytes(),
    }


def _int32(array: NDArray[np.integer]) -> bytes:
    return np.ascontiguousarray(array, dtype="<i4").tobytes()
