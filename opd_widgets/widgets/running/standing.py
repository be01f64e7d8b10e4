"""Where a running diagnosis stands, as the front end takes it: counts, what was bought, what is open.

The front end's half is `js/src/model/progress_contract.ts`. JSON turns NaN into a string: such a number is None here,
and the line of widths is a buffer.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import UNVERIFIED
from opd_widgets.diagnosis.run.bought import Bought
from opd_widgets.widgets.wire.buffers import floats
from opd_widgets.widgets.wire.cells import one_line

if TYPE_CHECKING:
    from opd_widgets.diagnosis.run.bought import OpenNode
    from opd_widgets.diagnosis.run.rounds import Rounds
    from opd_widgets.diagnosis.run.setup import Setup

VERSION = 1
PAUSE = 0.5  # seconds between two looks at what was bought
SLOWEST = 20.0  # and as many times what a look takes: about 5% of the run
POINTS = 240  # of the line of widths
TAIL = 24  # tokens of a node's prefix that are shown
NO_TOKENS = {"rollouts": 0, "tokens": 0}


@dataclass(eq=False)
class _Due:
    """Keeps something to a small share of the time."""

    pause: float
    again: float = 0.0

    def now(self) -> bool:
        return time.perf_counter() >= self.again

    def took(self, seconds: float) -> None:
        self.again = time.perf_counter() + max(self.pause, SLOWEST * seconds)


@dataclass(eq=False)
class Standing:
    """Reads a run's state now and then.

    Args:
        begin: whose run it is.

    """

    begin: Setup
    _count: _Due = field(default_factory=lambda: _Due(0.05))
    _look: _Due = field(default_factory=lambda: _Due(PAUSE))
    _cost: dict[str, Any] | None = None
    _line: list[tuple[float, float, float]] = field(default_factory=list)
    _bought: dict[str, Any] = field(default_factory=dict)

    def nothing(self) -> dict[str, Any]:
        """Return what is shown before anything was drawn."""
        begin, settings = self.begin, self.begin.settings
        return {
            "version": VERSION,
            "live": True,
            "message": "",
            "phase": "probe",
            "budget": int(begin.plan.budget),
            "spent": 0,
            "stored": begin.ledger.folder is not None,
            "level": settings.level,
            "estimator": f"{settings.estimator}, {settings.loss}",
            "cost": None,
            "initial": {**NO_TOKENS, "wanted": None},
            "targeted": NO_TOKENS,
            "held_out": {**NO_TOKENS, "wanted": begin.plan.held_out * len(begin.policies)},
            "questions": {"waiting": len(begin.policies), "working": 0, "done": 0, "read": 0},
            "warnings": [],
            "teachers": [],
            "widest": [],
            "line": floats(np.zeros((0, 3), np.float32)),
        }

    def read(self, state: Rounds, *, last: bool = False) -> dict[str, Any] | None:
        """Return what has changed; None where it is too soon after the last look.

        Args:
            state: the run's, in the thread that draws.
            last: whether the run is at an end, so that everything is to be read.

        """
        if not last and not self._count.now():
            return None
        begun = time.perf_counter()
        found = _counted(state, over=last)
        if self._cost is None and state.probed:
            self._cost = state.cost().to_dict()
        self._count.took(time.perf_counter() - begun)
        if state.nodes and (last or self._look.now()):
            begun = time.perf_counter()
            self._bought = self._read_bought(state)
            self._look.took(time.perf_counter() - begun)
        return {**found, "cost": self._cost, **self._bought}

    def _read_bought(self, state: Rounds) -> dict[str, Any]:
        bought = Bought.of(state, self.begin.settings)
        all_read = len(state.nodes) == len(state.rollouts)  # before, every point is of other nodes
        if all_read and np.isfinite(bought.width) and (not self._line or self._line[-1][0] < state.spent):
            self._line.append((float(state.spent), bought.width, bought.mean_width))
            if len(self._line) > POINTS:
                self._line = [*self._line[:-1:2], self._line[-1]]
        return {
            "teachers": [_plain(asdict(one)) for one in bought.teachers],
            "widest": [_open(state, node) for node in bought.widest],
            "line": floats(np.array(self._line, np.float32).reshape(-1, 3)),
        }


def _counted(state: Rounds, *, over: bool) -> dict[str, Any]:
    initial, targeted = dict(NO_TOKENS), dict(NO_TOKENS)
    cut = unverified = 0
    for its in state.rollouts:
        for drawn in its:
            kind = targeted if drawn.start else initial
            kind["rollouts"] += 1
            kind["tokens"] += drawn.generated
            cut += drawn.truncated
            unverified += drawn.outcome == UNVERIFIED
    held = [drawn for its in state.held_out for drawn in its]
    whole = initial["rollouts"] + targeted["rollouts"]
    wanted = state.initial * len(state.rollouts) if state.probed else None
    return {
        "phase": "end" if over else _phase(state),
        "spent": initial["tokens"] + targeted["tokens"],
        "initial": {**initial, "wanted": wanted},
        "targeted": targeted,
        "held_out": {
            "rollouts": len(held),
            "tokens": sum(drawn.generated for drawn in held),
            "wanted": state.plan.held_out * len(state.rollouts),
        },
        "questions": _questions(state, over=over),
        "warnings": _warnings(state, cut, unverified, whole),
    }


def _phase(state: Rounds) -> str:
    """Return what is done now: probe, initial, held out, nodes or targeted."""
    ledger = state.ledger
    number = max(ledger.decisions, default=None)
    if number is None:
        return "probe"
    decided = ledger.decisions[number]
    kind = str(decided.said.get("kind", ""))
    if len(ledger.of_round(number)) < decided.batches:
        return "targeted" if kind == "endings" else kind
    if len(state.nodes) < len(state.rollouts):
        return "initial" if kind == "probe" else "nodes"
    return "targeted"


def _questions(state: Rounds, *, over: bool) -> dict[str, int]:
    """Count the questions: not begun, in work, and those with nothing left to buy."""
    begun = [bool(its) for its in state.rollouts]
    targeted = [one for _, one in sorted(state.ledger.decisions.items()) if one.said.get("kind") == "targeted"]
    live = {one.question for one in targeted[-1].requests} if targeted else set(range(len(begun)))
    done = 0
    for place, nodes in enumerate(state.nodes):
        done += over or not len(nodes) or (place not in live)
    return {
        "waiting": begun.count(False),
        "working": max(0, begun.count(True) - done),
        "done": done,
        "read": len(state.nodes),
    }


def _warnings(state: Rounds, cut: int, unverified: int, whole: int) -> list[str]:
    said = []
    if cut:
        limit = state.drawer.max_new_tokens
        said.append(f"{cut:,} of {whole:,} rollouts are cut at {limit} tokens and count as not correct")
    if unverified:
        reason = next((f": {one_line(reason)}" for reason, _ in state.ledger.reasons.most_common(1)), "")
        said.append(f"{unverified:,} of {whole:,} rollouts are unverified and left out{reason}")
    if state.left_out:
        said.append(f"{state.left_out:,} nodes are left out: max_nodes is {state.plan.max_nodes:,} a question")
    return said


def _open(state: Rounds, node: OpenNode) -> dict[str, Any]:
    asked = state.drawer.questions[node.question]
    prefix = state.nodes[node.question].prefixes[node.node]
    before = state.drawer.policies[node.question].decode(list(prefix[-TAIL:])) if prefix else ""
    return {
        "question": asked.id,
        "title": one_line(asked.title),
        "node": node.node,
        "depth": len(prefix),
        "before": one_line(before),
        "cut": len(prefix) > TAIL,
        "teacher": node.teacher,
        "middle": node.middle,
        "low": node.low,
        "high": node.high,
    }


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {key: None if isinstance(one, float) and not np.isfinite(one) else one for key, one in values.items()}
