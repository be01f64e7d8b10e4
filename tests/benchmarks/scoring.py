"""Cost of scoring against its peers, in one run on one machine: `python -m tests.benchmarks.scoring [rounds]`.

Every figure but memory and the time to stop is a ratio of medians of runs taken in turns. Results go to RESULTS.md
beside this file. Nothing else should run on the machine: a busy one makes every ratio worthless.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import numpy as np

import opd_widgets as opd
from tests import tiny
from tests.benchmarks import edits, large, made, peers
from tests.benchmarks.memory import peak_above_weights
from tests.benchmarks.parts import where_time_goes
from tests.benchmarks.sections import write_section
from tests.benchmarks.sharing import shared_prefix
from tests.benchmarks.timing import Pair, pairs

RESULTS = Path(__file__).with_name("RESULTS.md")
Row = tuple[str, str, str]


def against(
    peer: Callable[..., Callable[[], None]],
    model: opd.HFModel,
    rollout: opd.Rollout,
    rounds: int,
    *,
    fuse: bool = False,
) -> Pair:
    """Time `score` for a student and three teachers over a peer on the same ids."""
    student, teachers = made.panel(model)
    ours = partial(made.score, rollout, student, teachers, fuse=fuse)
    return pairs(ours, peer(model, rollout, made.TEACHERS), rounds)


def ragged(rounds: int) -> Pair:
    """Time one rollout at a time over length-bucketed batches: 200 rollouts of 20 to 400 tokens on tiny models."""
    student, teacher = (tiny.model(seed, limit=512) for seed in (0, 1))
    rng = np.random.default_rng(0)
    rollouts = [made.random_rollout(i, 16, int(rng.integers(20, 401)), 50) for i in range(200)]
    teachers = {"t": opd.Teacher(teacher)}

    def one_by_one() -> None:
        for rollout in rollouts:
            made.score(rollout, student, teachers)

    return pairs(one_by_one, lambda: opd.score(rollouts, student, teachers, noise_rollouts=0, progress=False), rounds)


def on_smollm(model: opd.HFModel, rollout: opd.Rollout, rounds: int) -> list[Row]:
    """Return the rows that SmolLM2 is measured for."""
    what = f"score, SmolLM2, {made.PROMPT}+{made.RESPONSE} tokens, student and {made.TEACHERS} teachers"
    return [
        (f"{what}, over the bare forward passes", "≤ 1.05", str(against(peers.bare, model, rollout, rounds))),
        ("the same with `Options(fuse=True)`, after its first use", "≤ 1.05",
         str(against(peers.bare, model, rollout, rounds, fuse=True))),
        ("the same, not fused, over TRL's function for both KLs and the JSD", "≤ 0.65",
         str(against(peers.trl, model, rollout, rounds))),
        ("the same over the textbook's full tables", "≤ 1", str(against(peers.plain, model, rollout, rounds))),
        ("64 rollouts of 200 tokens under a 1,500-token context: prefix read once over read every time", "≤ 0.35",
         str(shared_prefix(model, 1))),
        ("an edited context: first tokens recoloured over a bare forward pass of that rollout, editor opened before",
         "≤ 1.25", str(edits.first_recoloured(model, rounds, prepared=True))),
        ("the same from Python, nothing prepared", "", str(edits.first_recoloured(model, rounds, prepared=False))),
    ]  # fmt: skip


def at_length() -> list[Row]:
    """Return the rows of one long rollout, each way in a process of its own."""
    ours, plain = large.run("score"), large.run("plain")
    times, memory = (ours[key] / plain[key] for key in ("seconds", "above"))
    return [
        (f"{large.LENGTH} tokens, SmolLM2, student and teacher, over the textbook's full tables: time", "< 1",
         f"{times:.2f} ({ours['seconds']:.1f} s and {plain['seconds']:.1f} s)"),
        ("the same: memory above the models", "≤ 0.1",
         f"{memory:.3f} ({ours['above']:.0f} MB and {plain['above']:.0f} MB)"),
        ("memory above weights and key-value cache, 32,768 x 151,936, student and 3 teachers", "≤ 512 MB",
         f"{peak_above_weights():.0f} MB, key-value caches included"),
    ]  # fmt: skip


def on_tiny_models(rounds: int) -> list[Row]:
    """Return the rows of small models."""
    return [
        ("one by one over length-bucketed, 200 rollouts of 20 to 400 tokens, tiny models", "≥ 3", str(ragged(rounds))),
        ("longest of 40 times from cancelling an edit to its end, the lab's models", "≤ 150 ms",
         f"{edits.longest_stop():.0f} ms"),
    ]  # fmt: skip


def main(rounds: int = 5) -> None:
    """Run all and write RESULTS.md."""
    model = made.smollm()
    rollout = made.sampled_rollout(model)
    rows = [*on_smollm(model, rollout, rounds), *on_tiny_models(rounds)]
    parts = where_time_goes(model, rollout, rounds)
    rows += at_length()
    lines = [
        "# Benchmarks of scoring",
        "",
        f"`python -m tests.benchmarks.scoring`, {datetime.now(UTC):%Y-%m-%d}, {made.machine()}.",
        f"Ratios of medians of {rounds} runs taken in turns; the pairs' smallest and largest ratio beside them.",
        "",
        "| what | target | measured |",
        "|---|---|---|",
        *(f"| {what} | {target} | {found} |" for what, target, found in rows),
        "",
        "## Where the time of the first row goes",
        "",
        *parts,
        "",
    ]
    write_section(RESULTS, "\n".join(lines))
    print(RESULTS.read_text(encoding="utf-8"))  # noqa: T201 - a script says what it found


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
