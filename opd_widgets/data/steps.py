"""Several runs of one student over training, side by side by step."""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.scores import Scores, token_text
from opd_widgets.data.steps_alike import check_alike, unlike_notes
from opd_widgets.data.steps_means import LEFT_OUT, named, sorted_out, spread, summary_rows, values_of
from opd_widgets.data.store_files import PART
from opd_widgets.data.store_manifest import NAME
from opd_widgets.data.stored_run import StoredRun
from opd_widgets.errors import InvalidInputError, MissingSignalError, ReadError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray


def load_steps(runs: str | Path | Sequence[str | Path]) -> Steps:
    """Open the runs of several training steps together; no model is needed.

    A run's step is what was said when it was written (`step=`, `--step`), else the one step of its rollouts.

    Args:
        runs: a folder that holds run folders, a glob such as "runs/*", a run folder, or a list of these. What a killed
            process left half-written beside its place (`*.opd-part`) is no run and is passed over.

    Returns:
        The runs by step; only their manifests are read.

    Raises:
        ReadError: no run there, one that is not finished, or a damaged file.
        InvalidInputError: two runs of one step, a run of no known step, or runs whose teachers or settings differ.
        MissingDependencyError: pyarrow is not installed.

    Example:
        >>> steps = opd.load_steps("runs/*")  # doctest: +SKIP
        >>> steps.by_step("advantage", "bigger")  # doctest: +SKIP

    """
    opened = sorted((StoredRun.open(folder) for folder in _folders(runs)), key=lambda run: run.step)
    for one, other in pairwise(opened):
        if one.step == other.step:
            msg = (
                f"two runs are of step {one.step}: {str(one.folder)!r} and {str(other.folder)!r}; expected one run a "
                "step. Leave one out, or save it again with the step= it is of"
            )
            raise InvalidInputError(msg)
    check_alike(opened)
    return Steps(tuple(opened), unlike_notes(opened))


@dataclass(frozen=True, eq=False)
class RolloutSteps:
    """One signal along one rollout, by step.

    Args:
        rollout: its id.
        steps: the S steps that scored it, ascending.
        token_ids: int32 [R], its response.
        tokens: the text of each.
        values: float32 [S, R], in the signal's unit; NaN where there is no value.

    """

    rollout: str
    steps: tuple[int, ...]
    token_ids: NDArray[np.int32]
    tokens: tuple[str, ...]
    values: NDArray[np.float32]

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a step and token; columns: step, position, token_id, token, value."""
        import pandas as pd

        steps, length = len(self.steps), len(self.token_ids)
        return pd.DataFrame(
            {
                "step": np.repeat(np.asarray(self.steps, np.int64), length),
                "position": np.tile(np.arange(length), steps),
                "token_id": np.tile(self.token_ids, steps),
                "token": list(self.tokens) * steps,
                "value": self.values.reshape(-1),
            }
        )


class Steps(Mapping[int, Scores]):
    """Runs of one student over training, by step, ascending.

    `steps[20]` opens the run of step 20, anew each time: keep what is needed longer. The tables read one batch of one
    run at a time.

    Two kinds of data fit: every step's own rollouts, of which means are compared; and the same rollouts scored by
    several checkpoints (the same id and token ids), which can be compared token by token.

    Args:
        runs: finished runs by ascending step, alike in teachers and settings.
        notes: what a reader must be told (checkpoints were scored in two dtypes, say).

    """

    def __init__(self, runs: tuple[StoredRun, ...], notes: tuple[str, ...] = ()) -> None:
        self.runs = runs
        self.notes = notes
        self._of = {run.step: run for run in runs}

    def __getitem__(self, step: int) -> Scores:
        """Open the run of a step.

        Raises:
            InvalidInputError: there is none; the message lists those there are.

        """
        if step not in self._of:
            msg = f"found step {step!r}, expected one of {', '.join(map(str, self._of))}"
            raise InvalidInputError(msg)
        return self._of[step].scores()

    def __contains__(self, step: object) -> bool:
        """Return whether there is a run of that step; none is opened."""
        return step in self._of

    def __iter__(self) -> Iterator[int]:
        """Yield the steps, ascending."""
        return iter(self._of)

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self._of)

    def __repr__(self) -> str:
        """Say what is inside, in one line."""
        teachers = ", ".join(map(repr, self.teachers)) or "none"
        return f"Steps({len(self)} runs, steps {', '.join(map(str, self))}, teachers {teachers})"

    @property
    def teachers(self) -> tuple[str, ...]:
        """Names of the teachers, the same in every run."""
        return tuple(self.runs[0].manifest.teachers) if self.runs else ()

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows of `Scores.to_pandas()` of every step, with the columns `step` and `rollout_id` in front.

        All values of all runs are in memory then; `summary` and `by_step` need one batch at a time.
        """
        import pandas as pd

        frames = []
        for run in self.runs:
            frame = run.scores().to_pandas()
            ids = np.asarray(run.manifest.rollouts, object)
            frame.insert(0, "rollout_id", ids[frame["rollout"].to_numpy(int)] if len(frame) else [])
            frame.insert(0, "step", run.step)
            frames.append(frame)
        return pd.concat(frames, ignore_index=True)

    def summary(self, signals: Collection[str] | None = None) -> pd.DataFrame:
        """Return every signal's mean by step and teacher.

        Args:
            signals: only these; all by default.

        Returns:
            One row a step, teacher and signal. Columns: step, teacher (None for the student's own signals), signal,
            mean (in the signal's unit, of finite values at counted tokens; NaN where there are none), tokens (how many
            those are), and what is in no mean: infinite, undefined (both sides say something, and the signal of that is
            no number) and missing (one of them says nothing).

        Raises:
            MissingSignalError: no run has a signal of that name.

        """
        import pandas as pd

        names = None if signals is None else ([signals] if isinstance(signals, str) else list(signals))
        rows = [row for run in self.runs for row in summary_rows(run, names)]
        columns = ["step", "teacher", "signal", "mean", "tokens", *LEFT_OUT]
        if names and (unknown := set(names) - {row["signal"] for row in rows}):
            raise MissingSignalError(self._no_signal(min(unknown), None))
        return pd.DataFrame(rows, columns=columns)

    def by_step(self, signal: str, teacher: str | None = None) -> pd.DataFrame:
        """Return how one signal is spread at each step: what a line with a band is drawn from.

        Args:
            signal: its registry name ("advantage", "student_entropy", ...).
            teacher: whose; not needed for the student's own signals, or with one teacher.

        Returns:
            One row a step. Columns: step, mean, p10, median, p90 (of finite values at counted tokens), tokens (how many
            those are), infinite, undefined and missing (how many are left out, as in `summary`).

        Raises:
            MissingSignalError: no such signal.
            InvalidInputError: no such teacher.

        """
        import pandas as pd

        teacher = self._whose(signal, teacher)
        rows = []
        for run in self.runs:
            parts, left = [np.zeros(0, np.float32)], np.zeros(len(LEFT_OUT), np.int64)
            for batch in run.batches([signal]):
                for index, item in batch.items():
                    finite, others = sorted_out(item, teacher, signal, run.counted(index, len(item.student)))
                    parts.append(finite)
                    left += others
            rows.append({"step": run.step, **spread(np.concatenate(parts)), **named(left)})
        return pd.DataFrame(rows)

    def shared(self) -> tuple[str, ...]:
        """Return the ids of rollouts that two steps or more have scored, with equal token ids.

        An id that several rollouts of one run have is none of them: it does not say which is meant.
        """
        found: dict[str, list[StoredRun]] = {}
        for run in self.runs:
            for name in run.index:
                found.setdefault(name, []).append(run)
        twice = {name for run in self.runs for name, count in Counter(run.manifest.rollouts).items() if count > 1}
        return tuple(
            name for name, runs in found.items() if len(runs) > 1 and name not in twice and not _other_ids(name, runs)
        )

    def compare(self, rollout_id: str, signal: str, teacher: str | None = None) -> RolloutSteps:
        """Return one signal along one rollout as every checkpoint that scored it sees it.

        Args:
            rollout_id: the rollout's id; see `shared`.
            signal: the signal's registry name.
            teacher: whose; not needed for the student's own signals, or with one teacher.

        Raises:
            InvalidInputError: fewer than two steps scored it, it has other token ids at one of them, or several
                rollouts of one run have that id.
            MissingSignalError: no such signal.

        """
        runs = [run for run in self.runs if rollout_id in run.index]
        if len(runs) < 2:
            where = f"at step {runs[0].step} alone" if runs else f"at none of the steps {', '.join(map(str, self))}"
            shared = self.shared()
            there = f"; those that can be compared: {', '.join(map(repr, shared[:5]))}" if shared else ""
            msg = (
                f"rollout {rollout_id!r} was scored {where}, expected two steps or more{there}. To compare token by "
                "token, score the same rollouts with each checkpoint: opd.score_to(rollouts, checkpoint, teachers, "
                "out, step=N)"
            )
            raise InvalidInputError(msg)
        _check_one(rollout_id, runs)
        if other := _other_ids(rollout_id, runs):
            msg = f"rollout {rollout_id!r} is not the same at every step: {other}. Expected equal prompt and response"
            raise InvalidInputError(msg)
        teacher = self._whose(signal, teacher)
        ids = runs[0].ids(runs[0].index[rollout_id])
        response = np.zeros(0, np.int32) if ids is None else ids[1]
        pieces = runs[0].pieces()
        rows = [values_of(run.item(run.index[rollout_id], [signal]), teacher)[signal] for run in runs]
        return RolloutSteps(
            rollout=rollout_id,
            steps=tuple(run.step for run in runs),
            token_ids=response,
            tokens=tuple(token_text(pieces.get(int(token))) for token in response),
            values=np.stack(rows),
        )

    def _whose(self, signal: str, teacher: str | None) -> str | None:
        """Return the teacher a signal is to be looked up under, None for the student's own."""
        if teacher is not None and teacher not in self.teachers:
            msg = f"no teacher {teacher!r}; there are {list(self.teachers)}"
            raise InvalidInputError(msg)
        if all(signal in run.signals(None) for run in self.runs):
            return None
        if teacher is None and len(self.teachers) == 1:
            teacher = self.teachers[0]
        if teacher is None or not all(signal in run.signals(teacher) for run in self.runs):
            if any(signal in run.signals(name) for run in self.runs for name in self.teachers) and teacher is None:
                msg = f"signal {signal!r} belongs to a teacher; name one of {list(self.teachers)}"
                raise InvalidInputError(msg)
            raise MissingSignalError(self._no_signal(signal, teacher))
        return teacher

    def _no_signal(self, signal: str, teacher: str | None) -> str:
        lacking = [run.step for run in self.runs if signal not in {*run.signals(None), *run.signals(teacher)}]
        there = sorted({name for run in self.runs for who in (None, *self.teachers) for name in run.signals(who)})
        return f"no signal {signal!r} at step {', '.join(map(str, lacking))}; there are {there}"


def _folders(runs: str | Path | Sequence[str | Path]) -> list[Path]:
    given = [runs] if isinstance(runs, str | Path) else list(runs)
    found: dict[Path, None] = {}
    for entry in given:
        path = Path(entry).expanduser()
        if (path / NAME).is_file():
            found[path] = None
            continue
        around = sorted(path.iterdir()) if path.is_dir() else map(Path, sorted(glob.glob(str(path))))  # noqa: PTH207
        inside = [folder for folder in around if (folder / NAME).is_file() and not folder.name.endswith(PART)]
        if not inside:
            msg = (
                f"found no run at {str(entry)!r}; expected a run folder, a folder of run folders, or a glob of them, "
                "each made by scores.save(path, step=N) or `opd-widgets score ... --step N --out RUN`"
            )
            raise ReadError(msg)
        found.update(dict.fromkeys(inside))
    if not found:
        msg = "found an empty list of runs, expected at least one run folder"
        raise InvalidInputError(msg)
    return list(found)


def _check_one(name: str, runs: Sequence[StoredRun]) -> None:
    """Refuse an id that several rollouts of one run have.

    Raises:
        InvalidInputError: they do; the message names the step and how many they are.

    """
    for run in runs:
        count = run.manifest.rollouts.count(name)
        if count > 1:
            msg = (
                f"{count} rollouts of step {run.step} have the id {name!r}, expected one: which is meant is not known. "
                "Read the rollouts again (opd.read_rollouts gives each an id of its own) and score them anew"
            )
            raise InvalidInputError(msg)


def _other_ids(name: str, runs: Sequence[StoredRun]) -> str:
    """Return why a rollout of one id is not the same in all runs; nothing where it is."""
    first = runs[0].ids(runs[0].index[name])
    if first is None:
        return f"at step {runs[0].step} it is text without ids"
    for run in runs[1:]:
        here = run.ids(run.index[name])
        if here is None:
            return f"at step {run.step} it is text without ids"
        for part, one, other in zip(("prompt", "response"), first, here, strict=True):
            if not np.array_equal(one, other):
                sizes = f"{len(one)} and {len(other)} ids" if len(one) != len(other) else f"{len(one)} ids each"
                return f"its {part} at steps {runs[0].step} and {run.step} differs ({sizes})"
    return ""
