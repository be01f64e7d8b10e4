"""MiniLLM's and Dr. GRPO's rows: slow loops, and truth by recursion."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from opd_widgets.diagnosis.drawn import Drawn
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.sampled_rows import dr_grpo_rows, minillm_cost, minillm_rows
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures import gradients
from tests.diagnosis.chains import Chain

CHAIN = Chain(3, vocab=3, length=5, scale=(0.6, 0.3), pull=(0.0, 2.0))
SETTINGS = DiagnosisSettings(estimator="on_policy", min_visits=2, draws=100)


def advantages(chain, rollouts):
    """By teacher: log p_T - log p_S along every rollout."""
    found: dict[str, list[Any]] = {f"t{t}": [] for t in range(len(chain.scale))}
    for one in rollouts:
        ids = tuple(one.ids.tolist())
        rows = [chain.teacher_logp(ids[:at]) - chain.logp[chain.state(ids[:at])] for at in range(len(ids))]
        for t, name in enumerate(found):
            found[name].append(np.array([row[t, token] for row, token in zip(rows, ids, strict=True)]))
    return found


@cache
def to_go(prefix, t):
    """Expected sum of advantages after a prefix, exactly."""
    if len(prefix) == CHAIN.length:
        return 0.0
    student, teacher = CHAIN.logp[CHAIN.state(prefix)], CHAIN.teacher_logp(prefix)[t]
    return sum(np.exp(student[k]) * (teacher[k] - student[k] + to_go((*prefix, k), t)) for k in range(CHAIN.vocab))


def exact_minillm(prefix, t):
    student, teacher = CHAIN.logp[CHAIN.state(prefix)], CHAIN.teacher_logp(prefix)[t]
    signal = np.array([teacher[k] - student[k] + to_go((*prefix, k), t) for k in range(CHAIN.vocab)])
    p, success = np.exp(student), CHAIN.success(prefix)
    ideal, pulled = p * (success - p @ success), p * (signal - p @ signal)
    return ideal @ pulled / np.linalg.norm(ideal) / np.linalg.norm(pulled)


@pytest.fixture(scope="module")
def evidence():
    return CHAIN.evidence(100, 300, 4)


def test_minillm_comes_to_what_is_exactly_true(evidence):
    table = minillm_rows(evidence, SETTINGS, advantages(CHAIN, evidence.rollouts))
    counted = table[table.verdict == ""]
    places = zip(counted.node, counted.teacher, strict=True)
    truth = np.array([exact_minillm(evidence.nodes.prefixes[node], int(name[1])) for node, name in places])
    assert len(counted) >= 4
    assert counted.alignment.to_numpy() == pytest.approx(truth, abs=0.15)
    inside = (counted.alignment_low - 0.02 <= truth) & (truth <= counted.alignment_high + 0.02)
    assert inside.mean() >= 0.75
    assert np.unique(np.sign(truth)).tolist() == [-1, 1]


def test_minillm_is_the_measure_of_the_same_rollouts():
    small = CHAIN.evidence(20, 3, 3)
    settings = replace(SETTINGS, draws=4000)
    scored = advantages(CHAIN, small.rollouts)
    table = minillm_rows(small, settings, scored).set_index(["node", "teacher"])
    reading, compared = Reading.of(small, settings), 0
    for node, prefix in enumerate(small.nodes.prefixes):
        for t in range(2):
            taken, rest = [], []
            for row, one in enumerate(small.rollouts):
                if one.start <= len(prefix) + 1 and tuple(one.ids[: len(prefix)].tolist()) == prefix:
                    taken.append(small.nodes.tokens[node].tolist().index(int(one.ids[len(prefix)])))
                    rest.append(scored[f"t{t}"][row][len(prefix) :])
            said: Any = table.loc[node, f"t{t}"]
            if said.verdict != "" or said.n_support < 3:
                continue
            assert said.rollouts == len(taken)
            p = np.exp(small.nodes.student_logp[node])
            pulled = gradients.minillm(p / p.sum(), np.array(taken), rest)
            draws = reading.fit.posterior[node].astype(float).T
            cosines = gradients.alignment(gradients.ideal(p / p.sum(), draws), pulled)
            # the rollouts' own weights vary beside P_succ: wider, around the same place
            assert said.alignment_low <= np.median(cosines) <= said.alignment_high
            compared += 1
    assert compared >= 2


def test_minillm_leaves_out_what_is_not_scored(evidence):
    scored = advantages(CHAIN, evidence.rollouts)
    own = [one if drawn.start == 0 else None for one, drawn in zip(scored["t0"], evidence.rollouts, strict=True)]
    own[0] = np.full(5, np.nan)
    table = minillm_rows(evidence, SETTINGS, {"t0": own}).set_index("node")
    assert table.loc[0, "rollouts"] == 99
    assert set(table.teacher) == {"t0"}
    blank = minillm_rows(evidence, SETTINGS, {"t1": [None] * len(evidence.rollouts)})
    assert (blank.verdict == "not enough visits").all()
    assert blank.alignment.isna().all()


def test_minillm_names_what_does_not_fit(evidence):
    scored = advantages(CHAIN, evidence.rollouts)["t0"]
    with pytest.raises(InvalidInputError, match="expected those of t0, t1"):
        minillm_rows(evidence, SETTINGS, {"other": scored})
    with pytest.raises(InvalidInputError, match="an array for each rollout"):
        minillm_rows(evidence, SETTINGS, {"t0": scored[1:]})
    with pytest.raises(InvalidInputError, match="rollout 1 under 't0'"):
        minillm_rows(evidence, SETTINGS, {"t0": [scored[0], scored[1][1:], *scored[2:]]})


def drawn(*ids, start=0, outcome=0):
    return Drawn(np.array(ids, np.int32), start, np.zeros(len(ids), np.float32), outcome)


def test_the_cost_counts_distinct_rollouts_from_their_first_node_on():
    rollouts = (
        drawn(0, 1, 2, 0, 0),  # node (0,) is its first: 4 tokens
        drawn(0, 1, 2, 0, 0),  # the same again
        drawn(0, 1, 1, 0, 0, start=3),  # forced beyond (0,), on-policy behind a candidate of (0, 1): 3 tokens
        drawn(0, 2, 1, 0, 0, start=3),  # on-policy behind no candidate
        drawn(2, 1, 1, 0, 0),  # through no node
    )
    cost = minillm_cost(Evidence("q", CHAIN.nodes([(0,), (0, 1)]), rollouts))
    assert (cost.rollouts, cost.scored_tokens, cost.read_tokens) == (2, 7, 10)


def held_out(n, seed=77):
    rng = np.random.default_rng(seed)
    return [CHAIN.draw((), rng) for _ in range(n)]


def test_dr_grpo_is_the_measure_group_by_group(evidence):
    others = [replace(one, outcome=-1) if row % 9 == 4 else one for row, one in enumerate(held_out(120))]
    table = dr_grpo_rows(evidence, SETTINGS, others, 4).set_index("node")
    reading, compared = Reading.of(evidence, SETTINGS), 0
    for node, prefix in enumerate(evidence.nodes.prefixes):
        tokens = evidence.nodes.tokens[node].tolist()
        through = [one for one in others if tuple(one.ids[: len(prefix)].tolist()) == prefix and one.outcome >= 0]
        row = table.loc[node]
        if row.n_support < 3 or row.verdict or not row.groups:
            continue
        assert (row.rollouts, row.groups) == (len(through), len(through) // 4)
        p = np.exp(evidence.nodes.student_logp[node])
        wanted = gradients.ideal(p, reading.fit.posterior[node].astype(float).mean(-1))
        cosines = []
        for start in range(0, 4 * int(row.groups), 4):
            group = through[start : start + 4]
            places = np.array([tokens.index(int(one.ids[len(prefix)])) for one in group])
            pulled = gradients.dr_grpo(p, places, np.array([one.outcome for one in group], float))
            cosines.append(float(gradients.alignment(wanted, pulled)))
        assert row.no_direction == pytest.approx(np.isnan(cosines).mean())
        if np.isnan(cosines).all():
            continue
        assert row.mean_cosine == pytest.approx(np.nanmean(cosines))
        assert row.q25 == pytest.approx(np.nanquantile(cosines, 0.25))
        compared += 1
    assert compared >= 2


def test_larger_groups_come_nearer_to_the_ideal_gradient(evidence):
    others = held_out(3000)
    small, large = (dr_grpo_rows(evidence, SETTINGS, others, size).set_index("node").loc[0] for size in (4, 500))
    assert small.q50 < large.q50
    assert large.q05 > 0.8
    assert small.no_direction > large.no_direction == 0


def test_rollouts_that_were_forced_past_the_node_are_not_held_out_ones(evidence):
    rng = np.random.default_rng(5)
    forced = [CHAIN.draw((0, 1), rng) for _ in range(40)]
    at = evidence.nodes.prefixes.index((0,)) if (0,) in evidence.nodes.prefixes else 0
    assert dr_grpo_rows(evidence, SETTINGS, forced, 4).loc[at, "rollouts"] == 0


def test_dr_grpo_refuses_rollouts_that_made_the_estimate(evidence):
    with pytest.raises(InvalidInputError, match="found 2 held-out rollouts, the first at 1"):
        dr_grpo_rows(evidence, SETTINGS, [*held_out(1), *evidence.rollouts[:2]], 4)
    for group in (1, 2.5):
        with pytest.raises(InvalidInputError, match=f"group={group}"):
            dr_grpo_rows(evidence, SETTINGS, held_out(4), group)


def test_none_held_out(evidence):
    table = dr_grpo_rows(evidence, SETTINGS, [])
    assert (table.groups == 0).all()
    assert table.q50.isna().all()
