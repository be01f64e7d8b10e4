"""Writes a run a training step while a student is trained."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opd_widgets.data.mismatch import OWN_TRACK
from opd_widgets.data.store_files import need_pyarrow
from opd_widgets.data.store_manifest import check_step
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import Model
from opd_widgets.scoring.from_tracks import Pieces, of_tracks
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.recording.trl_tap import Tap
from opd_widgets.scoring.score import score

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scores import Scores
    from opd_widgets.models.teacher import Teacher

REFERENCE = "reference"
_FOLDER = re.compile(r"step-\d{6,}")


class Recorder:
    """Records what a student samples while it is trained: one run a step, for `opd.load` and `opd.load_steps`.

    Step N is the trainer's N-th update, counted from 1 as its log counts; a run's numbers are those of the weights
    before that update, which also drew the rollouts unless the trainer trains on them more than once. A run is written
    beside its place and renamed once it is whole: a training that is killed leaves whole runs, and at most one
    `*.opd-part` that is none.

    Without `student`, a run holds what the trainer computes anyway and costs no forward pass: token ids, the student's
    log-probabilities (and entropy) as the loss computes them, the sampler's and the reference model's where the trainer
    has them, rewards, advantages, whether a completion was cut. With `student` and `teachers`, every recorded step is
    scored as `opd.score` does it, at the price of one forward pass a model and rollout; the trainer's own
    log-probabilities stay with the rollouts as tracks.

    Limits: tried with TRL 1.16 on one CPU process, with its GRPO, RLOO, distillation, SDFT, SDPO and (where every
    completion is the student's, lmbda=1) GKD trainers; all but GRPO and RLOO need `student`. vLLM as the sampler is not
    tried. Of several processes, the first records its own share. Sharded weights (FSDP, DeepSpeed ZeRO-3) cannot be
    scored through `student`. A step that cannot be recorded is said aloud as a warning; the training goes on.

    Args:
        out: the folder for the runs, `out/step-000001` and so on; made where it is missing.
        every: record step 1 and then every step divisible by this.
        limit: at most this many rollouts of a step, the first ones; None for all.
        student: the model being trained, `opd.HFModel((trainer.model, tokenizer))`: scored anew with its weights of
            that step. Needed for trainers that compute no log-probability of the sampled token.
        teachers: by name, as for `opd.score`; only with `student`.
        options: sizes and signal parameters of that scoring.

    Raises:
        InvalidInputError: numbers below 1, teachers without a student, or something else at `out`.
        MissingDependencyError: pyarrow is not installed.

    Example:
        >>> trainer = trl.GRPOTrainer(...)  # doctest: +SKIP
        >>> opd.Recorder("runs/grpo", every=10, limit=64).attach(trainer)  # doctest: +SKIP
        >>> trainer.train()  # doctest: +SKIP
        >>> opd.load_steps("runs/grpo").by_step("student_surprisal")  # doctest: +SKIP

    """

    def __init__(
        self,
        out: str | Path,
        *,
        every: int = 1,
        limit: int | None = None,
        student: Model | None = None,
        teachers: Mapping[str, Teacher] | None = None,
        options: Options | None = None,
    ) -> None:
        need_pyarrow()
        _check_count("every", every)
        if limit is not None:
            _check_count("limit", limit)
        if teachers and student is None:
            msg = (
                "found teachers and no student, expected both: teachers are compared with the student's weights of "
                "each step. Add student=opd.HFModel((trainer.model, tokenizer))"
            )
            raise InvalidInputError(msg)
        self.out = Path(out).expanduser()
        if self.out.exists() and not self.out.is_dir():
            msg = f"found a file at {str(self.out)!r}, expected a folder for the runs, or nothing; choose another place"
            raise InvalidInputError(msg)
        self.every = every
        self.limit = limit
        self.student = student
        self.teachers = dict(teachers or {})
        self.options = options
        if student is not None:
            Panel.of(student, self.teachers, options)  # refuses what does not fit before hours of training

    def wants(self, step: int) -> bool:
        """Return whether a step is recorded."""
        return step == 1 or step % self.every == 0

    def folder(self, step: int) -> Path:
        """Return where a step's run lies."""
        return self.out / f"step-{step:06}"

    def record(self, step: int, rollouts: Sequence[Rollout], *, tokenizer: Pieces | None = None) -> Path | None:
        """Write a step's run; what `attach` does at every step, for other trainers.

        Args:
            step: the training step.
            rollouts: with token ids; without a `student`, with a track "student". A track "reference" is shown as a
                teacher, others are carried along.
            tokenizer: to show ids as text; not needed with a `student`.

        Returns:
            The run's folder; None where the step is not recorded or has no rollouts.

        Raises:
            InvalidInputError: no step, or what `opd.score` or `opd.scores_from_tracks` refuse.

        """
        number = check_step(step)
        if number is None or not self.wants(number) or not rollouts:
            return None
        return self._save(self._scored(list(rollouts)[: self.limit], tokenizer), number)

    def attach(self, trainer: Any) -> Recorder:
        """Record a TRL trainer from now on; call it before `trainer.train()`.

        Raises:
            InvalidInputError: no trainer of TRL; one that needs a `student`; or runs of an earlier training lie in
                `out` (said when the training starts).

        """
        from opd_widgets.models.hf_callback import StepCallback

        tap = Tap(trainer, self._room, self.student.name if self.student else None)
        if self.student is None and not tap.has_logprobs:
            msg = (
                f"{type(trainer).__name__} computes no log-probability of the sampled tokens by itself, so there is "
                "nothing to record. Expected a student to score with: opd.Recorder(out, student=opd.HFModel("
                "(trainer.model, tokenizer)), teachers={...})"
            )
            raise InvalidInputError(msg)
        if trainer.accelerator.is_main_process:
            tap.listen()
            listener = _Listener(self, tap)
            callback = StepCallback(
                on_begin=self._check_free, before_update=listener.before_update, after_update=listener.after_update
            )
            trainer.add_callback(callback)
        return self

    def _room(self, step: int, held: int) -> int:
        if not self.wants(step):
            return 0
        return (1 << 31) if self.limit is None else self.limit - held

    def _check_free(self, done: int) -> None:
        """Refuse to mix this training's runs with another's; a training that is resumed replaces what it repeats."""
        held = sorted(path.name for path in self.out.iterdir()) if self.out.is_dir() else []
        runs = [name for name in held if _FOLDER.fullmatch(name)]
        if runs and not done:
            msg = (
                f"{str(self.out)!r} holds {len(runs)} runs of an earlier training ({runs[0]} to {runs[-1]}), expected "
                "an empty place: load_steps would mix them with this one's. Choose another folder"
            )
            raise InvalidInputError(msg)

    def _scored(self, rollouts: list[Rollout], tokenizer: Pieces | None) -> Scores:
        if self.student is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # its notes are in the run, once a step is enough
                return score(
                    rollouts, self.student, self.teachers, options=self.options, noise_rollouts=0, progress=False
                )
        shown = [replace(one, tracks=_only(one.tracks)) for one in rollouts]
        scores, _ = of_tracks(shown, OWN_TRACK, tokenizer, None)  # what is unlike is noted, not said at every step
        asked = {one.question: one.asked for one in rollouts if one.question}
        names = {one.tracks[OWN_TRACK].provenance.model for one in rollouts if OWN_TRACK in one.tracks}
        named = names.pop() if len(names) == 1 else scores.student
        return replace(scores, rollouts=tuple(rollouts), questions=asked, student=named)

    def _save(self, scores: Scores, step: int) -> Path:
        self.out.mkdir(parents=True, exist_ok=True)
        return scores.save(self.folder(step), step=step)


class _Listener:
    """Makes a run of what a tap heard: scored before the update changes the weights, written after it."""

    def __init__(self, recorder: Recorder, tap: Tap) -> None:
        self._recorder, self._tap = recorder, tap
        self._ready: Scores | None = None

    def before_update(self) -> None:
        heard = self._tap.take()
        if not heard:
            return
        try:
            with self._tap.evaluating():
                self._ready = self._recorder._scored(heard, self._tap.tokenizer)  # noqa: SLF001 - its own helper
        except Exception as error:  # noqa: BLE001 - whatever it is, it must not end a training; it is said aloud
            step, kind = self._tap.step, type(error).__name__
            warnings.warn(f"step {step} is not recorded: {kind}: {error}", stacklevel=2)

    def after_update(self, step: int) -> None:
        ready, self._ready = self._ready, None
        if ready is None:
            return
        try:
            self._recorder._save(ready, step)  # noqa: SLF001
        except OSError as error:  # a full disk must not end a training; it is said aloud
            warnings.warn(f"step {step} is not recorded: {error}", stacklevel=2)


def _check_count(name: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        msg = f"found {name}={value!r}, expected a whole number of at least 1"
        raise InvalidInputError(msg)


def _only(tracks: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tracks[name] for name in (OWN_TRACK, REFERENCE) if name in tracks}
