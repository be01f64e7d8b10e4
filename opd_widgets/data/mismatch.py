"""How far the student's log-probabilities that came with rollouts are from those scored here: engine mismatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.data.track import Provenance
from opd_widgets.errors import MissingSignalError

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from opd_widgets.data.rollout import Rollout
    from opd_widgets.data.scored import RolloutScores

OWN_TRACK = "student"  # the readers' name of the track of whoever wrote the rollout


@dataclass(frozen=True, eq=False)
class StudentMismatch:
    """The student twice, token by token: as its numbers came with the rollouts, and as it was scored.

    A difference is `log p_track - log p_scored`, nats; NaN where either is missing or both are -inf.

    Args:
        track: the name of the track that came along.
        came_from: what it says of itself, one entry a kind of computation.
        scored_by: where the student's scores come from, likewise.
        differences: float32 [R], one a rollout; all NaN where a rollout has no such track.
        counted: bool [R], one a rollout: which tokens enter the figures.

    """

    track: str
    came_from: tuple[Provenance, ...]
    scored_by: tuple[Provenance, ...]
    differences: tuple[NDArray[np.float32], ...]
    counted: tuple[NDArray[np.bool_], ...]

    @classmethod
    def of(cls, rollouts: Sequence[Rollout], items: Sequence[RolloutScores], track: str = OWN_TRACK) -> StudentMismatch:
        """Return the comparison of rollouts' own tracks with their scores.

        Raises:
            MissingSignalError: no rollout has a track of that name.

        """
        pairs = [(r.tracks[track], i.student) for r, i in zip(rollouts, items, strict=True) if track in r.tracks]
        if not pairs:
            held = sorted({name for rollout in rollouts for name in rollout.tracks})
            msg = (
                f"no rollout has a track {track!r} to compare with (there are {held or 'none'}); expected rollouts "
                "read from a dump with the student's log-probabilities. Name another track"
            )
            raise MissingSignalError(msg)
        with np.errstate(invalid="ignore"):  # (-inf) - (-inf) is undefined, and counted so
            differences = tuple(
                rollout.tracks[track].logprobs - item.student.logprobs
                if track in rollout.tracks
                else np.full(len(rollout), np.nan, np.float32)
                for rollout, item in zip(rollouts, items, strict=True)
            )
        return cls(
            track=track,
            came_from=tuple(dict.fromkeys(came.provenance for came, _ in pairs)),
            scored_by=tuple(dict.fromkeys(scored.provenance for _, scored in pairs)),
            differences=differences,
            counted=tuple(rollout.counted for rollout in rollouts),
        )

    @property
    def values(self) -> NDArray[np.float32]:
        """float32 [N], the finite differences at counted tokens, rollout after rollout: what a histogram takes."""
        return self._counted[np.isfinite(self._counted)]

    @property
    def infinite(self) -> int:
        """How many counted tokens only one of both gives probability zero."""
        return int(np.isinf(self._counted).sum())

    @property
    def undefined(self) -> int:
        """How many counted tokens have no difference: one of both is missing, or both are -inf."""
        return int(np.isnan(self._counted).sum())

    @property
    def p99(self) -> float:
        """99th percentile of |difference|, nats; NaN where there is none."""
        return float(np.quantile(np.abs(self.values).astype(np.float64), 0.99)) if len(self.values) else float("nan")

    @property
    def largest(self) -> float:
        """Largest finite |difference|, nats; NaN where there is none."""
        return float(np.abs(self.values).max()) if len(self.values) else float("nan")

    @property
    def _counted(self) -> NDArray[np.float32]:
        parts = [values[counted] for values, counted in zip(self.differences, self.counted, strict=True)]
        return np.concatenate([np.zeros(0, np.float32), *parts])

    def note(self) -> str:
        """Return it in one line, both sides named."""
        theirs, ours = (" and ".join(map(spell, kinds)) for kinds in (self.came_from, self.scored_by))
        what = f"the track {self.track!r} that came with the rollouts ({theirs}) and the student scored here ({ours})"
        if not len(self.values):
            return f"{what} have no token in common to compare"
        more = f", {self.infinite} infinite" if self.infinite else ""
        size = f"by {self.p99:.3g} nats at the 99th percentile and {self.largest:.3g} at most"
        return f"{what} differ {size}, over {len(self.values)} tokens{more}; see scores.student_mismatch()"

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a token; columns: rollout (its index), position, difference, counted."""
        import pandas as pd

        lengths = [len(values) for values in self.differences]
        return pd.DataFrame(
            {
                "rollout": np.repeat(np.arange(len(lengths)), lengths),
                "position": np.concatenate([np.zeros(0, int), *(np.arange(length) for length in lengths)]),
                "difference": np.concatenate([np.zeros(0, np.float32), *self.differences]),
                "counted": np.concatenate([np.zeros(0, bool), *self.counted]),
            }
        )


def mismatch_notes(
    rollouts: Sequence[Rollout], items: Sequence[RolloutScores], track: str = OWN_TRACK
) -> tuple[str, ...]:
    """Return what a reader must be told where rollouts brought the student's log-probabilities and it was scored."""
    if not any(track in rollout.tracks for rollout in rollouts):
        return ()
    return (StudentMismatch.of(rollouts, items, track).note(),)


def spell(provenance: Provenance) -> str:
    """Return where numbers come from, in a few words; what is not known says so."""
    temperature = "unknown" if provenance.temperature is None else f"{provenance.temperature:g}"
    mode = provenance.logprob_mode
    return (
        f"engine {provenance.engine}, dtype {provenance.dtype}, temperature {temperature}, "
        f"{'raw or processed unknown' if mode == 'unknown' else mode}"
    )
