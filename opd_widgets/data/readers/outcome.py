"""Which reward decides whether a rollout is correct."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

from opd_widgets.data.readers.values import REWARD_IS_NAN, numeric
from opd_widgets.data.rollout import Outcome, Rollout
from opd_widgets.errors import InvalidInputError

CORRECT_FROM = 0.5  # holds for rewards of 0 and 1, of -1 and 1, and with a little for the form of an answer
_SINGLE = ("reward", "score")  # what a record's only reward may be called
_ABSENT = object()
# What a metadata's number is called where it is an id, a counter or an advantage: it says nothing of correctness.
_NO_VERDICT = re.compile(
    r"(.*_)?(ids?|idx|index|hash|repeats?|epochs?|steps?|rank|seed|count|tokens|lengths?|created(_at)?|timestamp"
    r"|advantages?)",
    re.IGNORECASE,
)


def judged(rollouts: Sequence[Rollout], outcome: str | Literal[True] | None) -> list[Rollout]:
    """Return the rollouts with the outcome that a reward gives them: correct from 0.5 up, or where it is True.

    Args:
        rollouts: as read.
        outcome: the reward's name, or that of a number or truth value in the metadata; True for a record's only reward;
            None to leave outcomes as they were read. A missing value makes the outcome "unverified". A metric that was
            taken under one filter ("metric,filter") may be named without it.

    Raises:
        InvalidInputError: no rollout has it, one has several rewards and none is named, or the metric was taken under
            several filters.

    """
    if outcome is None:
        return list(rollouts)
    values = [_decisive(rollout, outcome) for rollout in rollouts]
    if all(value is _ABSENT for value in values):
        names = sorted({name for rollout in rollouts for name in _names(rollout)})
        there = f"expected one of {names}; name the one that decides" if names else "and there is no other"
        msg = f"found no reward {outcome!r} in any rollout, {there}"
        raise InvalidInputError(msg)
    return [
        rollout if value is _ABSENT and rollout.outcome != "unknown" else rollout.with_outcome(_verdict(value))
        for rollout, value in zip(rollouts, values, strict=True)
    ]


def _decisive(rollout: Rollout, outcome: str | Literal[True]) -> object:
    reward = rollout.reward
    if outcome is True:
        if isinstance(reward, Mapping) and len(reward) > 1:
            msg = (
                f"rollout {rollout.id!r} has the rewards {sorted(reward)}, expected one; say which decides whether it "
                f"is correct: outcome={min(reward)!r}"
            )
            raise InvalidInputError(msg)
        return next(iter(reward.values()), None) if isinstance(reward, Mapping) else reward
    if isinstance(reward, Mapping) and outcome in reward:
        return reward[outcome]
    if not isinstance(reward, Mapping) and reward is not None and outcome in _SINGLE:
        return reward
    value = rollout.metadata.get(outcome, _ABSENT)
    return value if numeric(value) or isinstance(value, bool) else _of_metric(rollout, outcome)


def _of_metric(rollout: Rollout, metric: str) -> object:
    """Return a metric's value that stands under "metric,filter".

    Raises:
        InvalidInputError: there are several filters, and none is named.

    """
    rewards = rollout.reward if isinstance(rollout.reward, Mapping) else {}
    numbers = {name: value for name, value in rollout.metadata.items() if numeric(value)}
    found = {name: value for name, value in {**numbers, **rewards}.items() if name.startswith(f"{metric},")}
    if len(found) > 1:
        msg = (
            f"rollout {rollout.id!r} has {metric!r} under several filters, {sorted(found)}; say which decides whether "
            f"it is correct: outcome={min(found)!r}"
        )
        raise InvalidInputError(msg)
    return next(iter(found.values()), _ABSENT)


def _names(rollout: Rollout) -> list[str]:
    if isinstance(rollout.reward, Mapping):
        names = list(rollout.reward)
    else:
        names = [] if rollout.reward is None else ["reward"]
    return names + [name for name, value in rollout.metadata.items() if _may_judge(name, value)]


def _may_judge(name: str, value: object) -> bool:
    """Return whether a metadata's entry may say whether a rollout is correct; an id, say, does not."""
    if name == REWARD_IS_NAN:
        return False
    return isinstance(value, bool) or (isinstance(value, int | float) and not _NO_VERDICT.fullmatch(name))


def _verdict(value: object) -> Outcome:
    if value is None or value is _ABSENT:
        return "unverified"
    return "correct" if float(value) >= CORRECT_FROM else "incorrect"  # type: ignore[arg-type]  # numbers only are left
