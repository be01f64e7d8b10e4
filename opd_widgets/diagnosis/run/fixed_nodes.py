"""Nodes that were chosen beforehand, and not by what the initial rollouts pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.tree import Prefix


def fixed_nodes(given: Any, questions: Sequence[Question], limit: int) -> dict[int, tuple[Prefix, ...]]:
    """Return the nodes by the question's place.

    Args:
        given: question id -> response prefixes, ids; None for none.
        questions: what is asked.
        limit: the longest response.

    Raises:
        InvalidInputError: no mapping, a question that is not asked, something that is no id sequence, a prefix twice,
            or one after which no token is left.

    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        msg = f"found nodes of type {type(given).__name__}, expected question ids with their response prefixes"
        raise InvalidInputError(msg)
    place = {question.id: index for index, question in enumerate(questions)}
    found: dict[int, tuple[Prefix, ...]] = {}
    for name, prefixes in given.items():
        if name not in place:
            msg = f"found nodes for the question {name!r}, expected one of those asked: {', '.join(place)}"
            raise InvalidInputError(msg)
        found[place[name]] = tuple(_prefix(name, prefix, limit) for prefix in prefixes)
        if len(set(found[place[name]])) < len(found[place[name]]):
            msg = f"found a node of question {name!r} twice, expected each prefix once"
            raise InvalidInputError(msg)
    return found


def _prefix(question: str, given: Any, limit: int) -> Prefix:
    try:
        ids = tuple(int(one) for one in given)
    except (TypeError, ValueError) as error:
        msg = (
            f"found {given!r:.60} among the nodes of question {question!r}, expected the ids of a response's beginning"
        )
        raise InvalidInputError(msg) from error
    if len(ids) >= limit:
        msg = (
            f"found a node of question {question!r} after {len(ids)} tokens, expected fewer than "
            f"max_new_tokens={limit}: no token is left to choose"
        )
        raise InvalidInputError(msg)
    return ids
