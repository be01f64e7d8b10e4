"""What Compare draws as numbers: values side by side and their difference."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.scores import Scores, response_pieces, token_text
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.signals import get_signal

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def difference(a: NDArray[np.float32], b: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return a - b, float64 [R], in the unit of both; NaN where either is missing or both are the same infinity."""
    with np.errstate(invalid="ignore"):
        return np.asarray(a, np.float64) - np.asarray(b, np.float64)


def common_groups(a: NDArray[np.int32] | None, b: NDArray[np.int32] | None) -> NDArray[np.int32] | None:
    """Return the smallest groups of tokens that both sides have whole, int32 [R]; None where tokens stand alone.

    Args:
        a: one side's groups of equal text, int32 [R], -1 not comparable; None where tokens stand alone.
        b: the other's. What is not comparable on either side makes its whole group so.

    """
    if a is None or b is None:
        return a if b is None else b
    ends = _ends(a) & _ends(b)
    where = np.concatenate([[0], np.cumsum(ends)[:-1]]).astype(np.int32)
    lacking = np.unique(where[(a < 0) | (b < 0)])
    return np.where(np.isin(where, lacking), np.int32(-1), where)


def _ends(groups: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return whether a group ends with each token; a token that is not comparable is one by itself."""
    following = np.append(groups[1:], -2)
    return np.asarray((groups != following) | (groups < 0), np.bool_)


def regrouped(
    values: NDArray[np.float32],
    own: NDArray[np.int32] | None,
    common: NDArray[np.int32] | None,
    how: str,
) -> NDArray[np.float64]:
    """Return one side's values per common group, float64 [R]: at a group's last token, NaN at the others.

    Args:
        values: float32 [R]; with groups of its own, at each one's last token.
        own: those groups; None where tokens stand alone.
        common: as `common_groups` gives them; None returns the values as they are.
        how: "sum", "max" or "mean", as the signal's values become one for several tokens.

    """
    out = np.asarray(values, np.float64)
    if common is None:
        return out
    counted = np.ones(len(out), bool) if own is None else _ends(own)
    found = np.full(len(out), np.nan)
    joins: dict[str, Callable[[NDArray[np.float64]], np.float64]] = {"sum": np.sum, "max": np.max, "mean": np.mean}
    stops = np.flatnonzero(_ends(common)) + 1
    for start, stop in zip([0, *stops[:-1].tolist()], stops.tolist(), strict=True):
        if common[start] >= 0:
            inside = out[start:stop][counted[start:stop]]
            with np.errstate(invalid="ignore"):
                found[stop - 1] = joins[how](inside)
    return found


def teachers_table(scores: Scores, index: int, signal: str, pair: tuple[str, str]) -> pd.DataFrame:
    """Return one row a token: each of two teachers' values and the first minus the second.

    Raises:
        InvalidInputError: the signal is the student's own, the same under every teacher.

    """
    import pandas as pd

    item = scores.item(index)
    if signal in item.signals:
        msg = f"signal {signal!r} is the student's own, expected one that a teacher has: nothing differs"
        raise InvalidInputError(msg)
    own = [item.teachers[name].groups for name in pair]
    common = common_groups(own[0], own[1])
    how = get_signal(signal).aggregate
    sides = [
        regrouped(scores.signal(signal, index, name), groups, common, how)
        for name, groups in zip(pair, own, strict=True)
    ]
    with np.errstate(invalid="ignore"):
        columns = {pair[0]: sides[0], pair[1]: sides[1], "difference": sides[0] - sides[1]}
    group = {} if common is None else {"group": common}
    return pd.DataFrame({**_tokens(scores, index), **group, **columns})


def steps_table(steps: Mapping[int, Scores], index: int, signal: str, teacher: str) -> pd.DataFrame:
    """Return one row a step and token: the value and what it is above the first step's."""
    import pandas as pd

    values = [scores.signal(signal, index, teacher or None) for scores in steps.values()]
    tokens = _tokens(next(iter(steps.values())), index)
    frames = [
        pd.DataFrame({"step": step, **tokens, "value": here, "difference": difference(here, values[0])})
        for step, here in zip(steps, values, strict=True)
    ]
    return pd.concat(frames, ignore_index=True)


def _tokens(scores: Scores, index: int) -> dict[str, Any]:
    rollout = scores.rollouts[index]
    length = len(rollout)
    ids = rollout.response_ids if rollout.response_ids is not None else np.full(length, -1)
    shown = [token_text(piece) for piece in response_pieces(rollout, scores.pieces)]
    return {"rollout": index, "position": np.arange(length), "token_id": ids, "token": shown}
