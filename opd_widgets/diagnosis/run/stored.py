"""A diagnosis opened from its folder: no model is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opd_widgets.data.store_files import DIAGNOSIS
from opd_widgets.data.store_manifest import NAME
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.run.about import counts, unfinished
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.errors import InvalidInputError, ReadError

if TYPE_CHECKING:
    from opd_widgets.diagnosis.drawn import Drawn


def load_diagnosis(folder: str | Path, settings: DiagnosisSettings | None = None) -> Diagnosis:
    """Open a diagnosis; no model is needed.

    One that is not finished opens too, with what was drawn so far and a note that says so.

    Example:
        >>> result = opd.load_diagnosis("run")  # doctest: +SKIP

    Args:
        folder: made by `opd.diagnose(..., out=folder)`, `opd-widgets diagnose ... --out folder` or
            `result.save(folder)`.
        settings: how to read it; by default as it was read when it was made.

    Raises:
        InvalidInputError: no path.
        ReadError: no diagnosis there, one of a version this package does not know, or a damaged file.

    """
    if not isinstance(folder, str | Path):
        msg = f"found a folder of type {type(folder).__name__}, expected its path"
        raise InvalidInputError(msg)
    path = Path(folder).expanduser()
    if not (path / DIAGNOSIS).is_file():
        raise ReadError(_nothing(path))
    ledger = Ledger(path)
    manifest = ledger.manifest or {}
    ledger.read()
    lacking = [name for name in ("questions", "about", "finished") if name not in manifest]
    if lacking:
        msg = f"{DIAGNOSIS} in {str(path)!r} lacks {lacking[0]!r}, expected it as it was written: take a sound copy"
        raise ReadError(msg)
    asked = manifest["questions"]
    rollouts: list[list[Drawn]] = [[] for _ in asked]
    held_out: list[list[Drawn]] = [[] for _ in asked]
    for batch in ledger.batches:
        for question, drawn in zip(batch.question.tolist(), batch.drawn, strict=True):
            if not 0 <= question < len(asked):
                msg = (
                    f"the diagnosis at {str(path)!r} is damaged: a rollout is of question {question}, and {DIAGNOSIS} "
                    f"names {len(asked)}. Expected its files as they were written together"
                )
                raise ReadError(msg)
            (held_out if batch.stream else rollouts)[question].append(drawn)
    about = dict(manifest["about"])
    names = _teachers(ledger, about)
    evidence = tuple(
        Evidence(asked[index]["id"], read.nodes, tuple(rollouts[index]))
        for index, read in sorted(ledger.nodes.items())
        if index < len(asked) and read.nodes.teachers == names
    )
    if not manifest["finished"]:
        about = _unfinished(about, rollouts, len(evidence))
    apart = {asked[index]["id"]: tuple(its) for index, its in enumerate(held_out)}
    return Diagnosis(
        evidence,
        settings or _settings(manifest.get("settings", {})),
        about,
        {one.question: apart[one.question] for one in evidence},
    )


def _teachers(ledger: Ledger, about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the teachers that the run is about: a question read for others before has not been read again yet."""
    named = tuple(about.get("teachers", {}))
    known = [read.nodes.teachers for _, read in sorted(ledger.nodes.items())]
    return named if named in known or not known else known[0]


def _settings(found: Mapping[str, Any]) -> DiagnosisSettings:
    known = {one.name for one in fields(DiagnosisSettings)}
    return DiagnosisSettings(**{name: value for name, value in found.items() if name in known})


def _unfinished(about: dict[str, Any], rollouts: list[list[Drawn]], with_nodes: int) -> dict[str, Any]:
    """Return what a run that was stopped tells of itself: what was drawn since it last did is counted."""
    everything = [drawn for its in rollouts for drawn in its]
    note = unfinished(with_nodes, rollouts)
    return {**about, **counts(everything), "finished": False, "notes": [*about.get("notes", []), note]}


def _nothing(path: Path) -> str:
    if (path / NAME).is_file():
        return f"{str(path)!r} holds scores, not a diagnosis; open them with opd.load(path)"
    return (
        f"found no diagnosis at {str(path)!r}; expected a folder with {DIAGNOSIS}, made by opd.diagnose(..., out=path) "
        "or `opd-widgets diagnose ... --out RUN`, or by result.save(path)"
    )
