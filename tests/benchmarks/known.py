"""Policies whose truth is known, declared and seeded: what a diagnosis is measured against.

    for known in known_policies():      # random tabular ones, exactly
        known.policy, known.teachers, known.verifier, known.limit   # what a diagnosis is given
        known.prefixes, known.tokens, known.success, known.alignment     # what it should find
    for known in lab_policies(cache="lab.npz"): ...     # the lab's student, with a bound for what was not enumerated

The nodes that count are fixed here, before anything is sampled: `tests.diagnosis.known_nodes` says which they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import opd_widgets as opd
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import Policy
from tests.diagnosis import lab_truth
from tests.diagnosis.best_first import Bounded
from tests.diagnosis.exact import END, Node, Toy, Truth, enumerate_exact
from tests.diagnosis.known_nodes import REACH, KnownNodes, known_nodes

Verifier = Callable[[opd.Question, str], bool]
STUDENT, FAR, NEAR = 0, 1, 2


@dataclass(frozen=True, eq=False, kw_only=True)
class Known(KnownNodes):
    """A question with its student, teachers and truth.

    Args:
        name: of the policy.
        question: what a diagnosis is asked about.
        policy: the student.
        teachers: T, in the order of the arrays.
        verifier: (question, response text) -> whether it is correct.
        limit: most new tokens. A policy without end ids ends there, and is judged; others are cut there, and wrong.
        value: success from the start.

    """

    name: str
    question: opd.Question
    policy: Policy
    teachers: Mapping[str, Policy]
    verifier: Verifier
    limit: int
    value: float


@dataclass(frozen=True, eq=False)
class Table(Toy):
    """A toy with two teachers: "far", drawn without a look at the student, and "near", the student's logits disturbed.

    Which responses are correct is drawn for each by itself: what follows one token says nothing of its siblings.

    Args:
        stay: taken from the logit of the end: a sharp table would mostly be over after a token or two.

    """

    stay: float = 0.0

    @property
    def teachers(self) -> dict[str, FunctionPolicy]:
        return {"far": self.tabular(FAR), "near": self.tabular(NEAR)}

    @cache  # noqa: B019 - tables live as long as the benchmark
    def row(self, which: int, node: Node) -> np.ndarray:
        logits = super().row(which, node)
        if which == NEAR:
            logits = self.row(STUDENT, node) + logits / 2
        elif self.ended:
            logits = logits - self.stay * (np.arange(self.vocab) == END)
        return np.asarray(logits - np.log(np.exp(logits).sum()))


@dataclass(frozen=True, eq=False)
class Smooth(Table):
    """A table in which every token, by its depth, makes success likelier or less: siblings are like their parent.

    Args:
        strength: standard deviation of a token's weight in the log-odds of success.

    """

    strength: float = 1.0

    @cache  # noqa: B019 - tables live as long as the benchmark
    def weights(self) -> np.ndarray:
        return np.random.default_rng([self.seed, 98]).normal(0.0, self.strength, (self.depth, self.vocab))

    def correct(self, response: Node) -> bool:
        odds = self.weights()[np.arange(len(response)), list(response)].sum()
        place = sum((k + 1) * (self.vocab + 1) ** i for i, k in enumerate(response))
        return bool(np.random.default_rng([self.seed, 97, place]).random() < 1 / (1 + np.exp(-odds)))


# The benchmark's policies. Leaves by themselves, long and nearly deterministic ones, and smooth ones.
TABLES: dict[str, Table] = {
    "leaves-a": Table(200, 5, 6, ended=False, spread=1.0),
    "leaves-b": Table(201, 4, 7, ended=False, spread=1.5),
    "leaves-c": Table(202, 5, 6, ended=True, spread=1.0, stay=2.0),
    "leaves-d": Table(203, 3, 7, ended=True, spread=1.0),
    "leaves-e": Table(204, 6, 5, ended=True, spread=1.5),
    "leaves-f": Table(205, 6, 5, ended=False, spread=2.0),
    "long-a": Table(217, 3, 9, ended=False, spread=4.0),
    "long-b": Table(218, 3, 9, ended=False, spread=4.0),
    "long-c": Table(211, 4, 8, ended=True, spread=4.0, stay=6.0),
    "long-d": Table(214, 3, 10, ended=True, spread=4.0, stay=6.0),
    "smooth-a": Smooth(220, 5, 6, ended=False, spread=1.0),
    "smooth-b": Smooth(224, 4, 7, ended=False, spread=1.5, strength=0.7),
    "smooth-c": Smooth(221, 5, 6, ended=True, spread=1.5, stay=2.0),
    "smooth-d": Smooth(219, 3, 9, ended=False, spread=4.0),
}


def known_policies() -> list[Known]:
    """Return the benchmark's tabular policies, each enumerated whole."""
    return [tabular(name, table) for name, table in TABLES.items()]


def coverage_set() -> list[Known]:
    """Return other policies than the benchmark's: more than 500 nodes of two candidates, and 500 of three or more."""
    made: list[Table] = []
    for seed in range(300, 312):
        kind = (Table, Smooth)[seed % 2]
        vocab, depth = ((3, 7), (4, 6), (5, 5))[seed % 3]
        ended, spread = seed % 4 < 2, (1.0, 2.0)[seed // 6 % 2]
        made.append(kind(seed, vocab, depth, ended=ended, spread=spread, stay=2.0))
    made += [(Table, Smooth)[seed % 2](seed, 2, 9, ended=False, spread=1.0) for seed in range(400, 406)]
    return [tabular(f"{type(one).__name__.lower()}-{one.seed}", one) for one in made]


def tabular(name: str, table: Table) -> Known:
    """Return a table with what is true of it: by backward recursion over every prefix."""
    truth = enumerate_exact(table.policy, table.depth, table.correct)
    reached = reach(truth, REACH, table.ends)
    prefixes = [prefix for prefix, _ in reached]
    student = np.array([truth[prefix].logp for prefix in prefixes])
    teachers = np.stack([policy.next_logprobs(prefixes) for policy in table.teachers.values()], axis=1)

    def success(path: Node) -> Bounded:
        return Bounded(float(truth[path[:-1]].success[path[-1]]), 0.0)

    return Known(
        **known_nodes(reached, student, teachers, success).parts(),
        name=name,
        question=opd.Question(name, f"What does {name} say?"),
        policy=table.policy,
        teachers=table.teachers,
        verifier=table.verifier,
        limit=table.depth,
        value=truth[()].value,
    )


def reach(truth: Mapping[Node, Truth], least: float, ends: frozenset[int]) -> list[tuple[Node, float]]:
    """Return the prefixes that are reached with this probability or more, and how likely each is."""
    found: list[tuple[Node, float]] = []
    going: list[tuple[Node, float]] = [((), 1.0)]
    while going:
        prefix, likely = going.pop()
        if prefix not in truth or likely < least:
            continue
        found.append((prefix, likely))
        going += [((*prefix, k), likely * float(p)) for k, p in enumerate(truth[prefix].p) if k not in ends]
    return sorted(found, key=lambda one: (len(one[0]), one[0]))


def lab_policies(
    questions: int = lab_truth.QUESTIONS,
    *,
    bound: float = lab_truth.BOUND,
    most: int = lab_truth.MOST,
    cache: str | Path | None = None,
) -> list[Known]:
    """Return the lab's student on its first questions; see `tests.diagnosis.lab_truth` for how they are known."""
    lab = opd.demo(questions=questions, rollouts=1)
    truths = lab_truth.lab_truths(lab, questions, bound=bound, most=most, cache=cache)
    made = []
    for question, truth in zip(lab.questions, truths, strict=True):
        own, theirs = lab_truth.prompts(lab, question)
        made.append(
            Known(
                **truth.parts(),
                name=f"lab {question.id}",
                question=question,
                policy=ModelPolicy(lab.student, own),
                teachers={name: ModelPolicy(lab.teachers[name].model, ids) for name, ids in theirs.items()},
                verifier=lab.verifier,
                limit=truth.limit,
                value=truth.root.success,
            )
        )
    return made


def main() -> None:
    """Print what the declared policies are."""
    print("| policy | success | nodes | of 3+ tokens | candidates | mean |alignment| far, near | read as undefined |")  # noqa: T201
    print("|---|---|---|---|---|---|---|")  # noqa: T201
    for one in (*known_policies(), *coverage_set()):
        means = ", ".join(f"{value:.2f}" for value in np.nanmean(one.alignment, axis=0))
        print(  # noqa: T201 - a script says what it found
            f"| {one.name} | {one.value:.3f} | {len(one.prefixes)} | {(one.n_support > 2).sum()} "
            f"| {one.n_support.sum()} | {means} | {np.isnan(one.alignment).sum()} |"
        )


if __name__ == "__main__":
    main()
