"""Evidence of policies whose truth is known: as the engine gathers it, or with an allocation that was fixed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.nodes import Nodes
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.run.requests import Drawer, Request
from opd_widgets.diagnosis.run.rounds import Plan, Rounds
from opd_widgets.scoring.judging import Judge
from tests.benchmarks.known import Known
from tests.diagnosis.exact import Node

BEYOND = 1.5  # a base budget over one visit to every candidate: a quarter of it goes to initial rollouts
COST_ROLLOUTS = 8


def drawer(known: Known, seed: int) -> Drawer:
    """Return what draws for a policy's one question."""
    return Drawer([known.question], [known.policy], Judge(known.verifier), known.limit, seed)


def gathered(known: Known, spending: str, budget: int, seed: int, **plan: int) -> Evidence:
    """Return what the engine itself gathers at the nodes of a policy, for so many tokens.

    Args:
        known: the policy, and its nodes.
        spending: "width", "even" or "paper".
        budget: generated tokens.
        seed: of the run. Strategies of one seed have the same initial rollouts, and the same i-th behind a candidate.
        plan: more for the engine, such as `initial` and `rounds`.

    """
    how = Plan(budget, plan.pop("initial", None), spending=spending, **plan)
    fixed = {0: known.prefixes}
    state = Rounds(drawer(known, seed), [known.teachers], how, Ledger(None), fixed=fixed)
    state.run()
    return state.evidence(0)


def cut(evidence: Evidence, tokens: int) -> Evidence:
    """Return what had been drawn when so many tokens were generated: a last round may go a little beyond a budget."""
    spent = np.cumsum([drawn.generated for drawn in evidence.rollouts])
    return Evidence(evidence.question, evidence.nodes, evidence.rollouts[: int((spent <= tokens).sum())])


def nodes_of(known: Known) -> Nodes:
    """Return the known nodes as the engine has them; divergences, of which no estimate depends, are left open."""
    m, t = known.teacher_logp.shape[:2]
    open_ = {name: np.full((m, t), np.nan) for name in ("teacher_entropy", "reverse_kl", "forward_kl", "jsd")}
    return Nodes(
        prefixes=known.prefixes,
        tokens=known.tokens,
        student_logp=known.student_logp,
        teachers=tuple(known.teachers),
        teacher_logp=known.teacher_logp,
        student_entropy=np.full(m, np.nan),
        **open_,
    )


def allocated(known: Known, counts: Mapping[Node, int], seeds: Sequence[int]) -> list[Evidence]:
    """Return for each seed what a fixed allocation gives: so many rollouts forced along each prefix.

    All are drawn in one call, from the seeds that the engine gives its own.
    """
    wanted = [(seed, prefix, index) for seed in seeds for prefix, n in counts.items() for index in range(n)]
    name = known.question.id
    keys = [Request(0, prefix, index, np.zeros(0)).seed(seed, name) for seed, prefix, index in wanted]
    room = [known.limit - len(prefix) for _, prefix, _ in wanted]
    said = known.policy.sample([prefix for _, prefix, _ in wanted], seeds=keys, max_new_tokens=room)
    verdict: dict[bytes, int] = {}
    rows: dict[int, list[Drawn]] = {seed: [] for seed in seeds}
    along = {prefix: along_prefix(known, prefix) for prefix in counts}
    for (seed, prefix, _), one in zip(wanted, said, strict=True):
        ids = np.concatenate([np.array(prefix, np.int32), one.ids]).astype(np.int32)
        whole = one.stopped or not known.policy.end_ids
        key = ids.tobytes()
        if key not in verdict:
            verdict[key] = int(whole and known.verifier(known.question, known.policy.decode(ids.tolist())))
        logprobs = np.concatenate([along[prefix], one.logprobs]).astype(np.float32)
        rows[seed].append(Drawn(ids, len(prefix), logprobs, verdict[key], truncated=not whole))
    nodes = nodes_of(known)
    return [Evidence(name, nodes, tuple(rows[seed])) for seed in seeds]


def along_prefix(known: Known, prefix: Node) -> np.ndarray:
    """Return the student's log-probability of each token of a prefix: float64 [prefix], nats."""
    rows = known.policy.next_logprobs([prefix[:depth] for depth in range(len(prefix))])
    return np.asarray(rows)[np.arange(len(prefix)), list(prefix)]


def base_budget(known: Known) -> int:
    """Return the tokens that afford about one visit to every candidate, beyond initial rollouts: half as many again.

    What a visit costs is measured beforehand, on rollouts of their own.
    """
    ends = known.policy.end_ids
    behind = [
        (*known.prefixes[node], int(known.tokens[node, column])) for node, column in np.argwhere(known.tokens >= 0)
    ]
    open_ = [prefix for prefix in behind if prefix[-1] not in ends and len(prefix) < known.limit]
    room = [known.limit - len(prefix) for prefix in open_]
    drawn = known.policy.sample(
        open_ * COST_ROLLOUTS, seeds=range(len(open_) * COST_ROLLOUTS), max_new_tokens=room * COST_ROLLOUTS
    )
    return round(BEYOND * sum(len(one.ids) for one in drawn) / COST_ROLLOUTS)
