"""Scoring on a GPU, no weights needed: `python -m tests.benchmarks.gpu`. Under 8 minutes; without a GPU it says so.

Models are random ones of Qwen3's shapes: what they say means nothing, what they cost does. Results go to RESULTS_GPU.md
beside this file.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import torch

import opd_widgets as opd
from opd_widgets.scoring.batch import score_batch
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.prepare import Task, check_rollouts, make_task
from tests import tiny
from tests.benchmarks.made import random_rollout
from tests.benchmarks.timing import Pair

RESULTS = Path(__file__).with_name("RESULTS_GPU.md")
VOCAB = 151_936


@dataclass(frozen=True)
class Shape:
    """A Qwen3's sizes."""

    name: str
    hidden: int
    inner: int
    layers: int
    heads: int
    kv_heads: int
    head: int
    vocab: int = VOCAB


@dataclass(frozen=True)
class Sizes:
    """How much is scored."""

    long: int = 32_768
    prompt: int = 128
    response: int = 512
    rows: int = 16
    context: int = 1500
    rollouts: int = 64
    short: int = 200


SMALL = Shape("Qwen3-0.6B shape", 1024, 3072, 28, 16, 8, 128)
LARGE = Shape("Qwen3-4B shape", 2560, 9728, 36, 32, 8, 128)


def model(shape: Shape, seed: int, device: str, dtype: str) -> opd.HFModel:
    """Return a random model, made on the device."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    config = Qwen3Config(
        vocab_size=shape.vocab, hidden_size=shape.hidden, intermediate_size=shape.inner, num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads, head_dim=shape.head,
        max_position_embeddings=65_536, tie_word_embeddings=True, initializer_range=0.05, dtype=getattr(torch, dtype),
    )  # fmt: skip
    torch.manual_seed(seed)
    with torch.device(device):
        made = Qwen3ForCausalLM(config).to(getattr(torch, dtype))
    return opd.HFModel((made, tiny.tokenizer()), device=device, dtype=dtype, name=f"{shape.name} {seed}")


def seconds(device: str, work: Callable[[], object], times: int = 3) -> list[float]:
    """Return how long a call takes, after one that does not count, everything queued on the device included."""
    taken = []
    for turn in range(1 + times):
        started = time.perf_counter()
        work()
        if device.startswith("cuda"):
            torch.cuda.synchronize()
        if turn:
            taken.append(time.perf_counter() - started)
    return taken


def over_bare_forwards(device: str, shape: Shape, sizes: Sizes) -> Pair:
    """Time scoring a batch under a student and a teacher over their bare forward passes on the same ids."""
    student, teacher = (model(shape, seed, device, "bfloat16") for seed in (0, 1))
    rollouts = [random_rollout(i, sizes.prompt, sizes.response, shape.vocab) for i in range(sizes.rows)]
    ids = torch.from_numpy(np.stack([rollout.token_ids for rollout in rollouts]).astype(np.int64)).to(device)
    options = Options(batch_tokens=65_536)

    @torch.no_grad()
    def bare() -> None:
        for each in (student, teacher):
            for row in ids.split(4):
                each._model(row).logits  # noqa: B018 - the forward pass is the work

    def ours() -> None:
        opd.score(rollouts, student, {"t": opd.Teacher(teacher)}, options=options, noise_rollouts=0, progress=False)

    return Pair(seconds(device, ours), seconds(device, bare))


def noise(device: str, shape: Shape, sizes: Sizes) -> dict[str, float]:
    """Return the noise band in bfloat16: the 99th percentile of a signal's change with batch size and padding."""
    student, teacher = (model(shape, seed, device, "bfloat16") for seed in (0, 1))
    rollouts = [random_rollout(i, sizes.prompt, sizes.response // (1 + i), shape.vocab) for i in range(4)]
    scores = opd.score(rollouts, student, {"t": opd.Teacher(teacher)}, noise_rollouts=4, progress=False)
    return dict(scores.noise)


def peak(device: str, shape: Shape, sizes: Sizes) -> float:
    """Return megabytes above the weights and key-value cache while one long rollout is scored under four models.

    A model's cache lives while it reads, so that one of them counts.
    """
    student, *others = (model(shape, seed, device, "bfloat16") for seed in range(4))
    teachers = {other.name: opd.Teacher(other) for other in others}
    rollout = random_rollout(0, 8, sizes.long, shape.vocab)
    opd.score([random_rollout(1, 8, 16, shape.vocab)], student, teachers, noise_rollouts=0, progress=False)
    if not device.startswith("cuda"):
        return float("nan")
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    opd.score([rollout], student, teachers, noise_rollouts=0, progress=False)
    cache = 2 * shape.layers * shape.kv_heads * shape.head * (sizes.long + 8) * 2
    return (torch.cuda.max_memory_allocated() - before - cache) / 2**20


def sharing(device: str, shape: Shape, sizes: Sizes) -> Pair:
    """Time many rollouts of one question under a long context, the prefix read once over read every time."""
    ids = np.random.default_rng(0).integers(6, 50, sizes.context)
    responses = [random_rollout(i, 1, sizes.short, 50).response_ids for i in range(sizes.rollouts)]
    rollouts = [
        opd.Rollout(id=str(i), question="q", prompt_ids=ids, response_ids=response)
        for i, response in enumerate(responses)
    ]
    one = model(shape, 0, device, "bfloat16")
    apart = opd.HFModel((one._model, one.tokenizer.inner), device=device, name="apart")
    apart._reader.__dict__["shares"] = False
    taken = []
    for each in (one, apart):
        panel = Panel.of(each, {}, Options(batch_tokens=32_768))
        tasks = [make_task(rollout, panel) for rollout in check_rollouts(rollouts, each)]

        def run(panel: Panel = panel, tasks: list[Task] = tasks, each: opd.HFModel = each) -> None:
            each._reader.prefixes.clear()
            for start in range(0, len(tasks), 16):
                score_batch(tasks[start : start + 16], panel)

        taken.append(seconds(device, run))
    return Pair(*taken)


def measure(device: str, shapes: tuple[Shape, ...], sizes: Sizes) -> list[tuple[str, str]]:
    """Return what was measured, in words."""
    rows = []
    batch = f"{sizes.rows} x {sizes.prompt}+{sizes.response} tokens, student and teacher"
    many = f"{sizes.rollouts} rollouts of {sizes.short} tokens under a context of {sizes.context}"
    for shape in shapes:
        took = over_bare_forwards(device, shape, sizes)
        rows.append((f"{shape.name}, bfloat16: score over bare forward passes, {batch}", str(took)))
        took = sharing(device, shape, sizes)
        rows.append((f"{shape.name}: {many}: prefix read once over read every time", str(took)))
    first = shapes[0]
    bands = noise(device, first, sizes)
    shown = ", ".join(f"{name} {bands[name]:.2g}" for name in ("advantage", "reverse_kl", "jsd") if name in bands)
    rows.append((f"{first.name}, bfloat16: noise bands, nats", shown))
    long = f"{sizes.long} x {first.vocab}, student and 3 teachers (target 512 MB)"
    above = peak(device, first, sizes)
    rows.append((f"{first.name}: memory above weights and one key-value cache, {long}", f"{above:.0f} MB"))
    return rows


def main() -> None:
    """Run all on the GPU and write RESULTS_GPU.md; say so where there is none."""
    if not torch.cuda.is_available():
        print("no GPU here: PyTorch finds no CUDA device, so nothing was measured")  # noqa: T201 - a script's answer
        return
    rows = measure("cuda", (SMALL, LARGE), Sizes())
    where = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}"
    lines = [
        "# Scoring on a GPU",
        "",
        f"`python -m tests.benchmarks.gpu`, {datetime.now(UTC):%Y-%m-%d}, {where}.",
        "",
        "| what | measured |",
        "|---|---|",
        *(f"| {what} | {found} |" for what, found in rows),
        "",
    ]
    RESULTS.write_text("\n".join(lines), encoding="utf-8")
    print(RESULTS.read_text(encoding="utf-8"))  # noqa: T201 - a script says what it found


if __name__ == "__main__":
    main()
