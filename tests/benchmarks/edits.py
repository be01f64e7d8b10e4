"""An edited context in a live Explorer: how long until the first rollout is recoloured, and until a job has stopped."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import torch

import opd_widgets as opd
from opd_widgets.scoring.jobs import Job
from opd_widgets.scoring.prepare import make_task
from opd_widgets.widgets.explorer import Explorer
from tests.benchmarks import made
from tests.benchmarks.timing import Pair, seconds

TEXT = "Here is a solution that a friend wrote down some time ago, with a slip in it or without. "


def first_recoloured(model: opd.HFModel, rounds: int, *, prepared: bool) -> Pair:
    """Time from an edit to the first tokens' new numbers over one bare forward pass of that rollout under its prompt.

    Args:
        model: student and, under the context, teacher.
        rounds: edits.
        prepared: whether the editor was opened before, as it is by whoever types into it.

    """
    first, second = [], []
    rollout = made.sampled_rollout(model)
    messages = (opd.Message("user", model.tokenizer.decode(rollout.prompt_ids)),)
    rollouts = [
        opd.Rollout(id=str(i), question="q", messages=messages, prompt_ids=rollout.prompt_ids,
                    response_ids=rollout.response_ids)
        for i in range(2)
    ]  # fmt: skip
    teachers = {"hinted": opd.Teacher(model, opd.contexts.free_text(TEXT))}
    scores = opd.score(rollouts, model, teachers, noise_rollouts=0, progress=False)
    for turn in range(rounds):
        model._reader.prefixes.clear()
        explorer = Explorer(scores, model, teachers)
        if prepared:
            wait(explorer.prepare_context("hinted", 0))
        edited = f"{TEXT} Look at step {turn} again."
        first.append(seconds(partial(recoloured, explorer, edited)))
        task = make_task(rollouts[0], explorer._panel, {"hinted": edited})
        ids = torch.cat([torch.from_numpy(task.prompts["hinted"].ids).long(),
                         torch.from_numpy(rollout.response_ids).long()])[None]  # fmt: skip
        second.append(seconds(partial(forward, model, ids)))
        explorer.close()
    return Pair(first, second)


@torch.no_grad()
def forward(model: opd.HFModel, ids: torch.Tensor) -> None:
    """Run one bare forward pass."""
    model._model(ids).logits  # noqa: B018 - the forward pass is the work


def recoloured(explorer: Explorer, text: str) -> None:
    """Edit, and wait until the rollout in view has its first new numbers; then stop the rest."""
    live = explorer.live_scoring()
    job = explorer.set_context("hinted", text, rollout=0)
    until(lambda: ("hinted", 0) in live.edited or job.ended)
    job.cancel()
    wait(job)


def longest_stop(rounds: int = 40) -> float:
    """Return the longest time, in milliseconds, from cancelling a job on the lab's models to its end."""
    lab = opd.demo()
    explorer = Explorer(opd.score(lab.rollouts, lab.student, lab.teachers, progress=False), lab.student, lab.teachers)
    name = next(name for name, teacher in lab.teachers.items() if teacher.context is not None)
    longest = 0.0
    for turn in range(rounds):
        job = explorer.set_context(name, f"Another try, number {turn}.", rollout=turn)
        time.sleep(0.0005 * turn)
        started = time.perf_counter()
        job.cancel()
        wait(job)
        longest = max(longest, 1000 * (time.perf_counter() - started))
    explorer.close()
    return longest


def wait(job: Job) -> None:
    """Wait for a job's end, however it comes."""
    until(lambda: job.ended)


def until(met: Callable[[], bool]) -> None:
    """Wait for a condition, looking now and then: who looks all the time takes a core from the work."""
    while not met():
        time.sleep(0.002)
