"""Whether the default's intervals cover the truth as often as they say, and whether its P(+1) can be believed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from opd_widgets.diagnosis.alignments import alignments
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.quantiles import mean, quantiles
from tests.benchmarks.known import Known
from tests.diagnosis.sampled import base_budget, gathered

ROUNDING = 1e-4  # of a cosine: draws of P_succ are float32, and a node's may hardly differ
BINS = (0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0)


@dataclass(frozen=True, eq=False)
class Coverage:
    """What was found at one budget; one entry a node and teacher whose alignment exists and was given.

    Args:
        low: ends of the intervals, [N].
        high: likewise.
        positive: probability that the alignment is above 0, [N].
        truth: exact alignment on the support that was found, [N].
        tokens: of that support, [N].
        node: which of all policies' nodes, [N].
        silent: share of the pairs with a true alignment that had no observed variation, and so no interval.

    """

    low: np.ndarray
    high: np.ndarray
    positive: np.ndarray
    truth: np.ndarray
    tokens: np.ndarray
    node: np.ndarray
    silent: float

    @property
    def wide(self) -> np.ndarray:
        """Bool [N]: supports of three or more tokens."""
        return np.asarray(self.tokens >= 3)

    @property
    def covered(self) -> np.ndarray:
        """Bool [N]: the truth lies inside."""
        return np.asarray((self.low - ROUNDING <= self.truth) & (self.truth <= self.high + ROUNDING))

    @property
    def nodes(self) -> int:
        """How many nodes stand behind the coverage of supports of three or more tokens."""
        return len(np.unique(self.node[self.wide]))

    @property
    def share(self) -> float:
        """Share covered, of supports of three or more tokens."""
        return float(self.covered[self.wide].mean())

    @property
    def width(self) -> float:
        """Median width, of supports of three or more tokens."""
        return float(np.median((self.high - self.low)[self.wide]))

    @property
    def brier(self) -> tuple[float, float]:
        """Brier score of the probability of +1 at supports of two tokens, and that of always saying its base rate."""
        said, came = self.positive[~self.wide], (self.truth > 0)[~self.wide]
        return float(((said - came) ** 2).mean()), float(came.mean() * (1 - came.mean()))

    def reliability(self) -> list[tuple[float, float, int, float, float]]:
        """Return lower and upper end of each bin of P(+1), how many fell there, their mean, and how often +1 came."""
        said, came = self.positive[~self.wide], (self.truth > 0)[~self.wide]
        rows = []
        for low, high in pairwise(BINS):
            inside = (said >= low) & ((said < high) | (high == BINS[-1]))
            if inside.any():
                rows.append((low, high, int(inside.sum()), float(said[inside].mean()), float(came[inside].mean())))
        return rows


def coverage(
    policies: Sequence[Known], multiple: int, seed: int = 0, settings: DiagnosisSettings | None = None
) -> Coverage:
    """Return how the default did on policies, at a multiple of their base budget."""
    parts = [_of(known, multiple, seed, settings or DiagnosisSettings()) for known in policies]
    offsets = np.cumsum([0, *(len(known.prefixes) for known in policies)])
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0] if name != "node"}
    node = np.concatenate([part["node"] + offset for part, offset in zip(parts, offsets[:-1], strict=True)])
    spoken = joined.pop("spoken")
    kept = {name: values[spoken] for name, values in joined.items()}
    return Coverage(**kept, node=node[spoken], silent=float(1 - spoken.mean()))


def _of(known: Known, multiple: int, seed: int, settings: DiagnosisSettings) -> dict[str, np.ndarray]:
    evidence = gathered(known, "width", multiple * base_budget(known), seed)
    reading = Reading.of(evidence, settings)
    truth = alignments(evidence.nodes, np.nan_to_num(known.success), reading.kept, settings.loss, settings.beta)
    low, high = quantiles(reading.draws, settings.tails)
    exists = ~np.isnan(truth) & ~np.isnan(known.alignment)
    positive = mean(np.where(np.isnan(reading.draws), np.nan, reading.draws > 0))
    return {
        "low": low[exists],
        "high": high[exists],
        "positive": positive[exists],
        "truth": truth[exists],
        "tokens": reading.n_support[exists],
        "node": np.nonzero(exists)[0],
        "spoken": ~np.isnan(positive)[exists],
    }


def table(found: Iterable[tuple[int, Coverage]]) -> list[str]:
    """Return what was found by budget as Markdown."""
    lines = [
        "| budget | nodes of 3+ tokens | covered | median width | pairs of 2 tokens | Brier | of base rate | silent |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for multiple, one in found:
        score, base = one.brier
        lines.append(
            f"| x{multiple} | {one.nodes} | {one.share:.3f} | {one.width:.2f} | {(~one.wide).sum()} | {score:.3f} "
            f"| {base:.3f} | {one.silent:.2f} |"
        )
    return lines


def reliability_table(one: Coverage) -> list[str]:
    """Return said and come probabilities of +1 at supports of two tokens as Markdown."""
    rows = [f"| {a:.2f} to {b:.2f} | {n} | {said:.3f} | {came:.3f} |" for a, b, n, said, came in one.reliability()]
    return ["| P(+1) said | pairs | mean said | +1 came |", "|---|---|---|---|", *rows]
