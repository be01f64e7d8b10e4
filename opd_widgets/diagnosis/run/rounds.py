"""The rounds of a diagnosis: decide, draw, look, until the budget is spent.

A decision is made only between rounds, from all that was drawn before, and kept before anything of it is drawn; every
rollout has random numbers of its own. So a run that was stopped or killed first draws what was decided, then decides as
an uninterrupted one does. What lies in the ledger counts, whatever was asked for then.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.drawn import UNVERIFIED
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from opd_widgets.diagnosis.run.along import track
from opd_widgets.diagnosis.run.cost import Cost
from opd_widgets.diagnosis.run.identity import same
from opd_widgets.diagnosis.run.initial_nodes import nodes_on
from opd_widgets.diagnosis.run.ledger_records import Batch, NodesRead
from opd_widgets.diagnosis.run.requests import HELD_OUT, Request
from opd_widgets.diagnosis.spending.strategies import Strategy, named
from opd_widgets.diagnosis.tree import passing
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.nodes import Nodes
    from opd_widgets.diagnosis.policies.policy import Policy
    from opd_widgets.diagnosis.run.ledger import Ledger
    from opd_widgets.diagnosis.run.requests import Drawer
    from opd_widgets.diagnosis.tree import Prefix

PROBE = 0  # the first round: some rollouts of each question from the prompt on, from which the cost is estimated
READ_A_NODE = 8  # prefixes read for each node that is kept, at most: most have but one token worth a choice
CHOICE = 2  # important tokens of a node
PROBED = 64  # rollouts of the probe, about
INITIAL_SHARE, FEWEST_INITIAL, MOST_INITIAL = 0.25, 8, 200  # of the budget; the paper takes 200
FEWEST = 16  # rollouts of a round, about: with fewer, deciding would take longer than drawing
ENOUGH = 8  # verdicts that fail, and nothing else, after which a verifier is given up


@dataclass(frozen=True)
class Plan:
    """How much is drawn.

    Args:
        budget: generated tokens of all questions together.
        initial: rollouts of each question from the prompt on; None for as many as take a quarter of the budget, 8
            to 200.
        held_out: further such rollouts of each question, kept apart for the Dr. GRPO row; not in the budget.
        spending: "width", "even" or "paper".
        rounds: into how many rounds the budget is cut, at most.
        batch_rows: rollouts drawn and stored together.
        important: least probability of a candidate.
        max_nodes: nodes of each question, at most.

    """

    budget: int
    initial: int | None
    held_out: int = 0
    spending: str | Strategy = "width"
    rounds: int = 24
    batch_rows: int = 512
    important: float = 0.02
    max_nodes: int = 1000


@dataclass(eq=False)
class Rounds:
    """A diagnosis under way.

    Args:
        drawer: draws for all questions.
        teachers: by question, the teachers' policies by name.
        plan: how much is drawn.
        ledger: where everything is kept.
        look: called with this object after every batch, round and question read.
        fixed: by question, the nodes that count, all of them and no other; where it says none, those that the initial
            rollouts pass.
        keys: by question, what its nodes depend on beside its rollouts, in values JSON can hold; empty where nothing is
            ever continued.

    """

    drawer: Drawer
    teachers: Sequence[Mapping[str, Policy]]
    plan: Plan
    ledger: Ledger
    look: Callable[[Rounds], None] = lambda _: None
    fixed: Mapping[int, Sequence[Prefix]] = field(default_factory=dict)
    keys: Sequence[Mapping[str, Any]] = ()
    rollouts: list[list[Drawn]] = field(default_factory=list)
    held_out: list[list[Drawn]] = field(default_factory=list)
    nodes: list[Nodes] = field(default_factory=list)
    round: int = PROBE
    _next: Counter[bytes] = field(default_factory=Counter)
    _evidence: dict[int, Evidence] = field(default_factory=dict)
    _carriers: dict[int, Mapping[Prefix, NDArray[np.float32]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Begin with what the ledger holds."""
        self.collect()

    def collect(self) -> None:
        """Take what the ledger holds, in the order in which it was decided."""
        self.rollouts = [[] for _ in self.drawer.questions]
        self.held_out = [[] for _ in self.drawer.questions]
        self._next.clear()
        self._evidence.clear()
        for batch in self.ledger.batches:
            self._take(batch)

    @property
    def spent(self) -> int:
        """Tokens generated so far, held-out rollouts left aside."""
        return sum(drawn.generated for its in self.rollouts for drawn in its)

    @property
    def left_out(self) -> int:
        """Nodes with a choice for which there was no place."""
        return sum(read.left_out for read in self.ledger.nodes.values())

    @cached_property
    def strategy(self) -> Strategy:
        """Where the next rollouts go."""
        return named(self.plan.spending)

    def evidence(self, question: int) -> Evidence:
        """Return what is known of a question now."""
        rollouts = tuple(self.rollouts[question])
        held = self._evidence.get(question)
        if held is None or len(held.rollouts) != len(rollouts):
            held = Evidence(self.drawer.questions[question].id, self.nodes[question], rollouts)
            self._evidence[question] = held
        return held

    def run(self) -> None:
        """Draw until the budget is spent, or nothing is left to buy."""
        self.prepare()
        self.spend()

    def prepare(self) -> None:
        """Draw rollouts from the prompt on, read the nodes, and draw the candidates that end a response."""
        self.begin()
        self._initial()
        self._held_out()
        self._read_nodes()
        wanted = [one for question in range(len(self.nodes)) for one in self._endings(question)]
        self._draw(wanted, {"kind": "endings"})
        self.look(self)

    def spend(self) -> None:
        """Draw targeted rollouts, round by round."""
        live = self._live()
        while live and self.spent < self.plan.budget:
            tokens = min(self._per_round, self.plan.budget - self.spent) / len(live)
            wanted = {question: [*self._orders(question, tokens)] for question in live}
            live = [question for question in live if wanted[question]]
            said = {"kind": "targeted", **self._decides}
            self._draw([one for question in live for one in wanted[question]], said)
            self.look(self)

    def begin(self) -> None:
        """Draw what was decided and not drawn; and the probe, where there is none."""
        outstanding = [*self.ledger.outstanding()]
        for number, batch, requests in outstanding:
            self._batch(number, batch, requests)
        if outstanding:
            self.collect()
        if not self.probe:
            questions = range(len(self.rollouts))
            sure = self.plan.budget // (len(questions) * self.drawer.max_new_tokens)  # fits the budget, whatever comes
            each = max(1, min(self.plan.initial or FEWEST_INITIAL, PROBED // len(questions), sure))
            self._draw([_initial(q, index) for index in range(each) for q in questions], {"kind": "probe"})

    @cached_property
    def _per_round(self) -> float:
        return max(self.plan.budget / self.plan.rounds, FEWEST * self._mean_length)

    @property
    def _mean_length(self) -> float:
        """Tokens of a rollout from the prompt on."""
        lengths = [drawn.generated for its in self.rollouts for drawn in its if not drawn.start]
        return max(1.0, float(np.mean(lengths or [1])))

    @property
    def initial(self) -> int:
        """Rollouts of each question from the prompt on; known once there is a probe."""
        before = [int(said["initial"]) for said in self._said("initial")]
        if self.plan.initial is not None or before:
            return max(self.plan.initial or 0, *before, 0)
        lengths = [drawn.generated for drawn in self.probe]
        bought = INITIAL_SHARE * self.plan.budget / max(1.0, float(np.mean(lengths or [1])))
        return int(np.clip(bought / len(self.rollouts), FEWEST_INITIAL, MOST_INITIAL))

    @property
    def probe(self) -> list[Drawn]:
        """The first round, from which the cost of the others is estimated."""
        return [drawn for batch in self.ledger.of_round(PROBE) for drawn in batch.drawn]

    @property
    def probed(self) -> bool:
        """Whether the cost can be estimated."""
        decided = self.ledger.decisions.get(PROBE)
        batches = len(self.ledger.of_round(PROBE))
        return batches > 0 and (decided is None or batches == decided.batches)

    def cost(self) -> Cost:
        """Return what the whole will cost."""
        seconds = sum(batch.seconds for batch in self.ledger.of_round(PROBE))
        return Cost.of(self.probe, seconds, questions=len(self.rollouts), initial=self.initial, budget=self.plan.budget)

    def _initial(self) -> None:
        """Draw rollouts from the prompt on, some of each question first, as many as the budget may hold.

        A run that is continued with the same arguments draws no more of them, though the estimate left some out.
        """
        target, before = self.initial, self._said("initial")
        if all(said["initial"] < target or said["budget"] < self.plan.budget for said in before):
            drawn = [self._next[_key("", question, ())] for question in range(len(self.rollouts))]
            wanted = [_initial(q, index) for index in range(target) for q, first in enumerate(drawn) if index >= first]
            fit = max(0, int(np.ceil((self.plan.budget - self.spent) / self._mean_length)))
            said = {"kind": "initial", "initial": target, "budget": self.plan.budget}
            self._draw(wanted[:fit], said, kept=True)  # also where the probe is enough: the number stays
        self._check_verdicts(1)

    def _held_out(self) -> None:
        wanted = [
            Request(question, (), index, np.zeros(0, np.float32), HELD_OUT)
            for question in range(len(self.rollouts))
            for index in range(self._next[_key(HELD_OUT, question, ())], self.plan.held_out)
        ]
        self._draw(wanted, {"kind": HELD_OUT})

    def _draw(self, wanted: Sequence[Request], said: Mapping[str, Any], *, kept: bool = False) -> None:
        """Decide on a round and draw it in batches; where nothing is wanted it is no round, unless it is to be kept."""
        if not wanted and not kept:
            return
        number = self.ledger.decide(wanted, self.plan.batch_rows, said)
        decision = self.ledger.decisions[number]
        for batch in range(decision.batches):
            self._take(self._batch(number, batch, decision.batch(batch)))
            self.look(self)

    def _batch(self, number: int, batch: int, requests: Sequence[Request]) -> Batch:
        self.round = number
        begun, reasons = time.perf_counter(), self.drawer.judge.reasons.copy()
        drawn = self.drawer.draw(requests, number)
        found = Batch.answering(requests, drawn, time.perf_counter() - begun, self.drawer.judge.reasons - reasons)
        if self.ledger.empty:
            self._check_verdicts(ENOUGH, found)  # before it is kept: a mended verifier may then use the same folder
        self.ledger.add(number, batch, found)
        return found

    def _take(self, batch: Batch) -> None:
        into = self.held_out if batch.stream else self.rollouts
        for question, index, drawn in zip(batch.question.tolist(), batch.index.tolist(), batch.drawn, strict=True):
            into[question].append(drawn)
            place = _key(batch.stream, question, drawn.ids[: drawn.start])
            self._next[place] = max(self._next[place], index + 1)

    def _said(self, kind: str) -> list[Mapping[str, Any]]:
        return [one.said for _, one in sorted(self.ledger.decisions.items()) if one.said.get("kind") == kind]

    def _live(self) -> list[int]:
        """Return the questions with something to buy, as far as is known: those of the last round, if it was alike."""
        last = [one for _, one in sorted(self.ledger.decisions.items()) if one.said.get("kind") == "targeted"]
        if not last or any(last[-1].said.get(name) != value for name, value in self._decides.items()):
            return [question for question, nodes in enumerate(self.nodes) if len(nodes)]
        return sorted({one.question for one in last[-1].requests})

    @property
    def _decides(self) -> dict[str, str]:
        """What a targeted round depends on beside the rollouts."""
        keys = json.dumps([read.key for _, read in sorted(self.ledger.nodes.items())])
        return {"spending": self.strategy.name, "nodes": hashlib.blake2b(keys.encode(), digest_size=8).hexdigest()}

    def _read_nodes(self) -> None:
        """Ask student and teachers about the nodes on the initial rollouts.

        What was read before stands, as long as initial rollouts, teachers and what makes a candidate are the same.
        """
        for question in range(len(self.drawer.questions)):
            key = {**(self.keys[question] if self.keys else {}), **self._nodes_of(question)}
            stored = self.ledger.nodes.get(question)
            if stored is None or not same(stored.key, key):
                self.drawer.checkpoint()
                stored = self._found(question, key)
                self.ledger.add_nodes(question, stored)
            self.nodes.append(stored.nodes)
            self.look(self)

    def _nodes_of(self, question: int) -> dict[str, Any]:
        """Return what says which the nodes are, as values JSON can hold."""
        if question in self.fixed:
            spelled = repr([tuple(map(int, prefix)) for prefix in self.fixed[question]])
            return {"fixed": hashlib.blake2b(spelled.encode(), digest_size=8).hexdigest()}
        return {"initial": len(self._on_policy(question))}

    def _found(self, question: int, key: Mapping[str, Any]) -> NodesRead:
        """Return the nodes that are fixed, or those on the initial rollouts at which there is a choice."""
        if question in self.fixed:
            return NodesRead(self._read(question, self.fixed[question]), key)
        most = self.plan.max_nodes
        places = nodes_on(self._on_policy(question), READ_A_NODE * most, self.drawer.seed)
        found = self._read(question, places, CHOICE)
        choice = np.flatnonzero(found.used.sum(axis=1) >= CHOICE)
        return NodesRead(found.take(np.sort(choice[:most])), key, max(0, len(choice) - most))

    def _read(self, question: int, prefixes: Sequence[Prefix], fewest: int = 0) -> Nodes:
        student, teachers = self.drawer.policies[question], self.teachers[question]
        return read_nodes(student, teachers, prefixes, self.plan.important, fewest=fewest)

    def _on_policy(self, question: int) -> list[Drawn]:
        return [drawn for drawn in self.rollouts[question] if not drawn.start]

    def _endings(self, question: int) -> Iterator[Request]:
        """Yield candidates with which the response is over, where none was drawn: their verdict costs no token."""
        ends, nodes = self.drawer.policies[question].end_ids, self.nodes[question]
        for node, column in np.argwhere(nodes.tokens >= 0):
            prefix = (*nodes.prefixes[node], int(nodes.tokens[node, column]))
            over = prefix[-1] in ends or len(prefix) >= self.drawer.max_new_tokens
            if over and not self._next[_key("", question, prefix)]:
                yield self._behind(question, int(node), int(column), 0)

    def _orders(self, question: int, tokens: float) -> Iterator[Request]:
        evidence = self.evidence(question)
        for order in self.strategy.plan(evidence, tokens, len(evidence.rollouts)):
            before = self._next[_key("", question, evidence.after(order.node, order.column))]
            for index in range(order.count):
                yield self._behind(question, order.node, order.column, before + index)

    def _behind(self, question: int, node: int, column: int, index: int) -> Request:
        """Return a request for a rollout behind a candidate."""
        nodes = self.nodes[question]
        prefix = nodes.prefixes[node]
        along = self._carrier(question)[prefix]
        own = np.float32(nodes.student_logp[node, column])
        logprobs = np.append(along[: len(prefix)], own).astype(np.float32)
        return Request(question, (*prefix, int(nodes.tokens[node, column])), index, logprobs)

    def _carrier(self, question: int) -> Mapping[Prefix, NDArray[np.float32]]:
        """Return log-probabilities along each node's prefix: an initial rollout's, or where none passes, as read."""
        if question not in self._carriers:
            initial = self._on_policy(question)
            found = passing(initial, self.nodes[question].prefixes)
            carriers = {prefix: initial[index].logprobs for prefix, index in found.items()}
            missing = [prefix for prefix in self.nodes[question].prefixes if prefix not in carriers]
            ids = [np.array(prefix, np.int32) for prefix in missing]
            read = track(self.drawer.policies[question], ids, self.drawer.checkpoint)
            carriers |= {prefix: logp.astype(np.float32) for prefix, logp in zip(missing, read, strict=True)}
            self._carriers[question] = carriers
        return self._carriers[question]

    def _check_verdicts(self, least: int, first: Batch | None = None) -> None:
        """Stop where no rollout could be verified: what follows would be spent for nothing.

        Raises:
            InvalidInputError: the verifier gave no verdict on any rollout, of at least so many.

        """
        everything = [drawn for its in self.rollouts for drawn in its] if first is None else first.drawn
        asked = [drawn for drawn in everything if not drawn.truncated]
        if len(asked) < least or any(drawn.outcome != UNVERIFIED for drawn in asked):
            return
        reasons = self.ledger.reasons if first is None else first.reasons
        reason = next(iter(reasons), "for a reason that was not kept")
        msg = (
            f"the verifier gave no verdict on any of the first {len(asked)} rollouts; the first time {reason}. "
            "Expected a function of (question, response text) that says True or False"
        )
        raise InvalidInputError(msg)


def _initial(question: int, index: int) -> Request:
    """Return a request for a rollout from the prompt on."""
    return Request(question, (), index, np.zeros(0, np.float32))


def _key(stream: str, question: int, prefix: Prefix | NDArray[np.int32]) -> bytes:
    """Return what stands for a prefix of a question: short, for there are thousands of long ones."""
    return hashlib.blake2b(
        np.asarray(prefix, np.int32).tobytes(), digest_size=16, key=f"{question} {stream}".encode()
    ).digest()
