"""Tokens that only a chat template may write: those that begin or end a turn, or the whole text.

A tokenizer reads such a token also where it stands spelled out inside a turn's own text, so a text that holds one
could end its turn and speak in another role. Templates that set turns apart by plain words ("User:") have no such
token, and nothing here protects them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opd_widgets.data.message import Message
from opd_widgets.data.retokenise import render_ids
from opd_widgets.errors import ContextError

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids, Tokenizer

_WORDS = "one two"  # a turn's text in the probe: nothing that a tokenizer has a special token for
_THOUGHTS = b"think"


def turn_markers(tokenizer: Tokenizer, options: Mapping[str, Any]) -> frozenset[int]:
    """Return the ids with which a tokenizer's chat template sets turns apart, with those of its text's begin and end.

    Found by rendering: the special tokens of which more turns bring more, under every role the template takes. The
    marks of a thinking block are none: a worked solution may well hold its thoughts.

    Args:
        tokenizer: whose.
        options: arguments of its chat template.

    """
    found = {*tokenizer.end_ids, *([] if tokenizer.begin_id is None else [tokenizer.begin_id])}
    system, user, answer = (Message(role, _WORDS) for role in ("system", "user", "assistant"))
    least = _counted([user], tokenizer, options)
    for turns in ([system, user], [user, user, user], [user, answer, user]):
        more = _counted(turns, tokenizer, options) - least
        pieces = {token: tokenizer.piece(token) for token in more}
        found |= {token for token, piece in pieces.items() if piece.special and _THOUGHTS not in piece.data}
    return frozenset(found)


def _counted(turns: list[Message], tokenizer: Tokenizer, options: Mapping[str, Any]) -> Counter[int]:
    try:
        return Counter(render_ids(turns, tokenizer, options).tolist())
    except ContextError:  # a template that does not take these turns in this order: others tell
        return Counter()


def find_marker(ids: Ids, tokenizer: Tokenizer, markers: frozenset[int]) -> str | None:
    """Return the first of these tokens among a text's ids, as it is spelled; None where there is none."""
    return next(
        (tokenizer.piece(token).data.decode("utf-8", "replace") for token in ids.tolist() if token in markers), None
    )
