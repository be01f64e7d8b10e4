"""Policies small enough to enumerate, and what is exactly true of them: by backward recursion, in float64."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import Policy

Node = tuple[int, ...]
Correct = Callable[[Node], bool]
END = 0  # of tabular policies
LETTERS = "abcdefgh"
FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Truth:
    """What is true at a node: student and success [V], value; and under a teacher, its gradients' alignment."""

    logp: np.ndarray
    success: np.ndarray

    @property
    def p(self):
        return np.exp(self.logp)

    @property
    def value(self):
        return float(self.p @ self.success)

    @property
    def ideal(self):
        return self.p * (self.success - self.value)

    def distill(self, teacher_logp, loss="reverse_kl"):
        """The exact distillation gradient in the node's logits, as an ascent on the negative loss."""
        if loss == "forward_kl":
            return np.exp(teacher_logp) - self.p
        force = teacher_logp - self.logp
        return self.p * (force - self.p @ force)

    def alignment(self, teacher_logp, loss="reverse_kl"):
        """Cosine of both gradients; NaN where success or the teacher's pull is the same for all tokens."""
        force = teacher_logp - self.logp
        for signal in (self.success, force):
            if np.ptp(signal) <= FLAT * max(1.0, float(np.abs(signal).max())):
                return float("nan")
        ideal, distill = self.ideal, self.distill(teacher_logp, loss)
        return float(ideal @ distill / np.linalg.norm(ideal) / np.linalg.norm(distill))


def enumerate_exact(policy: Policy, length: int, correct: Correct) -> dict[Node, Truth]:
    """Return the truth at every node of at most `length` tokens: nothing is sampled.

    Args:
        policy: asked about every prefix, a level at a time.
        length: most tokens of a response; one cut there is truncated, which is not correct if the policy has end ids.
        correct: of a whole response, its end token included.

    """
    levels = [[()]]
    for _ in range(length - 1):
        grown = ((*u, k) for u in levels[-1] for k in range(policy.vocab_size) if k not in policy.end_ids)
        levels.append(list(grown))
    truth: dict[Node, Truth] = {}
    for depth in reversed(range(length)):
        logp = policy.next_logprobs(levels[depth])
        for row, u in enumerate(levels[depth]):
            success = np.zeros(policy.vocab_size)
            for k in range(policy.vocab_size):
                child = (*u, k)
                if k in policy.end_ids or (depth + 1 == length and not policy.end_ids):
                    success[k] = correct(child)
                elif depth + 1 < length:
                    success[k] = truth[child].value
            truth[u] = Truth(logp[row], success)
    return truth


def responses(vocab: int, length: int, ends: frozenset[int]) -> Iterator[Node]:
    """Yield every whole response: ended, or of full length."""
    for size in range(1, length + 1):
        for ids in itertools.product(range(vocab), repeat=size):
            inner = not ends.intersection(ids[:-1])
            if inner and (ids[-1] in ends or size == length):
                yield ids


@dataclass(frozen=True, eq=False)
class Toy:
    """A random tabular policy and which of its responses are correct.

    Args:
        seed: the same seed makes the same toy.
        vocab: number of ids, 3 to 6; id 0 ends a response where `ended`.
        depth: most tokens of a response, 3 to 6.
        ended: whether there is an end id; without, all responses have full length.
        spread: standard deviation of the logits.

    """

    seed: int = 0
    vocab: int = 4
    depth: int = 4
    ended: bool = True
    spread: float = 1.0

    @property
    def ends(self):
        return frozenset([END]) if self.ended else frozenset()

    @property
    def policy(self) -> FunctionPolicy:
        return self.tabular(0)

    @property
    def teacher(self) -> FunctionPolicy:
        return self.tabular(1)

    def tabular(self, which: int) -> FunctionPolicy:
        def next_logprobs(prefixes):
            return np.stack([self.row(which, tuple(int(k) for k in ids)) for ids in prefixes])

        return FunctionPolicy(next_logprobs, end_ids=self.ends, vocab_size=self.vocab, decode=self.text)

    @cache  # noqa: B019 - toys live as long as the tests
    def row(self, which: int, node: Node) -> np.ndarray:
        place = sum((k + 1) * (self.vocab + 1) ** i for i, k in enumerate(node))
        logits = np.random.default_rng([self.seed, which, place]).normal(0.0, self.spread, self.vocab)
        logp: np.ndarray = logits - np.log(np.exp(logits).sum())
        return logp

    def correct(self, response: Node) -> bool:
        """Whether a response that ended (or has full length) is one of the correct ones, about two in five."""
        place = sum((k + 1) * (self.vocab + 1) ** i for i, k in enumerate(response))
        return bool(np.random.default_rng([self.seed, 99, place]).random() < 0.4)

    def text(self, response: Node) -> str:
        return "".join(LETTERS[k] for k in response if k not in self.ends)

    def verifier(self, _question, text: str) -> bool:
        """As a function of (question, text); the text is without the end."""
        ids = tuple(LETTERS.index(c) for c in text)
        return self.correct((*ids, END) if self.ended else ids)

    def truth(self) -> dict[Node, Truth]:
        return enumerate_exact(self.policy, self.depth, self.correct)


@lru_cache
def qwen_policy(seed: int = 0) -> ModelPolicy:
    """A random Qwen3 of vocabulary 8, whose id 1 ends a response, after a prompt of three tokens."""
    from opd_widgets.models.hf import HFModel
    from tests import tiny

    pair = (tiny.qwen(seed, 8, limit=64), tiny.tokenizer("01"))
    return ModelPolicy(HFModel(pair, device="cpu", name=f"enumerable-{seed}"), [3, 6, 4], batch_rows=2048)


def qwen_correct(response: Node) -> bool:
    """An arbitrary rule with both outcomes at every depth: the ids before the end sum to a multiple of three."""
    return sum(response[:-1]) % 3 == 0
