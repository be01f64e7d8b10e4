"""A diagnosis from memory written to a folder, in the form of a run's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.plain import json_value
from opd_widgets.data.store_files import DIAGNOSIS
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.run.ledger_records import Batch, NodesRead
from opd_widgets.diagnosis.run.requests import HELD_OUT
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.settings import DiagnosisSettings

ROWS = 4096  # rollouts of a file


def save_diagnosis(
    evidence: Sequence[Evidence],
    about: Mapping[str, Any],
    folder: str | Path,
    settings: DiagnosisSettings | None = None,
    held_out: Mapping[str, Sequence[Drawn]] | None = None,
) -> Path:
    """Write evidence to a new folder, which `opd.load_diagnosis` opens value for value.

    Such a folder is not continued: nothing in it says which student, prompts and verifier the rollouts belong to.

    Args:
        evidence: of every question.
        about: what the result tells of itself.
        folder: made where it is missing.
        settings: how it was read last; the default when it is opened.
        held_out: by question id, rollouts that took no part in P_succ.

    Returns:
        The folder.

    Raises:
        InvalidInputError: a diagnosis or something else is there already.

    """
    path = Path(folder).expanduser()
    ledger = Ledger(path)
    if ledger.manifest is not None:
        msg = f"{str(path)!r} holds a diagnosis already ({DIAGNOSIS}), expected an empty folder; choose another place"
        raise InvalidInputError(msg)
    with ledger.only_writer():
        for index, one in enumerate(evidence):
            ledger.add_nodes(index, NodesRead(one.nodes, {}))
        drawn = {one.question: one.rollouts for one in evidence}
        for round_, (stream, its) in enumerate((("", drawn), (HELD_OUT, held_out or {}))):
            rows = [(index, one) for index, question in enumerate(drawn) for one in its.get(question, ())]
            for number, start in enumerate(range(0, len(rows), ROWS)):
                ledger.add(round_, number, _batch(rows[start : start + ROWS], start, stream))
        titles = about.get("titles", {})
        ledger.write_manifest(
            {
                "identity": {},
                "questions": [{"id": one.question, "title": titles.get(one.question)} for one in evidence],
                "settings": {} if settings is None else asdict(settings),
                "finished": True,
                "about": json_value("what a diagnosis tells of itself", dict(about)),
            }
        )
    return path


def _batch(rows: Sequence[tuple[int, Drawn]], start: int, stream: str) -> Batch:
    question = np.array([index for index, _ in rows], np.int64)
    return Batch(question, np.arange(start, start + len(rows)), tuple(drawn for _, drawn in rows), stream)
