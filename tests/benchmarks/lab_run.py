"""The lab's diagnosis that findings and predictions are read from: made once, then continued from its folder."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import opd_widgets as opd
from opd_widgets.demo.lab import MAX_NEW_TOKENS, Lab, arithmetic_lab
from opd_widgets.diagnosis.result import Diagnosis

QUESTIONS: Final = 48
BUDGET: Final = 480_000
SEED: Final = 0


def lab_of(questions: int = QUESTIONS) -> Lab:
    """The lab with more questions than a first look needs."""
    return arithmetic_lab(questions=questions)


def diagnosed(folder: str | Path | None, questions: int = QUESTIONS, budget: int = BUDGET) -> Diagnosis:
    """Every teacher and context of the lab diagnosed, from the folder where that is done already.

    Args:
        folder: of the run; None keeps nothing.
        questions: how many, held out from the student's training.
        budget: generated tokens.

    """
    lab = lab_of(questions)
    return opd.diagnose(
        lab.questions,
        lab.student,
        lab.teachers,
        verifier=lab.verifier,
        budget=budget,
        seed=SEED,
        out=folder,
        max_new_tokens=MAX_NEW_TOKENS,
    )
