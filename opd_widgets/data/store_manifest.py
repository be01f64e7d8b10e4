"""The manifest of a run: who scored what, how, in which batches, and how far it has come."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from numbers import Integral
from pathlib import Path
from typing import Any

from opd_widgets.data.plain import json_value
from opd_widgets.data.scored import TeacherInfo
from opd_widgets.data.store_files import DIAGNOSIS, broken, read_json, write_json
from opd_widgets.errors import InvalidInputError, ReadError

NAME = "manifest.json"
FORMAT = "opd_widgets.run"
VERSION = 1
SHARD_TOKENS = 16384  # response tokens of one shard where no batch decides
_PACKAGES = ("opd-widgets", "numpy", "pyarrow", "tokenizers", "torch", "transformers")
_INFINITE = {"inf": float("inf"), "-inf": float("-inf")}  # JSON has no number for them


@dataclass(frozen=True)
class Manifest:
    """What a run says of itself.

    Args:
        student: the student's name.
        teachers: by name, in the order given.
        rollouts: ids of all rollouts, in the order given, those not yet scored among them.
        plan: indices of the rollouts that were scored together; batch i makes shard i.
        questions: a question's text by its id.
        noise: noise band by signal name, in the signal's unit.
        settings: parameters of the signals.
        notes: what a reader must be told.
        finished: whether every batch is there.
        provenance: engine, dtype, temperature and mode by who was asked; the student stands under "".
        identity: what a continuation must have in common: student, teachers, options and rollouts, as plain values.
            Empty where scores were saved from memory, which nothing continues.
        seed: of the sampling, where it is known.
        step: the student's training step, where it is known.
        packages: versions of what wrote it.
        created: when it was begun, UTC.

    """

    student: str
    teachers: Mapping[str, TeacherInfo]
    rollouts: tuple[str, ...]
    plan: tuple[tuple[int, ...], ...]
    questions: Mapping[str, str] = field(default_factory=dict)
    noise: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    finished: bool = False
    provenance: Mapping[str, Any] = field(default_factory=dict)
    identity: Mapping[str, Any] = field(default_factory=dict)
    seed: int | None = None
    step: int | None = None
    packages: Mapping[str, str] = field(default_factory=lambda: installed())  # noqa: PLW0108 - defined below
    created: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    def write(self, folder: Path) -> None:
        """Write it; one that lies there is replaced whole."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain["teachers"] = [asdict(info) for info in self.teachers.values()]  # a list: its order counts
        plain = {name: json_value(f"the manifest's {name}", value) for name, value in plain.items()}
        write_json({"format": FORMAT, "version": VERSION, **plain}, folder / NAME)

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Return a folder's manifest.

        Raises:
            ReadError: no run there, a version this package does not know, or a damaged file.

        """
        path = folder / NAME
        if not path.is_file():
            if (folder / DIAGNOSIS).is_file():
                msg = f"{str(folder)!r} holds a diagnosis, not scores; open it with opd.load_diagnosis(path)"
                raise ReadError(msg)
            msg = (
                f"found no run at {str(folder)!r}; expected a folder with {NAME}, made by scores.save(path) or "
                "`opd-widgets score ... --out RUN`"
            )
            raise ReadError(msg)
        record = read_json(path)
        if record.pop("format", None) != FORMAT:
            msg = f"{str(path)!r} is no manifest of a run; expected one made by scores.save(path)"
            raise ReadError(msg)
        found = record.pop("version", None)
        if found != VERSION:
            msg = f"the run at {str(folder)!r} is of version {found!r}, expected {VERSION}; update the package"
            raise ReadError(msg)
        try:
            made = cls(**_restored(record))
            made.check_plan()
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise broken(path, error) from error
        return made

    def check_plan(self) -> None:
        """Refuse a plan that does not name every rollout once.

        Raises:
            ValueError: it does not.

        """
        planned = sorted(index for batch in self.plan for index in batch)
        if planned != list(range(len(self.rollouts))):
            msg = f"the plan names {len(planned)} rollouts, expected each of {len(self.rollouts)} once"
            raise ValueError(msg)


def _restored(record: Mapping[str, Any]) -> dict[str, Any]:
    plain = dict(record)
    plain["teachers"] = {info["name"]: TeacherInfo(**info) for info in record["teachers"]}
    plain["plan"] = tuple(tuple(map(int, batch)) for batch in record["plan"])
    for name in ("rollouts", "notes"):
        plain[name] = tuple(record[name])
    for name in ("noise", "settings"):
        plain[name] = {key: _INFINITE.get(value, value) for key, value in record[name].items()}
    return plain


def plan_in_order(lengths: Sequence[int], tokens: int = SHARD_TOKENS) -> tuple[tuple[int, ...], ...]:
    """Return indices in order, in groups that reach `tokens` response tokens: how scores in memory are cut up."""
    groups: list[list[int]] = []
    held = tokens
    for index, length in enumerate(lengths):
        if held >= tokens:
            groups.append([])
            held = 0
        groups[-1].append(index)
        held += length
    return tuple(map(tuple, groups))


def check_step(step: int | None) -> int | None:
    """Return a training step as it stands in a manifest.

    Raises:
        InvalidInputError: it is no whole number of at least 0.

    """
    if step is None:
        return None
    if isinstance(step, bool) or not isinstance(step, Integral) or step < 0:
        msg = f"found step={step!r}, expected a whole number of at least 0, or None where it is not known"
        raise InvalidInputError(msg)
    return int(step)


def installed() -> dict[str, str]:
    """Return the versions of Python and of the packages that numbers depend on; those not installed are left out."""
    found = {"python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found
