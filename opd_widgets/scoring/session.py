"""What one scoring carries from batch to batch: how much fits into memory, and what need not be computed again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from array_api_compat import array_namespace

from opd_widgets.models.memory import is_out_of_memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.data.scored import RolloutScores
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.rows import Rows

CHUNK_BYTES = 128 * 2**20  # of the float32 arrays [rows, vocabulary] of all models together
FIRST_ROWS = 64  # of the first chunk where someone is waiting to see it
STATE_BYTES = 256 * 2**20  # of the student's hidden states, kept while contexts are edited


@dataclass(eq=False)
class Session:
    """One scoring's memory.

    Args:
        live: whether contexts are being edited: the same rollouts then come again under prompts that change a little.
            The student's hidden states are kept, and models go on from what they have read.
        most: vocabulary rows held at a time, at most; lowered where memory ran out.
        heard: called with a rollout's scores as far as they go, while one is scored alone; the rest is missing.

    """

    live: bool = False
    most: int | None = None
    heard: Callable[[RolloutScores], None] | None = None
    _states: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    def in_chunks(self, total: int, vocab: int, panel: Panel, work: Callable[[slice], None]) -> None:
        """Call `work` with one slice of rows after another; where memory runs out, with half as many from then on.

        Args:
            total: rows in all.
            vocab: vocabulary entries of a row, of all models at hand together.
            panel: whose options say how many rows are held at most.
            work: does one slice; called again with the first half of it where memory ran out.

        """
        start = 0
        while start < total:
            size = self.rows(vocab, panel)
            if self.live and start == 0:
                size = min(size, FIRST_ROWS)
            try:
                work(slice(start, start + size))
            except Exception as error:
                if size == 1 or not is_out_of_memory(error):
                    raise
                self.most = size // 2
            else:
                start += size

    def rows(self, vocab: int, panel: Panel) -> int:
        """Return how many vocabulary rows to hold at a time."""
        size = min(panel.options.chunk_tokens, CHUNK_BYTES // (4 * vocab))
        return max(1, size if self.most is None else min(size, self.most))

    def recall(self, rows: Sequence[Rows], who: str, version: Hashable) -> Any | None:
        """Return the hidden states of rows kept earlier, together; None unless all are there, of the same weights."""
        keys = [_key(row, who, version) for row in rows]
        if not self.live or not all(key in self._states for key in keys):
            return None
        found = [self._states[key] for key in keys]
        return array_namespace(found[0]).concat(found, axis=0)

    def keep(self, rows: Sequence[Rows], who: str, version: Hashable, states: Any) -> None:
        """Keep hidden states for later, the oldest given up where they take too much memory."""
        if not self.live:
            return
        end = 0
        for row in rows:
            start, end = end, end + row.count
            self._states[_key(row, who, version)] = array_namespace(states).asarray(states[start:end, ...], copy=True)
        while self._states and sum(_bytes(kept) for kept in self._states.values()) > STATE_BYTES:
            self._states.popitem(last=False)


def _key(row: Rows, who: str, version: Hashable) -> Hashable:
    return version, row.prompt(who).tobytes(), row.response.tobytes()


def _bytes(states: Any) -> int:
    size = 1
    for n in states.shape:
        size *= int(n)
    return size * int(states.itemsize)
