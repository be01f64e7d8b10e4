"""The tables of MiniLLM and Dr. GRPO over all questions of a diagnosis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from opd_widgets.diagnosis.policies.policy_of import Speaker, policy_of
from opd_widgets.diagnosis.run.along import advantages_along
from opd_widgets.diagnosis.tables import sampled_rows
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    import pandas as pd

    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.settings import DiagnosisSettings


def dr_grpo_table(
    evidences: Sequence[Evidence], settings: DiagnosisSettings, held_out: Mapping[str, Sequence[Drawn]], group: int
) -> pd.DataFrame:
    """Return the rows of every question that has nodes; see `Diagnosis.dr_grpo`.

    Raises:
        InvalidInputError: no held-out rollouts, or a group of fewer than 2.

    """
    import pandas as pd

    if not any(held_out.values()):
        msg = "found no held-out rollouts, expected some of each question: opd.diagnose(..., held_out=64) draws them"
        raise InvalidInputError(msg)
    rows = [
        sampled_rows.dr_grpo_rows(one, settings, held_out.get(one.question, ()), group)
        for one in evidences
        if len(one.nodes)
    ]
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(sampled_rows.DR_GRPO_COLUMNS))


def minillm_total(evidences: Sequence[Evidence]) -> sampled_rows.MinillmCost:
    """Return what the MiniLLM table costs each teacher, over all questions."""
    costs = [sampled_rows.minillm_cost(one) for one in evidences]
    names = [one.name for one in fields(sampled_rows.MinillmCost)]
    return sampled_rows.MinillmCost(**{name: sum(getattr(cost, name) for cost in costs) for name in names})


def minillm_table(
    evidences: Sequence[Evidence],
    settings: DiagnosisSettings,
    questions: Sequence[Question],
    student: Speaker,
    teachers: Mapping[str, Speaker],
) -> pd.DataFrame:
    """Return the rows of every question that has nodes; see `Diagnosis.minillm`.

    Raises:
        InvalidInputError: a question or teacher of the diagnosis is missing, or unknown to it.

    """
    import pandas as pd

    asked = {one.id: one for one in questions}
    known = evidences[0].nodes.teachers if evidences else ()
    lacking = [one.question for one in evidences if one.question not in asked] + [
        name for name in teachers if name not in known
    ]
    if lacking:
        msg = f"found no {lacking[0]!r} on both sides, expected the questions of the diagnosis, and its teachers"
        raise InvalidInputError(msg)
    rows = []
    for one in evidences:
        if not len(one.nodes):  # nothing to read it for
            continue
        question = asked[one.question]
        policies = {name: policy_of(who, question, student) for name, who in teachers.items()}
        along = advantages_along(policy_of(student, question), policies, one.rollouts)
        by_name = {name: [track[place] for track in along] for place, name in enumerate(policies)}
        rows.append(sampled_rows.minillm_rows(one, settings, by_name))
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=list(sampled_rows.MINILLM_COLUMNS))
