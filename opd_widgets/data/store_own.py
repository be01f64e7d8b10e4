"""A teacher's own tokens as columns of the prompts' table: those of a teacher of another tokenizer, null elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opd_widgets.data.piece import Piece
from opd_widgets.data.scored import OwnTokens
from opd_widgets.data.store_files import need_pyarrow

OWN = ("own_ids", "own_groups", "own_pieces")


def own_columns(own: Sequence[OwnTokens | None]) -> dict[str, Any]:
    """Return the columns, one row a rollout and teacher."""
    pa = need_pyarrow()
    piece = pa.struct([("token_id", pa.int32()), ("data", pa.binary()), ("special", pa.bool_())])
    spelled = [
        None
        if one is None
        else [{"token_id": token, "data": p.data, "special": p.special} for token, p in one.pieces.items()]
        for one in own
    ]
    return {
        "own_ids": pa.array([None if one is None else one.ids for one in own], pa.list_(pa.int32())),
        "own_groups": pa.array([None if one is None else one.groups for one in own], pa.list_(pa.int32())),
        "own_pieces": pa.array(spelled, pa.list_(piece)),
    }


def own_tokens_of(prompts: Any, row: int) -> OwnTokens | None:
    """Return one row's tokens; None where there are none, or the run was written before there were any."""
    if OWN[0] not in prompts.column_names or not prompts.column(OWN[0])[row].is_valid:
        return None
    ids, groups = (np.asarray(prompts.column(name)[row].values, np.int32) for name in OWN[:2])
    pieces = prompts.column(OWN[2])[row].as_py()
    return OwnTokens(ids, groups, {one["token_id"]: Piece(one["data"], one["special"]) for one in pieces})
