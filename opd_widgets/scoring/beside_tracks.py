"""Teachers scored against the log-probabilities the rollouts brought along: no forward pass of the student."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from opd_widgets.data.mismatch import OWN_TRACK
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.alone import tracks_of
from opd_widgets.scoring.from_tracks import of_tracks

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scored import RolloutScores
    from opd_widgets.data.scores import Scores
    from opd_widgets.data.track import LogprobTrack
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task


def score_beside_tracks(tasks: Sequence[Task], panel: Panel, done: Callable[[int], object]) -> Scores:
    """Return scores of teachers whose student's side are the rollouts' own tracks.

    Signals that need the student's distribution are absent: it was not computed.

    Args:
        tasks: rollouts with a track "student", and every teacher's prompts.
        panel: whose teachers score; of the student, only its name and tokenizer are used.
        done: called with the number of tokens scored, again and again.

    Raises:
        InvalidInputError: a rollout without that track, or a teacher of another tokenizer.

    """
    rollouts = [task.rollout for task in tasks]
    _check(rollouts, panel)
    by_name = {
        name: tracks_of(teacher.model, rollouts, [task.prompts[name].ids for task in tasks], panel.options, done)
        for name, teacher in panel.teachers.items()
    }
    beside = [
        replace(rollout, tracks=_beside(rollout.tracks[OWN_TRACK], by_name, place))
        for place, rollout in enumerate(rollouts)
    ]
    made, unlike = of_tracks(beside, OWN_TRACK, panel.student.tokenizer, panel.options.settings)
    for note in unlike:
        warnings.warn(note, stacklevel=3)  # points at who called opd.score
    return replace(
        made,
        rollouts=tuple(rollouts),
        student=panel.student.name,
        teachers={name: teacher.info(name, panel.student) for name, teacher in panel.teachers.items()},
        items=tuple(_with_prompts(item, task) for item, task in zip(made.items, tasks, strict=True)),
        questions={rollout.question: rollout.asked for rollout in rollouts if rollout.question},
        settings=panel.options.to_dict(),
    )


def _beside(own: LogprobTrack, by_name: dict[str, list[LogprobTrack]], place: int) -> dict[str, LogprobTrack]:
    return {OWN_TRACK: own, **{name: tracks[place] for name, tracks in by_name.items()}}


def _with_prompts(item: RolloutScores, task: Task) -> RolloutScores:
    teachers = {}
    for name, scored in item.teachers.items():
        prompt = task.prompts[name]
        teachers[name] = replace(
            scored,
            prompt_ids=prompt.ids,
            context=prompt.context,
            context_tokens=prompt.context_tokens,
            leaks_answer=prompt.leaks_answer,
        )
    return replace(item, teachers=teachers)


def _check(rollouts: Sequence[Rollout], panel: Panel) -> None:
    bare = [rollout.id for rollout in rollouts if OWN_TRACK not in rollout.tracks]
    if bare:
        msg = (
            f"{len(bare)} of {len(rollouts)} rollouts brought no track {OWN_TRACK!r} along (first {bare[0]!r}), and "
            "rescore_student=False needs it. Score the student anew: rescore_student=True"
        )
        raise InvalidInputError(msg)
    if OWN_TRACK in panel.teachers:
        msg = f"found a teacher named {OWN_TRACK!r}, which is the name of the rollouts' own track; give it another name"
        raise InvalidInputError(msg)
    foreign = [name for name in panel.teachers if name not in panel.shared]
    if foreign:
        msg = (
            f"{foreign[0]!r} has another tokenizer than the student, expected the same with rescore_student=False: "
            "nothing is compared in groups of equal text there. Use rescore_student=True"
        )
        raise InvalidInputError(msg)
