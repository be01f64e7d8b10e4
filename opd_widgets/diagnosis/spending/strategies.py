"""Where targeted rollouts go: the strategies by name, with their parameters; public as `opd.spending`.

opd.diagnose(..., spending="width")
opd.diagnose(..., spending=opd.spending.paper(n_min=40))
opd.diagnose(..., spending=opd.spending.Strategy("mine", plan))    # plan(evidence, tokens, seed) -> orders
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from opd_widgets.diagnosis.estimate.fit import fit
from opd_widgets.diagnosis.spending.even import even as _even
from opd_widgets.diagnosis.spending.order import Order
from opd_widgets.diagnosis.spending.paper import FIRST_WINDOW, N_MIN
from opd_widgets.diagnosis.spending.paper import paper as _paper
from opd_widgets.diagnosis.spending.width import width as _width
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.node_gradient import Loss

if TYPE_CHECKING:
    from opd_widgets.diagnosis.evidence import Evidence

__all__ = ["Order", "Strategy", "even", "named", "paper", "width"]

Plan = Callable[["Evidence", float, int], list[Order]]
DRAWS = 64  # enough to rank candidates by; intervals are reported from more


@dataclass(frozen=True)
class Strategy:
    """A way to spend.

    Args:
        name: what a result says of it; another name, or other parameters in it, is another way.
        plan: (a question's evidence, generated tokens to spend on it now, a seed) -> orders for about so many tokens.
            The same arguments give the same orders, or a resumed run is not the uninterrupted one.

    """

    name: str
    plan: Plan


def width(loss: Loss = "reverse_kl", beta: float = 0.5) -> Strategy:
    """Spend where the intervals of the alignment shrink most; see `spending/width.py`.

    Args:
        loss: whose alignment it is. By its name alone, `spending="width"` takes the loss that the result is read with.
        beta: of the JSD.

    """
    name = {"reverse_kl": "width", "jsd": f"width(loss=jsd, beta={beta:g})"}.get(loss, f"width(loss={loss})")

    def plan(evidence: Evidence, tokens: float, seed: int) -> list[Order]:
        return _width(evidence, tokens, _drawn(evidence, seed), loss, beta)

    return Strategy(name, plan)


def even() -> Strategy:
    """Give every candidate the same few visits, in rounds; see `spending/even.py`."""
    return Strategy("even", lambda evidence, tokens, _: _even(evidence, tokens))


def paper(n_min: int = N_MIN, first_window: int = FIRST_WINDOW) -> Strategy:
    """Fill one candidate after another, the largest gradient first, by windows of depth; see `spending/paper.py`.

    Args:
        n_min: visits that fill a candidate.
        first_window: tokens of the first window; each further one is twice as deep.

    Raises:
        InvalidInputError: one of them is no whole number of at least 1.

    """
    for name, value in (("n_min", n_min), ("first_window", first_window)):
        _check_count(name, value)
    usual = (n_min, first_window) == (N_MIN, FIRST_WINDOW)
    name = "paper" if usual else f"paper(n_min={n_min}, first_window={first_window})"
    return Strategy(name, lambda evidence, tokens, _: _paper(evidence, tokens, n_min, first_window))


STRATEGIES: Mapping[str, Callable[[], Strategy]] = {"width": width, "even": even, "paper": paper}


def named(spending: Any) -> Strategy:
    """Return a strategy by its name, or as it is.

    Raises:
        InvalidInputError: neither.

    """
    if isinstance(spending, Strategy):
        return spending
    if isinstance(spending, str) and spending in STRATEGIES:
        return STRATEGIES[spending]()
    msg = f"found spending={spending!r}, expected one of {', '.join(STRATEGIES)}, or an opd.spending.Strategy"
    raise InvalidInputError(msg)


def _drawn(evidence: Evidence, seed: int) -> Any:
    return fit(evidence, draws=DRAWS, seed=seed)


def _check_count(name: str, value: Any) -> None:
    if not isinstance(value, int) or value < 1:
        msg = f"found {name}={value!r}, expected a whole number of at least 1"
        raise InvalidInputError(msg)
