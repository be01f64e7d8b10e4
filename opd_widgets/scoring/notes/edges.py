"""Where prompts and responses begin and end: what a reader must be told of it before trusting the first or last token.

All of these score without an error, and make a teacher look certain or lost where it is neither.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from opd_widgets.data.retokenise import NO_PROMPT

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Ids, LanguageModel, Tokenizer
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task

_SHOWN = 3


def compare_edges(tasks: Sequence[Task], panel: Panel) -> tuple[str, ...]:
    """Return notes, and issue them, on where prompts begin and responses end.

    A beginning-of-text token twice, padding read as text, a prompt that is not known, end tokens that student and
    teacher do not share.

    Args:
        tasks: what is scored.
        panel: who scores.

    """
    rollouts = [task.rollout for task in tasks]
    notes = [
        *_prompts(tasks, panel),
        *_without_prompt(rollouts),
        *_padded_responses(rollouts, panel),
        *_ends(tasks, panel),
    ]
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return tuple(notes)


def _prompts(tasks: Sequence[Task], panel: Panel) -> Iterator[str]:
    """Name who sees a prompt that begins with two beginning-of-text tokens, or with padding."""
    student = panel.student.name
    seen: dict[str, tuple[LanguageModel, list[Ids]]] = {
        student: (panel.student, [t.rollout.prompt_ids for t in tasks if t.rollout.prompt_ids is not None])
    }
    for name, teacher in panel.teachers.items():
        seen[f"{name} ({teacher.model.name})"] = (teacher.model, [task.prompts[name].ids for task in tasks])
    for who, (model, prompts) in seen.items():
        begin, pad = model.tokenizer.begin_id, model.tokenizer.pad_id
        doubled = sum(begin is not None and len(ids) > 1 and ids[0] == ids[1] == begin for ids in prompts)
        padded = sum(pad is not None and pad != begin and len(ids) > 0 and ids[0] == pad for ids in prompts)
        if doubled:
            yield (
                f"{doubled} of {len(prompts)} prompts of {who} begin with two beginning-of-text tokens "
                f"({_named(begin, model.tokenizer)}), expected one: text that was rendered with it has been tokenised "
                "with another. Give the text without it, or the ids"
            )
        if padded:
            yield (
                f"{padded} of {len(prompts)} prompts of {who} begin with padding ({_named(pad, model.tokenizer)}), "
                "which is read as text here; expected ids without it. Cut the padding off by the prompt's length"
            )


def _without_prompt(rollouts: Sequence[Rollout]) -> Iterator[str]:
    count = sum(bool(rollout.metadata.get(NO_PROMPT)) for rollout in rollouts)
    if count:
        yield (
            f"{count} of {len(rollouts)} rollouts came without their prompt and are scored as if nothing had been "
            "asked; expected prompt ids, text or messages. Their values are not those of the student that wrote them"
        )


def _padded_responses(rollouts: Sequence[Rollout], panel: Panel) -> Iterator[str]:
    """Name responses that go on with padding: a row of a batch that was not cut by its length."""
    tokenizer = panel.student.tokenizer
    count = sum(_ends_in_padding(rollout, tokenizer) for rollout in rollouts)
    if count:
        yield (
            f"{count} of {len(rollouts)} responses go on with padding ({_named(tokenizer.pad_id, tokenizer)}) after "
            "their end, which is scored as text here; expected ids cut by the response's length, or a response_mask"
        )


def _ends_in_padding(rollout: Rollout, tokenizer: Tokenizer) -> bool:
    """Return whether the last two counted tokens are an end and padding, or padding twice."""
    ids = rollout.response_ids
    if ids is None or len(ids) < 2 or tokenizer.pad_id is None or not rollout.counted[-2:].all():
        return False
    return int(ids[-1]) == tokenizer.pad_id and int(ids[-2]) in {tokenizer.pad_id, *tokenizer.end_ids}


def _ends(tasks: Sequence[Task], panel: Panel) -> Iterator[str]:
    """Name teachers that end a response with other tokens than the student, where a response ends with one of them."""
    own = panel.student.tokenizer
    for name, teacher in panel.teachers.items():
        theirs = teacher.model.tokenizer
        if own.end_ids == theirs.end_ids or _names(own.end_ids, own) != _names(own.end_ids, theirs):
            continue  # the same; or ids that mean other tokens there, which are not compared id by id
        last = [int(t.rollout.response_ids[-1]) for t in tasks if t.rollout.response_ids is not None and len(t.rollout)]
        # a model that stops at several may close its texts with one of them, and find the others unlikely
        ends = [t for t in last if (t in own.end_ids and t != theirs.end_id) or (t in theirs.end_ids - own.end_ids)]
        if ends:
            yield (
                f"{name} ends a response with {_listed(theirs)} and the student with {_listed(own)}; {len(ends)} of "
                f"{len(last)} responses end with {_set(set(ends), own)}, and there the advantage is about which token "
                "ends a response, not about the answer"
            )


def _names(ids: Iterable[int], tokenizer: Tokenizer) -> Mapping[int, str]:
    return {token: tokenizer.piece(token).data.decode("utf-8", "replace") for token in sorted(ids)}


def _named(token: int | None, tokenizer: Tokenizer) -> str:
    return "none" if token is None else _set({token}, tokenizer)


def _listed(tokenizer: Tokenizer) -> str:
    return _set(tokenizer.end_ids, tokenizer) or "no token known"


def _set(ids: Iterable[int], tokenizer: Tokenizer) -> str:
    """Return ids with their names: 151645 '<|im_end|>'."""
    named = [f"{token} {text!r}" for token, text in _names(ids, tokenizer).items()]
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return " or ".join(named[:_SHOWN]) + more
