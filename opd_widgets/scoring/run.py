"""Score into a run folder, batch by batch, so that a process that dies loses only the batch in flight.

Of that batch, what servers have answered is kept in the folder until the batch is written.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm.auto import tqdm

from opd_widgets.data.mismatch import mismatch_notes
from opd_widgets.data.store import read_batch
from opd_widgets.data.store_files import need_pyarrow, only_writer
from opd_widgets.data.store_manifest import NAME, Manifest, check_step, installed
from opd_widgets.data.store_write import RunWriter, check_free
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.batch import score_batch
from opd_widgets.scoring.identity import check_same, identity_of
from opd_widgets.scoring.noise import spread
from opd_widgets.scoring.notes.lacking import OUTSIDE, what_lies_outside
from opd_widgets.scoring.notes.on_scoring import notes_on
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.plan import plan_batches
from opd_widgets.scoring.prepare import Task, check_rollouts, make_task
from opd_widgets.scoring.score import pieces_of, score
from opd_widgets.scoring.served_answers import Answers
from opd_widgets.scoring.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable

    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scored import RolloutScores
    from opd_widgets.models.protocol import Model
    from opd_widgets.models.teacher import Teacher


def score_to(
    rollouts: Sequence[Rollout],
    student: Model,
    teachers: Mapping[str, Teacher],
    out: str | Path,
    *,
    options: Options | None = None,
    noise_rollouts: int = 8,
    step: int | None = None,
    progress: bool = True,
    checkpoint: Callable[[], None] = lambda: None,
) -> Path:
    """Score into a folder; called again with the same arguments, it continues where it was stopped or killed.

    The batches are planned once and stand in the manifest. A batch is scored by itself and written whole, so a run that
    was interrupted ends with the numbers of one that was not. Open it with `opd.load(out)`.

    Args:
        rollouts: as for `opd.score`.
        student: who wrote them.
        teachers: by name; may be empty.
        out: the run's folder: new, empty, or of the same run. It is made where it is missing.
        options: sizes and signal parameters; a batch of these sizes is what a kill can cost.
        noise_rollouts: how many rollouts are scored twice more, at two batch sizes and paddings, to measure the noise
            band; 0 leaves it unmeasured.
        step: the student's training step, for `opd.load_steps`; by default its rollouts' own, where they have one.
        progress: whether to draw a progress bar.
        checkpoint: called between steps; raises to stop. What is written stays.

    Returns:
        The folder.

    Raises:
        InvalidInputError: the folder holds something else or another run, or another process writes there; and what
            `opd.score` refuses. Nothing is written then.
        ReadError: a run is there whose manifest or pieces are damaged.
        MissingDependencyError: pyarrow is not installed.

    """
    need_pyarrow()
    folder = Path(out).expanduser()
    if not (folder / NAME).is_file():
        check_free(folder)  # before models are asked anything
    panel = replace(Panel.of(student, teachers, options), answers=Answers(folder))
    ready = check_rollouts(rollouts, student)
    panel = panel.reading(ready)
    tasks = [make_task(rollout, panel) for rollout in ready]
    notes = notes_on(tasks, panel)
    with only_writer(folder):
        writer = _open(folder, panel, tasks, notes, check_step(step))
        missing = writer.missing
        left = sum(len(ready[index]) for batch in missing for index in writer.manifest.plan[batch])
        total = sum(map(len, ready))
        with tqdm(
            total=total, initial=total - left, desc="scoring", unit="tok", disable=not progress, leave=False
        ) as bar:
            session = Session()
            for batch in missing:
                _score_batch(writer, batch, tasks, panel, session, checkpoint)
                panel.forget_answers()
                bar.update(sum(len(ready[index]) for index in writer.manifest.plan[batch]))
        panel.forget()
        if not writer.manifest.finished:
            notes = (*writer.manifest.notes, *_late_notes(writer, ready))
            writer.update(noise=_noise(tasks, panel, noise_rollouts), notes=notes, finished=True)
    return folder


def _late_notes(writer: RunWriter, rollouts: Sequence[Rollout]) -> tuple[str, ...]:
    """Return the notes that depend on what was scored, from the run's batches."""
    items: dict[int, RolloutScores] = {}
    for batch in range(len(writer.manifest.plan)):
        items.update(read_batch(writer.folder, writer.manifest, batch, OUTSIDE))
    done = [items[index] for index in range(len(rollouts))]
    return (*mismatch_notes(rollouts, done), *what_lies_outside(done, [*writer.manifest.teachers]))


def _open(folder: Path, panel: Panel, tasks: Sequence[Task], notes: tuple[str, ...], step: int | None) -> RunWriter:
    identity = identity_of(panel, tasks)
    if not (folder / NAME).is_file():
        manifest = replace(_manifest(panel, tasks, notes, identity), step=step)
        return RunWriter.begin(folder, manifest, [task.rollout for task in tasks])
    manifest = Manifest.read(folder)
    check_same(manifest.identity, identity, str(folder))
    if step is not None and manifest.step not in {None, step}:
        msg = (
            f"the run at {str(folder)!r} was begun as step {manifest.step} and is continued as step {step}; expected "
            "the same step. Leave step out, or score into another folder"
        )
        raise InvalidInputError(msg)
    writer = RunWriter(folder, manifest)
    if step != manifest.step and step is not None:
        writer.update(step=step)
    now = installed()
    other = [f"{name} {was}" for name, was in manifest.packages.items() if now.get(name) != was]
    if other and writer.missing:
        current = ", ".join(f"{name} {now.get(name, 'none')}" for name in (entry.split()[0] for entry in other))
        note = f"begun with {', '.join(other)} and continued with {current}: small differences may be that"
        writer.update(notes=(*manifest.notes, note), packages=now)
    return writer


def _manifest(panel: Panel, tasks: Sequence[Task], notes: tuple[str, ...], identity: dict[str, Any]) -> Manifest:
    options, student = panel.options, panel.student
    rollouts = [task.rollout for task in tasks]
    plan = plan_batches([task.size for task in tasks], options.batch_tokens, options.batch_rows)
    models = {"": student, **{name: teacher.model for name, teacher in panel.teachers.items()}}
    seeds = {rollout.metadata.get("seed") for rollout in rollouts}
    seed = seeds.pop() if len(seeds) == 1 else None
    return Manifest(
        student=student.name,
        teachers={name: teacher.info(name, student) for name, teacher in panel.teachers.items()},
        rollouts=tuple(rollout.id for rollout in rollouts),
        plan=tuple(map(tuple, plan)),
        questions={rollout.question: rollout.asked for rollout in rollouts if rollout.question},
        settings=options.to_dict(),
        notes=notes,
        provenance={name: asdict(model.provenance) for name, model in models.items()},
        identity=identity,
        seed=seed if isinstance(seed, int) else None,
    )


def _score_batch(  # noqa: PLR0917 - private, called once
    writer: RunWriter,
    batch: int,
    tasks: Sequence[Task],
    panel: Panel,
    session: Session,
    checkpoint: Callable[[], None],
) -> None:
    indices = writer.manifest.plan[batch]
    found = score_batch([tasks[index] for index in indices], panel, checkpoint, session)
    rollouts = {index: tasks[index].rollout for index in indices}
    pieces = pieces_of([*rollouts.values()], found, panel.student)
    writer.add(batch, rollouts, dict(zip(indices, found, strict=True)), pieces)


def _noise(tasks: Sequence[Task], panel: Panel, count: int) -> Mapping[str, float]:
    """Return the noise band as `opd.score` measures it, from a few rollouts of spread lengths."""
    picked = [tasks[index].rollout for index in spread(tasks, count)]
    if not picked:
        return {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said once already, of all rollouts
        some = score(
            picked, panel.student, panel.teachers, options=panel.options, noise_rollouts=len(picked), progress=False
        )
    return some.noise
