"""Whether runs of several training steps can be laid side by side."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from opd_widgets.data.track import Provenance
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from opd_widgets.data.stored_run import StoredRun


def check_alike(runs: Sequence[StoredRun]) -> None:
    """Refuse runs under other teachers or settings: a change by step would be that change.

    The student differs by nature, and so does a teacher that is the student's own weights.

    Raises:
        InvalidInputError: they differ; the message names the steps and both values.

    """
    for run in runs[1:]:
        for what, first, here in _differences(runs[0], run):
            msg = (
                f"the runs of steps {runs[0].step} and {run.step} differ in {what}: {first} against {here}. Expected "
                "the same teachers and settings at every step; score one of them again, or open them apart"
            )
            raise InvalidInputError(msg)


def _differences(one: StoredRun, other: StoredRun) -> Iterator[tuple[str, str, str]]:
    first, here = one.manifest, other.manifest
    if set(first.teachers) != set(here.teachers):
        yield "teachers", str(list(first.teachers)), str(list(here.teachers))
        return
    for name, teacher in first.teachers.items():
        theirs = here.teachers[name]
        if teacher.kind != theirs.kind:
            yield f"the context of teacher {name!r}", repr(teacher.kind), repr(theirs.kind)
        if teacher.chat_template_kwargs != theirs.chat_template_kwargs:
            what = f"the chat template's arguments of teacher {name!r}"
            yield what, repr(dict(teacher.chat_template_kwargs)), repr(dict(theirs.chat_template_kwargs))
        own = teacher.self_distillation or theirs.self_distillation
        if teacher.model != theirs.model and not own:
            yield f"the model of teacher {name!r}", repr(teacher.model), repr(theirs.model)
    for name in dict.fromkeys((*first.settings, *here.settings)):
        if first.settings.get(name) != here.settings.get(name):
            yield f"the setting {name!r}", repr(first.settings.get(name)), repr(here.settings.get(name))


def unlike_notes(runs: Sequence[StoredRun]) -> tuple[str, ...]:
    """Return a note, and issue it as a warning, for every model whose numbers come from unlike computations."""
    notes: dict[str, None] = {}
    for run in runs[1:]:
        for name, plain in run.manifest.provenance.items():
            before = runs[0].manifest.provenance.get(name)
            unlike = Provenance(**before).differences(Provenance(**plain)) if before else []
            if unlike:
                who = f"teacher {name!r}" if name else "the student"
                steps = f"steps {runs[0].step} and {run.step}"
                notes[f"{who} is not alike at {steps} in {'; '.join(unlike)}: small differences may be that"] = None
        notes |= dict.fromkeys(_other_contexts(runs[0], run))
    for note in notes:
        warnings.warn(note, stacklevel=3)
    return tuple(notes)


def _other_contexts(one: StoredRun, other: StoredRun) -> Iterator[str]:
    """Yield a note a teacher whose context is worded or placed otherwise, where both runs know how."""
    first, here = (run.manifest.identity.get("teachers", {}) for run in (one, other))
    for name in first:
        contexts = [side.get(name, {}).get("context") for side in (first, here)]
        if name in here and contexts[0] != contexts[1]:
            steps = f"steps {one.step} and {other.step}"
            yield f"teacher {name!r} has other context texts or wording at {steps}: differences may be that"
