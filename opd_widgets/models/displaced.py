"""What a context takes away from a prompt: a template may write something only where nothing else stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.teacher import Teacher


def displaced_by_context(teacher: Teacher, rollout: Rollout, text: str) -> str:
    """Return the stretch of the prompt without a context that the prompt with it lacks; "" where it only adds.

    A chat template with a system prompt of its own, for one, leaves it out once the context stands in a system turn.
    """
    context, tokenizer = teacher.context, teacher.model.tokenizer
    if context is None or rollout.messages is None:
        return ""
    turns = context.insert(text, rollout.messages)
    plain, told = (tokenizer.render(some, teacher.chat_template_kwargs) for some in (rollout.messages, turns))
    least = min(len(plain), len(told))
    start = next((i for i in range(least) if plain[i] != told[i]), least)
    end = next((i for i in range(least - start) if plain[-1 - i] != told[-1 - i]), least - start)
    return plain[start : len(plain) - end]
