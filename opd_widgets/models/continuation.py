"""What is asked when one continuation is drawn of each of many prompts, checked before any of them is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.errors import InvalidInputError, LengthLimitError

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Ids

SEEDS_BELOW = 2**63  # what every engine takes
_SHOWN = 60  # characters of a value in a message


def check_continuations(
    name: str,
    limit: int | None,
    prompts: Sequence[Ids],
    seeds: Sequence[int],
    max_new_tokens: Sequence[int],
    *,
    vocab_size: int | None = None,
) -> tuple[list[int], list[int]]:
    """Return the seeds and the most new tokens of each row, as plain numbers.

    Args:
        name: of the model, for messages.
        limit: longest prompt and response together; None where unknown.
        prompts: int [P] each.
        seeds: one a prompt.
        max_new_tokens: one a prompt.
        vocab_size: ids the model knows; None where that is not known for sure.

    Raises:
        InvalidInputError: not as many seeds or numbers of tokens as prompts, an empty prompt, an id that the model has
            not, a seed that is none, or fewer than one new token.
        LengthLimitError: a prompt and its new tokens are more than the model takes.

    """
    given = {"seeds": seeds, "max_new_tokens": max_new_tokens}
    for what, values in given.items():
        if isinstance(values, int | np.integer) or len(values) != len(prompts):
            found = values if isinstance(values, int | np.integer) else f"{len(values)} of them"
            msg = f"found {len(prompts)} prompts and {what}={found}; expected a list with one for each prompt"
            raise InvalidInputError(msg)
    whole = {what: [_whole(value, what, row) for row, value in enumerate(values)] for what, values in given.items()}
    for row, (ids, new) in enumerate(zip(prompts, whole["max_new_tokens"], strict=True)):
        _check_prompt(np.asarray(ids), row, vocab_size)
        if limit is not None and len(ids) + new > limit:
            msg = (
                f"{name!r} takes {limit} tokens, and prompt {row} of {len(ids)} with max_new_tokens={new} needs "
                f"{len(ids) + new}. Nothing is cut. Ask for fewer new tokens"
            )
            raise LengthLimitError(msg)
    return whole["seeds"], whole["max_new_tokens"]


def _whole(value: object, what: str, row: int) -> int:
    least, most = {"seeds": (0, SEEDS_BELOW), "max_new_tokens": (1, 2**31)}[what]
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or not least <= int(value) < most:
        top = {"seeds": "2**63 - 1", "max_new_tokens": "the model's limit"}[what]
        msg = f"found {str(value)[:_SHOWN]} in {what} at row {row}, expected a whole number from {least} to {top}"
        raise InvalidInputError(msg)
    return int(value)


def _check_prompt(ids: Ids, row: int, vocab_size: int | None) -> None:
    if ids.ndim != 1 or not len(ids) or ids.dtype.kind not in "iu":
        what = "an empty prompt" if ids.shape == (0,) else f"a prompt of shape {ids.shape} and type {ids.dtype}"
        msg = f"found {what} at row {row}, expected at least one token id to go on from"
        raise InvalidInputError(msg)
    if vocab_size is not None and not 0 <= int(ids.min()) <= int(ids.max()) < vocab_size:
        bad = int(ids.min()) if ids.min() < 0 else int(ids.max())
        msg = f"found id {bad} in the prompt at row {row}, expected 0 to {vocab_size - 1}"
        raise InvalidInputError(msg)
