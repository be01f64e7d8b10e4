"""The likeliest tokens at every position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.plain import array_of
from opd_widgets.errors import RolloutError

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNUSED_ID = -1  # fills a column that has no token: a vocabulary smaller than k, or an unscored position


@dataclass(frozen=True, eq=False)
class TopK:
    """The k likeliest tokens at every position of a response.

    Args:
        ids: int32 [R, K], likeliest first; -1 fills unused columns.
        logprobs: float32 [R, K], nats, of `ids` under the model that ranked them; NaN where unused.

    Raises:
        RolloutError: the two arrays differ in shape or are not two-dimensional.

    """

    ids: NDArray[np.int32]
    logprobs: NDArray[np.float32]

    def __post_init__(self) -> None:
        """Coerce dtypes and compare shapes."""
        ids = array_of("top-k ids", self.ids, np.int32)
        logprobs = array_of("top-k logprobs", self.logprobs, np.float32)
        if ids.ndim != 2 or ids.shape != logprobs.shape:
            msg = f"top-k ids have shape {ids.shape} and logprobs {logprobs.shape}; expected the same [tokens, k]"
            raise RolloutError(msg)
        for name, array in (("ids", ids), ("logprobs", logprobs)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        """Return the number of positions."""
        return int(self.ids.shape[0])

    @property
    def k(self) -> int:
        """Number of columns."""
        return int(self.ids.shape[1])

    @property
    def used(self) -> NDArray[np.bool_]:
        """Bool [R, K]: columns that hold a token."""
        used: NDArray[np.bool_] = self.ids != UNUSED_ID
        return used
