"""On-policy distillation in small: the lab's student, trained on its own rollouts toward a teacher.

Run it as ``python -m opd_widgets.demo.distill --teacher Self-1C --steps 40 --seed 0 [--on incorrect] [--out DIR]``.

Every step draws rollouts from the student as it is then, and lowers the reverse KL, over the whole vocabulary, between
student and teacher at the student's own tokens. The teacher never changes: a self-distillation teacher is the student
as it was before the first step, with its context.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, get_args

import numpy as np
import torch

from opd_widgets.demo.distill_loss import next_token_logprobs, reverse_kl
from opd_widgets.demo.distill_success import QUESTIONS, Success, evaluation_questions, success
from opd_widgets.demo.lab import arithmetic_lab
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.hf import HFModel
from opd_widgets.models.protocol import is_scorer
from opd_widgets.scoring.sample import batch_seed, sample_rollouts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opd_widgets.data.question import Question
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.teacher import Teacher
    from opd_widgets.scoring.judging import Verifier

On = Literal["all", "incorrect"]

#: Chosen by pilot runs with the strong external teacher alone; see tests/benchmarks/prediction_training.py.
LEARNING_RATE: Final = 4e-4
STEPS: Final = 120
BETAS: Final = (0.9, 0.98)

#: Held-out questions that rollouts are drawn for. With the lab's seed 0, its own questions are the first of them.
TRAINING_QUESTIONS: Final = 4096


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides a distillation run, beside student, teacher and questions.

    Args:
        steps: updates; the same number whatever the teacher, and whatever counts.
        seed: of the choice of questions and of the rollouts.
        on: "all" rollouts count, or only those that the verifier calls "incorrect". In a step without any that
            counts, nothing is updated.
        questions: different questions a step.
        rollouts: of each question.
        learning_rate: of AdamW at its highest: it rises over the first tenth of the steps and falls to nothing at the
            end, both in a straight line. There is no weight decay.
        max_new_tokens: a rollout this long is cut.
        max_grad_norm: the gradient's length is cut to this.

    Raises:
        InvalidInputError: a size below 1, a rate or norm that is not above 0, or another word for `on`.

    """

    steps: int
    seed: int = 0
    on: On = "all"
    questions: int = 64
    rollouts: int = 1
    learning_rate: float = LEARNING_RATE
    max_new_tokens: int = 64
    max_grad_norm: float = 1.0

    def __post_init__(self) -> None:
        """Refuse what cannot be trained with."""
        for name in ("steps", "questions", "rollouts", "max_new_tokens"):
            if getattr(self, name) < 1:
                msg = f"found {name}={getattr(self, name)}, expected a whole number of at least 1"
                raise InvalidInputError(msg)
        for name in ("learning_rate", "max_grad_norm"):
            if not getattr(self, name) > 0:
                msg = f"found {name}={getattr(self, name)}, expected a number above 0"
                raise InvalidInputError(msg)
        if self.on not in get_args(On):
            msg = f"found on={self.on!r}, expected one of {', '.join(map(repr, get_args(On)))}"
            raise InvalidInputError(msg)

    def rate_at(self, step: int) -> float:
        """Learning rate at a step: Adam's first updates are as long as any, and know least."""
        rise = (step + 1) / max(1.0, self.steps / 10)
        return self.learning_rate * min(rise, (self.steps - step) / self.steps, 1.0)


@dataclass(frozen=True, slots=True)
class Step:
    """What one step saw, before its update.

    Args:
        step: from 0.
        loss: mean reverse KL over the tokens that count, nats; NaN where none counts.
        kl: the same over all tokens of all rollouts.
        incorrect: share of the rollouts that the verifier calls incorrect.
        tokens: how many tokens count.

    """

    step: int
    loss: float
    kl: float
    incorrect: float
    tokens: int


@dataclass(frozen=True, eq=False)
class Distilled:
    """A trained student, and how its steps went.

    Args:
        model: a model of its own; the student it was made from is as it was.
        history: one entry a step.

    """

    model: HFModel
    history: tuple[Step, ...]


def distill(
    student: HFModel,
    teacher: Teacher,
    questions: Sequence[Question],
    verifier: Verifier,
    settings: Settings,
    *,
    report: Callable[[Step], object] | None = None,
) -> Distilled:
    """Train a copy of the student toward a teacher on its own rollouts.

    Rollouts are drawn from the plain prompt at temperature 1, top_p 1, without top_k, min_p or penalties: exactly p_S.
    The loss is ``mean over tokens of KL(p_S || p_T)`` with both distributions over every row of the head, each token
    at the place where the student chose it; the teacher sees its own prompt, context included, and then the student's
    tokens. Rollouts are taken as given: no gradient goes through their being drawn (on-policy distillation as in GKD,
    arXiv 2306.13649, with its lambda at 1).

    The teacher is asked as it is given and gets no gradient. A self-distillation teacher, whose model is `student`,
    is therefore the initial student under its context, frozen, and not the one in training.

    Repeatable to the bit with the same arguments, machine, versions and number of threads.

    Args:
        student: a local model in float32; it is copied.
        teacher: a local model with the student's tokens, and a context that has a text for every question.
        questions: to draw rollouts for, at least `settings.questions` of them.
        verifier: (question, response text) -> whether it is right.
        settings: everything else.
        report: gets every step's entry of the history.

    Raises:
        InvalidInputError: a teacher that is served or has other tokens, too few questions, or a loss that is not
            finite.

    """
    _check(student, teacher, questions, settings)
    trained = HFModel(copy.deepcopy(student.pair), name=f"{student.name}-distilled")
    model = trained.pair[0]
    optimizer = torch.optim.AdamW(model.parameters(), lr=settings.learning_rate, betas=BETAS, weight_decay=0.0)
    rng, history = random.Random(settings.seed), []
    for number in range(settings.steps):
        rollouts = sample_rollouts(
            rng.sample(list(questions), settings.questions),
            trained,
            n=settings.rollouts,
            max_new_tokens=settings.max_new_tokens,
            seed=batch_seed(settings.seed, f"step {number}"),
            verifier=verifier,
        )
        loss, entry = step_loss(trained, teacher, rollouts, settings.on, number)
        for group in optimizer.param_groups:
            group["lr"] = settings.rate_at(number)
        if loss is not None:
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), settings.max_grad_norm)
            optimizer.step()
        history.append(entry)
        if report is not None:
            report(entry)
    model.zero_grad(set_to_none=True)
    return Distilled(trained, tuple(history))


def step_loss(
    student: HFModel, teacher: Teacher, rollouts: Sequence[Rollout], on: On = "all", number: int = 0
) -> tuple[torch.Tensor | None, Step]:
    """Return a step's loss, None where no rollout counts, and its entry of the history.

    Raises:
        InvalidInputError: the loss is not finite.

    """
    counts = [len(rollout) for rollout in rollouts]
    own = next_token_logprobs(student.pair[0], [rollout.token_ids for rollout in rollouts], counts)
    seen = [
        np.concatenate([teacher.prompt(r, student=student.tokenizer).ids, r.token_ids[r.prompt_len :]])
        for r in rollouts
    ]
    with torch.no_grad():
        theirs = next_token_logprobs(_model_of(teacher).pair[0], seen, counts)
    kl = reverse_kl(own, theirs)
    wrong = [rollout.outcome == "incorrect" for rollout in rollouts]
    kept = torch.tensor([on == "all" or bad for bad in wrong]).repeat_interleave(torch.tensor(counts))
    tokens = int(kept.sum())
    loss = kl[kept].mean() if tokens else None
    entry = Step(
        number,
        float("nan") if loss is None else loss.item(),
        kl.detach().mean().item(),
        sum(wrong) / len(wrong),
        tokens,
    )
    if loss is not None and not torch.isfinite(loss):
        msg = (
            f"found a loss of {entry.loss} at step {number}, expected a finite number: the teacher gives probability 0 "
            "to a token that the student may take, or the weights diverged. Lower the learning rate"
        )
        raise InvalidInputError(msg)
    return loss, entry


def _model_of(teacher: Teacher) -> HFModel:
    if not isinstance(teacher.model, HFModel):
        kind = "served" if is_scorer(teacher.model) else "not local"
        msg = (
            f"found a teacher {teacher.model.name!r} that is {kind} ({type(teacher.model).__name__}), expected an "
            "opd.HFModel: the loss needs its full distribution at every token"
        )
        raise InvalidInputError(msg)
    return teacher.model


def _check(student: HFModel, teacher: Teacher, questions: Sequence[Question], settings: Settings) -> None:
    model = _model_of(teacher)
    if model.vocab_size != student.vocab_size or model.tokenizer.vocabulary() != student.tokenizer.vocabulary():
        msg = (
            f"found a teacher {model.name!r} of {model.vocab_size} rows and a student of {student.vocab_size}, "
            "expected one tokenizer and heads of one size: a KL compares the same tokens"
        )
        raise InvalidInputError(msg)
    if len(questions) < settings.questions:
        msg = f"found {len(questions)} questions, expected at least the {settings.questions} of one step"
        raise InvalidInputError(msg)
    weights: Any = student.pair[0]
    if weights.dtype != torch.float32:
        msg = f"found a student in {weights.dtype}, expected float32: small updates vanish in fewer digits"
        raise InvalidInputError(msg)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line: success before and after, on held-out questions that the rollouts were not drawn for."""
    options = _options(arguments)
    torch.set_num_threads(1)  # sums come out in another order with another number of threads, and the weights with them
    settings = Settings(options.steps, options.seed, options.on, learning_rate=options.learning_rate)
    lab = arithmetic_lab(questions=min(TRAINING_QUESTIONS, options.steps * settings.questions), rollouts=1)
    if options.teacher not in lab.teachers:
        msg = f"no teacher {options.teacher!r}; there are {', '.join(lab.teachers)}"
        raise SystemExit(msg)
    asked = evaluation_questions(options.evaluate, {question.id for question in lab.questions})

    def report(step: Step) -> None:
        if (step.step + 1) % 10 == 0:
            line = f"step {step.step + 1}/{options.steps}: loss {step.loss:.3f} nats on {step.tokens} tokens"
            print(f"{line}, KL {step.kl:.3f}, {step.incorrect:.0%} of the rollouts incorrect", flush=True)

    before = success(lab.student, asked)
    print(f"rollouts of {len(lab.questions)} held-out questions, success on {len(asked)} others, temperature 1")
    print(f"before: {_line(before)}", flush=True)
    done = distill(lab.student, lab.teachers[options.teacher], lab.questions, lab.verifier, settings, report=report)
    after = success(done.model, asked)
    gain, error = after.gain_over(before)
    print(f"after:  {_line(after)}")
    print(f"gain:   {100 * gain:+.1f} points, standard error {100 * error:.1f}; another seed trains another student")
    if options.out is not None:
        _save(done, options.out)
        print(f"saved in {options.out}")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m opd_widgets.demo.distill", description="Distil a teacher of the lab into its student."
    )
    parser.add_argument("--teacher", default="Teacher", help="a name among the lab's teachers")
    parser.add_argument("--steps", type=int, default=STEPS, help="updates")
    parser.add_argument("--seed", type=int, default=0, help="of the rollouts")
    parser.add_argument("--on", choices=get_args(On), default="all", help="which rollouts count")
    parser.add_argument("--learning-rate", type=float, default=LEARNING_RATE, help="of AdamW")
    parser.add_argument("--evaluate", type=int, default=QUESTIONS, help="questions that success is measured on")
    parser.add_argument("--out", type=Path, help="folder for the trained model and its history")
    options = parser.parse_args(arguments)
    for name in ("steps", "evaluate"):
        if getattr(options, name) < 1:
            parser.error(f"--{name} is {getattr(options, name)}, expected 1 or more")
    if not options.learning_rate > 0:
        parser.error(f"--learning-rate is {options.learning_rate}, expected a number above 0")
    return options


def _line(found: Success) -> str:
    low, high = found.interval
    return f"{found.share:.1%} right (95% interval {low:.1%} to {high:.1%}, {len(found.right)} questions)"


def _save(done: Distilled, folder: Path) -> None:
    model, tokenizer = done.model.pair
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    history = [asdict(step) for step in done.history]
    lines = json.dumps(history, indent=2).replace("NaN", "null")  # JSON has no NaN
    (folder / "distillation.json").write_text(lines + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
