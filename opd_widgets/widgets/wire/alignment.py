"""The `alignment` trait: what a diagnosis found at each node, for each candidate and each teacher.

The front end's half of this contract is `js/src/model/alignment_contract.ts`. Every number is one of the result's own
tables, under its column's name; as float32, since JSON would turn what is missing into a string.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.tables.candidate_table import candidate_columns
from opd_widgets.diagnosis.tables.spelling import Spelling
from opd_widgets.diagnosis.tables.tally import BY_OUTCOME
from opd_widgets.diagnosis.tables.verdict import VERDICTS
from opd_widgets.widgets.wire.buffers import floats, unsigned
from opd_widgets.widgets.wire.reading_columns import columns_of_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from opd_widgets.diagnosis.result import Diagnosis

VERSION = 1
NODE_VALUES = (
    *("n_support", "student_mass", "teacher_mass"),
    *("alignment", "alignment_low", "alignment_high", "alignment_on_support", "p_positive"),
    *("ideal_norm", "distillation_norm"),
    *("teacher_advantage", "teacher_advantage_low", "teacher_advantage_high"),
)
NODE_COUNTS = ("depth", "visits", "targeted", "success")
CANDIDATE_VALUES = ("visits", "success_mean", "success_low", "success_high", "student_logprob")
CANDIDATE_BY_TEACHER = ("teacher_logprob", "ideal_gradient", "distillation_gradient")
SUMMARY_VALUES = (
    *("mean_cosine", "mean_cosine_low", "mean_cosine_high"),
    *("share_positive", "share_positive_low", "share_positive_high"),
)
SUMMARY_COUNTS = ("n_questions", "n_nodes", "n_undefined", "n_outside", "n_few_visits")
Columns = dict[str, "NDArray[Any]"]


def wire_alignment(result: Diagnosis) -> dict[str, Any]:
    """Return nodes, candidates and summary as the front end takes them."""
    teachers = len(result.teachers)
    nodes = _columns(
        [columns_of_nodes(one) for one in result.readings], ("verdict", *NODE_VALUES, *NODE_COUNTS), teachers
    )
    names = ("in_support", "token_id", "node", *CANDIDATE_VALUES, *CANDIDATE_BY_TEACHER)
    candidates = _columns([candidate_columns(one, Spelling()) for one in result.readings], names, teachers)
    summary = result.summary()
    used = [one.evidence.nodes.used.sum(axis=1) if teachers else np.zeros(0, np.int64) for one in result.readings]
    widths = np.concatenate([*used, np.zeros(0, np.int64)])
    meta = {
        "version": VERSION,
        "level": result.settings.level,
        "loss": result.settings.loss,
        "estimator": result.settings.estimator,
        "min_visits": result.settings.n_sig,
        "outcomes": list(BY_OUTCOME),
        "verdicts": list(VERDICTS),
        "intervals": [str(said) for said in summary["interval"]],
        "questions": [{"nodes": len(width), "candidates": int(width.sum())} for width in used],
        "nodes": len(widths),
        "candidates": int(widths.sum()),
        "teachers": teachers,
    }
    codes = np.array([VERDICTS.index(said) for said in nodes["verdict"].ravel().tolist()], np.uint8)
    return {
        "meta": meta,
        "node_values": _stacked(nodes, NODE_VALUES),
        "node_counts": _stacked(nodes, NODE_COUNTS, once=True),
        "verdict": codes.tobytes(),
        "candidate_start": unsigned(np.concatenate([[0], np.cumsum(widths)])),
        "candidate_ids": unsigned(candidates["token_id"][:, :1]),
        "candidate_values": _stacked(candidates, CANDIDATE_VALUES, once=True),
        "candidate_by_teacher": _stacked(candidates, CANDIDATE_BY_TEACHER),
        "in_support": candidates["in_support"].astype(np.uint8).tobytes(),
        "summary": floats(summary[list(SUMMARY_VALUES)].to_numpy(np.float64).T),
        "summary_counts": floats(summary[list(SUMMARY_COUNTS)].to_numpy(np.float64).T),
    }


def _columns(parts: Sequence[Mapping[str, Any]], names: Sequence[str], teachers: int) -> Columns:
    """Return columns of all questions, one row a node or candidate and one column a teacher, [rows, T]."""
    rows = {name: np.concatenate([*(np.asarray(part[name]) for part in parts), np.zeros(0)]) for name in names}
    return {name: values.reshape(-1, max(1, teachers)) for name, values in rows.items()}


def _stacked(columns: Columns, names: Sequence[str], *, once: bool = False) -> bytes:
    """Return columns one after the other; `once` for those that are the same under every teacher."""
    return floats(np.stack([columns[name][:, :1] if once else columns[name] for name in names]))
