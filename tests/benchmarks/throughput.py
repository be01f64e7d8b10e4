"""Tokens a second of targeted rollouts: `python -m tests.benchmarks.throughput [prefixes] [rounds]`.

The lab's student goes on from beginnings of its own rollouts, as a diagnosis has it do, in three ways: `continuations`;
`generate` of transformers, one prefix after another; and `HFModel.generate` with all prefixes in one batch. The ways
take turns in one run on one machine; a busy machine makes the figures worthless.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial

import numpy as np
import torch
from transformers import GenerationConfig

import opd_widgets as opd
from opd_widgets.demo.lab import Lab
from opd_widgets.models.protocol import Ids
from tests.benchmarks.made import machine
from tests.benchmarks.timing import seconds

NEW = 40  # tokens of a continuation, at most; the lab's rollouts are about as long
TARGET = 10.0


def cut_prefixes(lab: Lab, count: int, seed: int = 0) -> list[Ids]:
    """Return prompts with the first tokens of a response, cut anywhere in rollouts of the lab."""
    rng = np.random.default_rng(seed)
    rollouts = [lab.rollouts[i % len(lab.rollouts)] for i in range(count)]
    cuts = [rollout.prompt_len + int(rng.integers(len(rollout.response_ids))) for rollout in rollouts]
    return [rollout.token_ids[:cut].astype(np.int32) for rollout, cut in zip(rollouts, cuts, strict=True)]


def with_seeds(model: opd.HFModel, prefixes: Sequence[Ids]) -> int:
    """Return how many tokens `continuations` drew."""
    n = len(prefixes)
    return sum(len(one.ids) for one in model.continuations(prefixes, seeds=range(n), max_new_tokens=[NEW] * n))


def one_by_one(model: opd.HFModel, prefixes: Sequence[Ids]) -> int:
    """Return how many tokens `generate` of transformers drew, called for each prefix."""
    ends = sorted(model.tokenizer.end_ids)
    config = GenerationConfig(
        do_sample=True, temperature=1.0, top_p=1.0, top_k=0, max_new_tokens=NEW, eos_token_id=ends, pad_token_id=ends[0]
    )
    inner, drawn = model._model, 0
    with torch.random.fork_rng(), torch.no_grad():
        for seed, ids in enumerate(prefixes):
            torch.manual_seed(seed)
            given = torch.from_numpy(ids.astype(np.int64))[None]
            whole = inner.generate(input_ids=given, attention_mask=torch.ones_like(given), generation_config=config)
            drawn += whole.shape[1] - given.shape[1]
    return drawn


def filled_up(model: opd.HFModel, prefixes: Sequence[Ids]) -> int:
    """Return how many tokens `HFModel.generate` drew, all prefixes in one batch."""
    drawn = model.generate(prefixes, n=1, max_new_tokens=NEW, seed=0)
    return sum(len(one.ids) for (one,) in drawn)


def rates(ways: dict[str, Callable[[], int]], rounds: int) -> dict[str, list[float]]:
    """Return tokens a second of each way in each round, after one round that does not count."""
    found: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(1 + rounds):
        for name, way in ways.items():
            counted: list[int] = []
            took = seconds(lambda way=way, counted=counted: counted.append(way()))  # type: ignore[misc]
            if turn:
                found[name].append(counted[0] / took)
    return found


def table(found: dict[str, list[float]]) -> list[str]:
    """Return a Markdown table: medians, and how many times as fast the first way is, by round."""
    first = next(iter(found))
    lines = ["| way | tokens/s, median (smallest to largest) | the first over it (rounds) |", "|---|---|---|"]
    for name, each in found.items():
        ratios = [a / b for a, b in zip(found[first], each, strict=True)]
        median, ratio = statistics.median(each), statistics.median(ratios)
        lines.append(
            f"| {name} | {median:,.0f} ({min(each):,.0f} to {max(each):,.0f}) | "
            f"{ratio:.1f} ({min(ratios):.1f} to {max(ratios):.1f}) |"
        )
    return lines


def main(count: int = 300, rounds: int = 3) -> None:
    """Run all three ways and print the table."""
    lab = opd.demo()
    prefixes = cut_prefixes(lab, count)
    ways: dict[str, Callable[[], int]] = {
        "`continuations`": partial(with_seeds, lab.student, prefixes),
        f"`generate` of transformers, one by one (target: at least {TARGET:.0f})": partial(
            one_by_one, lab.student, prefixes
        ),
        "`HFModel.generate`, one batch": partial(filled_up, lab.student, prefixes),
    }
    lines = [
        f"Targeted rollouts: {count} prefixes of the lab's student, up to {NEW} tokens each. {machine()},",
        f"{datetime.now(UTC):%Y-%m-%d}, {rounds} rounds in turns.",
        "",
        *table(rates(ways, rounds)),
    ]
    print("\n".join(lines))  # noqa: T201 - a script says what it found


if __name__ == "__main__":
    main(*(int(given) for given in sys.argv[1:]))
