"""Selection as an oracle: what chance alone finds, and what a good teacher leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from opd_widgets.diagnosis.evidence import Evidence
from opd_widgets.diagnosis.reading import Reading
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.tables.permuted import null_of
from opd_widgets.diagnosis.tables.selective import THRESHOLDS, selective, split
from opd_widgets.errors import InvalidInputError
from tests.diagnosis.chains import Chain

LONG = 14  # so that no response comes twice, and permuting outcomes leaves coins
SETTINGS = DiagnosisSettings(estimator="on_policy", min_visits=5)


def slowly(evidence, settings, threshold, t):
    """The split-half sums of one question, node by node: kept, all, kept cosine, with the range, range of kept."""
    half = split(evidence)
    readings = [Reading.of(evidence, settings, half), Reading.of(evidence, replace(settings, seed=1), ~half)]
    kept = whole = cosine = spread = with_spread = 0.0
    for select, report in (readings, readings[::-1]):
        for node, prefix in enumerate(evidence.nodes.prefixes):
            both = (select.draws[node, t], report.draws[node, t])
            if any(np.isnan(one).all() for one in both) or select.outside[node, t] or report.outside[node, t]:
                continue
            weight = sum(
                one.start == 0 and tuple(one.ids[: len(prefix)].tolist()) == prefix for one in evidence.rollouts
            )
            whole += weight
            if np.median(both[0]) > threshold:
                kept += weight
                cosine += weight * both[1].mean()
                spread += weight * report.success_range[node, t].mean()
                with_spread += weight * report.success_range[node, t].mean() * both[1].mean()
    return np.array([kept, whole, cosine, with_spread, spread])


@pytest.fixture(scope="module")
def questions():
    return [Chain(seed, scale=(1.0, 0.2), pull=(0.0, 3.0)).evidence(40, 20, 4) for seed in range(5)]


@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_by_hand_node_by_node(questions, threshold):
    table = selective(questions, SETTINGS, [threshold]).set_index("teacher")
    permuted = [null_of(one, SETTINGS) for one in questions]
    for t, name in enumerate(("t0", "t1")):
        for before, evidences in (("", questions), ("null_", permuted)):
            kept, whole, cosine, with_spread, spread = sum(slowly(one, SETTINGS, threshold, t) for one in evidences)
            assert table.loc[name, f"{before}kept_share"] == pytest.approx(kept / whole)
            assert table.loc[name, f"{before}mean_cosine"] == pytest.approx(cosine / kept)
            assert table.loc[name, f"{before}weighted_cosine"] == pytest.approx(with_spread / spread)


def test_naive_selects_and_reports_on_the_same_rollouts(questions):
    table = selective(questions, SETTINGS, [0.0]).set_index("teacher")
    kept = whole = cosine = 0.0
    for evidence in questions:
        reading = Reading.of(evidence, SETTINGS)
        for node, draws in enumerate(reading.draws[:, 0]):
            if not np.isnan(draws).all() and not reading.outside[node, 0]:
                prefix = evidence.nodes.prefixes[node]
                weight = sum(not d.start and tuple(d.ids[: len(prefix)].tolist()) == prefix for d in evidence.rollouts)
                whole += weight
                kept += weight * (np.median(draws) > 0)
                cosine += weight * (np.median(draws) > 0) * draws.mean()
    assert table.loc["t0", "kept_share_naive"] == pytest.approx(kept / whole)
    assert table.loc["t0", "mean_cosine_naive"] == pytest.approx(cosine / kept)


@pytest.mark.parametrize("coin", [True, False], ids=["equal success", "permuted outcomes"])
def test_chance_keeps_half_and_seems_to_gain_but_not_on_other_rollouts(coin):
    chains = [Chain(seed, length=LONG, scale=(1.0, 1.0, 1.0), pull=(0.0,) * 3, coin=coin) for seed in range(30)]
    table = selective([one.evidence(30, 25, 4) for one in chains], SETTINGS, [0.0])
    before = "" if coin else "null_"
    assert table[f"{before}kept_share_naive"].mean() == pytest.approx(0.5, abs=0.1)
    assert table[f"{before}mean_cosine_naive"].mean() > 0.25
    assert table[f"{before}mean_cosine"].mean() == pytest.approx(0.0, abs=0.1)
    assert (table[f"{before}mean_cosine_naive_low"] > table[f"{before}mean_cosine_high"]).sum() >= 2


def test_a_teacher_that_knows_keeps_its_gain_on_other_rollouts(questions):
    row: Any = selective(questions, SETTINGS, [0.0]).set_index("teacher").loc["t1"]
    assert row["mean_cosine"] > 0.4
    assert row["mean_cosine_low"] <= row["mean_cosine"] <= row["mean_cosine_high"]
    assert row["mean_cosine"] > row["null_mean_cosine"]


def test_halves_have_their_share_of_every_starting_prefix():
    evidence = Chain(2).evidence(41, 5, 4)
    first = split(evidence)
    of_prefix: dict[bytes, list[bool]] = {}
    for one, is_first in zip(evidence.rollouts, first, strict=True):
        of_prefix.setdefault(one.ids[: one.start].tobytes(), []).append(bool(is_first))
    assert all(abs(2 * sum(one) - len(one)) <= 1 for one in of_prefix.values())
    assert abs(2 * int(first.sum()) - len(first)) <= 2  # what is left over goes to either


def test_the_table_says_that_it_is_an_oracle(questions):
    table = selective(questions[:1], SETTINGS)
    assert table.attrs["label"].startswith("oracle")
    assert table.threshold.tolist() == [*THRESHOLDS, *THRESHOLDS]
    assert (table.n_questions == 1).all()
    assert table.mean_cosine_low.isna().all()  # one question has no bootstrap
    assert (table.groupby("teacher").kept_share.diff().dropna() <= 0).all()


def test_nothing_to_select_from():
    assert selective([], SETTINGS).empty
    blank = Evidence("q", Chain(2).nodes([()]), ())
    table = selective([blank, blank], SETTINGS, [0.0])
    assert table.n_questions.tolist() == [0]
    assert table[["kept_share", "mean_cosine", "null_mean_cosine", "mean_cosine_low"]].isna().all(axis=None)


def test_a_threshold_that_is_no_number(questions):
    with pytest.raises(InvalidInputError, match="thresholds"):
        selective(questions, SETTINGS, [float("nan")])
