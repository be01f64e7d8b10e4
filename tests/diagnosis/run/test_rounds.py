"""What is asked for, how it is drawn and in which rounds."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.drawn import CORRECT, INCORRECT, UNVERIFIED
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.run.requests import Drawer, Request
from opd_widgets.models.protocol import Generation
from opd_widgets.scoring.judging import Judge
from tests.diagnosis.toy_run import BUDGET, LENGTH, QUESTIONS, SURE, assert_same_drawn, even, run, speaker

NONE = np.zeros(0, np.float32)
QUESTION = opd.Question("q", "ask")


def said(*ids, stopped=None, logprobs=None):
    """A policy whose own sampler always says the same."""

    def sample(prefixes, **_):
        row = Generation(
            np.array(ids, np.int32), stopped=ids[-1] == 3 if stopped is None else stopped, logprobs=logprobs
        )
        return [row for _ in prefixes]

    uniform = np.log(np.full(4, 0.25))
    return FunctionPolicy(lambda prefixes: np.tile(uniform, (len(prefixes), 1)), sample, end_ids=[3], vocab_size=4)


def draw(policy, request, limit, verifier=even):
    return Drawer([QUESTION], [policy], Judge(verifier), limit, 0).draw([request], 7)[0]


def request(*prefix, index=0, stream=""):
    return Request(0, prefix, index, np.full(len(prefix), -0.5, np.float32), stream)


def test_a_rollout_is_what_was_forced_and_then_what_was_said():
    own = np.array([-1.0, -2.0], np.float32)
    found = draw(said(1, 3, logprobs=own), request(2, 1), 9)
    assert found.ids.tolist() == [2, 1, 1, 3]
    assert found.start == 2
    assert found.generated == 2
    assert found.logprobs.tolist() == [-0.5, -0.5, -1.0, -2.0]
    assert (found.outcome, found.truncated, found.round) == (CORRECT, False, 7)  # 2 + 1 + 1, the end left out


def test_without_log_probabilities_they_are_unknown():
    assert np.isnan(draw(said(1, 3), request(2), 9).logprobs[1:]).all()


def test_one_cut_at_the_limit_is_incorrect_and_the_verifier_is_not_asked():
    found = draw(said(2, 2), request(), 2, lambda *_: pytest.fail("asked"))
    assert (found.outcome, found.truncated) == (INCORRECT, True)


def test_a_candidate_at_the_limit_is_a_cut_response_and_one_that_ends_is_whole():
    at_limit = draw(said(9), request(1, 2), 2, lambda *_: pytest.fail("asked"))
    assert (at_limit.ids.tolist(), at_limit.outcome, at_limit.truncated) == ([1, 2], INCORRECT, True)
    ended = draw(said(9), request(2, 3), 2)
    assert (ended.ids.tolist(), ended.outcome, ended.truncated, ended.generated) == ([2, 3], CORRECT, False, 0)


def test_without_an_end_every_response_is_whole_at_the_limit():
    uniform = np.log(np.full(4, 0.25))
    endless = FunctionPolicy(lambda prefixes: np.tile(uniform, (len(prefixes), 1)), end_ids=[], vocab_size=4)
    found = draw(endless, request(1), 5)
    assert len(found.ids) == 5
    assert not found.truncated
    assert found.outcome == (CORRECT if found.ids.sum() % 2 == 0 else INCORRECT)


@pytest.mark.parametrize("verifier", [lambda *_: None, lambda *_: 1 / 0, lambda *_: 0.5])
def test_no_verdict_is_unverified_and_never_wrong(verifier):
    found = draw(said(1, 3), request(), 9, verifier)
    assert (found.outcome, found.truncated) == (UNVERIFIED, False)


def test_a_seed_hangs_on_run_question_prefix_index_and_stream_and_on_nothing_else():
    base = request(1, 2, index=3)
    same = Request(5, (1, 2), 3, NONE)  # another place among the questions, and other log-probabilities
    assert base.seed(7, "q") == same.seed(7, "q") == Request(0, (np.int32(1), 2), 3, NONE).seed(7, "q")
    others = [
        base.seed(8, "q"),
        base.seed(7, "r"),
        request(1, 2, index=4).seed(7, "q"),
        request(1, 3, index=3).seed(7, "q"),
        request(12, index=3).seed(7, "q"),
        request(1, index=3).seed(7, "q"),
        request(1, 2, index=3, stream="held out").seed(7, "q"),
    ]
    assert len({base.seed(7, "q"), *others}) == 1 + len(others)
    assert all(0 <= seed < 2**63 for seed in others)


def test_what_else_is_drawn_does_not_matter():
    policies = [speaker(0)(question) for question in QUESTIONS]
    drawer = Drawer(QUESTIONS, policies, Judge(even), LENGTH, 0)
    requests = [Request(q, (), i, NONE) for i in range(6) for q in range(3)]
    together, alone = drawer.draw(requests, 0), [drawer.draw([one], 0)[0] for one in reversed(requests)]
    for one, other in zip(together, reversed(alone), strict=True):
        assert_same_drawn(one, other)


def test_batches_of_another_size_draw_the_same():
    one, other = run(batch_rows=500), run(batch_rows=3)
    for mine, theirs in zip(one.evidence, other.evidence, strict=True):
        assert len(mine.rollouts) == len(theirs.rollouts)
        for a, b in zip(mine.rollouts, theirs.rollouts, strict=True):
            assert_same_drawn(a, b)


def test_the_budget_is_kept_to_within_a_round():
    for budget in (40, 300, 1200, BUDGET):
        result = run(budget=budget)
        assert budget * 0.8 <= result.about["generated_tokens"] <= budget * 1.15 + 30, budget


def test_a_budget_below_one_rollout_draws_one_of_each_question_and_says_so():
    result = run(budget=1)
    assert result.about["initial_rollouts"] == 3
    assert result.about["targeted_rollouts"] <= sum(int((one.nodes.tokens >= 0).sum()) for one in result.evidence)
    assert any("tokens were generated and the budget is 1" in note for note in result.about["notes"])


def test_candidates_that_end_a_response_are_all_known_and_cost_nothing():
    result = run(budget=600)
    for one in result.evidence:
        forced = {tuple(drawn.ids.tolist()) for drawn in one.rollouts if drawn.start == len(drawn.ids)}
        ends = [one.after(m, c) for m, c in np.argwhere(one.nodes.tokens == 4)]
        assert ends
        assert forced >= set(ends)


def test_a_question_without_a_choice_leaves_its_share_to_the_others():
    result = run(questions=[*QUESTIONS, SURE])
    sure = result.evidence[-1]
    assert len(sure.nodes) == 0
    assert all(drawn.start == 0 for drawn in sure.rollouts)
    assert result.about["generated_tokens"] >= BUDGET
    assert any("'sure' has no node with two important tokens" in note for note in result.about["notes"])


def test_held_out_rollouts_are_further_ones_and_change_nothing():
    with_them, without = run(held_out=20), run()
    for one, other in zip(with_them.evidence, without.evidence, strict=True):
        assert [a.ids.tolist() for a in one.rollouts] == [b.ids.tolist() for b in other.rollouts]


def test_no_two_rollouts_of_a_run_are_one_draw():
    result = run()
    for one in result.evidence:
        begun: dict[tuple[int, ...], list[bytes]] = {}
        for drawn in one.rollouts:
            begun.setdefault(tuple(drawn.ids[: drawn.start].tolist()), []).append(drawn.ids.tobytes())
        longest = max(begun.values(), key=len)
        assert len(set(longest)) > 1


def test_the_first_index_behind_a_candidate_is_zero_and_they_go_up():
    result, policy = run(), speaker(0)(QUESTIONS[0])
    evidence = result.evidence[0]
    drawer = Drawer([QUESTIONS[0]], [policy], Judge(even), LENGTH, 0)
    count: dict[tuple[int, ...], int] = {}
    for drawn in evidence.rollouts:
        prefix = tuple(drawn.ids[: drawn.start].tolist())
        index = count[prefix] = count.get(prefix, -1) + 1
        again = drawer.draw([Request(0, prefix, index, drawn.logprobs[: drawn.start])], drawn.round)[0]
        assert_same_drawn(again, drawn)
