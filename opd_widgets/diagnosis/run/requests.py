"""Rollouts wanted, and how they are drawn: every one from random numbers of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT, UNVERIFIED, Drawn
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy, continuations
from opd_widgets.diagnosis.policies.served_policy import ServedPolicy
from opd_widgets.scoring.sample import batch_seed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.policies.policy import Policy
    from opd_widgets.diagnosis.tree import Prefix
    from opd_widgets.models.protocol import Generation
    from opd_widgets.scoring.judging import Judge

HELD_OUT = "held out"  # the stream of rollouts that take no part in P_succ
OUTCOMES = {"correct": CORRECT, "incorrect": INCORRECT, "unverified": UNVERIFIED}


@dataclass(frozen=True, eq=False)
class Request:
    """One rollout that is wanted.

    Args:
        question: its place among the questions.
        prefix: ids that are forced.
        index: how many rollouts were asked for behind this prefix before.
        logprobs: float32 [prefix], the student's of the forced ids, nats; NaN where unknown.
        stream: "" for what the diagnosis is made from; another name draws independently.

    """

    question: int
    prefix: Prefix
    index: int
    logprobs: NDArray[np.float32]
    stream: str = ""

    def seed(self, seed: int, question: str) -> int:
        """Return the rollout's own seed: it depends on the run's, the question, the node and the index alone."""
        ids = ",".join(map(str, self.prefix))
        return batch_seed(seed, f"{question}\0{ids}\0{self.index}\0{self.stream}")


@dataclass(frozen=True, eq=False)
class Drawer:
    """Draws what is wanted and has it verified.

    Args:
        questions: what is asked.
        policies: the student's on each of them.
        judge: asks the verifier.
        max_new_tokens: the longest response; one cut there is truncated.
        seed: of the run.
        checkpoint: called between batches; raises to stop.

    """

    questions: Sequence[Question]
    policies: Sequence[Policy]
    judge: Judge
    max_new_tokens: int
    seed: int
    checkpoint: Callable[[], None] = lambda: None

    def draw(self, requests: Sequence[Request], round_: int) -> list[Drawn]:
        """Return a rollout for each request, in order."""
        self.checkpoint()
        said = self._sampled(requests)
        return [self._drawn(request, said[place], round_) for place, request in enumerate(requests)]

    def _sampled(self, requests: Sequence[Request]) -> Mapping[int, Generation]:
        """Return continuations by the request's place: those of one model are drawn together, whatever is asked."""
        groups: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            policy = self.policies[request.question]
            groups.setdefault(id(getattr(policy, "model", policy)), []).append(place)
        found: dict[int, Generation] = {}
        for places in groups.values():
            wanted = [requests[place] for place in places]
            prefixes = [np.array(one.prefix, np.int32) for one in wanted]
            seeds = [one.seed(self.seed, self.questions[one.question].id) for one in wanted]
            room = [max(0, self.max_new_tokens - len(one.prefix)) for one in wanted]
            policies = [self.policies[one.question] for one in wanted]
            first = policies[0]
            if isinstance(first, ModelPolicy | ServedPolicy):
                prompts = [one.prompt for one in policies if isinstance(one, ModelPolicy | ServedPolicy)]
                said = continuations(first.model, prompts, prefixes, seeds, room)
            else:
                said = first.sample(prefixes, seeds=seeds, max_new_tokens=room)
            found.update(zip(places, said, strict=True))
        return found

    def _drawn(self, request: Request, said: Generation, round_: int) -> Drawn:
        policy = self.policies[request.question]
        ids = np.concatenate([np.array(request.prefix, np.int32), np.asarray(said.ids, np.int32)])
        unknown = np.full(len(said.ids), np.nan, np.float32)
        logprobs = np.concatenate([request.logprobs, unknown if said.logprobs is None else said.logprobs])
        # without an end, every response is as long as it may be, and whole
        truncated = not said.stopped and bool(policy.end_ids)
        outcome = INCORRECT
        if not truncated:
            verdict = self.judge.judge(self.questions[request.question], policy.decode(ids.tolist()))
            outcome = OUTCOMES[verdict.outcome]
        return Drawn(ids, len(request.prefix), logprobs.astype(np.float32), outcome, truncated, round_)
