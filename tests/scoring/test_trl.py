"""Real trainers of TRL on a tiny model: what the recorder writes is what they sampled and computed."""

from __future__ import annotations

import copy
import warnings
from collections import Counter

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from tests import tiny
from tests.scoring.trainers import ASKED, EOS, Heard, data, keep_weights, new_student, scored_by, settings

trl = pytest.importorskip("trl")
datasets = pytest.importorskip("datasets")

# float32 on both sides; the trainer pads on the left and projects in tiles, opd.score does neither
TOLERANCE = 1e-5


@pytest.fixture
def student(tmp_path):
    return new_student(tmp_path)


def holds_seven(completion_ids, answer, **_):
    return [
        None if a == "c" else float(tiny.tokenizer().convert_tokens_to_ids("7") in ids)
        for ids, a in zip(completion_ids, answer, strict=True)
    ]


def grpo(student, tmp_path, rewards, **changes):
    model, tokenizer = student
    args = trl.GRPOConfig(num_generations=4, **settings(tmp_path, **changes))
    return trl.GRPOTrainer(
        model=model, args=args, train_dataset=data(), processing_class=tokenizer, reward_funcs=rewards
    )


def difference(recorded, scored):
    pairs = zip(recorded.items, scored.items, strict=True)
    return max(float(np.abs(one.student.logprobs - other.student.logprobs).max()) for one, other in pairs)


def test_grpo_is_recorded_with_the_weights_of_each_step(student, tmp_path):
    heard = Heard()
    trainer = grpo(student, tmp_path, [heard, holds_seven])
    weights = keep_weights(trainer)
    recorder = opd.Recorder(tmp_path / "runs").attach(trainer)
    trainer.train()
    steps = opd.load_steps(tmp_path / "runs")
    assert list(steps) == [1, 2, 3]
    sampled = Counter[tuple[int, ...]]()
    for step, scores in steps.items():
        assert recorder.folder(step).name == f"step-00000{step}"
        assert len(scores) == 8
        # the numbers are those of the weights before the update, and of no other
        again = scored_by(weights[step - 1], scores.rollouts)
        assert difference(scores, again) < TOLERANCE
        assert difference(scores, scored_by(weights[step % 3], scores.rollouts)) > 0.01
        for item, other in zip(scores.items, again.items, strict=True):
            np.testing.assert_allclose(item.student.entropy, other.student.entropy, atol=TOLERANCE)
        sampled.update(tuple(rollout.response_ids.tolist()) for rollout in scores.rollouts)
        for rollout, item in zip(scores.rollouts, scores.items, strict=True):
            check_rollout(rollout, step)
            kind = item.student.provenance
            assert (kind.engine, kind.dtype) == ("trl GRPOTrainer", "float32")
            assert (kind.temperature, kind.logprob_mode) == (1.0, "raw")
            assert kind.differences(again.items[0].student.provenance) == [
                "engine trl GRPOTrainer against transformers"
            ]
        assert Counter(rollout.question for rollout in scores.rollouts).most_common() == [
            (rollout, 4) for rollout in dict.fromkeys(r.question for r in scores.rollouts)
        ]
    assert sampled == Counter(heard.ids)  # every completion, token by token, and no other
    lengths = {len(rollout) for scores in steps.values() for rollout in scores.rollouts}
    assert min(lengths) < 8 == max(lengths)
    means = steps.by_step("student_surprisal")
    assert means["tokens"].tolist() == [sum(map(len, scores.rollouts)) for scores in steps.values()]


def check_rollout(rollout, step):
    tokenizer = tiny.tokenizer()
    question = rollout.messages[0].content
    assert rollout.metadata["answer"] == dict(ASKED)[question]
    expected = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True)
    assert rollout.prompt_ids.tolist() == list(expected["input_ids"] if hasattr(expected, "keys") else expected)
    ids = rollout.response_ids.tolist()
    assert rollout.status == ("stop" if ids[-1] == EOS else "truncated")
    assert EOS not in ids[:-1]
    assert len(ids) == 8 or ids[-1] == EOS
    assert rollout.response_text == tokenizer.decode(ids)
    assert rollout.step == step
    said = tokenizer.decode(ids, skip_special_tokens=True)
    seven = None if rollout.metadata["answer"] == "c" else float("7" in said)
    assert rollout.reward == {"length": float(len(said)), "holds_seven": seven}
    assert np.isfinite(rollout.metadata["trainer_advantage"])
    assert rollout.metadata["trainer"] == "GRPOTrainer"
    assert rollout.response_mask.all()


def test_padding_is_told_by_length_where_it_is_the_end_token(student, tmp_path):
    model, tokenizer = student
    tokenizer.pad_token = tokenizer.eos_token
    model.generation_config.pad_token_id = EOS
    heard = Heard()
    trainer = grpo(student, tmp_path, [heard], max_steps=4, learning_rate=1e-6)
    opd.Recorder(tmp_path / "runs").attach(trainer)
    trainer.train()
    rollouts = [r for scores in opd.load_steps(tmp_path / "runs").values() for r in scores.rollouts]
    assert Counter(tuple(r.response_ids.tolist()) for r in rollouts) == Counter(heard.ids)
    assert {r.status for r in rollouts} == {"stop", "truncated"}
    assert all(r.response_ids.tolist()[-1] == EOS for r in rollouts if r.status == "stop")


def test_a_completion_taken_out_of_the_loss_keeps_its_tokens_and_has_no_numbers(student, tmp_path):
    heard = Heard()
    trainer = grpo(student, tmp_path, [heard], max_steps=1, mask_truncated_completions=True)
    opd.Recorder(tmp_path / "runs").attach(trainer)
    trainer.train()
    scores = opd.load_steps(tmp_path / "runs")[1]
    assert Counter(tuple(r.response_ids.tolist()) for r in scores.rollouts) == Counter(heard.ids)
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        assert rollout.metadata["in_loss"] == (rollout.status == "stop")
        assert np.isfinite(item.student.logprobs).all() == rollout.metadata["in_loss"]
        assert np.isnan(item.student.logprobs).all() != rollout.metadata["in_loss"]


@pytest.mark.filterwarnings("ignore:You are using 'rollout_func'")
def test_temperature_reference_and_the_samplers_own_numbers(student, tmp_path):
    """A rollout function gives its own log-probabilities, and a token that no model wrote."""

    def sample(prompts, _):
        ids = [tiny.tokenizer().encode(prompt[0]["content"]) for prompt in prompts]
        answers = [[9, 10 + row % 5, 11, EOS] for row in range(len(prompts))]
        numbers = [[-0.5, float("nan"), 0.0, -0.25]] * len(prompts)
        return {
            "prompt_ids": ids,
            "completion_ids": answers,
            "logprobs": numbers,
            "env_mask": [[1, 1, 0, 1]] * len(prompts),
        }

    model, tokenizer = student
    before = copy.deepcopy(model)
    args = trl.GRPOConfig(num_generations=4, beta=0.1, temperature=0.5, **settings(tmp_path, max_steps=1))
    trainer = trl.GRPOTrainer(
        model=model, args=args, train_dataset=data(), processing_class=tokenizer, reward_funcs=[Heard()],
        rollout_func=sample,
    )  # fmt: skip
    opd.Recorder(tmp_path / "runs").attach(trainer)
    trainer.train()
    scores = opd.load_steps(tmp_path / "runs")[1]
    assert list(scores.teachers) == ["reference"]
    kind = scores.items[0].student.provenance
    assert (kind.temperature, kind.logprob_mode) == (0.5, "processed")
    for place, (rollout, item) in enumerate(zip(scores.rollouts, scores.items, strict=True)):
        assert rollout.response_mask.tolist() == [True, True, False, True]
        np.testing.assert_array_equal(rollout.tracks["sampled"].logprobs, [-0.5, np.nan, np.nan, -0.25])
        assert rollout.tracks["sampled"].provenance.logprob_mode == "processed"
        # before the first update the reference is the student itself
        np.testing.assert_allclose(scores.signal("advantage", place, "reference"), 0, atol=TOLERANCE)
        np.testing.assert_allclose(item.student.logprobs, at_temperature(before, rollout, 0.5), atol=TOLERANCE)


def at_temperature(model, rollout, temperature):
    """Log-probabilities in float64 numpy, of logits divided by the temperature."""
    import torch

    with torch.no_grad():
        logits = model(input_ids=torch.tensor(rollout.token_ids[None]).long()).logits[0].double().numpy() / temperature
    logits = logits[rollout.prompt_len - 1 : -1]
    whole = np.log(np.exp(logits).sum(-1))
    return logits[np.arange(len(rollout)), rollout.response_ids] - whole


def test_grpo_scored_under_teachers_while_it_trains(student, tmp_path):
    from opd_widgets.models.hf import HFModel

    live = HFModel(student, name="live")
    hints = opd.contexts.free_text(lambda rollout: f"it is {rollout.metadata['answer']}")
    teachers = {"other": opd.Teacher(tiny.model(1)), "hinted": opd.Teacher(live, context=hints)}
    trainer = grpo(student, tmp_path, [Heard()], max_steps=2)
    weights = keep_weights(trainer)
    opd.Recorder(tmp_path / "runs", student=live, teachers=teachers).attach(trainer)
    trainer.train()
    steps = opd.load_steps(tmp_path / "runs")
    for step, scores in steps.items():
        assert scores.teachers["hinted"].self_distillation
        assert difference(scores, scored_by(weights[step - 1], scores.rollouts)) < TOLERANCE
        for rollout, item in zip(scores.rollouts, scores.items, strict=True):
            assert item.teachers["hinted"].context == f"it is {rollout.metadata['answer']}"
            # what the loss computed stays beside what was scored
            np.testing.assert_allclose(rollout.tracks["student"].logprobs, item.student.logprobs, atol=TOLERANCE)
    assert set(steps.summary(["reverse_kl"])["teacher"]) == {"other", "hinted"}


def test_trls_own_mixed_precision_is_scored_in_the_models(student, tmp_path):
    """TRL's default is bf16 over float32 weights."""
    from opd_widgets.models.hf import HFModel

    trainer = grpo(student, tmp_path, [Heard()], max_steps=2, bf16=True)
    weights = keep_weights(trainer)
    live = HFModel((trainer.model, student[1]), name="live")
    opd.Recorder(tmp_path / "runs", student=live, teachers={"other": opd.Teacher(tiny.model(1))}).attach(trainer)
    trainer.train()
    steps = opd.load_steps(tmp_path / "runs")
    assert list(steps) == [1, 2]
    for step, scores in steps.items():
        assert difference(scores, scored_by(weights[step - 1], scores.rollouts)) < TOLERANCE


def test_a_step_that_cannot_be_recorded_does_not_end_the_training(student, tmp_path, monkeypatch):
    from opd_widgets.models.hf import HFModel

    trainer = grpo(student, tmp_path, [Heard()], max_steps=2)
    live = HFModel(student, name="live")
    opd.Recorder(tmp_path / "runs", student=live).attach(trainer)
    monkeypatch.setattr(live, "head", lambda _: 1 / 0)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        trainer.train()
    said = [str(warning.message) for warning in seen if "not recorded" in str(warning.message)]
    assert said == [f"step {step} is not recorded: ZeroDivisionError: division by zero" for step in (1, 2)]
    assert trainer.state.global_step == 2
    assert not (tmp_path / "runs").exists()


def test_a_distillation_trainer_is_scored_with_its_teacher(student, tmp_path):
    from opd_widgets.models.hf import HFModel

    model, tokenizer = student
    before = copy.deepcopy(model)
    args = trl.DistillationConfig(**settings(tmp_path, max_steps=2))
    teacher = copy.deepcopy(tiny.qwen(5))
    trainer = trl.DistillationTrainer(
        model=model, teacher_model=teacher, args=args, train_dataset=data(), processing_class=tokenizer
    )
    with pytest.raises(InvalidInputError, match=r"computes no log-probability.*student=opd\.HFModel"):
        opd.Recorder(tmp_path / "runs").attach(trainer)
    teachers = {"teacher": opd.Teacher(HFModel((teacher, tokenizer), name="big"))}
    recorder = opd.Recorder(
        tmp_path / "runs", student=HFModel((model, tokenizer), name="small"), teachers=teachers, limit=5
    )
    modes = keep_modes(recorder.attach(trainer), trainer)
    trainer.train()
    assert modes == [True, True]  # scoring is in eval mode and training goes on in train mode
    steps = opd.load_steps(tmp_path / "runs")
    assert list(steps) == [1, 2]
    assert [len(scores) for scores in steps.values()] == [5, 5]
    expected = opd.score(steps[1].rollouts, HFModel((before, tokenizer)), teachers, noise_rollouts=0, progress=False)
    for place in range(5):
        for name in ("advantage", "reverse_kl", "jsd"):
            found = steps[1].signal(name, place, "teacher")
            np.testing.assert_allclose(found, expected.signal(name, place, "teacher"), atol=TOLERANCE)
    assert difference(steps[2], opd.score(steps[2].rollouts, HFModel((before, tokenizer)), {}, progress=False)) > 0.01


def keep_modes(_, trainer):
    from transformers import TrainerCallback

    modes = []

    class Keep(TrainerCallback):
        def on_optimizer_step(self, args, state, control, **given):  # noqa: ARG002
            modes.append(given["model"].training)

    trainer.add_callback(Keep())
    return modes


def test_some_steps_and_an_earlier_training(student, tmp_path):
    trainer = grpo(student, tmp_path, [Heard()], max_steps=5)
    opd.Recorder(tmp_path / "runs", every=2, limit=3).attach(trainer)
    trainer.train()
    steps = opd.load_steps(tmp_path / "runs")
    assert list(steps) == [1, 2, 4]
    assert {len(scores) for scores in steps.values()} == {3}
    again = grpo(student, tmp_path, [Heard()], max_steps=1)
    opd.Recorder(tmp_path / "runs").attach(again)
    with pytest.raises(InvalidInputError, match=r"holds 3 runs of an earlier training \(step-000001 to step-000004\)"):
        again.train()


def test_rollouts_that_are_trained_on_twice_are_the_same_at_both_steps(student, tmp_path):
    heard = Heard()
    trainer = grpo(student, tmp_path, [heard], max_steps=2, num_iterations=2)
    weights = keep_weights(trainer)
    opd.Recorder(tmp_path / "runs").attach(trainer)
    trainer.train()
    assert len(heard.ids) == 8  # sampled once
    steps = opd.load_steps(tmp_path / "runs")
    assert len(steps.shared()) == 8
    for name in steps.shared():
        found = steps.compare(name, "student_surprisal")
        rollout = next(r for r in steps[2].rollouts if r.id == name)
        for place, step in enumerate((1, 2)):
            scored = scored_by(weights[step - 1], [rollout])
            np.testing.assert_allclose(-found.values[place], scored.items[0].student.logprobs, atol=TOLERANCE)
        # the loss at step 2 corrects by the numbers of the weights that sampled: step 1's
        np.testing.assert_allclose(rollout.tracks["old"].logprobs, -found.values[0], atol=TOLERANCE)
        assert rollout.reward == {
            "length": float(len(tiny.tokenizer().decode(rollout.response_ids, skip_special_tokens=True)))
        }


def test_an_evaluation_in_between_is_not_recorded(student, tmp_path):
    model, tokenizer = student
    changes = {"max_steps": 2, "eval_strategy": "steps", "eval_steps": 1, "per_device_eval_batch_size": 8}
    args = trl.GRPOConfig(num_generations=4, **settings(tmp_path, **changes))
    heard = Heard()
    trainer = trl.GRPOTrainer(
        model=model, args=args, train_dataset=data(), eval_dataset=data(), processing_class=tokenizer,
        reward_funcs=[heard],
    )  # fmt: skip
    opd.Recorder(tmp_path / "runs").attach(trainer)
    trainer.train()
    steps = opd.load_steps(tmp_path / "runs")
    assert [len(scores) for scores in steps.values()] == [8, 8]
    assert len(heard.ids) > 16
    lengths = [[dict(r.reward)["length"] for r in scores.rollouts] for scores in steps.values()]
    assert lengths == [
        [float(len(tiny.tokenizer().decode(r.response_ids, skip_special_tokens=True))) for r in scores.rollouts]
        for scores in steps.values()
    ]
