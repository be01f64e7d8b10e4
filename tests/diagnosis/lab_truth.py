"""What is true of the lab's student: `python -m tests.diagnosis.lab_truth [--questions N] [--cache FILE]`.

Its likely responses are enumerated, with a bound for the rest, below every node that counts and every candidate there.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import opd_widgets as opd
from opd_widgets.demo.lab import MODELS, Lab
from opd_widgets.measures.distribution import log_softmax
from opd_widgets.models.generated import response_text
from opd_widgets.models.protocol import Sampling
from tests.diagnosis.best_first import BestFirst, Bounded
from tests.diagnosis.exact import Node
from tests.diagnosis.known_nodes import REACH, KnownNodes, candidates, known_nodes

LIMIT = 32  # new tokens; the longest right working has 28
QUESTIONS = 8
# Alignments hardly need it smaller: those of these questions are off by 0.025 at most. At 0.001, a question of them was
# not through after 60,000 prefixes.
BOUND = 5e-3
MOST = 30_000  # prefixes of a question; what follows a token no student takes may stay less well known
ROWS = 256  # sequences read together
GREEDY = Sampling(temperature=0.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class LabTruth(KnownNodes):
    """What is true of one question of the lab.

    Args:
        question: its id.
        teachers: T names.
        limit: most new tokens; a response cut there is not correct.
        root: success from the start.
        read: prefixes that were read.

    """

    question: str
    teachers: tuple[str, ...]
    limit: int
    root: Bounded
    read: int


@dataclass(frozen=True, eq=False)
class Reading:
    """Next-token log-probabilities of a model on one prompt, read along its likeliest continuations."""

    model: Any
    prompt: np.ndarray
    limit: int = LIMIT

    def rows(self, prefixes: Sequence[Node]) -> np.ndarray:
        """Return the log-probabilities after each prefix: [n, V], nats."""
        found = []
        for start in range(0, len(prefixes), ROWS):
            whole = [self._whole(ids) for ids in prefixes[start : start + ROWS]]
            found.append(self._logp(whole, [len(ids) - 1 for ids in whole]))
        return np.concatenate(found)

    def along(self, prefixes: Sequence[Node]) -> list[tuple[Node, np.ndarray]]:
        """Return for each prefix its likeliest continuation, and the log-probabilities at every step of it.

        A model this sure of itself mostly follows one path: reading that path costs little more than its first step.
        """
        order = sorted(range(len(prefixes)), key=lambda i: len(prefixes[i]))
        found: dict[int, tuple[Node, np.ndarray]] = {}
        for start in range(0, len(order), ROWS):
            some = order[start : start + ROWS]
            begun = [self._whole(prefixes[i]) for i in some]
            new = self.limit - len(prefixes[some[0]])
            drawn = self.model.generate(begun, n=1, max_new_tokens=new, seed=0, sampling=GREEDY)
            after = [one[0].ids for one in drawn]
            whole = [np.concatenate(pair) for pair in zip(begun, after, strict=True)]
            logp = self._logp(whole, [len(ids) - 1 for ids in begun])
            ends = np.cumsum([1 + len(ids) for ids in after])[:-1]
            for i, ids, rows in zip(some, after, np.split(logp, ends), strict=True):
                found[i] = (tuple(ids.tolist()), rows)
        return [found[i] for i in range(len(prefixes))]

    def _whole(self, prefix: Node) -> np.ndarray:
        return np.concatenate([self.prompt, np.array(prefix, np.int32)]).astype(np.int32)

    def _logp(self, whole: Sequence[np.ndarray], first: Sequence[int]) -> np.ndarray:
        states = self.model.hidden(whole, [np.arange(at, len(ids)) for ids, at in zip(whole, first, strict=True)])
        return np.asarray(log_softmax(np.asarray(self.model.head(states), np.float64)))


def prompts(lab: Lab, question: opd.Question) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the student's prompt for a question, and every teacher's."""
    rollout = next(one for one in lab.rollouts if one.question == question.id)
    tokenizer = lab.student.tokenizer
    theirs = {name: teacher.prompt(rollout, student=tokenizer).ids for name, teacher in lab.teachers.items()}
    return np.asarray(rollout.prompt_ids), theirs


def enumeration(lab: Lab, question: opd.Question, limit: int = LIMIT) -> BestFirst:
    """Return the student's responses to a question, of which the likeliest has been read."""
    student = lab.student

    def correct(response: Node) -> bool:
        return lab.verifier(question, response_text(np.array(response, np.int32), student))

    reading = Reading(student, prompts(lab, question)[0], limit)
    ends = student.tokenizer.end_ids
    return BestFirst(reading.along, vocab=student.vocab_size, ends=ends, length=limit, correct=correct)


def lab_truth(
    lab: Lab, question: opd.Question, *, limit: int = LIMIT, bound: float = BOUND, most: int = MOST
) -> LabTruth:
    """Return what is true of one question.

    Args:
        lab: whose student, teachers and verifier.
        question: one of the lab's.
        limit: most new tokens of a response.
        bound: share of what follows a node, or a candidate, that may stay unread.
        most: prefixes to read at most; then less is known than `bound` asks, and each candidate's bound says how much.

    """
    tree = enumeration(lab, question, limit)
    reached = tree.reached(REACH)
    prefixes = [prefix for prefix, _ in reached]
    student = np.array([tree.logp(prefix) for prefix in prefixes])
    own = prompts(lab, question)[1]
    said = [Reading(teacher.model, own[name]).rows(prefixes) for name, teacher in lab.teachers.items()]
    teachers = np.stack(said, axis=1)
    sets = [(prefix, set_) for prefix, set_ in zip(prefixes, candidates(student, teachers), strict=True)]
    branching = [(prefix, tokens) for prefix, tokens in sets if len(tokens) > 1]
    edges = [(*prefix, int(k)) for prefix, tokens in branching for k in tokens]
    tree.explore([(), *(prefix for prefix, _ in branching), *edges], bound, most)
    success = dict(zip(edges, tree.known(edges), strict=True))
    nodes = known_nodes(reached, student, teachers, success.__getitem__)
    return LabTruth(
        **nodes.parts(),
        question=question.id,
        teachers=tuple(lab.teachers),
        limit=limit,
        root=tree.known([()])[0],
        read=len(tree),
    )


def lab_truths(
    lab: Lab,
    questions: int = QUESTIONS,
    *,
    limit: int = LIMIT,
    bound: float = BOUND,
    most: int = MOST,
    cache: str | Path | None = None,
) -> list[LabTruth]:
    """Return what is true of the lab's first questions.

    Args:
        lab: with that many questions.
        questions: how many.
        limit: see `lab_truth`.
        bound: see `lab_truth`.
        most: see `lab_truth`.
        cache: a file to read them from; written where it isn't there, or was made of other models or settings.

    """
    asked = lab.questions[:questions]
    settings = {
        "questions": [question.id for question in asked],
        "limit": limit,
        "bound": bound,
        "most": most,
        "models": {path.parent.name: _digest(path) for path in sorted(MODELS.glob("*/*.safetensors"))},
        "teachers": {name: [ids.tolist() for ids in _of_teacher(lab, asked, name)] for name in lab.teachers},
    }
    kept = None if cache is None else _load(Path(cache), settings)
    if kept is not None:
        return kept
    made = [lab_truth(lab, question, limit=limit, bound=bound, most=most) for question in asked]
    if cache is not None:
        _save(Path(cache), made, settings)
    return made


def _of_teacher(lab: Lab, asked: Sequence[opd.Question], name: str) -> list[np.ndarray]:
    return [prompts(lab, question)[1][name] for question in asked]


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


_ARRAYS = ("reach", "tokens", "student_logp", "teacher_logp", "success", "bound", "alignment", "alignment_bound")


def _save(path: Path, truths: Sequence[LabTruth], settings: dict[str, Any]) -> None:
    others = [
        {
            "prefixes": truth.prefixes,
            "question": truth.question,
            "teachers": truth.teachers,
            "limit": truth.limit,
            "root": [truth.root.success, truth.root.bound],
            "read": truth.read,
        }
        for truth in truths
    ]
    arrays = {f"{i}/{name}": getattr(truth, name) for i, truth in enumerate(truths) for name in _ARRAYS}
    with path.open("wb") as file:
        np.savez_compressed(file, allow_pickle=False, text=json.dumps([settings, others]), **arrays)


def _load(path: Path, settings: dict[str, Any]) -> list[LabTruth] | None:
    """Return what a file holds; None where there is none, or it was made otherwise."""
    if not path.exists():
        return None
    with np.load(path, allow_pickle=False) as held:
        made, others = json.loads(str(held["text"]))
        if made != settings:
            return None
        return [
            LabTruth(
                **{name: held[f"{i}/{name}"] for name in _ARRAYS},
                prefixes=tuple(tuple(ids) for ids in one["prefixes"]),
                question=one["question"],
                teachers=tuple(one["teachers"]),
                limit=one["limit"],
                root=Bounded(*one["root"]),
                read=one["read"],
            )
            for i, one in enumerate(others)
        ]


def main() -> None:
    """Print what is true of the lab's questions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--limit", type=int, default=LIMIT, help="most new tokens of a response")
    parser.add_argument("--bound", type=float, default=BOUND, help="share of what follows that may stay unread")
    parser.add_argument("--most", type=int, default=MOST, help="prefixes to read of a question at most")
    parser.add_argument("--cache", help="file to keep them in")
    given = vars(parser.parse_args())
    lab = opd.demo(questions=given["questions"], rollouts=1)
    started = time.perf_counter()
    print("| question | success | nodes | of 3+ tokens | candidates | largest bound | alignments | off by | read |")  # noqa: T201
    print("|---|---|---|---|---|---|---|---|---|")  # noqa: T201
    for one in lab_truths(lab, **given):
        found = ~np.isnan(one.alignment)
        print(  # noqa: T201 - a script says what it found
            f"| {one.question} | {one.root.success:.4f} ± {one.root.bound:.4f} | {len(one.prefixes)} "
            f"| {(one.n_support > 2).sum()} | {one.n_support.sum()} | {np.nanmax(one.bound):.4f} "
            f"| {found.sum()} of {found.size} | {one.alignment_bound[found].max():.4f} | {one.read} |"
        )
    print(f"{time.perf_counter() - started:.0f} s")  # noqa: T201


if __name__ == "__main__":
    main()
