"""Questions from a file: prompts with verifiable answers, one a line, row or item."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from opd_widgets.data.question import Question
from opd_widgets.data.readers.entries import Entry, entries
from opd_widgets.data.readers.frames import is_table, records_of
from opd_widgets.errors import OpdError, ReadError

PROMPTS = ("question", "prompt", "problem", "messages")
ANSWERS = ("answer", "ground_truth")
IDS = ("id", "question_id", "uid")
_KNOWN = {*PROMPTS, *ANSWERS, *IDS, "solution", "wrong_solution", "reward_model"}
_LISTS = ("questions", "data")
_SEPARATOR = {".csv": ",", ".tsv": "\t"}


def read_questions(path: str | Path | Any) -> list[Question]:
    """Read questions from JSON Lines, JSON, CSV or Parquet.

    A record holds the prompt under `question`, `prompt`, `problem` or `messages`, as text or as turns; the answer under
    `answer` or `ground_truth` (also of `reward_model`, as verl has it), or where neither is there the `solution`; and
    optionally `id`, `solution` and `wrong_solution`. What follows "####" in an answer is the answer, and what stands
    before it the solution, as in GSM8K. A record without an id is named after its file and line. Everything else
    becomes metadata.

    Args:
        path: a file; or a pandas frame or `datasets` data set.

    Raises:
        ReadError: no such file, a record without a prompt, or two of one id; the message names file and line.
        MissingDependencyError: Parquet or zstd without the extra "parquet".

    Example:
        >>> questions = opd.read_questions("gsm8k_test.jsonl")  # doctest: +SKIP

    """
    found: list[Question] = []
    places: dict[str, str] = {}
    name, read = _source(path)
    for entry in read:
        question = _question(entry, name)
        if question.id in places:
            msg = (
                f"{name}, {entry.place}: the id {question.id!r} is that of {places[question.id]} too, expected an id "
                "of its own for each question, or none at all"
            )
            raise ReadError(msg)
        places[question.id] = entry.place
        found.append(question)
    if not found:
        msg = f"no questions in {name!r}: it is empty; expected a record with {_listed(PROMPTS)} for each"
        raise ReadError(msg)
    return found


def _source(path: str | Path | Any) -> tuple[str, Iterator[Entry]]:
    """Return what a source is called and its records."""
    if is_table(path):
        return "table", (Entry(number, f"row {number}", row) for number, row in enumerate(records_of(path), 1))
    if not isinstance(path, str | Path):
        msg = f"found questions of type {type(path).__name__}, expected a file, a pandas frame or a data set"
        raise ReadError(msg)
    file = Path(path).expanduser()
    if not file.is_file():
        what = "a folder" if file.is_dir() else "no file"
        msg = f"found {what} at {str(file)!r}; expected a file of questions: JSON Lines, JSON, CSV or Parquet"
        raise ReadError(msg)
    separator = _SEPARATOR.get(file.suffix.lower())
    return file.name, _flat(entries(file)) if separator is None else _table(file, separator)


def _flat(read: Iterator[Entry]) -> Iterator[Entry]:
    """Yield records; those of a JSON object that holds a list of them one by one."""
    for entry in read:
        record = entry.value if isinstance(entry.value, Mapping) else {}
        inner = next((record[name] for name in _LISTS if isinstance(record.get(name), list)), None)
        if inner is None or _first(record, PROMPTS)[1] is not None:
            yield entry
        else:
            yield from (Entry(number, f"item {number}", one) for number, one in enumerate(inner, 1))


def _table(file: Path, separator: str) -> Iterator[Entry]:
    try:
        with file.open(encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened, delimiter=separator, strict=True)
            for row in reader:
                place = f"line {reader.line_num}"
                if None in row:
                    yield Entry(reader.line_num, place, fault="it has more cells than the first line has names")
                else:
                    yield Entry(reader.line_num, place, {key: value or None for key, value in row.items()})
    except (csv.Error, UnicodeDecodeError) as error:
        msg = f"{file.name} is no CSV in UTF-8: {error}"
        raise ReadError(msg) from error


def _question(entry: Entry, name: str) -> Question:
    where = f"{name}, {entry.place}"
    if entry.fault:
        msg = f"{where}: {entry.fault}; expected a question"
        raise ReadError(msg)
    record = entry.value
    if not isinstance(record, Mapping):
        msg = f"{where}: found a {type(record).__name__}, expected an object with {_listed(PROMPTS)}"
        raise ReadError(msg)
    key, prompt = _first(record, PROMPTS)
    if prompt is None:
        keys = ", ".join(map(repr, list(record)[:6])) or "no key"
        msg = f"{where}: found {keys}, expected the prompt under {_listed(PROMPTS)}"
        raise ReadError(msg)
    answer, solution = _answer(record, where)
    own = _first(record, IDS)[1]
    try:
        return Question(
            id=f"{Path(name).stem}:{entry.number}" if own is None else str(own),
            messages=prompt,
            answer=answer,
            solution=solution,
            wrong_solution=_text(record, "wrong_solution", where),
            metadata={str(k): v for k, v in record.items() if k not in _KNOWN and v is not None},
        )
    except OpdError as error:
        msg = f"{where}: {key!r} cannot be asked: {error}"
        raise ReadError(msg) from error


def _answer(record: Mapping[str, Any], where: str) -> tuple[str | None, str | None]:
    """Return the answer and the worked solution."""
    key = _first(record, ANSWERS)[0]
    inner = record.get("reward_model")
    answer = _text(record, key, where) if key else None
    if answer is None and isinstance(inner, Mapping):
        answer = _text(inner, "ground_truth", where)
    solution = _text(record, "solution", where)
    if answer is None:
        return solution, solution
    before, mark, after = answer.rpartition("####")
    if mark and after.strip():
        return after.strip(), solution or before.strip() or None
    return answer, solution


def _first(record: Mapping[str, Any], names: Sequence[str]) -> tuple[str, Any]:
    return next(((name, record[name]) for name in names if record.get(name) is not None), ("", None))


def _text(record: Mapping[str, Any], key: str, where: str) -> str | None:
    """Return a text, or a number as one; of a list with one item the item."""
    value = record.get(key)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if value is None or value != value:  # noqa: PLR0124 - NaN is what tables put where nothing is
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool | int | float):
        return str(value)
    msg = f"{where}: found {key} of type {type(value).__name__}, expected a text or a number"
    raise ReadError(msg)


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(map(repr, names[:-1]))} or {names[-1]!r}"
