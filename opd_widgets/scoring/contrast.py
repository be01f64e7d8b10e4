"""Two contexts of a teacher set against each other, as one more row of scores that are there already."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scored import RolloutScores, TeacherInfo, TeacherScores
from opd_widgets.data.topk import UNUSED_ID, TopK
from opd_widgets.data.track import LogprobTrack
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.contrast import context_difference, hint_contrast

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scores import Scores

KIND = "contrast"


def contrast(scores: Scores, name: str, *, right: str, wrong: str | Sequence[str]) -> Scores:
    """Return the scores with one more row of teachers: what one context says against what others say.

    Its signals are `hint_contrast` = log p(y | right) - log mean_k p(y | wrong_k), the contrast of RLCSD (arXiv
    2606.11709), and, against one wrong context alone, `context_difference` = log p(y | right) - log p(y | wrong), in
    nats; there they are the same. Where the token is impossible under both sides the value is undefined (NaN). No model
    is asked, so it works on a loaded run, and it is saved and shown with the rest. It has no log-probabilities of its
    own, and no advantage. Contexts that are edited later do not change it: make it again from
    `explorer.edited_scores()`.

    Args:
        scores: with the teachers that are compared.
        name: what to call the row; an earlier contrast of that name is replaced.
        right: the teacher whose context is right.
        wrong: one or more teachers whose context is wrong.

    Raises:
        InvalidInputError: no such teacher, one on both sides or named twice, a name that is taken, teachers without
            log-probabilities of their own, or ones that group tokens differently.

    Example:
        >>> scores = opd.contrast(scores, "Hint - wrong", right="Hint", wrong=["Wrong 1", "Wrong 2"])  # doctest: +SKIP
        >>> scores.signal("hint_contrast", 0, "Hint - wrong")  # doctest: +SKIP

    """
    against = [wrong] if isinstance(wrong, str) else list(wrong)
    _check(scores, name, right, against)
    items = []
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        row = _row(rollout, item, right, against)
        items.append(replace(item, teachers={**item.teachers, name: row}))
    notes = [*_unlike(scores, right, against), *_undefined(scores, name, right, against)]
    for note in notes:
        warnings.warn(note, stacklevel=2)
    kept = [note for note in scores.notes if note not in notes]
    teachers = {**scores.teachers, name: _info(scores, name, right, against)}
    return replace(scores, teachers=teachers, items=tuple(items), notes=(*kept, *notes))


def _check(scores: Scores, name: Any, right: str, against: list[str]) -> None:
    if not isinstance(name, str) or not name:
        msg = f"found {name!r} as the contrast's name, expected a string that is not empty"
        raise InvalidInputError(msg)
    if name in scores.teachers and scores.teachers[name].kind != KIND:
        msg = f"there is a teacher {name!r} already; choose another name for the contrast"
        raise InvalidInputError(msg)
    if not against:
        msg = "found no wrong context, expected at least one teacher's name in wrong="
        raise InvalidInputError(msg)
    sides = [right, *against]
    for one in sides:
        if scores.teachers[scores.check_teacher(one)].kind == KIND:
            msg = f"{one!r} is a contrast itself and has no log-probabilities; expected a teacher under a context"
            raise InvalidInputError(msg)
        if sides.count(one) > 1:
            msg = f"found {one!r} {sides.count(one)} times in the contrast, expected each teacher once"
            raise InvalidInputError(msg)


def _info(scores: Scores, name: str, right: str, against: list[str]) -> TeacherInfo:
    of = scores.teachers[right]
    named = ", ".join(map(repr, against))
    under = f"log p under {named}" if len(against) == 1 else f"log of the mean p under {named}"
    return TeacherInfo(
        name,
        of.model,
        KIND,
        f"log p under {right!r} less {under}, as they stood when it was made",
        self_distillation=of.self_distillation,
    )


def _row(rollout: Rollout, item: RolloutScores, right: str, against: list[str]) -> TeacherScores:
    one, others = item.teachers[right], [item.teachers[name] for name in against]
    for name, other in zip(against, others, strict=True):
        if not _same_groups(one, other):
            msg = (
                f"{right!r} and {name!r} compare the tokens of rollout {rollout.id!r} in different groups, as teachers "
                "of two tokenizers do; expected contexts of one model"
            )
            raise InvalidInputError(msg)
    mine, theirs = one.track.logprobs, [other.track.logprobs for other in others]
    signals = {"hint_contrast": hint_contrast(mine, np.stack(theirs)).astype(np.float32)}
    if len(theirs) == 1:
        signals["context_difference"] = context_difference(mine, theirs[0]).astype(np.float32)
    length, width = len(one.track), one.track.topk.k if one.track.topk is not None else None
    return replace(
        one,
        track=LogprobTrack(
            np.full(length, np.nan, np.float32),
            topk=None if width is None else _no_top(length, width),
            provenance=replace(one.track.provenance, model=f"{KIND} of {one.track.provenance.model}"),
        ),
        at_student_top=np.full(one.at_student_top.shape, np.nan, np.float32),
        student_at_top=np.full(one.student_at_top.shape, np.nan, np.float32),
        signals=signals,
        prompt_ids=np.zeros(0, np.int32),  # two prompts, each shown with its own teacher
        context=None,
        context_tokens=0,
        leaks_answer=None,
    )


def _same_groups(one: TeacherScores, other: TeacherScores) -> bool:
    if one.groups is None or other.groups is None:
        return one.groups is other.groups
    return bool(np.array_equal(one.groups, other.groups))


def _no_top(length: int, width: int) -> TopK:
    return TopK(np.full((length, width), UNUSED_ID, np.int32), np.full((length, width), np.nan, np.float32))


def _unlike(scores: Scores, right: str, against: Iterable[str]) -> tuple[str, ...]:
    """Return a note on all that differs between the two sides beside their contexts."""
    notes = []
    for name in against:
        found: dict[str, None] = {}
        mine, theirs = scores.teachers[right], scores.teachers[name]
        if mine.model != theirs.model:
            found[f"model {mine.model} against {theirs.model}"] = None
        if mine.chat_template_kwargs != theirs.chat_template_kwargs:
            found[f"chat template arguments {mine.chat_template_kwargs} against {theirs.chat_template_kwargs}"] = None
        for item in scores.items:
            one, other = (item.teachers[side].track.provenance for side in (right, name))
            found.update(dict.fromkeys(one.differences(other)))
        if found:
            what = "; ".join(found)
            notes.append(f"the contrast of {right} and {name} is not of their contexts alone: {what}")
    return tuple(notes)


def _undefined(scores: Scores, name: str, right: str, against: list[str]) -> tuple[str, ...]:
    """Return a note on how many counted tokens are impossible on both sides."""
    found = 0
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        sides = np.stack([item.teachers[side].track.logprobs for side in (right, *against)])
        found += int(np.isneginf(sides)[:, rollout.counted].all(axis=0).sum())
    if not found:
        return ()
    return (f"{name}: {found} tokens are impossible on both sides, so their contrast is undefined and in no mean",)
