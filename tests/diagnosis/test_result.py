"""The tables of a diagnosis: worked by hand, held against exact truth, and node by node against the plain formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import opd_widgets as opd
from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.policies.function_policy import FunctionPolicy
from opd_widgets.diagnosis.policies.read_nodes import read_nodes
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.candidate_table import CANDIDATE_COLUMNS
from opd_widgets.diagnosis.tables.node_table import NODE_COLUMNS
from opd_widgets.diagnosis.tables.sampled_rows import DR_GRPO_COLUMNS, MINILLM_COLUMNS
from opd_widgets.diagnosis.tables.verdict import VERDICTS
from opd_widgets.errors import InvalidInputError
from opd_widgets.measures import gradients
from tests.diagnosis.exact import Toy
from tests.diagnosis.toy_evidence import TEACHERS, drawn, rows, sampled, two_tokens, with_outcomes

A, B = np.log(0.5 / 0.75), np.log(0.5 / 0.25)  # the teacher's advantage at both tokens of `two_tokens`


def test_two_tokens_by_hand():
    result = Diagnosis((two_tokens(),))
    row = rows(result.nodes)[0]
    assert tuple(result.nodes.columns) == NODE_COLUMNS
    assert (row.question, row.node, row.depth, row.prefix, row.teacher, row.verdict) == ("hand", 0, 0, "", "even", "")
    assert (row.n_support, row.student_mass, row.teacher_mass) == (2, pytest.approx(1), pytest.approx(1))
    same = ("alignment", "alignment_low", "alignment_high", "alignment_mean", "alignment_plugin", "single_sample")
    assert [getattr(row, name) for name in same] == pytest.approx([-1] * 6)
    assert (row.p_positive, row.success, row.teacher_advantage) == pytest.approx((0, 0.75, -0.25))
    assert (row.success_range_low, row.success_range, row.success_range_high) == pytest.approx((1, 1, 1))
    assert row.reverse_kl == pytest.approx(-(0.75 * A + 0.25 * B))
    assert row.forward_kl == pytest.approx(0.5 * (A + B))
    counts = ["visits", "correct", "incorrect", "truncated", "unverified", "targeted"]
    assert [getattr(row, name) for name in counts] == [4, 3, 1, 0, 0, 3]

    table = result.candidates
    assert tuple(table.columns) == CANDIDATE_COLUMNS
    assert table["visits"].tolist() == [4, 3]
    for name in ("success", "success_mean", "success_estimate", "success_if_wrong", "success_if_right"):
        assert table[name].tolist() == [1, 0]
    assert table["ideal_gradient"].tolist() == pytest.approx([0.75 * 0.25, -0.25 * 0.75])
    pull = 0.75 * (A - (0.75 * A + 0.25 * B))
    norms = 0.75 * 0.25 * np.sqrt(2), abs(pull) * np.sqrt(2)
    assert (row.ideal_norm, row.distillation_norm) == pytest.approx(norms)
    assert table["distillation_gradient"].tolist() == pytest.approx([pull, -pull])


def test_where_all_is_right_there_is_no_signal():
    result = Diagnosis((with_outcomes(two_tokens(), dict.fromkeys(range(7), 1)),))
    row = rows(result.nodes)[0]
    assert row.verdict == "no signal"
    assert (row.success, row.teacher_advantage, row.success_range) == pytest.approx((1, 0, 0))
    assert np.isnan([row.alignment, row.alignment_low, row.p_positive, row.single_sample]).all()
    assert result.candidates["ideal_gradient"].isna().all()
    assert result.candidates["distillation_gradient"].notna().all()
    means = {row.outcome: row for row in rows(result.summary())}
    assert (means["correct"].n_nodes, means["correct"].n_undefined, means["correct"].weight) == (0, 1, 0)
    assert np.isnan(means["correct"].mean_cosine)
    assert means["correct"].mean_teacher_advantage == pytest.approx(0)
    assert means["incorrect"].n_undefined == 0
    assert np.isnan(means["incorrect"].mean_teacher_advantage)
    assert (means["correct"].interval, means["incorrect"].interval) == ("posterior and rollouts: one question", "")
    assert result.best_teacher()["teacher"].tolist() == [""]
    assert len(result.best_teacher(by="node")) == 0


@pytest.mark.parametrize("seed", [3, 5])
def test_when_every_path_was_seen_the_tables_are_the_truth(seed):
    toy = Toy(seed, vocab=3, depth=3)
    truth, result = toy.truth(), Diagnosis((sampled(toy, 200, 20),))
    assert len(result.nodes) == 2 * len(truth)
    for row in rows(result.nodes):
        prefix = result.evidence[0].nodes.prefixes[row.node]
        wanted = truth[prefix].alignment(toy.row(TEACHERS[row.teacher], prefix))
        assert (row.verdict == "no signal") == np.isnan(wanted)
        found = [row.alignment_low, row.alignment, row.alignment_high]
        np.testing.assert_allclose(found, wanted, atol=1e-6)
        assert row.success == pytest.approx(truth[prefix].value, abs=1e-6)
    for row in rows(result.candidates):
        prefix = result.evidence[0].nodes.prefixes[row.node]
        assert row.success == pytest.approx(truth[prefix].success[row.token_id], abs=1e-6)
        if not np.isnan(row.ideal_gradient):
            assert row.ideal_gradient == pytest.approx(truth[prefix].ideal[row.token_id], abs=1e-6)
        pull = truth[prefix].distill(toy.row(TEACHERS[row.teacher], prefix))[row.token_id]
        assert row.distillation_gradient == pytest.approx(pull, abs=1e-6)


@pytest.mark.parametrize(("estimator", "min_visits"), [("backup", 4), ("on_policy", 4), ("pooled", 6)])
@pytest.mark.parametrize("loss", ["reverse_kl", "forward_kl", "jsd"])
def test_a_slow_loop_finds_the_same(estimator, min_visits, loss):
    evidence = sampled(Toy(1, vocab=5, depth=6), 60, 3, deepest=2)
    result = Diagnosis((evidence,), DiagnosisSettings(estimator, loss, beta=0.3, min_visits=min_visits, draws=40))
    reading, seen = result.readings[0], set()
    inner = result.candidates.set_index(["node", "teacher"]).sort_index()
    for row in rows(result.nodes):
        t = evidence.nodes.teachers.index(row.teacher)
        kept = np.flatnonzero(reading.kept[row.node, t])
        student, teacher = evidence.nodes.student_logp[row.node], evidence.nodes.teacher_logp[row.node, t]
        seen.add(row.verdict)
        assert row.n_support == len(kept)
        masses = np.exp(student[kept]).sum(), np.exp(teacher[kept]).sum()
        assert (row.student_mass, row.teacher_mass) == pytest.approx(masses)
        if row.verdict == "not enough visits":
            assert len(kept) < 2
            assert np.isnan([row.alignment, row.alignment_on_support, row.teacher_advantage, row.success_range]).all()
            continue
        assert (row.verdict == "points outside the support") == (min(masses) < 0.9)
        posterior = np.clip(reading.fit.posterior[row.node].astype(float), 0, 1)
        at = [gradients.node_alignment(student, teacher, q, loss, kept, beta=0.3) for q in posterior.T]
        if row.verdict == "":
            scored_row(row, at)
            middle = posterior.mean(axis=-1)
            sample = gradients.single_sample_alignment(student, teacher, middle, kept)
            assert row.single_sample == pytest.approx(sample.expected, abs=1e-6)
            plug = np.clip(reading.fit.success[row.node], 0, 1)
            plugged = gradients.node_alignment(student, teacher, plug, loss, kept, beta=0.3)
            assert row.alignment_plugin == pytest.approx(plugged.alignment, abs=1e-6, nan_ok=True)
            here = inner.loc[(row.node, row.teacher)]
            central = gradients.node_alignment(student, teacher, middle, loss, kept, beta=0.3)
            np.testing.assert_allclose(here["ideal_gradient"].to_numpy()[kept], central.ideal, atol=1e-7)
            np.testing.assert_allclose(here["distillation_gradient"].to_numpy()[kept], central.distillation, atol=1e-9)
            norms = [np.linalg.norm(one) for one in (central.ideal, central.distillation)]
            np.testing.assert_allclose([row.ideal_norm, row.distillation_norm], norms, atol=1e-7)
            assert here["ideal_gradient"].notna().sum() == here["in_support"].sum() == len(kept)
        else:
            unscored_row(row, at, silent=reading.silent[row.node, t])
    assert {"", "points outside the support"} <= seen <= set(VERDICTS)
    assert estimator != "pooled" or "not enough visits" in seen


def scored_row(row, at):
    """Compare with the node under every draw of its success."""
    cosines = np.array([one.alignment for one in at])
    ends = np.nanquantile(cosines, [0.05, 0.5, 0.95])
    found = [row.alignment_low, row.alignment, row.alignment_high, row.alignment_mean, row.p_positive]
    np.testing.assert_allclose(found, [*ends, np.nanmean(cosines), np.nanmean(cosines > 0)], atol=1e-6)
    assert row.alignment_on_support == row.alignment
    gains, ranges = [one.teacher_advantage for one in at], [one.success_range for one in at]
    found = [row.teacher_advantage, row.teacher_advantage_low, row.success_range, row.success_range_high]
    wanted = [np.mean(gains), np.quantile(gains, 0.05), np.mean(ranges), np.quantile(ranges, 0.95)]
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def unscored_row(row, at, *, silent):
    """A number that is none to average stands in no column that is averaged."""
    missing = [row.alignment, row.alignment_low, row.alignment_high, row.alignment_mean, row.alignment_plugin]
    assert np.isnan([*missing, row.p_positive, row.single_sample, row.ideal_norm, row.distillation_norm]).all()
    gain = np.mean([one.teacher_advantage for one in at])
    if row.verdict == "no signal":
        assert row.teacher_advantage == pytest.approx(gain)
        assert np.isnan(row.alignment_on_support)
    else:
        assert np.isnan([row.teacher_advantage, row.success_range]).all()
        wanted = np.nan if silent else np.nanmedian([one.alignment for one in at])
        assert row.alignment_on_support == pytest.approx(wanted, abs=1e-6, nan_ok=True)


def test_counts_are_of_initial_rollouts_by_how_they_ended():
    evidence = sampled(Toy(2, vocab=4, depth=3), 30, 1)
    evidence = with_outcomes(evidence, {0: -1, 1: -1, 2: 0, 3: 1, 4: 0, 5: -1, 40: -1}, truncated=(4, 5))
    table = Diagnosis((evidence,)).nodes
    assert table.iloc[0][["visits", "unverified"]].tolist() == [30, 2]  # rollout 5 was cut: that is what it counts as
    assert table.iloc[0]["truncated"] >= 2
    for row in rows(table):
        prefix = evidence.nodes.prefixes[row.node]
        through = [one for one in evidence.rollouts if tuple(one.ids[: len(prefix)].tolist()) == prefix]
        initial = [one for one in through if one.start == 0]
        assert row.visits == len(initial)
        assert row.correct == sum(one.outcome == 1 and not one.truncated for one in initial)
        assert row.truncated == sum(one.truncated for one in initial)
        assert row.correct + row.incorrect + row.truncated + row.unverified == row.visits
        assert row.targeted == sum(one.start == len(prefix) + 1 for one in through)


def test_bounds_take_what_was_cut_or_not_judged_for_wrong_and_for_right():
    evidence = with_outcomes(two_tokens(), {2: 0, 4: 0, 6: -1}, truncated=(2,))
    table = Diagnosis((evidence,), DiagnosisSettings("pooled", min_visits=1)).candidates
    assert table["success"].tolist() == [1, 0]
    assert table["success_if_wrong"].tolist() == [1, 0]
    assert table["success_if_right"].tolist() == pytest.approx([1, 2 / 3])
    result = Diagnosis((evidence,))
    assert (result.truncated_share, result.unverified_share) == pytest.approx((1 / 7, 1 / 7))


def test_bounds_hold_the_estimate_and_are_it_where_nothing_is_open():
    evidence = sampled(Toy(4, vocab=4, depth=5), 80, 3, deepest=2)
    whole = with_outcomes(evidence, {})
    table = Diagnosis((whole,)).candidates
    assert table["success_if_wrong"].equals(table["success"])
    assert table["success_if_right"].equals(table["success"])
    cut = [row for row, one in enumerate(evidence.rollouts) if one.truncated]
    open_ended = with_outcomes(evidence, dict.fromkeys(range(0, len(evidence.rollouts), 9), -1), truncated=cut)
    for estimator in ("pooled", "on_policy", "backup"):
        table = Diagnosis((open_ended,), DiagnosisSettings(estimator)).candidates.dropna(subset=["success"])
        assert (table["success_if_wrong"] <= table["success"] + 1e-9).all()
        assert (table["success"] <= table["success_if_right"] + 1e-9).all()
        assert (table["success_if_right"] - table["success_if_wrong"]).max() > 0.1


@pytest.mark.parametrize("estimator", ["pooled", "on_policy", "backup"])
def test_success_is_what_its_interval_is_of(estimator):
    evidence = sampled(Toy(4, vocab=4, depth=5), 80, 3, deepest=2)
    result = Diagnosis((evidence,), DiagnosisSettings(estimator))
    table, fitted = result.candidates, result.readings[0].fit
    place = (
        table["node"].to_numpy(),
        [
            evidence.nodes.tokens[node].tolist().index(token)
            for node, token in zip(table["node"], table["token_id"], strict=True)
        ],
    )
    np.testing.assert_array_equal(table["success_estimate"], fitted.success[place])
    np.testing.assert_allclose(table["success_mean"], fitted.posterior[place].mean(axis=-1), atol=1e-6)
    of = "success_mean" if estimator == "backup" else "success_estimate"
    pd.testing.assert_series_equal(table["success"], table[of], check_names=False)
    if estimator == "backup":
        inside = table["success"].between(table["success_low"] - 1e-9, table["success_high"] + 1e-9)
        rough = table["success_estimate"].between(table["success_low"] - 1e-9, table["success_high"] + 1e-9)
        assert inside.mean() > 0.97
        assert rough.mean() < inside.mean()


def test_text_where_it_is_known_and_ids_where_not():
    evidence = sampled(Toy(1, vocab=3, depth=3), 20, 1)
    pieces = {"0": "<end>", "1": "b", "2": "<img src=x>"}
    result = Diagnosis((evidence,), about={"pieces": pieces})
    here = result.nodes["node"] == evidence.nodes.prefixes.index((2, 1))
    assert set(result.nodes[here]["prefix"]) == {"<img src=x>b"}
    assert set(result.candidates.query("token_id == 1")["token"]) == {"b"}
    bare = Diagnosis((evidence,), about={"pieces": {"1": "b"}})
    assert set(bare.nodes[here]["prefix"]) == {"2 1"}
    assert set(bare.candidates.query("token_id == 2")["token"]) == {"2"}


def test_nothing_to_diagnose_gives_tables_of_the_right_columns():
    toy = Toy(1, vocab=3, depth=3)
    nothing = Evidence("bare", read_nodes(toy.policy, {"one": toy.teacher}, []), ())
    for result in (Diagnosis(()), Diagnosis((nothing,))):
        assert tuple(result.nodes.columns) == NODE_COLUMNS
        assert tuple(result.candidates.columns) == CANDIDATE_COLUMNS
        tables = [result.nodes, result.candidates, result.summary(), result.best_teacher(), result.best_teacher("node")]
        assert [len(table) for table in tables] == [0] * 5
        assert {"teacher", "outcome", "mean_cosine_low", "interval"} <= set(result.summary().columns)
        assert np.isnan(result.truncated_share)
        assert "0 nodes" in result.to_text()
    asked = Evidence("asked", read_nodes(toy.policy, {"one": toy.teacher}, [()]), ())
    beside = Diagnosis((nothing, asked))
    assert beside.nodes["verdict"].tolist() == ["not enough visits"]
    assert beside.summary()["mean_cosine"].isna().all()
    assert beside.best_teacher()["teacher"].tolist() == [""]


def test_other_settings_read_the_same_evidence():
    result = Diagnosis((sampled(Toy(2, vocab=4, depth=3), 40, 2),), DiagnosisSettings(draws=20), {"student": "toy"})
    other = result.with_settings(loss="forward_kl", draws=30)
    assert other.evidence is result.evidence
    assert (other.settings, other.about) == (DiagnosisSettings(loss="forward_kl", draws=30), {"student": "toy"})
    assert not other.nodes["alignment"].equals(result.nodes["alignment"])
    assert other.nodes.equals(result.with_settings(loss="forward_kl", draws=30).nodes)
    with pytest.raises(InvalidInputError, match="found setting 'los', expected one of estimator, loss"):
        result.with_settings(los="jsd")
    with pytest.raises(InvalidInputError, match="found estimator 'best'"):
        result.with_settings(estimator="best")


def test_a_table_is_its_readers_own():
    result = Diagnosis((two_tokens(),))
    mine = result.nodes
    mine.loc[0, "alignment"] = 7.0
    assert result.nodes.loc[0, "alignment"] == pytest.approx(-1)


def test_files_hold_what_the_tables_hold(tmp_path):
    result = Diagnosis((sampled(Toy(1, vocab=5, depth=3), 20, 1),), DiagnosisSettings("pooled", min_visits=3))
    for name in ("nodes", "candidates"):
        table = getattr(result, name)
        result.to_csv(tmp_path / "table.csv", name)
        floats = [name for name in table if table[name].dtype == float]
        texts = dict.fromkeys(table.select_dtypes(exclude=["number", "bool"]), str)
        read = pd.read_csv(
            tmp_path / "table.csv", keep_default_na=False, na_values={name: [""] for name in floats}, dtype=texts
        )
        pd.testing.assert_frame_equal(read, table, check_dtype=False)
        assert table.isna().to_numpy().any()
        result.to_parquet(tmp_path / "table.parquet", name)
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "table.parquet"), table)
    with pytest.raises(InvalidInputError, match="found table 'rollouts', expected 'nodes' or 'candidates'"):
        result.to_csv(tmp_path / "table.csv", "rollouts")
    with pytest.raises(InvalidInputError, match="found a folder"):
        result.to_csv(tmp_path)


def test_questions_that_do_not_fit_are_refused():
    one = two_tokens()
    with pytest.raises(InvalidInputError, match="found question 'hand' more than once"):
        Diagnosis((one, one))
    with pytest.raises(InvalidInputError, match=r"found teachers \['one', 'two'\] at question 'toy 1' and \['even'\]"):
        Diagnosis((one, sampled(Toy(1, vocab=3, depth=3), 5, 0)))


def test_text_says_what_was_found_and_what_is_in_no_mean():
    evidence = with_outcomes(sampled(Toy(1, vocab=5, depth=6), 60, 1, deepest=2), {0: -1})
    about = {"student": "toy-student", "notes": ["this is a note"]}
    result = Diagnosis((evidence,), DiagnosisSettings("pooled", min_visits=8), about)
    text = result.to_text()
    assert text.startswith("student 'toy-student', 1 question, ")
    row = next(one for one in rows(result.summary()) if (one.teacher, one.outcome) == ("one", "all"))
    assert f"{row.mean_cosine:+.3f} [{row.mean_cosine_low:+.3f}".replace("-", "−") in text
    assert "point outside the support" in text
    assert "one question: the intervals say nothing about other questions" in text
    assert "% unverified" in text.splitlines()[0]
    assert text.endswith("note: this is a note")
    assert repr(result).startswith("Diagnosis(student 'toy-student', 1 question, ")
    assert not hasattr(result, "_repr_html_")
    assert "largest mean cosine by question: " in text
    single = sampled(Toy(1, vocab=5, depth=6), 60, 1, deepest=2, teachers={"one": 1})
    bare = Evidence("sure", read_nodes(Toy(1).policy, {"one": Toy(1).teacher}, []), (drawn((1, 0), 1),))
    beside = Diagnosis((single, bare), DiagnosisSettings("pooled", min_visits=8)).to_text()
    assert "1 of 2 questions has a node that counts: the intervals say nothing about other questions" in beside
    assert "largest mean cosine" not in beside


@pytest.mark.parametrize("thresholds", [0.5, ["x"], "0.5", [[0.1]], [float("nan")], None])
def test_thresholds_that_are_none_are_refused(thresholds):
    with pytest.raises(InvalidInputError, match="expected a sequence of alignments from -1 to 1"):
        Diagnosis((two_tokens(),)).selective(thresholds)


@pytest.mark.parametrize("seed", ["x", -1, 0.5])
def test_a_seed_that_is_none_is_refused(seed):
    for result in (Diagnosis((two_tokens(),)), Diagnosis(())):
        with pytest.raises(InvalidInputError, match="for the permutation, expected a whole number of at least 0"):
            result.permuted(seed)
        with pytest.raises(InvalidInputError, match="for the permutation"):
            result.selective(null_seed=seed)


def test_a_question_without_a_node_stands_beside_others():
    toy = Toy(1, vocab=4, depth=4)
    bare = Evidence("sure", read_nodes(toy.policy, {"one": toy.teacher}, []), tuple(drawn((1, 0), 1) for _ in range(4)))
    asked = sampled(toy, 60, 4, teachers={"one": 1})
    apart = tuple(drawn(one.ids.tolist(), one.outcome) for one in asked.rollouts if not one.start)
    held_out = {asked.question: apart, "sure": apart[:2]}
    alone, beside = Diagnosis((asked,), held_out=held_out), Diagnosis((bare, asked), held_out=held_out)
    for name in ("dr_grpo", "recommend", "correlations", "selective"):
        mine, theirs = (getattr(one, name)() for one in (beside, alone))
        mine, theirs = (getattr(one, "table", one) for one in (mine, theirs))
        pd.testing.assert_frame_equal(mine, theirs)
    asked_about = {one.question: opd.Question(one.question, "ask") for one in (bare, asked)}
    mine, theirs = (
        one.minillm([asked_about[name] for name in one.questions], toy.policy, {"one": toy.teacher})
        for one in (beside, alone)
    )
    pd.testing.assert_frame_equal(mine, theirs)
    only = Diagnosis((bare,), held_out=held_out)
    assert only.correlations()["n_nodes"].eq(0).all()
    assert only.selective([0.0])["n_questions"].tolist() == [0]
    for one in (only, Diagnosis(())):
        empty = one.minillm(list(asked_about.values()), toy.policy, {"one": toy.teacher} if one.evidence else {})
        assert tuple(empty.columns) == MINILLM_COLUMNS
        assert empty.empty
    assert tuple(only.dr_grpo().columns) == DR_GRPO_COLUMNS


def test_a_node_without_a_candidate_says_so():
    flat = FunctionPolicy(lambda asked: np.log(np.full((len(asked), 4), 0.25)), end_ids=[0], vocab_size=4)
    nodes = read_nodes(flat, {"one": flat}, [(), (1,)], important=0.3)
    assert nodes.tokens.shape == (2, 0)
    result = Diagnosis((Evidence("flat", nodes, tuple(drawn((1, 0), k % 2) for k in range(6))),))
    assert result.nodes["verdict"].tolist() == ["points outside the support"] * 2
    assert result.nodes["ideal_norm"].isna().all()
    assert result.candidates.empty
    assert result.summary()["n_nodes"].eq(0).all()
    assert result.selective([0.0])["n_questions"].tolist() == [0]
    assert result.recommend().teacher is None
    assert result.to_text()
