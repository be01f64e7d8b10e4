"""One question's nodes under every teacher: what the rollouts say, and what they leave open."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.alignments import alignments, renormalised, support
from opd_widgets.diagnosis.estimate.fit import Fit, fit
from opd_widgets.measures.support import ENOUGH_MASS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.settings import DiagnosisSettings


@dataclass(frozen=True, eq=False)
class Reading:
    """A question's M nodes under T teachers, with D draws.

    Args:
        evidence: nodes and rollouts.
        settings: how they are read.
        fit: success of the candidates.
        kept: the support K, bool [M, T, C].

    """

    evidence: Evidence
    settings: DiagnosisSettings
    fit: Fit
    kept: NDArray[np.bool_]

    @classmethod
    def of(cls, evidence: Evidence, settings: DiagnosisSettings, use: NDArray[np.bool_] | None = None) -> Reading:
        """Read a question, or some of its rollouts (`use`, bool [R])."""
        found = fit(evidence, settings.estimator, use, draws=settings.draws, seed=settings.seed)
        return cls(evidence, settings, found, support(evidence.nodes, found, settings.n_sig))

    @cached_property
    def n_support(self) -> NDArray[np.int64]:
        """How many tokens stand behind a score, int64 [M, T]."""
        return np.asarray(self.kept.sum(axis=-1), np.int64)

    @cached_property
    def student_mass(self) -> NDArray[np.float64]:
        """p_S(K), float64 [M, T]."""
        p = np.where(self.kept, np.exp(self.evidence.nodes.student_logp)[:, None], 0.0)
        return np.asarray(p.sum(axis=-1), np.float64)

    @cached_property
    def teacher_mass(self) -> NDArray[np.float64]:
        """p_T(K), float64 [M, T]."""
        p = np.where(self.kept, np.exp(self.evidence.nodes.teacher_logp), 0.0)
        return np.asarray(p.sum(axis=-1), np.float64)

    @cached_property
    def outside(self) -> NDArray[np.bool_]:
        """Whether a mass is below 0.9, so that no number of the node is one to average, bool [M, T]."""
        return np.minimum(self.student_mass, self.teacher_mass) < ENOUGH_MASS

    @cached_property
    def silent(self) -> NDArray[np.bool_]:
        """Whether no outcome on K differs from another, so that there is no signal, bool [M, T]."""
        right, wrong = self.kept & self.fit.any_correct[:, None], self.kept & self.fit.any_incorrect[:, None]
        return np.asarray(~(right.any(axis=-1) & wrong.any(axis=-1)), np.bool_)

    @cached_property
    def draws(self) -> NDArray[np.float64]:
        """Draws of the alignment, float64 [M, T, D]; NaN where it is undefined."""
        return self._cosines(self.fit.posterior)

    @cached_property
    def plug_in(self) -> NDArray[np.float64]:
        """The alignment at the estimate of P_succ itself, float64 [M, T]; NaN where it is undefined."""
        return self._cosines(self.fit.success)

    @cached_property
    def teacher_advantage(self) -> NDArray[np.float64]:
        """Draws of sum (p_T - p_S) P_succ on K, float64 [M, T, D]; NaN with fewer than two tokens."""
        nodes = self.evidence.nodes
        if not self.kept.size:
            return self._undefined(self.fit.posterior)
        gap = np.exp(renormalised(nodes.teacher_logp, self.kept))
        gap = gap - np.exp(renormalised(nodes.student_logp[:, None], self.kept))
        gain = np.einsum("mtc,mcd->mtd", gap, np.nan_to_num(self.fit.posterior.astype(np.float64)))
        return np.where((self.n_support >= 2)[..., None], gain, np.nan)

    @cached_property
    def success_range(self) -> NDArray[np.float64]:
        """Draws of max P_succ - min P_succ on K, float64 [M, T, D]; NaN with fewer than two tokens."""
        of_draws, found = self.fit.posterior.astype(np.float64), self._undefined(self.fit.posterior)
        for t in range(self.kept.shape[1]):
            inside, enough = self.kept[:, t, :, None], self.n_support[:, t] >= 2
            high = of_draws.max(axis=1, where=inside, initial=-np.inf)
            low = of_draws.min(axis=1, where=inside, initial=np.inf)
            found[enough, t] = (high - low)[enough]
        return found

    def _cosines(self, success: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return the alignment at P_succ, [M, T], or of draws of it, [M, T, D]; NaN where it is undefined."""
        found, setting = self._undefined(success), self.settings
        if self.kept.size:
            heard = ~self.silent
            found[heard] = alignments(self.evidence.nodes, success, self.kept, setting.loss, setting.beta)[heard]
        return found

    def _undefined(self, success: NDArray[np.floating]) -> NDArray[np.float64]:
        """Return NaN for every node and teacher, [M, T], or for every draw, [M, T, D], as P_succ has them."""
        return np.full((*self.kept.shape[:2], *success.shape[2:]), np.nan)
