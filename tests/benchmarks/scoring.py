"""Cost of scoring against its peers, in one run on one machine: `python -m tests.benchmarks.scoring`.

Every figure is a ratio of medians of runs taken in turns. The peers: the bare forward passes of the same models on the
same ids; the plain computation (all logits at once, a log-softmax of each, every divergence as written in a textbook);
one rollout at a time. Results go to RESULTS.md beside this file.
"""

from __future__ import annotations

import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch

import opd_widgets as opd
from opd_widgets.demo.smollm2 import converted_model
from opd_widgets.measures.signal import SignalSettings
from tests import tiny
from tests.benchmarks.memory import peak_above_weights
from tests.benchmarks.timing import Pair, pairs

RESULTS = Path(__file__).with_name("RESULTS.md")
TEACHERS = 3
PROMPT, RESPONSE = 128, 512


def random_rollout(seed: int, prompt: int, response: int, vocab: int) -> opd.Rollout:
    """Return a rollout of random ids: what a token is does not matter to the clock."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, vocab, prompt + response)
    return opd.Rollout(id=f"random-{seed}", prompt_ids=ids[:prompt], response_ids=ids[prompt:])


def many(model: opd.HFModel, count: int) -> list[opd.HFModel]:
    """Return models that share weights and no forward pass."""
    pair = (model._model, model.tokenizer.inner)
    return [opd.HFModel(pair, device="cpu", name=f"model-{i}") for i in range(count)]


def against_bare_forwards(model: opd.HFModel, rounds: int) -> Pair:
    """Time `score` for a student and three teachers over the four bare forward passes on the same ids."""
    student, *others = many(model, 1 + TEACHERS)
    teachers = {other.name: opd.Teacher(other) for other in others}
    rollout = random_rollout(0, PROMPT, RESPONSE, model.tokenizer.size)
    ids = torch.from_numpy(rollout.token_ids.astype(np.int64))[None]

    @torch.no_grad()
    def bare() -> None:
        for _ in range(1 + TEACHERS):
            model._model(ids).logits  # noqa: B018 - the forward pass is the work

    return pairs(lambda: score(rollout, student, teachers), bare, rounds)


def against_plain(model: opd.HFModel, rounds: int) -> Pair:
    """Time `score` over the plain computation of the same signals on full logits."""
    student, *others = many(model, 1 + TEACHERS)
    teachers = {other.name: opd.Teacher(other) for other in others}
    rollout = random_rollout(0, PROMPT, RESPONSE, model.tokenizer.size)
    ids = torch.from_numpy(rollout.token_ids.astype(np.int64))[None]

    @torch.no_grad()
    def plain() -> None:
        s = torch.log_softmax(model._model(ids).logits[0].float(), -1)
        for _ in range(TEACHERS):
            plain_signals(s, torch.log_softmax(model._model(ids).logits[0].float(), -1), SignalSettings())

    return pairs(lambda: score(rollout, student, teachers), plain, rounds)


def plain_signals(s: Any, t: Any, settings: SignalSettings) -> list[Any]:
    """Return what scoring measures of two log-probability tables, as a textbook writes it."""
    m = torch.logaddexp(t + np.log(settings.beta), s + np.log(1 - settings.beta))
    skewed = torch.logaddexp(s + np.log(settings.skew), t + np.log(1 - settings.skew))
    return [
        (s.exp() * (s - t)).sum(-1),
        (t.exp() * (t - s)).sum(-1),
        settings.beta * (t.exp() * (t - m)).sum(-1) + (1 - settings.beta) * (s.exp() * (s - m)).sum(-1),
        (s.exp() * (s - skewed)).sum(-1),
        (t.exp() * (t - s)).clamp(max=settings.clip).sum(-1),
        -(s.exp() * s).sum(-1),
        -(t.exp() * t).sum(-1),
        *(x.topk(20, -1) for x in (s, t)),
        *((x > x[:, :1]).sum(-1) for x in (s, t)),
    ]


def ragged(rounds: int) -> Pair:
    """Time one rollout at a time over length-bucketed batches: 200 rollouts of 20 to 400 tokens on tiny models."""
    student, teacher = (tiny.model(seed, limit=512) for seed in (0, 1))
    rng = np.random.default_rng(0)
    rollouts = [random_rollout(i, 16, int(rng.integers(20, 401)), 50) for i in range(200)]
    teachers = {"t": opd.Teacher(teacher)}

    def one_by_one() -> None:
        for rollout in rollouts:
            score(rollout, student, teachers)

    return pairs(one_by_one, lambda: opd.score(rollouts, student, teachers, noise_rollouts=0, progress=False), rounds)


def score(rollout: opd.Rollout, student: opd.HFModel, teachers: dict[str, opd.Teacher]) -> opd.Scores:
    """Score one rollout, without the second scoring that measures noise."""
    return opd.score([rollout], student, teachers, noise_rollouts=0, progress=False)


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


def main(rounds: int = 5) -> None:
    """Run all and write RESULTS.md."""
    smollm = opd.HFModel(converted_model(), device="cpu", dtype="float32")
    rows = [
        (f"score, SmolLM2, {PROMPT}+{RESPONSE} tokens, student and 3 teachers, over the bare forward passes", "≤ 1.05",
         str(against_bare_forwards(smollm, rounds))),
        ("the same over the plain full-vocabulary computation", "≤ 1.0", str(against_plain(smollm, rounds))),
        ("one by one over length-bucketed, 200 rollouts of 20 to 400 tokens, tiny models", "≥ 3", str(ragged(rounds))),
        ("memory above weights and key-value cache, 32,768 x 151,936, student and 3 teachers", "≤ 512 MB",
         f"{peak_above_weights():.0f} MB"),
    ]  # fmt: skip
    lines = [
        "# Benchmarks of scoring",
        "",
        f"`python -m tests.benchmarks.scoring`, {datetime.now(UTC):%Y-%m-%d}, {machine()}.",
        f"Ratios of medians of {rounds} runs taken in turns; the pairs' smallest and largest ratio beside them.",
        "",
        "| what | target | measured |",
        "|---|---|---|",
        *(f"| {what} | {target} | {found} |" for what, target, found in rows),
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))  # noqa: T201 - a script says what it found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
