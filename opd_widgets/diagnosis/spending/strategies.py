"""The strategies by name, each called alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from opd_widgets.diagnosis.estimate.fit import fit
from opd_widgets.diagnosis.spending.even import even
from opd_widgets.diagnosis.spending.paper import paper
from opd_widgets.diagnosis.spending.width import width

if TYPE_CHECKING:
    from opd_widgets.diagnosis.evidence import Evidence
    from opd_widgets.diagnosis.spending.order import Order

# (evidence, tokens to spend, seed of the strategy's own draws) -> orders
Strategy = Callable[["Evidence", float, int], list["Order"]]
DRAWS = 64  # enough to rank candidates by; intervals are reported from more


def _width(evidence: Evidence, tokens: float, seed: int) -> list[Order]:
    return width(evidence, tokens, fit(evidence, draws=DRAWS, seed=seed))


def _even(evidence: Evidence, tokens: float, seed: int) -> list[Order]:
    del seed
    return even(evidence, tokens)


def _paper(evidence: Evidence, tokens: float, seed: int) -> list[Order]:
    del seed
    return paper(evidence, tokens)


STRATEGIES: Mapping[str, Strategy] = {"width": _width, "even": _even, "paper": _paper}
