"""A diagnosis of milliseconds: a toy student of five ids whose next-token distribution hangs on the whole prefix."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import opd_widgets as opd
from opd_widgets.data.store_files import LOCK
from opd_widgets.diagnosis.diagnose import diagnose
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.run.stored import load_diagnosis

VOCAB, END, LENGTH = 5, 4, 6
SURE = opd.Question("sure", "ask sure")  # a student without a choice: there is no node, and nothing to buy
ENDS = opd.Question("ends", "ask ends")  # one with a choice of two ends: a node, and soon nothing to buy
QUESTIONS = tuple(opd.Question(name, f"ask {name}", answer="0") for name in ("one", "two", "three"))
BUDGET = 3000


def even(_: opd.Question, text: str) -> bool:
    """Correct where the ids of the response sum to an even number."""
    return sum(map(int, text.split())) % 2 == 0


def has_digit(_: opd.Question, text: str) -> bool:
    """Correct where the response of a tiny model has a digit."""
    return any(letter.isdigit() for letter in text)


def odd(question: opd.Question, text: str) -> bool:
    """Another verifier."""
    return not even(question, text)


@cache
def _row(salt: tuple[int, ...], scale: float, prefix: tuple[int, ...]) -> Any:
    """Return the log-probabilities after a prefix, [V]."""
    logits = np.random.default_rng([*salt, *prefix]).normal(0, scale, VOCAB)
    return logits - np.log(np.exp(logits).sum())


def speaker(seed: int, scale: float = 1.2) -> Any:
    """Return a function from a question to its policy."""

    def policy(question: opd.Question) -> FunctionPolicy:
        salt = (seed, *question.id.encode())

        def next_logprobs(prefixes: Any) -> Any:
            if question.id == SURE.id:
                return np.log(np.eye(VOCAB)[[END if len(ids) else 2 for ids in prefixes]] * (1 - 1e-6 * VOCAB) + 1e-6)
            return np.array([_row(salt, scale, tuple(map(int, ids))) for ids in prefixes])

        if question.id == ENDS.id:
            halves = np.log([1e-4, 1e-4, 1e-4, (1 - 3e-4) / 2, (1 - 3e-4) / 2])
            both = {"end_ids": [END - 1, END], "vocab_size": VOCAB}
            return FunctionPolicy(lambda prefixes: np.tile(halves, (len(prefixes), 1)), **both)
        return FunctionPolicy(next_logprobs, end_ids=[END], vocab_size=VOCAB)

    return policy


GIVEN: dict[str, Any] = {
    "questions": QUESTIONS,
    "student": speaker(0),
    "teachers": {"A": speaker(1), "B": speaker(2)},
    "verifier": even,
    "budget": BUDGET,
    "max_new_tokens": LENGTH,
    "batch_rows": 64,
    "rounds": 6,
    "max_nodes": 40,
}


def run(**changes: Any) -> Diagnosis:
    """Diagnose the toy."""
    given = {**GIVEN, "progress": False, **changes}
    return diagnose(given.pop("questions"), given.pop("student"), given.pop("teachers"), **given)


def assert_same_drawn(one: Any, other: Any) -> None:
    """Compare two rollouts value for value."""
    assert np.array_equal(one.ids, other.ids)
    assert np.array_equal(one.logprobs, other.logprobs, equal_nan=True)
    for name in ("start", "outcome", "truncated", "round"):
        assert getattr(one, name) == getattr(other, name), name


def assert_same_nodes(one: Any, other: Any) -> None:
    """Compare the nodes of a question value for value."""
    assert one.prefixes == other.prefixes
    assert one.teachers == other.teachers
    for name, value in vars(one).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, getattr(other, name), equal_nan=value.dtype.kind == "f"), name


def assert_same(one: Diagnosis, other: Diagnosis) -> None:
    """Compare two results value for value, times left aside."""
    assert len(one.evidence) == len(other.evidence)
    assert one.settings == other.settings
    for mine, theirs in zip(one.evidence, other.evidence, strict=True):
        assert mine.question == theirs.question
        assert_same_nodes(mine.nodes, theirs.nodes)
        assert len(mine.rollouts) == len(theirs.rollouts)
        for a, b in zip(mine.rollouts, theirs.rollouts, strict=True):
            assert_same_drawn(a, b)
    assert one.held_out.keys() == other.held_out.keys()
    for name, its in one.held_out.items():
        for a, b in zip(its, other.held_out[name], strict=True):
            assert_same_drawn(a, b)
    assert _timeless(one.about) == _timeless(other.about)


def assert_same_folders(one: Any, other: Any) -> None:
    """Compare two runs on disk: files, decisions, batches, nodes and manifest, times left aside."""
    names = [{path.name for path in folder.iterdir()} for folder in (one, other)]
    assert names[0] == names[1]
    mine, theirs = Ledger(one), Ledger(other)
    mine.read()
    theirs.read()
    assert _timeless(mine.manifest) == _timeless(theirs.manifest)
    for number, decision in mine.decisions.items():
        assert decision.said == theirs.decisions[number].said
        assert decision.rows == theirs.decisions[number].rows
        assert len(decision.requests) == len(theirs.decisions[number].requests)
    for a, b in zip(mine.batches, theirs.batches, strict=True):
        assert np.array_equal(a.question, b.question)
        assert np.array_equal(a.index, b.index)
        assert (a.stream, a.reasons) == (b.stream, b.reasons)
        for x, y in zip(a.drawn, b.drawn, strict=True):
            assert_same_drawn(x, y)
    for number, read in mine.nodes.items():
        assert read.key == theirs.nodes[number].key
        assert_same_nodes(read.nodes, theirs.nodes[number].nodes)
    assert_same(load_diagnosis(one), load_diagnosis(other))


def assert_no_draw_twice(folder: Any) -> None:
    """Compare what the rollouts of a folder answer: question, prefix, index and stream are never the same twice."""
    ledger = Ledger(folder)
    seen: set[Any] = set()
    ledger.read()
    for batch in ledger.batches:
        for question, index, drawn in zip(batch.question, batch.index, batch.drawn, strict=True):
            key = (batch.stream, int(question), tuple(drawn.ids[: drawn.start].tolist()), int(index))
            assert key not in seen
            seen.add(key)


def files(folder: Any) -> dict[str, int]:
    """Return when each file of a folder was written, the lock's aside."""
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir() if path.name != LOCK}


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(one) for key, one in value.items() if key not in {"seconds", "probe_seconds"}}
    return value
