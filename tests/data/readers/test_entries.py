"""What a file holds: JSON Lines, documents, gzip, zstd, Parquet, zips; streamed, and broken ones too."""

from __future__ import annotations

import gzip
import json
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest

from opd_widgets.data.readers.entries import entries
from opd_widgets.errors import MissingDependencyError, ReadError

RECORDS = [{"a": 1}, {"a": [2, {"b": "é"}]}]
LINES = "\n".join(json.dumps(record, ensure_ascii=False) for record in RECORDS).encode()


def written(tmp_path, data, name="x"):
    path = tmp_path / name
    path.write_bytes(data)
    return path


def found(path, **options):
    return [(entry.place, entry.value) for entry in entries(path, **options)]


def test_lines_with_blank_ones_between(tmp_path):
    data = b"\xef\xbb\xbf\n" + LINES.replace(b"\n", b"\r\n\r\n") + b"\n"
    assert found(written(tmp_path, data)) == [("line 2", RECORDS[0]), ("line 4", RECORDS[1])]


@pytest.mark.parametrize("indent", [None, 0, 2])
def test_a_document_with_a_list(tmp_path, indent):
    places = [
        place.removeprefix("line 1 ")
        for place, _ in found(written(tmp_path, json.dumps(RECORDS, indent=indent).encode()))
    ]
    assert places == ["item 1", "item 2"]


def test_a_document_whose_items_are_lines(tmp_path):
    data = b"[\n" + LINES.replace(b"\n", b",\n") + b"\n]"
    assert [value for _, value in found(written(tmp_path, data))] == RECORDS


def test_a_document_with_one_object(tmp_path):
    assert found(written(tmp_path, json.dumps(RECORDS[1], indent=2).encode())) == [("the document", RECORDS[1])]


def test_lines_whose_first_is_broken_are_lines(tmp_path):
    read = list(entries(written(tmp_path, b'{"a": "x\n' + LINES)))
    assert [(entry.place, bool(entry.fault)) for entry in read] == [
        ("line 1", True),
        ("line 2", False),
        ("line 3", False),
    ]


def test_two_broken_lines_stay_two(tmp_path):
    assert [entry.number for entry in entries(written(tmp_path, b'{"a": [\n{"b"\n')) if entry.fault] == [1, 2]


def test_an_infinite_value_is_read(tmp_path):
    ((_, value),) = found(written(tmp_path, b'{"logprob": -Infinity}'))
    assert value == {"logprob": float("-inf")}


def test_an_empty_file_holds_nothing(tmp_path):
    assert found(written(tmp_path, b"")) == []


def test_gzip(tmp_path):
    assert [value for _, value in found(written(tmp_path, gzip.compress(LINES)))] == RECORDS


def test_a_cut_gzip_keeps_what_was_whole(tmp_path):
    long = b"\n".join([LINES] * 5000)
    read = list(entries(written(tmp_path, gzip.compress(long)[:-40])))
    assert read[0].value == RECORDS[0]
    assert "cannot be read on: EOFError" in read[-1].fault


def test_zstd_of_two_frames(tmp_path):
    zstandard = pytest.importorskip("zstandard")
    pack = zstandard.ZstdCompressor().compress
    assert [value for _, value in found(written(tmp_path, pack(LINES + b"\n") + pack(LINES)))] == RECORDS * 2


@pytest.mark.parametrize(
    ("head", "module"), [(b"\x28\xb5\x2f\xfd rest", "zstandard"), (b"PAR1 rest", "pyarrow.parquet")]
)
def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch, head, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'opd-widgets\[parquet\]'"):
        found(written(tmp_path, head))


def test_parquet(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"prompt": ["a", "b"], "ids": [[1, 2], []], "r": [1.0, None]})
    pq.write_table(table, tmp_path / "t.bin", row_group_size=1)
    assert found(tmp_path / "t.bin") == [
        ("row 1", {"prompt": "a", "ids": [1, 2], "r": 1.0}),
        ("row 2", {"prompt": "b", "ids": [], "r": None}),
    ]


def test_a_damaged_parquet_file_says_so(tmp_path):
    pytest.importorskip("pyarrow")
    with pytest.raises(ReadError, match="no whole Parquet file"):
        found(written(tmp_path, b"PAR1" + b"\0" * 100))


def test_a_zip_with_a_file_a_sample(tmp_path):
    with zipfile.ZipFile(tmp_path / "log.eval", "w") as log:
        log.writestr("header.json", "{}")
        log.writestr("samples/1_epoch_1.json", '{"id": 1}')
        log.writestr("samples/2_epoch_1.json", "{")
    read = list(entries(tmp_path / "log.eval"))
    assert [(entry.place, entry.value, bool(entry.fault)) for entry in read] == [
        ("samples/1_epoch_1.json", {"id": 1}, False),
        ("samples/2_epoch_1.json", None, True),
    ]


def test_another_zip_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as other:
        other.writestr("a.txt", "")
    with pytest.raises(ReadError, match="neither a torch payload"):
        found(tmp_path / "x.zip")


@pytest.mark.parametrize("kind", ["lines", "gzip", "parquet"])
def test_a_large_file_is_never_whole_in_memory(tmp_path, kind):
    size = 16_000_000
    record = {"text": "x" * 4000}
    path = tmp_path / "large"
    if kind == "parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"text": [record["text"]] * (size // 4000)}), path, row_group_size=100)
    else:
        open_ = gzip.open if kind == "gzip" else open
        with open_(path, "wt") as file:
            file.writelines(json.dumps(record) + "\n" for _ in range(size // 4000))
    tracemalloc.start()
    count = sum(entry.value == record for entry in entries(path))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == size // 4000
    assert peak < size / 8


def test_a_parquet_file_of_one_row_group_is_not_read_ahead(tmp_path):
    """Arrow's memory, which Python does not see: by itself it reads a whole row group before the first row."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=1000).tolist() for _ in range(2000)]
    pq.write_table(pa.table({"logprobs": rows}), tmp_path / "x.parquet")
    size = (tmp_path / "x.parquet").stat().st_size
    before = pa.total_allocated_bytes()
    held = max(pa.total_allocated_bytes() - before for _ in entries(tmp_path / "x.parquet"))
    assert size > 8_000_000
    assert held < size / 4


def test_a_line_that_is_not_utf8_is_a_fault_and_not_guessed(tmp_path):
    path = tmp_path / "latin.jsonl"
    path.write_bytes(LINES + b"\n" + '{"prompt": "caf\u00e9"}'.encode("latin-1") + b"\n")
    *good, bad = entries(path)
    assert [entry.value for entry in good] == RECORDS
    assert "not UTF-8" in bad.fault
