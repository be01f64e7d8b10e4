"""The likeliest tokens of either side: whole with a small run, by blocks of tokens where a large one is looked at.

The front end's half is `js/src/model/top_windows.ts`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from opd_widgets.data.tokens import display_cells
from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets._rpc import SUPERSEDED, Answer
from opd_widgets.widgets.wire.buffers import floats, unsigned

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from opd_widgets.data.piece import Piece
    from opd_widgets.data.scores import RolloutScores, Scores, TeacherScores
    from opd_widgets.widgets._rpc import Handler

TOP_K = 10  # columns sent to the browser; all that were measured stay in Python
# Up to here the likeliest tokens go with the scores, so that they are read while the kernel is busy, and without one:
# what 4,096 tokens under eight teachers take. Beyond, they would double what travels before anything is seen.
WITH_SCORES = 8 << 20  # bytes
# A page has nobody to ask, and a browser still opens this in seconds.
IN_PAGE = 64 << 20  # bytes
LONGEST = 4096  # tokens of one answer; the front end asks for less


class View(Protocol):
    """A view of scores as far as its likeliest tokens go."""

    @property
    def scores(self) -> Scores:
        """What is shown."""

    @property
    def generation(self) -> int:
        """Which run of scores that is."""

    def edited_version(self, teacher: str, rollout: int, version: int) -> TeacherScores | None:
        """Return what an edit shown in this version was made from; None where there is a newer one by now."""


def top_methods(view: View) -> dict[str, Handler]:
    """Return what answers `top_block` for a view of scores."""
    return {"top_block": partial(_asked, view)}


def _asked(
    view: View, *, request_id: str, generation: int, teacher: str, rollout: int, version: int, start: int, stop: int
) -> Answer:
    del request_id
    scores = view.scores
    if int(generation) != view.generation:
        return Answer(SUPERSEDED)
    item = scores.item(int(rollout))
    scored = item.teachers[scores.check_teacher(str(teacher))] if teacher else None
    if version:
        scored = view.edited_version(str(teacher), int(rollout), int(version))
        if scored is None:
            return Answer(SUPERSEDED)
    length = len(item.student)
    if not 0 <= start < stop <= length or stop - start > LONGEST:
        msg = f"found tokens {start} to {stop}, expected at most {LONGEST} of the {length} of rollout {rollout}"
        raise InvalidInputError(msg)
    return top_block(item, scored, slice(int(start), int(stop)), columns_sent(scores), scores)


def top_block(item: RolloutScores, scored: TeacherScores | None, tokens: slice, k: int, scores: Scores) -> Answer:
    """Return the likeliest tokens of both sides at some tokens of a rollout, k columns each.

    Buffers: ids and log-probabilities of the student's, then of the teacher's `ids`, `teacher`, `student` and
    `at_student`; see `TopBlock` in contract.ts.
    """
    student = item.student.topk
    if student is None or not k:
        msg = "the likeliest tokens were not recorded in these scores"
        raise InvalidInputError(msg)
    ids = [student.ids[tokens, :k]]
    buffers = [unsigned(ids[0]), floats(student.logprobs[tokens, :k])]
    if scored is not None:
        arrays = top_arrays(scored, k, tokens)
        ids.append(arrays["ids"])
        buffers += top_buffers(arrays).values()
    named = np.unique(np.concatenate(ids))
    names = vocab((token for token in named.tolist() if token in scores.pieces), scores.pieces)
    return Answer({"start": tokens.start, "count": len(ids[0]), "k": k, "vocab": names}, buffers)


def columns_sent(scores: Scores) -> int:
    """Return how many columns of top-k there are to send; 0 where some track came without."""
    tracks = [track for item in scores.items for track in (item.student, *(t.track for t in item.teachers.values()))]
    widths = [0 if track.topk is None else track.topk.k for track in tracks]
    return min([TOP_K, *widths]) if widths else 0


def top_bytes(scores: Scores) -> int:
    """Return how many bytes all columns take that are to be sent: 8 of the student's, 16 of each teacher's."""
    tokens = sum(len(item.student) for item in scores.items)
    return tokens * columns_sent(scores) * (8 + 16 * len(scores.teachers))


def whole_top(scores: Scores, k: int) -> dict[str, Any]:
    """Return all of it, along the axis of all rollouts' tokens."""
    if not k:
        return {"student_top": None, "teacher_top": {}}
    return {
        "student_top": _student_top(scores.items, k),
        "teacher_top": {name: _teacher_top(scores.items, name, k) for name in scores.teachers},
    }


def _student_top(items: Iterable[RolloutScores], k: int) -> dict[str, bytes]:
    tops = [item.student.topk for item in items if item.student.topk is not None]
    return {
        "ids": unsigned(np.concatenate([top.ids[:, :k] for top in tops])),
        "student": floats(np.concatenate([top.logprobs[:, :k] for top in tops])),
    }


def _teacher_top(items: Iterable[RolloutScores], name: str, k: int) -> dict[str, bytes]:
    parts = [top_arrays(item.teachers[name], k) for item in items]
    joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return top_buffers(joined)


def top_arrays(scored: TeacherScores, k: int, tokens: slice = slice(None)) -> dict[str, NDArray[Any]]:
    """Return one teacher's top-k along one rollout or a stretch of it, k columns each."""
    top = scored.track.topk
    empty = np.zeros((len(scored.track), k))[tokens]
    return {
        "ids": empty - 1 if top is None else top.ids[tokens, :k],
        "teacher": empty + np.nan if top is None else top.logprobs[tokens, :k],
        "student": scored.student_at_top[tokens, :k],
        "at_student": scored.at_student_top[tokens, :k],
    }


def top_buffers(arrays: Mapping[str, NDArray[Any]]) -> dict[str, bytes]:
    """Return top-k arrays as buffers."""
    return {key: unsigned(array) if key == "ids" else floats(array) for key, array in arrays.items()}


def vocab(ids: Iterable[int], pieces: Mapping[int, Piece]) -> dict[str, list[str]]:
    """Return how to show each id, by itself."""
    return {str(token): list(look(pieces[token])) for token in ids}


def look(piece: Piece) -> tuple[str, str]:
    """Return text and kind of a token by itself."""
    (cell,) = display_cells([piece])
    return cell.text, cell.kind
