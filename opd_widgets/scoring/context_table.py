"""What every teacher was given, in a few rows: kinds, lengths, limits, and how often the answer was given away."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from opd_widgets.data.scores import Scores


def context_table(scores: Scores) -> pd.DataFrame:
    """Return one row a teacher: what stands on its context card, over all rollouts.

    Columns: teacher, kind, chat_template_kwargs, context_tokens (of the longest context), tokens (of the longest prompt
    and response together), limit (of its model, in tokens; None where unknown), then in how many rollouts its context
    leaks_answer, lacks_answer, or answer_unknown. A teacher without a context counts in none of the three.
    """
    import pandas as pd

    return pd.DataFrame([_row(scores, name) for name in scores.teachers])


def _row(scores: Scores, name: str) -> dict[str, object]:
    info = scores.teachers[name]
    rows = [item.teachers[name] for item in scores.items]
    flags = [row.leaks_answer for row in rows if row.context is not None]
    return {
        "teacher": name,
        "kind": info.kind,
        "chat_template_kwargs": dict(info.chat_template_kwargs),
        "context_tokens": max((row.context_tokens for row in rows), default=0),
        "tokens": max((len(row.prompt_ids) + len(row.track) for row in rows), default=0),
        "limit": info.limit,
        "leaks_answer": sum(flag is True for flag in flags),
        "lacks_answer": sum(flag is False for flag in flags),
        "answer_unknown": sum(flag is None for flag in flags),
    }
