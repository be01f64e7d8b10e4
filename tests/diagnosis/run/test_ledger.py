"""What a diagnosis keeps, in memory and on the disk."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.data.store_files import PART
from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.run.ledger_records import Batch, Decision, NodesRead
from opd_widgets.diagnosis.run.requests import Request
from opd_widgets.errors import InvalidInputError, ReadError
from tests.diagnosis.toy_run import assert_same_drawn, assert_same_nodes, run


def requests(count):
    logprobs = np.array([-0.5, np.nan], np.float32)
    return [Request(i % 2, (3, 2**31 - 1 if i else 7), i, logprobs, "held out") for i in range(count)]


def drawn(request, number=0):
    ids = np.array([*request.prefix, 5, 6], np.int32)
    return Drawn(ids, 2, np.array([*request.logprobs, -1, -np.inf], np.float32), -1, truncated=False, round=number)


def batch(some):
    return Batch.answering(some, [drawn(one, 4) for one in some], 0.25, {"OSError: busy": 2})


def test_a_decision_comes_back_as_it_was():
    one = Decision(tuple(requests(5)), 2, {"kind": "targeted", "budget": 9})
    other = Decision.of_arrays(one.to_arrays())
    assert (other.rows, other.said, other.batches) == (2, {"kind": "targeted", "budget": 9}, 3)
    assert [len(other.batch(number)) for number in range(3)] == [2, 2, 1]
    for a, b in zip(one.requests, other.requests, strict=True):
        assert (a.question, a.prefix, a.index, a.stream) == (b.question, b.prefix, b.index, b.stream)
        assert np.array_equal(a.logprobs, b.logprobs, equal_nan=True)
        assert a.seed(3, "q") == b.seed(3, "q")


def test_a_batch_comes_back_as_it_was_and_knows_what_it_answers():
    some = requests(3)
    one = batch(some)
    other = Batch.of_arrays(one.to_arrays())
    assert (other.stream, other.seconds, other.reasons) == ("held out", 0.25, {"OSError: busy": 2})
    assert other.question.tolist() == [0, 1, 0]
    for a, b in zip(one.drawn, other.drawn, strict=True):
        assert_same_drawn(a, b)
    assert other.answers(some)
    assert not other.answers(some[:2])
    assert not other.answers([some[1], some[0], some[2]])
    assert not other.answers([*some[:2], Request(0, (3, 8), 2, some[0].logprobs, "held out")])
    assert not other.answers([*some[:2], Request(0, some[2].prefix, 2, some[0].logprobs)])


def test_nodes_come_back_as_they_were():
    for evidence in run(budget=400).evidence:
        one = NodesRead(evidence.nodes, {"initial": 3, "teachers": {"A": None}}, 5)
        other = NodesRead.of_arrays(one.to_arrays())
        assert (other.key, other.left_out) == (one.key, 5)
        assert_same_nodes(other.nodes, one.nodes)
    none = NodesRead(evidence.nodes.take(np.zeros(0, np.int64)), {})
    assert len(NodesRead.of_arrays(none.to_arrays()).nodes) == 0


def test_rounds_are_numbered_and_what_is_left_is_known(tmp_path):
    ledger = Ledger(tmp_path)
    assert ledger.empty
    ledger.write_manifest({"identity": {}})
    first = ledger.decide(requests(5), 2, {})
    second = ledger.decide(requests(1), 2, {})
    assert (first, second) == (0, 1)
    ledger.add(0, 1, batch(requests(5)[2:4]))
    assert [(number, one, len(some)) for number, one, some in ledger.outstanding()] == [(0, 0, 2), (0, 2, 1), (1, 0, 1)]
    again = Ledger(tmp_path)
    again.read()
    assert [row[:2] for row in again.outstanding()] == [(0, 0), (0, 2), (1, 0)]
    assert not again.empty
    assert again.reasons == {"OSError: busy": 2}
    again.add(7, 0, batch(requests(1)))  # a shard whose decision is lost
    assert again.decide(requests(1), 2, {}) == 8


def test_half_written_files_are_taken_away_and_others_stay(tmp_path):
    ledger = Ledger(tmp_path)
    ledger.write_manifest({"identity": {}})
    (tmp_path / f"rollouts-0000-0000.npz{PART}").write_text("half")
    (tmp_path / "notes.txt").write_text("mine")
    ledger.read()
    ledger.clean()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["diagnosis.json", "notes.txt"]


def test_in_memory_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger(None)
    with ledger.only_writer():
        ledger.read()
        ledger.write_manifest({})
        ledger.add(ledger.decide(requests(2), 2, {}), 0, batch(requests(2)))
    assert ledger.manifest is None
    assert len(ledger.batches) == 1
    assert not list(tmp_path.iterdir())


def test_what_does_not_fit_together_is_refused(tmp_path):
    with pytest.raises(InvalidInputError, match="found 2 questions, 1 indices and 1 rollouts"):
        Batch(np.zeros(2, np.int64), np.zeros(1, np.int64), (drawn(requests(1)[0]),))
    ledger = Ledger(tmp_path)
    arrays = batch(requests(2)).to_arrays()
    arrays["length"] = arrays["length"] + 1
    np.savez(tmp_path / "rollouts-0000-0000.npz", **arrays)
    with pytest.raises(ReadError, match=r"rollouts-0000-0000\.npz .* is damaged: found rows of 10 values"):
        ledger.read()


def test_prefixes_that_are_read_share_their_numbers(tmp_path):
    ledger = Ledger(tmp_path)
    ids = (70_000, 5, 70_000)
    ledger.write_manifest({})
    ledger.decide([Request(0, ids, index, np.zeros(3, np.float32)) for index in range(2)], 2, {})
    again = Ledger(tmp_path)
    again.read()
    one, other = again.decisions[0].requests
    assert one.prefix == other.prefix == ids
    assert one.prefix[0] is other.prefix[2]
