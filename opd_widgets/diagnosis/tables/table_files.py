"""Tables of a diagnosis as files, each written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from opd_widgets.data.store_files import need_pyarrow, write_table
from opd_widgets.data.whole_file import check_target, whole_file

if TYPE_CHECKING:
    import pandas as pd


def write_csv(table: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as CSV, UTF-8, numbers in full; a missing value is an empty field and -inf is "-inf".

    Raises:
        InvalidInputError: no file can be written there.

    """
    with whole_file(path) as file:
        file.write(table.to_csv(index=False, lineterminator="\n"))
    return Path(path)


def write_parquet(table: pd.DataFrame, path: str | Path) -> Path:
    """Write a table as Parquet; a missing value is NaN, as in the table.

    Raises:
        InvalidInputError: no file can be written there.
        MissingDependencyError: pyarrow is not installed.

    """
    pa = need_pyarrow()
    target = check_target(path)
    write_table(pa.Table.from_pandas(table, preserve_index=False), target)
    return target
