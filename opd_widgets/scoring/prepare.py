"""Rollouts made ready for scoring: ids, checked against the student's vocabulary and every model's limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.retokenise import tokenised
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, LengthLimitError, RolloutError
from opd_widgets.models.teacher import Prompt

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids, LanguageModel, Model
    from opd_widgets.scoring.panel import Panel


@dataclass(frozen=True, eq=False)
class Task:
    """One rollout ready to be scored: ids, and the prompt every teacher sees."""

    rollout: Rollout
    prompts: Mapping[str, Prompt]

    @property
    def length(self) -> int:
        """Tokens of its longest prompt and the response: what a forward pass of it takes at most."""
        prompts = (self.rollout.prompt_len, *(len(prompt.ids) for prompt in self.prompts.values()))
        return max(prompts) + len(self.rollout)


def check_rollouts(rollouts: Sequence[Rollout], student: Model) -> tuple[Rollout, ...]:
    """Return the rollouts with ids the student knows; text becomes ids here, and says so.

    Raises:
        InvalidInputError: no rollouts, or something that is not one.
        RolloutError: an id outside the student's vocabulary.

    """
    if isinstance(rollouts, Rollout):
        rollouts = [rollouts]
    given: object = rollouts
    if isinstance(given, str) or not isinstance(given, Iterable):
        msg = f"found rollouts of type {type(given).__name__}, expected a list of opd.Rollout"
        raise InvalidInputError(msg)
    rollouts = list(rollouts)
    if not rollouts:
        msg = "found an empty list of rollouts, expected at least one. Read some with opd.read_rollouts(path)"
        raise InvalidInputError(msg)
    for index, rollout in enumerate(rollouts):
        if not isinstance(rollout, Rollout):
            msg = f"rollout {index} is of type {type(rollout).__name__}, expected opd.Rollout"
            raise InvalidInputError(msg)
    ready = tuple(tokenised(rollout, student.tokenizer) for rollout in rollouts)
    for rollout in ready:
        _check_ids(rollout, student.name, student, _known(rollout.prompt_ids))
    return ready


def _known(ids: Ids | None) -> Ids:
    return np.zeros(0, np.int32) if ids is None else ids


def _check_ids(rollout: Rollout, who: str, model: LanguageModel, prompt: Ids) -> None:
    """Refuse ids the model has no row for: its embedding would fail far from here, or make a number up."""
    for part, ids in (("prompt", prompt), ("response", rollout.response_ids)):
        if ids is not None and len(ids) and int(ids.max()) >= model.vocab_size:
            msg = (
                f"rollout {rollout.id!r} holds id {int(ids.max())} at {part} token {int(ids.argmax())}, and {who!r} "
                f"knows ids 0 to {model.vocab_size - 1}. Expected ids of the student's tokenizer; check that the dump "
                "comes from this model"
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
        RolloutError: an id that a teacher has no row for.
        ContextError: a context has no text for this rollout.

    """
    student = panel.student.tokenizer
    prompts = {
        name: teacher.prompt(rollout, (texts or {}).get(name), student=student)
        for name, teacher in panel.teachers.items()
    }
    check_length(rollout, panel.student.name, rollout.prompt_len, panel.student.limit)
    for name, prompt in prompts.items():
        _check_ids(rollout, name, panel.model(name), prompt.ids)
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
