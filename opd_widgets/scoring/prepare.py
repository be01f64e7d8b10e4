"""Rollouts made ready for scoring: ids, checked against the student's vocabulary and every model's limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.retokenise import tokenised
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, LengthLimitError, RolloutError
from opd_widgets.models.respell import Respelled, between_turns, respell
from opd_widgets.models.teacher import Prompt
from opd_widgets.scoring.plan import Length

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids, LanguageModel, Model
    from opd_widgets.scoring.panel import Panel


@dataclass(frozen=True, eq=False)
class Task:
    """One rollout ready to be scored: ids, and the prompt every teacher sees.

    Args:
        rollout: with ids.
        prompts: by teacher name.
        respelled: the response as teachers of another tokenizer read it, by name.

    """

    rollout: Rollout
    prompts: Mapping[str, Prompt]
    respelled: Mapping[str, Respelled] = field(default_factory=dict)

    @property
    def length(self) -> int:
        """Tokens of the longest prompt and response together: what a forward pass of it takes at most."""
        theirs = (len(prompt.ids) + self.response_len(name) for name, prompt in self.prompts.items())
        return max(self.rollout.prompt_len + len(self.rollout), *theirs, 0)

    @property
    def size(self) -> Length:
        """Its length as the plan of batches sees it: rollouts of one prompt under every model share it."""
        prompts = (self.rollout.prompt_ids, *(self.prompts[name].ids for name in self.prompts))
        known = [ids for ids in prompts if ids is not None]
        key = tuple(ids.tobytes() for ids in known)
        return Length(self.length, min(len(ids) for ids in known) if known else 0, key)

    def response_len(self, teacher: str) -> int:
        """Return how many tokens a teacher reads the response as."""
        return len(self.respelled[teacher].ids) if teacher in self.respelled else len(self.rollout)


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
                f"has rows for ids 0 to {model.vocab_size - 1}. Expected ids of the student's tokenizer, and a teacher "
                "that has them; check that the dump comes from this student"
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
        name: teacher.prompt(rollout, (texts or {}).get(name), student=student, same_tokens=name not in panel.foreign)
        for name, teacher in panel.teachers.items()
    }
    task = Task(rollout, prompts, respelled_by(rollout, panel))
    check_length(rollout, panel.student.name, rollout.prompt_len, panel.student.limit)
    for name, prompt in prompts.items():
        if name not in task.respelled:
            _check_ids(rollout, name, panel.model(name), prompt.ids)
        limit, response = panel.model(name).limit, task.response_len(name)
        check_length(rollout, name, len(prompt.ids), limit, prompt.context_tokens, response=response)
    return task


def respelled_by(rollout: Rollout, panel: Panel) -> dict[str, Respelled]:
    """Return a response as each teacher of another tokenizer reads it, by name."""
    response = rollout.response_ids
    if response is None:
        return {}
    student, read = panel.student.tokenizer, {}
    for name, teacher in panel.foreign.items():
        own, turns = teacher.model.tokenizer, rollout.turns
        between = None if turns is None else between_turns(turns, own, teacher.chat_template_kwargs)
        read[name] = respell(response, rollout.counted, student, own, between)
    return read


def check_length(
    rollout: Rollout, who: str, prompt: int, limit: int | None, context: int = 0, *, response: int | None = None
) -> None:
    """Refuse a prompt and response over the limit: nothing is cut to fit.

    Args:
        rollout: what is to be scored.
        who: by whom.
        prompt: tokens of the prompt.
        limit: tokens the model takes; None where unknown.
        context: tokens of the prompt's privileged part.
        response: tokens of the response where it is read in other tokens than the rollout's.

    Raises:
        LengthLimitError: too long; the message says both lengths.

    """
    response = len(rollout) if response is None else response
    if limit is None or prompt + response <= limit:
        return
    of_which = f", {context} of them the context" if context else ""
    msg = (
        f"{who!r} takes {limit} tokens and rollout {rollout.id!r} needs {prompt + response}: a prompt of {prompt}"
        f"{of_which}, and a response of {response}. Nothing is cut. Shorten the context, or choose a longer model"
    )
    raise LengthLimitError(msg)
