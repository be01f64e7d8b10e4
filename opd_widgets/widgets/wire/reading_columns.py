"""The node columns of a reading for the views: made once for all views of a result, without its prefixes as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from opd_widgets.diagnosis.tables.node_table import node_columns
from opd_widgets.diagnosis.tables.spelling import Spelling

if TYPE_CHECKING:
    from opd_widgets.diagnosis.reading import Reading


class _Unspelled(Spelling):
    """Views send ids: to spell every prefix would take longer than the numbers beside it."""

    def prefix(self, ids: Iterable[int]) -> str:
        """Return nothing."""
        del ids
        return ""


_KNOWN: WeakKeyDictionary[Reading, dict[str, Any]] = WeakKeyDictionary()


def columns_of_nodes(reading: Reading) -> dict[str, Any]:
    """Return the columns of `node_columns`, `prefix` empty; not to be written to."""
    found = _KNOWN.get(reading)
    if found is None:
        found = _KNOWN[reading] = node_columns(reading, _Unspelled())
    return found
