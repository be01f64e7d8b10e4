"""`opd-widgets score --step`: checkpoints scored by the command open together."""

from __future__ import annotations

import opd_widgets as opd
from opd_widgets.cli import main
from tests import tiny


def test_two_checkpoints_scored_by_the_command_open_by_step(tmp_path):
    opd.write_rollouts([opd.Rollout(id="r", prompt_text="1+2=", response_text="3; so")], tmp_path / "rollouts.jsonl")
    for step, seed in ((10, 0), (20, 2)):
        place = tmp_path / f"checkpoint-{step}"
        tiny.qwen(seed).save_pretrained(place)
        tiny.tokenizer().save_pretrained(place)
        given = [
            "score",
            str(tmp_path / "rollouts.jsonl"),
            "--student",
            str(place),
            "--step",
            str(step),
            "--device",
            "cpu",
        ]
        assert main([*given, "--out", str(tmp_path / "runs" / str(step)), "--json"]) == 0
    steps = opd.load_steps(tmp_path / "runs")
    assert list(steps) == [10, 20]
    values = steps.compare("r", "student_surprisal").values
    direct = [
        opd.score(steps[10].rollouts, tiny.model(seed), {}, noise_rollouts=0, progress=False).signal(
            "student_surprisal", 0
        )
        for seed in (0, 2)
    ]
    assert abs(values - direct).max() < 1e-5
    assert abs(values[0] - values[1]).max() > 0.1
