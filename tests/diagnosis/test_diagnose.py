"""A diagnosis end to end: of tiny models, of a served student, of the lab's; its cost and what it shows meanwhile."""

from __future__ import annotations

import time

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.diagnose import diagnose, diagnosis_cost
from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.run.about import counts
from opd_widgets.diagnosis.run.cost import Cost, duration
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.run.progress import PAUSE, bought
from opd_widgets.diagnosis.run.requests import Drawer
from opd_widgets.diagnosis.run.rounds import Plan, Rounds
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.scoring.judging import Judge
from tests import tiny
from tests.diagnosis.toy_run import BUDGET, LENGTH, QUESTIONS, assert_same, even, has_digit, run, speaker
from tests.models.stub_server import ServedModel, serving

SUMS = [opd.Question("sum", "3+4=?", answer="7"), opd.Question("difference", "9-4=?", answer="5")]


def test_tiny_models_with_a_context_and_without():
    student = tiny.model(0)
    teachers = {"Other": tiny.model(1), "Hint": opd.Teacher(student, opd.contexts.free_text("say 3"))}
    given = {"verifier": has_digit, "budget": 600, "max_new_tokens": 8, "max_nodes": 15, "progress": False}
    result = diagnose(SUMS, student, teachers, **given)
    assert result.questions == ("sum", "difference")
    assert result.teachers == ("Other", "Hint")
    assert result.about["teachers"]["Hint"]["is_self"]
    assert not result.about["teachers"]["Other"]["is_self"]
    assert result.about["generated_tokens"] == sum(one.generated for its in result.evidence for one in its.rollouts)
    assert 600 * 0.9 <= result.about["generated_tokens"] <= 700
    own = {
        (row.question, row.node, row.token_id): row for row in result.candidates.itertuples() if row.teacher == "Hint"
    }
    assert own
    for one in result.evidence:
        prompt = student.tokenizer.encode(
            student.tokenizer.render(next(q for q in SUMS if q.id == one.question).messages, {})
        )
        for drawn in one.rollouts[:5]:
            ids = np.concatenate([prompt, drawn.ids]).astype(np.int32)
            at = len(prompt) - 1 + np.arange(len(drawn.ids))
            logits = np.asarray(student.head(student.hidden([ids], [at])), np.float64)
            logp = (
                logits
                - np.log(np.exp(logits - logits.max(-1, keepdims=True)).sum(-1, keepdims=True))
                - logits.max(-1, keepdims=True)
            )
            assert np.allclose(drawn.logprobs, logp[np.arange(len(drawn.ids)), drawn.ids], atol=1e-4)
    assert_same(diagnose(SUMS, student, teachers, **given), result)


def test_a_served_student_end_to_end_and_continued(tmp_path):
    model = tiny.model(0)
    given = {"verifier": has_digit, "budget": 120, "max_new_tokens": 4, "max_nodes": 6, "progress": False}
    with serving(ServedModel(model, most=64)) as stub:
        student = opd.ServerModel(f"{stub.url}/v1", "tiny", tokenizer=model, api_key_env=None)
        teachers = {"Own": opd.Teacher(student), "Hint": opd.Teacher(student, opd.contexts.free_text("say 3"))}
        result = diagnose(SUMS, student, teachers, out=tmp_path, **given)
        asked = len(stub.requests)
        assert_same(diagnose(SUMS, student, teachers, out=tmp_path, **given), result)
        assert not [path for path in stub.paths()[asked:] if path != "/v1/models" and "tokenize" not in path]
    assert result.about["generated_tokens"] >= 100
    assert all(np.isfinite(drawn.logprobs).all() for one in result.evidence for drawn in one.rollouts)
    for one in result.evidence:
        own = one.nodes.teachers.index("Own")
        assert len(one.nodes)
        mine, theirs = one.nodes.student_logp[one.nodes.used], one.nodes.teacher_logp[:, own][one.nodes.used]
        assert np.isfinite(mine).mean() > 0.9  # the rest is not among the likeliest, which is all that is said
        assert np.array_equal(mine, theirs, equal_nan=True)


def test_a_question_of_the_lab_and_all_its_teachers():
    lab = opd.demo(questions=2, rollouts=1)
    result = diagnose(
        lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=3000, max_new_tokens=64, progress=False
    )
    assert result.teachers == tuple(lab.teachers)
    assert result.nodes["alignment"].notna().sum() > 50
    by_id = {question.id: question for question in lab.questions}
    for one in result.evidence:
        for drawn in one.rollouts[::7]:
            text = lab.student.tokenizer.decode([i for i in drawn.ids if i not in lab.student.tokenizer.end_ids])
            assert (drawn.outcome == 1) == lab.verifier(by_id[one.question], text)


def state(**plan):
    drawer = Drawer(QUESTIONS, [speaker(0)(one) for one in QUESTIONS], Judge(even), LENGTH, 0)
    teachers = [{"A": speaker(1)(one)} for one in QUESTIONS]
    return Rounds(drawer, teachers, Plan(BUDGET, None, max_nodes=20, rounds=4, **plan), Ledger(None))


def test_the_cost_by_hand():
    probe = [Drawn(np.zeros(n, np.int32), 0, np.zeros(n, np.float32), 1) for n in (4, 6, 5, 5)]
    cost = Cost.of(probe, 0.5, questions=2, initial=10, budget=1000)
    assert (cost.probe_rollouts, cost.probe_tokens) == (4, 20)
    assert cost.read == 100  # 2 questions, 10 rollouts each, 5 tokens each
    assert cost.targeted == 360  # 900 tokens left, from the middle on: 2.5 tokens each
    assert cost.seconds == 25.0  # 40 tokens a second
    text = cost.to_text(3)
    assert "2 questions, 10 initial rollouts each, then 360 targeted ones or more" in text
    assert "1,000 generated tokens, about 25 s" in text
    assert "read by the student and 3 teachers" in text
    assert "a probe of 4 rollouts, 20 tokens in 0.5 s" in text
    assert Cost.of(probe, 0.5, questions=2, initial=500, budget=1000).targeted == 0


def test_times_for_people():
    assert [duration(value) for value in (3.2, 89, 600, 5399, 12600)] == ["3 s", "89 s", "10 min", "90 min", "3.5 h"]


def test_the_probe_alone_is_drawn_for_a_cost():
    asked = []
    cost = diagnosis_cost(
        QUESTIONS, speaker(0), {"A": speaker(1)}, verifier=even, budget=BUDGET, max_new_tokens=LENGTH,
        checkpoint=lambda: asked.append(1),
    )  # fmt: skip
    assert len(asked) == 1
    assert cost.probe_rollouts == 24


def test_the_progress_says_what_was_bought(capsys):
    one = state()
    one.prepare()
    one.spend()
    said = bought(one, DiagnosisSettings())
    assert said.startswith("sign sure at ")
    run(progress=True)
    shown = capsys.readouterr().err
    assert "3 questions, " in shown
    assert "generated tokens, about " in shown
    assert "sign sure at " in shown or "no node scored yet" in shown


def test_looking_at_what_was_bought_takes_little_of_the_run(monkeypatch):
    looks: list[int] = []

    def look(*_):
        looks.append(1)
        return ""

    monkeypatch.setattr("opd_widgets.diagnosis.run.progress.bought", look)
    begun = time.perf_counter()
    result = run(progress=True, rounds=30)
    assert result.about["targeted_rollouts"] > 0
    assert len(looks) <= 2 + (time.perf_counter() - begun) / PAUSE


def test_counts_by_hand():
    def drawn(start, outcome=1, truncated=False):
        return Drawn(np.zeros(5, np.int32), start, np.zeros(5, np.float32), outcome, truncated)

    found = counts([drawn(0), drawn(0, 0), drawn(0, 0, truncated=True), drawn(0, -1), drawn(3), drawn(5, 0)])
    assert found == {
        "generated_tokens": 4 * 5 + 2,
        "initial_rollouts": 4,
        "targeted_rollouts": 2,
        "outcomes": {"correct": 1, "incorrect": 1, "truncated": 1, "unverified": 1},
    }


@pytest.mark.parametrize("spending", ["width", "even", "paper"])
def test_every_spending_ends(spending):
    result = run(spending=spending)
    assert result.about["finished"]
    assert result.about["spending"] == spending
