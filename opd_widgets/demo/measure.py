"""What the stored models can do on held-out problems, and what each teacher thinks of rollouts.

Everything is computed from the float16 weights on disk, in float32, at temperature 1 without any
cut (see `sampling.py`) or greedily.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import torch

from opd_widgets.demo import arithmetic
from opd_widgets.demo.arithmetic import CONTEXT_KINDS
from opd_widgets.demo.corpus import prompt_text
from opd_widgets.demo.recipes import RECIPES
from opd_widgets.demo.sampling import complete
from opd_widgets.demo.storage import load

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

    from opd_widgets.demo.arithmetic import ContextKind, Problem

PROBLEMS: Final = 500
SAMPLES: Final = 4  # completions for each problem at temperature 1
PROBLEM_SEED: Final = 1000
SAMPLE_SEED: Final = 2000


class Accuracy(NamedTuple):
    """Right answers among completions."""

    correct: int
    completions: int

    @property
    def share(self) -> float:
        """Right answers per completion, 0 to 1."""
        return self.correct / self.completions

    def record(self) -> dict[str, Any]:
        """As it stands in ``measured.json``."""
        return {
            "accuracy": round(self.share, 4),
            "correct": self.correct,
            "completions": self.completions,
        }


class Asker(NamedTuple):
    """A model together with the context it is given: what is asked, or what judges."""

    model: Qwen3ForCausalLM
    tokenizer: PreTrainedTokenizerFast
    kind: ContextKind | None = None
    large: dict[Problem, str] | None = None

    def prompt(self, problem: Problem) -> str:
        """The rendered prompt for a problem, the context line included."""
        if self.kind is None:
            return prompt_text(problem)
        large = None if self.large is None else self.large.get(problem)
        return prompt_text(problem, arithmetic.context(problem, self.kind, large=large))


def accuracy(
    asker: Asker,
    chosen: Sequence[Problem],
    *,
    samples: int = 1,
    greedy: bool = False,
    seed: int = SAMPLE_SEED,
) -> Accuracy:
    """Accuracy over ``samples`` completions of each problem."""
    repeated = [problem for problem in chosen for _ in range(samples)]
    completions = complete(
        asker.model,
        asker.tokenizer,
        [asker.prompt(problem) for problem in repeated],
        greedy=greedy,
        seed=seed,
    )
    texts = asker.tokenizer.batch_decode(completions)
    right = [arithmetic.verify(problem.answer, text) for problem, text in zip(repeated, texts, strict=True)]
    return Accuracy(sum(right), len(right))


def larger_solutions(
    model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, chosen: Sequence[Problem]
) -> dict[Problem, str]:
    """The first right solution of a larger model for each problem, in four tries at temperature 1.

    A problem that it never got right is missing from the result.
    """
    found: dict[Problem, str] = {}
    for attempt in range(4):
        missing = [problem for problem in chosen if problem not in found]
        completions = complete(model, tokenizer, [prompt_text(p) for p in missing], seed=SAMPLE_SEED + 1 + attempt)
        for problem, text in zip(missing, tokenizer.batch_decode(completions), strict=True):
            if arithmetic.verify(problem.answer, text):
                found[problem] = arithmetic.solution_of(text)
        if len(found) == len(chosen):
            break
    return found


@torch.inference_mode()
def response_logprobs(
    asker: Asker,
    chosen: Sequence[Problem],
    responses: Sequence[Sequence[int]],
    batch_size: int = 256,
) -> list[torch.Tensor]:
    """Log-probability in nats of each response token, ``[T]`` per response.

    Probabilities are over the tokenizer's own vocabulary, without the padded rows.
    """
    found: list[torch.Tensor] = []
    for start in range(0, len(responses), batch_size):
        tails = responses[start : start + batch_size]
        prompts = [asker.prompt(problem) for problem in chosen[start : start + batch_size]]
        heads = asker.tokenizer(prompts)["input_ids"]
        rows = [[*head, *tail] for head, tail in zip(heads, tails, strict=True)]
        width = max(map(len, rows))
        # Right padding of a causal model: the padding is never looked at.
        ids = torch.tensor([row + [asker.tokenizer.pad_token_id] * (width - len(row)) for row in rows])
        logits = asker.model(input_ids=ids, use_cache=False).logits[:, :-1, : len(asker.tokenizer)]
        logp = logits.float().log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        found += [
            row[len(head) - 1 : len(head) - 1 + len(tail)] for row, head, tail in zip(logp, heads, tails, strict=True)
        ]
    return found


def contrast(student: Asker, teachers: dict[str, Asker], chosen: Sequence[Problem], samples: int) -> dict[str, Any]:
    """Mean advantage that each teacher gives to correct and to incorrect student rollouts.

    The advantage of a token is ``log p_teacher - log p_student``, in nats; the mean is over all
    tokens of an outcome's rollouts, the end token included.
    """
    repeated = [problem for problem in chosen for _ in range(samples)]
    prompts = [student.prompt(problem) for problem in repeated]
    rollouts = complete(student.model, student.tokenizer, prompts, seed=SAMPLE_SEED)
    texts = student.tokenizer.batch_decode(rollouts)
    right = [arithmetic.verify(problem.answer, text) for problem, text in zip(repeated, texts, strict=True)]
    own = response_logprobs(student, repeated, rollouts)

    def mean_advantage(theirs: list[torch.Tensor], *, outcome: bool) -> float:
        rows = [t - s for t, s, r in zip(theirs, own, right, strict=True) if r is outcome]
        return round(torch.cat(rows).double().mean().item(), 4)

    table = {}
    for name, teacher in teachers.items():
        theirs = response_logprobs(teacher, repeated, rollouts)
        table[name] = {
            "correct": mean_advantage(theirs, outcome=True),
            "incorrect": mean_advantage(theirs, outcome=False),
        }
    return {
        "unit": "nats a token, log p_teacher - log p_student",
        "correct_rollouts": sum(right),
        "incorrect_rollouts": len(right) - sum(right),
        "mean_advantage": table,
    }


def _both(asker: Asker, chosen: Sequence[Problem]) -> dict[str, Any]:
    return {
        "sampled": accuracy(asker, chosen, samples=SAMPLES).record(),
        "greedy": accuracy(asker, chosen, greedy=True).record(),
    }


def measure(folder: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Measure all models under ``folder``; the result is ``measured.json``.

    Raises:
        FileNotFoundError: a model is missing.
    """
    chosen = arithmetic.problems(PROBLEMS, "held_out", PROBLEM_SEED)
    plain = {name: Asker(*load(folder / name)) for name in RECIPES}
    models = {}
    for name, asker in plain.items():
        models[name] = _both(asker, chosen)
        report(f"{name}: {models[name]['sampled']['accuracy']:.3f} at temperature 1")
    student, other = plain["student"], plain["other_style"]
    large = larger_solutions(other.model, other.tokenizer, chosen)
    told: dict[str, Asker] = {kind: student._replace(kind=kind, large=large) for kind in CONTEXT_KINDS}
    contexts = {}
    for kind, asker in told.items():
        contexts[kind] = _both(asker, chosen)
        report(f"student, {kind}: {contexts[kind]['sampled']['accuracy']:.3f} at temperature 1")
    teachers = {"teacher": plain["teacher"], "other_style": other, **told}
    report("scoring student rollouts under every teacher")
    return {
        "problems": {"n": PROBLEMS, "split": "held_out", "seed": PROBLEM_SEED},
        "sampling": {
            "temperature": 1.0,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "samples_per_problem": SAMPLES,
            "seed": SAMPLE_SEED,
        },
        "weights": "float16 on disk, computed in float32",
        "plain": models,
        "student_with_context": contexts,
        "larger_solutions_found": len(large),
        "contrast": contrast(student, teachers, chosen, SAMPLES),
    }
