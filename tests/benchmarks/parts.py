"""Where the time of scoring goes: reading, heads, measuring and the rest, beside the bare forward passes' own parts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

import opd_widgets as opd
from opd_widgets.models.hf import HFModel
from opd_widgets.scoring import local
from tests.benchmarks import made, peers


@contextmanager
def timed(spent: dict[str, float], owner: Any, name: str) -> Iterator[None]:
    """Add up the seconds spent in a function while the block runs."""
    whole: Callable[..., Any] = getattr(owner, name)

    def around(*given: Any, **named: Any) -> Any:
        started = time.perf_counter()
        try:
            return whole(*given, **named)
        finally:
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - started

    setattr(owner, name, around)
    try:
        yield
    finally:
        setattr(owner, name, whole)


@torch.no_grad()
def where_time_goes(model: HFModel, rollout: opd.Rollout, rounds: int) -> list[str]:
    """Return one line on scoring and one on the bare passes: medians of seconds by part."""
    student, teachers = made.panel(model)
    ids, inner = peers.ids_of(rollout), model._model
    ours: list[dict[str, float]] = []
    bare: list[dict[str, float]] = []
    for _ in range(1 + rounds):
        spent: dict[str, float] = {}
        started = time.perf_counter()
        with timed(spent, HFModel, "hidden"), timed(spent, HFModel, "head"), timed(spent, local, "measure"):
            made.score(rollout, student, teachers)
        spent["rest"] = time.perf_counter() - started - sum(spent.values())
        ours.append(spent)
        started = time.perf_counter()
        states = inner.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state
        read = time.perf_counter() - started
        inner.get_output_embeddings()(states)
        bare.append({"hidden": read, "head": time.perf_counter() - started - read})
    scoring = ", ".join(f"{name} {median(ours[1:], name):.3f} s" for name in ("hidden", "head", "measure", "rest"))
    passes = ", ".join(f"{name} {(1 + made.TEACHERS) * median(bare[1:], name):.3f} s" for name in ("hidden", "head"))
    tokens = (1 + made.TEACHERS) * made.RESPONSE * model.vocab_size / 1e6
    each = 1e3 * median(ours[1:], "measure") / tokens
    return [
        f"Scoring: {scoring}. Bare forward passes, prompt rows included: {passes}.",
        f"Measuring goes over {tokens:.0f} million vocabulary entries, {each:.1f} ns each.",
    ]


def median(rounds: list[dict[str, float]], name: str) -> float:
    """Return the median of one part."""
    return sorted(each[name] for each in rounds)[len(rounds) // 2]
