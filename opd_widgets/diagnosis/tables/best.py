"""Which teacher is best at a question or a node, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from opd_widgets.diagnosis.tables.summary import Cells
from opd_widgets.diagnosis.tables.verdict import COUNTED, verdicts

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.reading import Reading
    from opd_widgets.diagnosis.settings import DiagnosisSettings
    from opd_widgets.diagnosis.tables.spelling import Spelling
    from opd_widgets.diagnosis.tables.tally import Tally

EQUAL = 1e-9  # values no further apart are the same: at two tokens, every teacher's is -1 or 1
RANKED = (
    *("n_teachers", "teacher", "{}", "{}_low", "{}_high", "probability", "n_tied"),
    *("runner_up", "{}_runner_up", "lead", "lead_low", "lead_high"),
)


def best_by_question(
    tallies: Sequence[Tally], questions: Sequence[str], teachers: Sequence[str], settings: DiagnosisSettings
) -> pd.DataFrame:
    """Return the teacher with the largest mean cosine at each question; see `Diagnosis.best_teacher`."""
    import pandas as pd

    name = "mean_cosine"
    columns = ["question", *(column.format(name) for column in RANKED), "n_nodes"]
    if not tallies or not teachers:
        return pd.DataFrame(columns=columns)
    draws, middle, nodes = [], [], []
    for one in Cells.of(tallies, ("teacher",)).split():
        draws.append(one.means()[name][0, :, 0])
        middle.append(one.centre()[name][0, :, 0])
        nodes.append(one.counts[0, 0, 0, :, 0])
    found = ranked(np.stack(draws), teachers, settings, name, np.stack(middle))
    best = np.maximum(found.pop("place"), 0)
    table: dict[str, Any] = {"question": list(questions), **found}
    table["n_nodes"] = np.where(found["n_teachers"] > 0, np.stack(nodes)[np.arange(len(best)), best], 0)
    return pd.DataFrame(table, columns=columns)


def best_by_node(
    readings: Sequence[Reading], teachers: Sequence[str], settings: DiagnosisSettings, spelling: Spelling
) -> pd.DataFrame:
    """Return the teacher with the largest alignment at each node where one has any; see `Diagnosis.best_teacher`."""
    import pandas as pd

    name = "alignment"
    columns = ["question", "node", "depth", "prefix", *(column.format(name) for column in RANKED)]
    frames = []
    for reading in readings:
        nodes = reading.evidence.nodes
        draws = np.where((verdicts(reading) == COUNTED)[..., None], reading.draws, np.nan)
        where = np.flatnonzero(~np.isnan(draws).all(axis=(1, 2)))
        if not len(where):
            continue
        found = ranked(draws[where], teachers, settings, name)
        found |= {
            "question": np.full(len(where), reading.evidence.question, object),
            "node": where,
            "depth": nodes.depths[where],
            "prefix": np.array([spelling.prefix(nodes.prefixes[row]) for row in where], object),
        }
        frames.append(pd.DataFrame(found, columns=columns))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=columns)


def ranked(
    draws: NDArray[np.float64],
    teachers: Sequence[str],
    settings: DiagnosisSettings,
    name: str,
    centre: NDArray[np.float64] | None = None,
) -> dict[str, NDArray[Any]]:
    """Return who is best in each of N comparisons, by joint draws.

    Args:
        draws: [N, T, D], draw d of all teachers from the same P_succ; NaN where undefined: never the largest.
        teachers: T names; the first of those that are equal wins.
        settings: level of the intervals.
        name: of what is compared.
        centre: [N, T], the values themselves where they are not the means of their draws.

    Returns:
        The columns `RANKED` and "place", the winner's among the teachers, -1 where nothing is defined; [N] each.

    """
    rows = np.arange(len(draws))
    middle = mean(draws) if centre is None else centre
    known = ~np.isnan(middle)
    order = np.argsort(-np.where(known, middle, -np.inf), axis=1, kind="stable")
    best, some = order[:, 0], known.any(axis=1)
    second, two = order[:, min(1, draws.shape[1] - 1)], known.sum(axis=1) >= 2
    names = np.array(teachers, object)
    filled = np.where(np.isnan(draws), -np.inf, draws)
    # equal at the top: each of n gets 1/n, or the order of the names would decide
    top = np.isfinite(filled) & (filled >= filled.max(axis=1, keepdims=True) - EQUAL)
    share = np.where(top.any(axis=1, keepdims=True), top / np.maximum(top.sum(axis=1, keepdims=True), 1), np.nan)
    lead = np.where(two[:, None], draws[rows, best] - draws[rows, second], np.nan)
    ends = zip(
        ("", "_low", "_high"), (_lead(lead, centre, best, second), *quantiles(lead, settings.tails)), strict=True
    )
    low, high = quantiles(draws[rows, best], settings.tails)
    with np.errstate(invalid="ignore"):
        tied = known & (np.where(known, middle, -np.inf) >= middle[rows, best][:, None] - EQUAL)
    return {
        "place": np.where(some, best, -1),
        "n_teachers": known.sum(axis=1),
        "teacher": np.where(some, names[best], ""),
        name: middle[rows, best],
        f"{name}_low": low,
        f"{name}_high": high,
        "probability": mean(share[rows, best]),
        "n_tied": tied.sum(axis=1),
        "runner_up": np.where(two, names[second], ""),
        f"{name}_runner_up": np.where(two, middle[rows, second], np.nan),
        **{f"lead{end}": values for end, values in ends},
    }


def _lead(
    lead: NDArray[np.float64],
    centre: NDArray[np.float64] | None,
    best: NDArray[np.int64],
    second: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Return the lead, [N]: the mean of its draws, [N, D], or that of the values themselves; NaN without a second."""
    middle = mean(lead)
    if centre is None:
        return middle
    rows = np.arange(len(centre))
    return np.where(np.isnan(middle), np.nan, centre[rows, best] - centre[rows, second])
