"""A teacher: a model and what it sees before the student's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opd_widgets.data.answers import answer_of
from opd_widgets.data.leak import leaks
from opd_widgets.data.plain import json_value
from opd_widgets.data.retokenise import render_ids
from opd_widgets.data.scores import TeacherInfo
from opd_widgets.errors import ContextError, InvalidInputError
from opd_widgets.models.contexts import Context
from opd_widgets.models.protocol import Model, TokenScorer, is_scorer
from opd_widgets.models.turn_markers import find_marker, turn_markers

if TYPE_CHECKING:
    from opd_widgets.data.message import Message
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Ids, Tokenizer


@dataclass(frozen=True, eq=False)
class Prompt:
    """What a model is given before a response.

    Args:
        ids: int32 [P].
        context: the privileged part as text; None where there is none.
        context_tokens: that part's length in tokens, counted by itself.
        leaks_answer: whether that part holds the question's answer; None where there is none, or no answer is known.

    """

    ids: Ids
    context: str | None = None
    context_tokens: int = 0
    leaks_answer: bool | None = None


@dataclass(frozen=True, eq=False)
class Teacher:
    """A model and a context: what the teacher sees before the student's own response tokens.

    Args:
        model: who is asked. The student's own model makes a self-distillation teacher; an `opd.ServerModel` is asked
            over HTTP.
        context: privileged text; None for an external teacher that sees what the student sees.
        chat_template_kwargs: passed to the teacher's own chat template (`enable_thinking=False`, say).
        description: one line for people; by default made from the context.

    Raises:
        InvalidInputError: `model` is not a model, or `context` not a context.

    """

    model: Model | TokenScorer
    context: Context | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    description: str = ""

    def __post_init__(self) -> None:
        """Refuse a string where a model or a context belongs: the two commonest slips."""
        if not is_scorer(self.model) and not isinstance(self.model, Model):
            kind = type(self.model).__name__
            wanted = "a Model such as opd.HFModel(path) or opd.ServerModel(url, name)"
            msg = f"found a teacher's model of type {kind}, expected {wanted}"
            raise InvalidInputError(msg)
        if self.context is not None and not isinstance(self.context, Context):
            msg = (
                f"found a context of type {type(self.context).__name__}, expected one made by opd.contexts, "
                "such as opd.contexts.free_text(text)"
            )
            raise InvalidInputError(msg)

    def info(self, name: str, student: Model) -> TeacherInfo:
        """Return who this teacher is, for a reader of its scores."""
        is_self = self.model is student
        context = self.context
        kind = "external" if context is None else context.kind
        plain = f"{self.model.name}, sees what the student sees"
        made = plain if context is None else f"{'the student' if is_self else self.model.name} {context.description}"
        return TeacherInfo(
            name,
            self.model.name,
            kind,
            self.description or made,
            self.model.limit,
            is_self,
            plain_arguments(self.chat_template_kwargs),
        )

    def prompt(
        self,
        rollout: Rollout,
        text: str | None = None,
        *,
        student: Tokenizer | None = None,
        same_tokens: bool = True,
    ) -> Prompt:
        """Return the prompt of this teacher for one rollout.

        The question is rendered by the teacher's own chat template. A teacher without a context or template arguments
        whose template is the student's sees the very ids the student saw; so does any where turns are not known.

        Args:
            rollout: whose question is asked.
            text: privileged text in place of the context's own; an edit.
            student: the student's tokenizer.
            same_tokens: whether the student's ids mean the same to this teacher; if not, its prompt is made of turns or
                text, never of ids.

        Raises:
            ContextError: there is a context and the rollout's turns are not known; or the student's ids are all that is
                known of the prompt, and mean something else here.

        """
        context = self.context
        if context is None:
            if text is not None:
                msg = "this teacher has no context to edit; give it one, such as opd.contexts.free_text('')"
                raise ContextError(msg)
            return Prompt(self._plain_ids(rollout, student) if same_tokens else self._own_ids(rollout))
        if rollout.messages is None:
            msg = (
                f"rollout {rollout.id!r} has no messages, so a {context.kind} context has no place in its prompt. "
                "Give the rollout its messages, or use the teacher without a context"
            )
            raise ContextError(msg)
        known = answer_of(rollout) or context.answer_for(rollout)
        text = context.text_for(rollout) if text is None else text
        turns = context.insert(text, rollout.messages)
        spelled = self.model.tokenizer.encode(text)
        self._check_boundaries(text, spelled, turns, rollout)
        ids = render_ids(turns, self.model.tokenizer, self.chat_template_kwargs)
        return Prompt(ids, text, len(spelled), leaks(text, known))

    @cached_property
    def _markers(self) -> frozenset[int]:
        return turn_markers(self.model.tokenizer, self.chat_template_kwargs)

    def _check_boundaries(self, text: str, spelled: Ids, turns: tuple[Message, ...], rollout: Rollout) -> None:
        """Refuse a text that would not stand whole in the turn it is put into, and nowhere else."""
        tokenizer, whose = self.model.tokenizer, f"{self.model.name!r}"
        marker = find_marker(spelled, tokenizer, self._markers)
        if marker is not None:
            msg = (
                f"the context for rollout {rollout.id!r} holds {marker!r}, with which {whose} begins or ends a turn: "
                "what follows would speak in another role. Expected a text without it; strip it, or spell it otherwise"
            )
            raise ContextError(msg)
        if _bare(text) not in _bare(tokenizer.render(turns, self.chat_template_kwargs)):
            roles = ", ".join(turn.role for turn in turns)
            msg = (
                f"the chat template of {whose} does not write the context for rollout {rollout.id!r} as it is (turns: "
                f"{roles}), so the teacher would not see it. Choose another placement, or the context of another form"
            )
            raise ContextError(msg)

    def _plain_ids(self, rollout: Rollout, student: Tokenizer | None) -> Ids:
        own = self.model.tokenizer
        same = student is not None and student.template == own.template and not self.chat_template_kwargs
        if rollout.prompt_ids is not None and (same or rollout.messages is None):
            return rollout.prompt_ids
        if rollout.messages is not None:
            return render_ids(rollout.messages, own, self.chat_template_kwargs)
        msg = f"rollout {rollout.id!r} has no prompt a teacher could be given; expected messages, text or ids"
        raise ContextError(msg)

    def _own_ids(self, rollout: Rollout) -> Ids:
        """Return the question in the tokens of a tokenizer that is not the student's."""
        own = self.model.tokenizer
        if rollout.messages is not None:
            return render_ids(rollout.messages, own, self.chat_template_kwargs)
        if rollout.prompt_text is not None or rollout.prompt_len == 0:
            return own.encode_prompt(rollout.prompt_text or "")
        msg = (
            f"found a prompt of {rollout.prompt_len} ids and neither messages nor prompt_text in rollout "
            f"{rollout.id!r}; the ids mean other tokens to {self.model.name!r}, which has another tokenizer than the "
            "student. Expected the prompt as turns or text. Give the rollout its messages"
        )
        raise ContextError(msg)


def _bare(text: str) -> str:
    """Return a text without white space, which templates trim."""
    return "".join(text.split())


def plain_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments of a chat template as JSON values; of what has no such form, its kind."""
    plain: dict[str, Any] = {}
    for name, value in arguments.items():
        try:
            plain[str(name)] = json_value(name, value)
        except InvalidInputError:
            plain[str(name)] = f"a {type(value).__name__}"
    return plain
