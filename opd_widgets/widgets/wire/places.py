"""The `places` trait: the questions, rollouts and nodes of a diagnosis, by which its views name what is selected.

The front end's half of this contract is `js/src/model/diagnosis_contract.ts`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.piece import Piece
from opd_widgets.data.tokens import SPECIAL, display_cells
from opd_widgets.diagnosis.along_scores import nodes_along
from opd_widgets.widgets.wire.cells import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.result import Diagnosis

VERSION = 1


Along = Mapping[str, Mapping[int, "NDArray[np.int32]"]]


def wire_places(result: Diagnosis, along: Along, *, rollouts: bool = True) -> dict[str, Any]:
    """Return a diagnosis's places as the front end takes them; of the rollouts, the initial ones, or none at all.

    Args:
        result: the diagnosis.
        along: `initial_nodes` of each question, by its id.
        rollouts: whether they are sent.

    """
    questions, ids, nodes, offset = [], [], [], 0
    titles = result.about.get("titles", {})
    for one in result.evidence:
        rows = []
        for index, at in (along[one.question] if rollouts else {}).items():
            drawn = one.rollouts[index]
            rows.append({"index": index, "offset": offset, "length": len(at), **ending(drawn.outcome, drawn.truncated)})
            ids.append(drawn.ids)
            nodes.append(at)
            offset += len(at)
        title = one_line(str(titles.get(one.question) or one.question))
        questions.append(
            {
                "id": one.question,
                "title": title,
                "nodes": len(one.nodes),
                "drawn": len(one.rollouts),
                "rollouts": rows,
            }
        )
    described = result.about.get("teachers", {})
    meta = {
        "version": VERSION,
        "student": str(result.about.get("student") or ""),
        "teachers": [
            {"name": name, "description": str(described.get(name, {}).get("description", ""))}
            for name in result.teachers
        ],
        "questions": questions,
        "vocab": vocab(_used(result), result.about),
        "tokens": offset,
        "notes": [str(note) for note in result.about.get("notes", ())],
    }
    return {
        "meta": meta,
        "token_ids": np.concatenate([np.zeros(0, np.int32), *ids]).astype("<u4").tobytes(),
        "node_at": np.concatenate([np.zeros(0, np.int32), *nodes]).astype("<i4").tobytes(),
    }


def ending(outcome: int, truncated: bool) -> dict[str, str]:  # noqa: FBT001 - the two fields of a drawn rollout
    """Return how a rollout ended, in the words of `opd.Rollout`; a truncated one was never shown to the verifier."""
    words = {1: "correct", 0: "incorrect"}
    return {
        "outcome": "incorrect" if truncated else words.get(outcome, "unverified"),
        "status": "truncated" if truncated else "stop",
    }


def initial_nodes(evidence: Evidence) -> dict[int, NDArray[np.int32]]:
    """Return the node at each token of each initial rollout, by its index, int32 [R]; -1 where there is none."""
    initial = np.flatnonzero(evidence.initial).tolist()
    return dict(zip(initial, nodes_along(evidence.nodes, [evidence.rollouts[i].ids for i in initial]), strict=True))


def vocab(ids: Iterable[int], about: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return how to show each id by itself, text and kind of cell; the number itself where the text is not known."""
    shown, pieces, special = {}, about.get("pieces", {}), frozenset(about.get("special", ()))
    for token in ids:
        text = pieces.get(str(token))
        cell = display_cells([Piece.from_text(text, special=token in special)])[0] if text is not None else None
        shown[str(token)] = [cell.text, cell.kind] if cell else [str(token), SPECIAL]
    return shown


def _used(result: Diagnosis) -> list[int]:
    """Return every id in use, ascending; by flags, since to sort the ids of thousands of rollouts takes a second."""
    every = [one.nodes.tokens[one.nodes.used] for one in result.evidence]
    every += [drawn.ids for one in result.evidence for drawn in one.rollouts]
    used = np.zeros(1 + max((int(ids.max()) for ids in every if ids.size), default=-1), np.bool_)
    for ids in every:
        used[ids] = True
    return np.flatnonzero(used).tolist()
