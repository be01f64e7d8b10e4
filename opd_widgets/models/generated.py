"""What a model has written, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids, LanguageModel


def response_text(response: Ids, model: LanguageModel) -> str:
    """Return a response's text without the token that ended it."""
    ids = response[:-1] if len(response) and int(response[-1]) in model.tokenizer.end_ids else response
    return model.tokenizer.decode(ids)
