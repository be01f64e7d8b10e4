"""Distillation in small: the loss against float64 numpy, what counts, repeatability, and that it works."""

from __future__ import annotations

import copy
import json
import math

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.data.question import Question
from opd_widgets.demo import arithmetic
from opd_widgets.demo import distill as command
from opd_widgets.demo.distill import Settings, distill, step_loss
from opd_widgets.demo.distill_loss import next_token_logprobs, reverse_kl
from opd_widgets.demo.distill_success import Success, evaluation_questions, success
from opd_widgets.demo.lab import verify
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.hf import HFModel
from tests import tiny
from tests.benchmarks import prediction_training


@pytest.fixture(scope="module")
def lab():
    return opd.demo(questions=96, rollouts=1)


@pytest.fixture(autouse=True)
def one_thread():
    """Bits depend on the number of threads."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def weights(model):
    return model.pair[0].state_dict()


def same(first, second):
    one, two = weights(first), weights(second)
    return one.keys() == two.keys() and all(torch.equal(one[name], two[name]) for name in one)


def gradients(model, loss):
    model.pair[0].zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.pair[0].parameters()])


def small(**changes):
    return Settings(**{"steps": 2, "questions": 16, **changes})


def test_loss_and_gradient_at_a_node_are_the_closed_form():
    """float64 numpy, no autograd: KL = sum p (log p - log q), its gradient in the logits -p (f - mean f)."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(5, 7)) * 2
    teacher = np.log(rng.dirichlet(np.ones(7), size=5))
    student = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    p, f = np.exp(student), teacher - student
    kl = -(p * f).sum(-1)
    downhill = p * (f - (p * f).sum(-1, keepdims=True))
    leaf = torch.tensor(logits, requires_grad=True)
    loss = reverse_kl(leaf.log_softmax(-1), torch.tensor(teacher))
    loss.sum().backward()
    assert loss.detach().numpy() == pytest.approx(kl, abs=1e-12)
    assert leaf.grad is not None
    assert -leaf.grad.numpy() == pytest.approx(downhill, abs=1e-12)
    # a change of the loss itself, without any formula for the gradient
    for j in range(7):
        moved = logits.copy()
        moved[:, j] += 1e-6
        s = moved - np.log(np.exp(moved).sum(-1, keepdims=True))
        rise = ((np.exp(s) * (s - teacher)).sum(-1) - kl) / 1e-6
        assert leaf.grad.numpy()[:, j] == pytest.approx(rise, abs=1e-4)


def test_nodes_stand_where_the_student_chose_each_token():
    """Unlike lengths in one batch, against every sequence read alone by the whole model."""
    model = tiny.qwen(3)
    rng = np.random.default_rng(1)
    prompts = [rng.integers(6, 50, size=n).astype(np.int32) for n in (4, 9, 1)]
    responses = [rng.integers(6, 50, size=n).astype(np.int32) for n in (5, 1, 3)]
    sequences = [np.concatenate(pair) for pair in zip(prompts, responses, strict=True)]
    found = next_token_logprobs(model, sequences, [len(response) for response in responses])
    rows = []
    for prompt, ids in zip(prompts, sequences, strict=True):
        logits = model(input_ids=torch.tensor(ids.astype(np.int64))[None], use_cache=False).logits[0].double()
        rows.append(logits[len(prompt) - 1 : -1].log_softmax(-1))
    assert torch.allclose(found.double(), torch.cat(rows), atol=1e-5)


def test_the_loss_is_what_scoring_finds(lab):
    """The mean reverse KL that `opd.score` computes under a context, on another path through the model."""
    rollouts = lab.rollouts[:24]
    for name in ("Teacher", "Self-1C"):
        teacher = lab.teachers[name]
        loss, _ = step_loss(lab.student, teacher, rollouts)
        scores = opd.score(rollouts, lab.student, {name: teacher}, progress=False)
        known = np.concatenate([scores.signal("reverse_kl", i, name) for i in range(len(rollouts))])
        assert loss.item() == pytest.approx(float(known.mean()), rel=1e-3)


def test_the_student_as_its_own_teacher_changes_nothing(lab):
    done = distill(lab.student, opd.Teacher(lab.student), lab.questions, verify, small())
    assert [step.loss for step in done.history] == [0.0, 0.0]
    assert same(done.model, lab.student)


def test_the_bundled_student_is_left_alone_and_the_teacher_is_frozen(lab):
    before = copy.deepcopy(weights(lab.student))
    done = distill(lab.student, lab.teachers["Self-1C"], lab.questions, verify, small())
    assert all(torch.equal(before[name], weight) for name, weight in weights(lab.student).items())
    assert not same(done.model, lab.student)
    assert all(p.grad is None for p in lab.student.pair[0].parameters())


def test_a_run_repeats_to_the_bit_and_another_seed_is_another_run(lab):
    teacher = lab.teachers["Self-1C1W"]
    first, second, other = (
        distill(lab.student, teacher, lab.questions, verify, small(seed=seed)) for seed in (5, 5, 6)
    )
    assert same(first.model, second.model)
    assert first.history == second.history
    assert not same(first.model, other.model)


def test_incorrect_takes_incorrect_rollouts_only(lab):
    """The gradient is that of the incorrect rollouts by themselves, whatever the correct ones are."""
    student = HFModel(copy.deepcopy(lab.student.pair))
    teacher, rollouts = lab.teachers["Other style"], lab.rollouts[:40]
    wrong = [rollout for rollout in rollouts if rollout.outcome == "incorrect"]
    assert 0 < len(wrong) < len(rollouts)
    loss, entry = step_loss(student, teacher, rollouts, "incorrect")
    alone, _ = step_loss(student, teacher, wrong)
    everything, _ = step_loss(student, teacher, rollouts)
    assert entry.tokens == sum(map(len, wrong))
    assert entry.incorrect == len(wrong) / len(rollouts)
    assert loss.item() == pytest.approx(alone.item(), rel=1e-5)
    ours, theirs, all_of_them = (gradients(student, part) for part in (loss, alone, everything))
    assert torch.allclose(ours, theirs, atol=1e-4 * float(theirs.abs().max()))
    assert not torch.allclose(ours, all_of_them, atol=1e-2 * float(theirs.abs().max()))


def test_without_an_incorrect_rollout_nothing_is_updated(lab):
    done = distill(lab.student, lab.teachers["Teacher"], lab.questions, lambda *_: True, small(on="incorrect"))
    assert [step.tokens for step in done.history] == [0, 0]
    assert all(math.isnan(step.loss) and step.kl > 0 for step in done.history)
    assert same(done.model, lab.student)


def test_unverified_rollouts_are_not_incorrect(lab):
    rollouts = [rollout.with_outcome("unverified") for rollout in lab.rollouts[:4]]
    loss, entry = step_loss(lab.student, lab.teachers["Teacher"], rollouts, "incorrect")
    assert loss is None
    assert entry.incorrect == 0


@pytest.mark.slow
def test_the_strong_teacher_raises_success_on_questions_it_was_not_trained_on(lab):
    fresh = [
        Question(problem.expression, problem.question, answer=problem.answer)
        for problem in arithmetic.problems(4000, "held_out", 0)
    ]
    asked = evaluation_questions(2500, {question.id for question in fresh})
    before = success(lab.student, asked)
    done = distill(lab.student, lab.teachers["Teacher"], fresh, verify, Settings(100))
    gain, error = success(done.model, asked).gain_over(before)
    assert gain > 2 * error
    assert np.mean([s.kl for s in done.history[-10:]]) < np.mean([s.kl for s in done.history[:10]]) - 0.03


def test_rate_rises_and_falls_to_nothing():
    settings = Settings(40, learning_rate=1.0)
    assert [settings.rate_at(step) for step in (0, 1, 3)] == [0.25, 0.5, 0.925]
    assert settings.rate_at(39) == pytest.approx(1 / 40)
    assert Settings(1, learning_rate=1.0).rate_at(0) == 1.0


def test_evaluation_questions_are_held_out_and_were_not_trained_on(lab):
    used = {question.id for question in lab.questions}
    plain = evaluation_questions(50)
    used |= {plain[0].id, plain[7].id}
    asked = evaluation_questions(50, used)
    assert len({question.id for question in asked}) == 50
    assert not used & {question.id for question in asked}
    assert [q.id for q in asked[:6]] == [q.id for q in plain[1:7]]


def test_success_has_the_binomial_interval():
    """Wilson's interval for 8 of 10: 0.490 to 0.943, as tables give it."""
    found = Success(np.array([True] * 8 + [False] * 2))
    assert found.share == 0.8
    assert found.interval == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert found.standard_error == pytest.approx(math.sqrt(0.8 * 0.2 / 10))
    gain, error = found.gain_over(Success(np.array([True] * 5 + [False] * 5)))
    assert gain == pytest.approx(0.3)
    assert error == pytest.approx(np.std([0] * 5 + [1] * 3 + [0] * 2, ddof=1) / math.sqrt(10))


BAD = [
    ({"steps": 0}, "found steps=0, expected a whole number of at least 1"),
    ({"on": "right"}, "found on='right', expected one of 'all', 'incorrect'"),
    ({"learning_rate": 0.0}, "found learning_rate=0.0, expected a number above 0"),
]


@pytest.mark.parametrize(("changes", "message"), BAD)
def test_settings_that_cannot_be_are_refused(changes, message):
    with pytest.raises(InvalidInputError, match=message):
        small(**changes)


def test_a_teacher_of_other_tokens_and_too_few_questions_are_refused(lab):
    with pytest.raises(InvalidInputError, match="expected one tokenizer and heads of one size"):
        distill(lab.student, opd.Teacher(tiny.model()), lab.questions, verify, small())
    with pytest.raises(InvalidInputError, match="found 96 questions, expected at least the 97 of one step"):
        distill(lab.student, lab.teachers["Teacher"], lab.questions, verify, small(questions=97))


def test_a_served_teacher_and_half_precision_are_refused(lab):
    server = opd.ServerModel("http://127.0.0.1:9/v1", "far", tokenizer=lab.student)
    with pytest.raises(InvalidInputError, match=r"'far' that is served .*the loss needs its full distribution"):
        distill(lab.student, opd.Teacher(server), lab.questions, verify, small())
    half = HFModel(copy.deepcopy(lab.student.pair), dtype="bfloat16")
    with pytest.raises(InvalidInputError, match=r"found a student in torch\.bfloat16, expected float32"):
        distill(half, lab.teachers["Teacher"], lab.questions, verify, small())


def test_a_loss_that_is_not_finite_is_named(lab):
    student = HFModel(copy.deepcopy(lab.student.pair))
    with torch.no_grad():
        next(student.pair[0].parameters())[:] = math.nan
    with pytest.raises(InvalidInputError, match="found a loss of nan at step 3, expected a finite number"):
        step_loss(student, lab.teachers["Teacher"], lab.rollouts[:2], number=3)


def test_the_command_says_success_before_and_after_and_saves(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "TRAINING_QUESTIONS", 64)
    out = tmp_path / "distilled"
    command.main(["--teacher", "Self-1C", "--steps", "2", "--on", "incorrect", "--evaluate", "40", "--out", str(out)])
    said = capsys.readouterr().out
    assert "rollouts of 64 held-out questions, success on 40 others" in said
    assert said.count("40 questions)") == 2
    assert "gain:" in said
    assert len(json.loads((out / "distillation.json").read_text(encoding="utf-8"))) == 2
    assert HFModel(out).generate([np.array([5, 6], np.int32)], max_new_tokens=1, seed=0)
    with pytest.raises(SystemExit, match="no teacher 'x'; there are Teacher, Other style"):
        command.main(["--teacher", "x"])


def test_the_command_refuses_no_steps(capsys):
    with pytest.raises(SystemExit):
        command.main(["--steps", "0"])
    assert "--steps is 0, expected 1 or more" in capsys.readouterr().err


def test_the_benchmark_goes_on_where_it_was(tmp_path, capsys):
    path = tmp_path / "records.json"
    small_runs = ["--steps", "1", "--training-questions", "64", "--evaluation-questions", "20"]
    run = [str(path), *small_runs, "--teachers", "Teacher", "Self-1C"]
    prediction_training.main([*run, "--seeds", "0"])
    first = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert [(r["teacher"], r["on"]) for r in first] == [
        ("Teacher", "all"), ("Self-1C", "all"), ("Teacher", "incorrect"), ("Self-1C", "incorrect"),
    ]  # fmt: skip
    capsys.readouterr()
    prediction_training.main([*run, "--seeds", "0", "1"])
    both = json.loads(path.read_text(encoding="utf-8"))["runs"]
    assert both[:4] == first  # their seconds too: they were not run again
    assert [r["seed"] for r in both] == [0] * 4 + [1] * 4
    assert capsys.readouterr().out.count(", seed 0:") == 0
    prediction_training.main([str(path), *small_runs, "--table"])
    assert "| Self-1C | incorrect |" in capsys.readouterr().out
    with pytest.raises(ValueError, match="name another file"):
        prediction_training.main([*run, "--steps", "2"])
