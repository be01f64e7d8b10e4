"""A teacher: a model and what it sees before the student's own tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opd_widgets.data.retokenise import render_ids
from opd_widgets.data.scores import TeacherInfo
from opd_widgets.errors import ContextError, InvalidInputError
from opd_widgets.models.contexts import Context
from opd_widgets.models.protocol import Model, TokenScorer, is_scorer

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Ids, Tokenizer


@dataclass(frozen=True, eq=False)
class Prompt:
    """What a model is given before a response.

    Args:
        ids: int32 [P].
        context: the privileged part as text; None where there is none.
        context_tokens: that part's length in tokens, counted by itself.

    """

    ids: Ids
    context: str | None = None
    context_tokens: int = 0


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
        return TeacherInfo(name, self.model.name, kind, self.description or made, self.model.limit, is_self)

    def prompt(self, rollout: Rollout, text: str | None = None, *, student: Tokenizer | None = None) -> Prompt:
        """Return the prompt of this teacher for one rollout.

        The question is rendered by the teacher's own chat template. A teacher without a context or template arguments
        whose template is the student's sees the very ids the student saw; so does any where turns are not known.

        Args:
            rollout: whose question is asked.
            text: privileged text in place of the context's own; an edit.
            student: the student's tokenizer.

        Raises:
            ContextError: there is a context and the rollout's turns are not known.

        """
        context = self.context
        if context is None:
            if text is not None:
                msg = "this teacher has no context to edit; give it one, such as opd.contexts.free_text('')"
                raise ContextError(msg)
            return Prompt(self._plain_ids(rollout, student))
        if rollout.messages is None:
            msg = (
                f"rollout {rollout.id!r} has no messages, so a {context.kind} context has no place in its prompt. "
                "Give the rollout its messages, or use the teacher without a context"
            )
            raise ContextError(msg)
        text = context.text_for(rollout) if text is None else text
        turns = context.insert(text, rollout.messages)
        ids = render_ids(turns, self.model.tokenizer, self.chat_template_kwargs)
        return Prompt(ids, text, len(self.model.tokenizer.encode(text)) if text else 0)

    def _plain_ids(self, rollout: Rollout, student: Tokenizer | None) -> Ids:
        own = self.model.tokenizer
        same = student is not None and student.template == own.template and not self.chat_template_kwargs
        if rollout.prompt_ids is not None and (same or rollout.messages is None):
            return rollout.prompt_ids
        if rollout.messages is not None:
            return render_ids(rollout.messages, own, self.chat_template_kwargs)
        msg = f"rollout {rollout.id!r} has no prompt a teacher could be given; expected messages, text or ids"
        raise ContextError(msg)
