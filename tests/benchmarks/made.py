"""What the benchmarks score: rollouts and models, and the call that is timed."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import numpy as np
import torch

import opd_widgets as opd
from opd_widgets.demo.smollm2 import converted_model

TEACHERS = 3
PROMPT, RESPONSE = 128, 512


def smollm() -> opd.HFModel:
    """Return SmolLM2-135M in float32."""
    return opd.HFModel(converted_model(), device="cpu", dtype="float32")


def random_rollout(seed: int, prompt: int, response: int, vocab: int) -> opd.Rollout:
    """Return a rollout of random ids: what a token is does not matter to a forward pass."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(6, vocab, prompt + response)
    return opd.Rollout(id=f"random-{seed}", prompt_ids=ids[:prompt], response_ids=ids[prompt:])


def sampled_rollout(model: opd.HFModel, prompt: int = PROMPT, response: int = RESPONSE) -> opd.Rollout:
    """Return a rollout the model wrote after a prompt of this length: a sampled token is mostly a likely one.

    It is drawn on past an end token, which would make it short.
    """
    text = "A tale of a river, a mill and the people who lived beside it, told by the miller's youngest daughter. " * 20
    ids = model.tokenizer.encode(text)[:prompt]
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(0)
        given = torch.from_numpy(ids.astype(np.int64))[None]
        drawn = model._model.generate(
            given, attention_mask=torch.ones_like(given), do_sample=True, temperature=1.0, top_k=0, top_p=1.0,
            max_new_tokens=response, min_new_tokens=response,
        )  # fmt: skip
    return opd.Rollout(id="sampled", prompt_ids=ids, response_ids=drawn[0, prompt:].numpy())


def many(model: opd.HFModel, count: int) -> list[opd.HFModel]:
    """Return models that share weights and no forward pass."""
    pair = (model._model, model.tokenizer.inner)
    return [opd.HFModel(pair, device="cpu", name=f"model-{i}") for i in range(count)]


def panel(model: opd.HFModel, teachers: int = TEACHERS) -> tuple[opd.HFModel, dict[str, opd.Teacher]]:
    """Return a student and external teachers, each a model of its own to scoring."""
    student, *others = many(model, 1 + teachers)
    return student, {other.name: opd.Teacher(other) for other in others}


def score(
    rollout: opd.Rollout, student: opd.HFModel, teachers: dict[str, opd.Teacher], *, fuse: bool = False
) -> opd.Scores:
    """Score one rollout, without the second scoring that measures noise."""
    options = opd.Options(fuse=fuse)
    return opd.score([rollout], student, teachers, options=options, noise_rollouts=0, progress=False)


def machine() -> str:
    """Return what the figures were taken on."""
    name = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.partition(":")[2].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        name = names[0] if names else name
    return f"{name}, {os.cpu_count()} cores, {torch.get_num_threads()} threads, PyTorch {torch.__version__}"
