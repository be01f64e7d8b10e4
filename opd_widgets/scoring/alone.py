"""One model along rollouts, with no partner: its track, where the other side's numbers are there already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.track import LogprobTrack
from opd_widgets.models.protocol import is_scorer
from opd_widgets.scoring.assemble import Builder
from opd_widgets.scoring.batch import score_batch
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.plan import plan_batches
from opd_widgets.scoring.prepare import Task
from opd_widgets.scoring.served import Sequenced, ask_scorer
from opd_widgets.scoring.served_answers import Answers
from opd_widgets.scoring.session import Session

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Ids, LanguageModel, Model, TokenScorer


def tracks_of(
    model: Model | TokenScorer,
    rollouts: Sequence[Rollout],
    prompts: Sequence[Ids],
    options: Options | None = None,
    done: Callable[[int], object] = lambda _: None,
) -> list[LogprobTrack]:
    """Return a model's track along each response, with rank, top-k and, of a local model, entropy.

    Args:
        model: who is asked.
        rollouts: with response ids that the model's tokenizer numbers alike.
        prompts: int32 [P] each, what the model sees before the response.
        options: sizes of the work.
        done: called with the number of tokens scored after each batch.

    """
    options = options or Options()
    asked = [replace(r, prompt_ids=ids, tracks={}) for r, ids in zip(rollouts, prompts, strict=True)]
    tasks = [Task(rollout, {}) for rollout in asked]
    found: dict[int, LogprobTrack] = {}
    session = Session()
    for batch in plan_batches([task.size for task in tasks], options.batch_tokens, options.batch_rows):
        some = [tasks[index] for index in batch]
        if is_scorer(model):
            tracks = _served(model, some, options.top_k)
        else:
            panel = Panel.of(model, {}, options)  # type: ignore[arg-type]  # the one that is no scorer
            tracks = [item.student for item in score_batch(some, panel, session=session)]
        found.update(zip(batch, tracks, strict=True))
        done(sum(len(task.rollout) for task in some))
    return [found[index] for index in range(len(tasks))]


def _served(scorer: TokenScorer, tasks: Sequence[Task], k: int) -> list[LogprobTrack]:
    sequenced = [_sequenced(task) for task in tasks]
    asked = [one for one in sequenced if one.count > 0]
    empty = np.zeros((sum(one.count for one in asked), 0), np.int64)
    kept = Answers().of(scorer.name, scorer)
    columns = ask_scorer(scorer, asked, empty, _real_ids(scorer), k, kept=kept) if asked else {}
    tracks, start = [], 0
    for one in sequenced:
        end = start + max(0, one.count)
        here = {name: values[start:end] for name, values in columns.items()}
        build = Builder(len(one.response), one.first, k)
        tracks.append(build.track(here if one.count > 0 else {}, scorer.provenance, one.prompt, entropy=False))
        start = end
    return tracks


def _real_ids(model: LanguageModel) -> int:
    return int(model.tokenizer.size)


def _sequenced(task: Task) -> Sequenced:
    prompt, response = task.rollout.prompt_ids, task.rollout.response_ids
    prompt = np.zeros(0, np.int32) if prompt is None else prompt
    response = np.zeros(0, np.int32) if response is None else response
    return Sequenced(prompt, response, 0 if len(prompt) else 1)
