"""Further trainers of TRL, recorded by the same hook: one or two real steps each."""

from __future__ import annotations

import copy
from importlib import import_module

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError
from tests import tiny
from tests.scoring.trainers import ASKED, EOS, Heard, data, keep_weights, new_student, scored_by, settings

pytest.importorskip("trl")

TOLERANCE = 1e-5
# module, name, further settings; the last two load their teacher from the student's folder
TRAINERS = [
    ("trl", "RLOO", {"num_generations": 4}),
    ("trl.experimental.sdft", "SDFT", {"distillation_topk": 8}),
    ("trl.experimental.sdpo", "SDPO", {"num_generations": 4}),
]


@pytest.fixture
def student(tmp_path):
    return new_student(tmp_path)


@pytest.mark.filterwarnings("ignore:You are importing from 'trl.experimental'")
@pytest.mark.parametrize(
    ("module", "name", "more"), TRAINERS, ids=lambda value: value if isinstance(value, str) else ""
)
def test_it_is_recorded_with_the_weights_of_each_step(module, name, more, student, tmp_path):
    trl = import_module(module)
    model, tokenizer = student
    rows = [{**row, "privileged_context": f"it is {row['answer']}"} for row in data()]
    heard = Heard()
    trainer = getattr(trl, f"{name}Trainer")(
        model=model, args=getattr(trl, f"{name}Config")(**settings(tmp_path, max_steps=2), **more),
        train_dataset=type(data()).from_list(rows), processing_class=tokenizer,
        **({} if name == "SDFT" else {"reward_funcs": [heard]}),
    )  # fmt: skip
    weights = keep_weights(trainer)
    live = None if name == "RLOO" else opd.HFModel((model, tokenizer), name="live")
    opd.Recorder(tmp_path / "runs", student=live).attach(trainer)
    trainer.train()
    steps = opd.load_steps(tmp_path / "runs")
    assert list(steps) == [1, 2]
    for step, scores in steps.items():
        assert len(scores) == 8
        assert difference(scores, scored_by(weights[step - 1], scores.rollouts)) < TOLERANCE
        for rollout in scores.rollouts:
            assert rollout.response_ids.tolist()[-1] == EOS or len(rollout) == 8
            assert rollout.prompt_text.endswith("\n<a>")
            assert rollout.metadata["trainer"] == f"{name}Trainer"
    if name != "SDFT":
        sampled = sorted(tuple(r.response_ids.tolist()) for scores in steps.values() for r in scores.rollouts)
        assert sampled == sorted(heard.ids)


def difference(recorded, scored):
    pairs = zip(recorded.items, scored.items, strict=True)
    return max(float(np.abs(one.student.logprobs - other.student.logprobs).max()) for one, other in pairs)


@pytest.mark.filterwarnings("ignore:You are importing from 'trl.experimental'")
def test_gkd_is_recorded_where_every_completion_is_the_students(student, tmp_path):
    gkd = pytest.importorskip("trl.experimental.gkd")
    model, tokenizer = student
    before = copy.deepcopy(model)
    rows = [{"messages": [{"role": "user", "content": q}, {"role": "assistant", "content": a}]} for q, a in ASKED]
    given = settings(tmp_path, max_steps=1)
    given.pop("max_completion_length")

    def trainer(lmbda):
        return gkd.GKDTrainer(
            model=model, teacher_model=copy.deepcopy(tiny.qwen(5)), train_dataset=type(data()).from_list(rows),
            args=gkd.GKDConfig(lmbda=lmbda, max_new_tokens=8, **given), processing_class=tokenizer,
        )  # fmt: skip

    recorder = opd.Recorder(tmp_path / "runs", student=opd.HFModel((model, tokenizer)))
    with pytest.raises(InvalidInputError, match=r"with lmbda=0.5, expected 1"):
        recorder.attach(trainer(0.5))
    on_policy = trainer(1.0)
    recorder.attach(on_policy)
    on_policy.train()
    scores = opd.load_steps(tmp_path / "runs")[1]
    assert len(scores) == 8
    assert difference(scores, scored_by(before.state_dict(), scores.rollouts)) < TOLERANCE
    for rollout in scores.rollouts:
        text = "<u>" + rollout.prompt_text.removeprefix("<u>")
        assert text.endswith("\n<a>")
        assert text[3:-4] in dict(ASKED)
        assert rollout.response_ids.tolist()[-1] == EOS or len(rollout) == 8
