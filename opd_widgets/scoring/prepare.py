"""Rollouts made ready for scoring: ids, checked against the student's vocabulary and every model's limit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, LengthLimitError, RolloutError
from opd_widgets.models.teacher import Prompt, render_ids

if TYPE_CHECKING:
    from opd_widgets.data.message import Message
    from opd_widgets.models.protocol import Ids, Model, Tokenizer
    from opd_widgets.scoring.panel import Panel


@dataclass(frozen=True, eq=False)
class Task:
    """One rollout ready to be scored: ids, and the prompt every teacher sees."""

    rollout: Rollout
    prompts: Mapping[str, Prompt]


def check_rollouts(rollouts: Sequence[Rollout], student: Model) -> tuple[Rollout, ...]:
    """Return the rollouts with ids the student knows; text becomes ids here, and says so.

    Raises:
        InvalidInputError: no rollouts, or something that is not one.
        RolloutError: an id outside the student's vocabulary.

    """
    rollouts = [rollouts] if isinstance(rollouts, Rollout) else list(rollouts)
    if not rollouts:
        msg = "found an empty list of rollouts, expected at least one. Read some with opd.read_rollouts(path)"
        raise InvalidInputError(msg)
    for index, rollout in enumerate(rollouts):
        if not isinstance(rollout, Rollout):
            msg = f"rollout {index} is of type {type(rollout).__name__}, expected opd.Rollout"
            raise InvalidInputError(msg)
    ready = tuple(tokenised(rollout, student.tokenizer) for rollout in rollouts)
    for rollout in ready:
        _check_ids(rollout, student)
    return ready


def tokenised(rollout: Rollout, tokenizer: Tokenizer) -> Rollout:
    """Return the rollout with ids. Those it came with are kept; text is tokenised and marked "retokenised"."""
    if rollout.has_ids:
        return rollout
    if rollout.turns is not None:
        return _tokenised_turns(rollout, rollout.turns, tokenizer)
    if rollout.response_text is None and rollout.response_ids is None:
        msg = f"rollout {rollout.id!r} has no response text to tokenise; expected response_text or response_ids"
        raise RolloutError(msg)
    prompt = rollout.prompt_ids if rollout.prompt_ids is not None else _prompt_ids(rollout, tokenizer)
    response = (
        rollout.response_ids if rollout.response_ids is not None else tokenizer.encode(rollout.response_text or "")
    )
    return replace(
        rollout, prompt_ids=prompt, response_ids=response, tokens=None, response_mask=None, tracks={},
        text_source="retokenised",
    )  # fmt: skip


def _prompt_ids(rollout: Rollout, tokenizer: Tokenizer) -> Ids:
    if rollout.messages is not None:
        return render_ids(rollout.messages, tokenizer, {})
    return tokenizer.encode_prompt(rollout.prompt_text or "")


def _tokenised_turns(rollout: Rollout, turns: tuple[Message, ...], tokenizer: Tokenizer) -> Rollout:
    """Tokenise a conversation: the student's turns count, what others say between them does not.

    Each stretch is tokenised by itself, so that no token crosses a role boundary.
    """
    first = next((i for i, turn in enumerate(turns) if turn.role == "assistant"), len(turns))
    prompt_text = tokenizer.render(turns[:first], {})
    prompt = render_ids(turns[:first], tokenizer, {})
    pieces: list[Ids] = []
    counted: list[np.ndarray] = []
    written = prompt_text
    for index in range(first, len(turns)):
        if turns[index].role == "assistant":
            piece, own = tokenizer.encode(turns[index].content), True
            written += turns[index].content
        else:
            rendered = tokenizer.render(turns[: index + 1], {})
            between = rendered[len(written) :] if rendered.startswith(written) else turns[index].content
            piece, own = tokenizer.encode(between), False
            written = rendered
        pieces.append(piece)
        counted.append(np.full(len(piece), own))
    return replace(
        rollout,
        prompt_ids=prompt,
        response_ids=np.concatenate(pieces) if pieces else np.zeros(0, np.int32),
        response_mask=np.concatenate(counted) if counted else np.zeros(0, bool),
        messages=rollout.messages if rollout.messages is not None else turns[:first],
        text_source="retokenised",
    )


def _check_ids(rollout: Rollout, student: Model) -> None:
    ids = rollout.token_ids
    size = student.vocab_size
    if ids.size and int(ids.max()) >= size:
        where = int(ids.argmax())
        part, at = ("prompt", where) if where < rollout.prompt_len else ("response", where - rollout.prompt_len)
        msg = (
            f"rollout {rollout.id!r} holds id {int(ids.max())} at {part} token {at}, and {student.name!r} knows "
            f"ids 0 to {size - 1}. Expected ids of the student's tokenizer; check that the dump comes from this model"
        )
        raise RolloutError(msg)


def make_task(rollout: Rollout, panel: Panel, texts: Mapping[str, str] | None = None) -> Task:
    """Return a rollout with all its prompts, each within its model's limit.

    Args:
        rollout: with ids.
        panel: who will score it.
        texts: privileged text by teacher name, in place of the context's own.

    Raises:
        LengthLimitError: prompt and response are longer than a model takes.
        ContextError: a context has no text for this rollout.

    """
    prompts = {name: teacher.prompt(rollout, (texts or {}).get(name)) for name, teacher in panel.teachers.items()}
    check_length(rollout, panel.student.name, rollout.prompt_len, panel.student.limit)
    for name, prompt in prompts.items():
        check_length(rollout, name, len(prompt.ids), panel.model(name).limit, prompt.context_tokens)
    return Task(rollout, prompts)


def check_length(rollout: Rollout, who: str, prompt: int, limit: int | None, context: int = 0) -> None:
    """Refuse a prompt and response over the limit: nothing is cut to fit.

    Raises:
        LengthLimitError: too long; the message says both lengths.

    """
    if limit is None or prompt + len(rollout) <= limit:
        return
    of_which = f", {context} of them the context" if context else ""
    msg = (
        f"{who!r} takes {limit} tokens and rollout {rollout.id!r} needs {prompt + len(rollout)}: a prompt of {prompt}"
        f"{of_which}, and a response of {len(rollout)}. Nothing is cut. Shorten the context, or choose a longer model"
    )
    raise LengthLimitError(msg)
