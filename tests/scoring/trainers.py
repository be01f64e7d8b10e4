"""A tiny student and the settings under which TRL's trainers take a few real steps on it, on one CPU."""

from __future__ import annotations

import copy
from typing import Any

from tests import tiny

ASKED = [("1+2=", "3"), ("2+2=?", "4"), ("9-3", "6"), ("ab", "c"), ("1-1", "0"), ("q", "r"), ("3+3=", "6"), ("t", "u")]
PAD, EOS = 0, 1


def data() -> Any:
    """Return a data set of eight questions asked as turns, with their answers."""
    from datasets import Dataset

    return Dataset.from_list([{"prompt": [{"role": "user", "content": q}], "answer": a} for q, a in ASKED])


def settings(folder, **changes):
    """Return what a trainer's config is made of: eight completions of at most eight tokens a step."""
    return {
        "output_dir": str(folder / "trainer"), "per_device_train_batch_size": 4, "gradient_accumulation_steps": 2,
        "max_completion_length": 8, "max_steps": 3, "learning_rate": 0.02, "report_to": [], "save_strategy": "no",
        "use_cpu": True, "bf16": False, "seed": 1, "disable_tqdm": True, **changes,
    }  # fmt: skip


def new_student(folder) -> tuple[Any, Any]:
    """Return a model and its tokenizer, loaded from a folder: some trainers load a second copy from there."""
    from transformers import AutoModelForCausalLM

    tokenizer = copy.deepcopy(tiny.tokenizer())
    tiny.qwen(0).save_pretrained(folder / "student")
    tokenizer.save_pretrained(folder / "student")
    model = AutoModelForCausalLM.from_pretrained(folder / "student")
    model.generation_config.eos_token_id, model.generation_config.pad_token_id = EOS, PAD
    return model, tokenizer


class Heard:
    """A reward function that keeps what it was given: the trainer's own word on what was sampled."""

    __name__ = "length"

    def __init__(self) -> None:
        self.ids: list[tuple[int, ...]] = []

    def __call__(self, completions, completion_ids, **_):
        """Reward the number of characters."""
        self.ids += [tuple(ids) for ids in completion_ids]
        return [float(len(completion[0]["content"])) for completion in completions]


def keep_weights(trainer) -> list[dict[str, Any]]:
    """Return a list that fills with the weights as they were before each step."""
    from transformers import TrainerCallback

    kept: list[dict[str, Any]] = []

    class Keep(TrainerCallback):
        def on_step_begin(self, args, state, control, **given):  # noqa: ARG002
            kept.append(copy.deepcopy(given["model"].state_dict()))

    trainer.add_callback(Keep())
    return kept


def scored_by(weights, rollouts):
    """Return the scores of rollouts by a model of these weights."""
    import opd_widgets as opd

    model = copy.deepcopy(tiny.qwen(0))  # not of the trainer's: it has changed its forward
    model.load_state_dict(weights)
    local = opd.HFModel((model, tiny.tokenizer()), device="cpu")
    return opd.score(rollouts, local, {}, noise_rollouts=0, progress=False)
