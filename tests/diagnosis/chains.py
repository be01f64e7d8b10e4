"""Questions whose student is a Markov chain: their success is known exactly at any length, and evidence is quick."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.nodes import Nodes
from opd_widgets.measures.node_gradient import alignment, distillation, ideal
from tests.diagnosis.exact import Node


@dataclass(frozen=True, eq=False)
class Chain:
    """A student on a few states: each has a next-token distribution, and each token leads to a state.

    Args:
        seed: the same seed makes the same chain.
        vocab: number of ids; all are candidates.
        length: tokens of every response; there is no end id.
        states: number of states.
        scale: what a teacher adds to the student's logits: `scale` times a random row, of one teacher each.
        pull: what it adds besides: `pull` times the success behind the token, of one teacher each.
        coin: outcomes are coins that nothing sways, so that P_succ is the same everywhere; else the last state says.

    """

    seed: int = 0
    vocab: int = 4
    length: int = 6
    states: int = 6
    scale: tuple[float, ...] = (1.0,)
    pull: tuple[float, ...] = (0.0,)
    coin: bool = False

    @cached_property
    def logp(self):
        """[states, V]."""
        logits = np.random.default_rng([self.seed, 0]).normal(0.0, 0.7, (self.states, self.vocab))
        return _normal(logits)

    @cached_property
    def leads_to(self):
        """[states, V]."""
        rng = np.random.default_rng([self.seed, 1])
        moved = rng.integers(0, self.states, (self.states, self.vocab))
        kept = (np.arange(self.states)[:, None] + 2 * np.arange(self.vocab)) % self.states  # of the same parity
        return np.where(rng.random(moved.shape) < 0.3, moved, kept)

    @cached_property
    def value(self):
        """Success with so many tokens left, [length + 1, states]."""
        left = [np.full(self.states, 0.5) if self.coin else (np.arange(self.states) % 2).astype(float)]
        for _ in range(self.length):
            left.append((np.exp(self.logp) * left[-1][self.leads_to]).sum(1))
        return np.array(left)

    def state(self, prefix: Node) -> int:
        state = 0
        for token in prefix:
            state = int(self.leads_to[state, token])
        return state

    def success(self, prefix: Node):
        """P_succ after each id, [V]."""
        return self.value[self.length - len(prefix) - 1, self.leads_to[self.state(prefix)]]

    def teacher_logp(self, prefix: Node):
        """[T, V]."""
        state = self.state(prefix)
        rows = np.random.default_rng([self.seed, 2]).normal(0.0, 1.0, (len(self.scale), self.states, self.vocab))
        good = self.success(prefix) - self.success(prefix).mean()
        logits = [self.logp[state] + a * row[state] + b * good for a, b, row in zip(self.scale, self.pull, rows)]  # noqa: B905 - rows are as many
        return _normal(np.array(logits))

    def alignment(self, prefix: Node):
        """[T], reverse KL, on the whole vocabulary."""
        student, teacher = self.logp[self.state(prefix)], self.teacher_logp(prefix)
        return alignment(ideal(np.exp(student), self.success(prefix)), distillation("reverse_kl", student, teacher))

    def draw(self, forced: Node, rng: np.random.Generator, number: int = 0) -> Drawn:
        ids, state = list(forced), 0
        logprobs = []
        for at in range(self.length):
            if at >= len(forced):
                cumulative = np.cumsum(np.exp(self.logp[state]))
                ids.append(min(int(np.searchsorted(cumulative, rng.random() * cumulative[-1])), self.vocab - 1))
            logprobs.append(self.logp[state, ids[at]])
            state = int(self.leads_to[state, ids[at]])
        correct = np.random.default_rng([self.seed, 3, *ids]).random() < 0.5 if self.coin else state % 2
        return Drawn(np.array(ids, np.int32), len(forced), np.array(logprobs, np.float32), int(correct), round=number)

    def nodes(self, prefixes) -> Nodes:
        student = np.array([self.logp[self.state(u)] for u in prefixes])
        teacher = np.array([self.teacher_logp(u) for u in prefixes])
        p, q = np.exp(student)[:, None], np.exp(teacher)
        gap = teacher - student[:, None]
        middle = np.log(0.5 * p + 0.5 * q)
        jsd = 0.5 * (q * (teacher - middle)).sum(-1) + 0.5 * (p * (student[:, None] - middle)).sum(-1)
        order = np.argsort(-student, axis=1, kind="stable")
        return Nodes(
            prefixes=tuple(prefixes),
            tokens=order.astype(np.int32),
            student_logp=np.take_along_axis(student, order, 1),
            teachers=tuple(f"t{i}" for i in range(len(self.scale))),
            teacher_logp=np.take_along_axis(teacher, order[:, None], 2),
            student_entropy=-(p[:, 0] * student).sum(-1),
            teacher_entropy=-(q * teacher).sum(-1),
            reverse_kl=-(p * gap).sum(-1),
            forward_kl=(q * gap).sum(-1),
            jsd=jsd,
        )

    def evidence(self, initial: int = 60, forced: int = 0, nodes: int = 8) -> Evidence:
        """Return so many initial rollouts, and so many forced ones through each candidate of so many nodes."""
        rng = np.random.default_rng([self.seed, 4])
        rollouts = [self.draw((), rng) for _ in range(initial)]
        depths = np.arange(nodes) % min(4, self.length - 1)
        prefixes = dict.fromkeys(tuple(rollouts[i % initial].ids[:d].tolist()) for i, d in enumerate(depths))
        for prefix in prefixes:
            for token in range(self.vocab):
                rollouts += [self.draw((*prefix, token), rng, 1) for _ in range(forced)]
        return Evidence(f"q{self.seed}", self.nodes(tuple(prefixes)), tuple(rollouts))


def _normal(logits):
    logits = logits - logits.max(axis=-1, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
