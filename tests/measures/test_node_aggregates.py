"""Means of alignment by outcome: worked by hand, and by writing every rollout out."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.gradients import aggregate_nodes

NAN = np.nan


def test_by_hand():
    found = aggregate_nodes(
        [1.0, -0.5, NAN, 0.25], [0.5, 1.0, 0.0, 0.2], [0.1, -0.3, 0.2, 0.4],
        {"correct": [3, 1, 4, 0], "incorrect": [0, 2, 0, 5], "truncated": [0, 0, 0, 0]},
        [False, False, False, True],
    )  # fmt: skip
    right = found["correct"]
    assert (right.n_nodes, right.n_undefined, right.n_outside, right.weight) == (2, 1, 0, 4)
    assert right.mean_cosine == pytest.approx((3 * 1 - 0.5) / 4)
    assert right.share_positive == pytest.approx(3 / 4)
    assert right.weighted_cosine == pytest.approx((3 * 0.5 * 1 - 1 * 1 * 0.5) / 2.5)
    assert right.mean_teacher_advantage == pytest.approx((0.3 - 0.3 + 0.8) / 8)  # the undefined node counts here
    wrong = found["incorrect"]  # the last node points outside its support: in no mean
    assert (wrong.n_nodes, wrong.n_outside, wrong.mean_cosine) == (1, 1, -0.5)
    none = found["truncated"]
    assert none.mean_cosine is none.share_positive is none.weighted_cosine is none.mean_teacher_advantage is None


def test_it_is_the_mean_over_rollouts_written_out():
    rng = np.random.default_rng(0)
    cosine, spread, gain = rng.uniform(-1, 1, 20), rng.uniform(0, 1, 20), rng.normal(0, 1, 20)
    counts = rng.integers(0, 6, 20)
    found = aggregate_nodes(cosine, spread, gain, {"correct": counts})["correct"]
    each = np.repeat(np.arange(20), counts)
    assert found.mean_cosine == pytest.approx(cosine[each].mean())
    assert found.share_positive == pytest.approx((cosine[each] > 0).mean())
    assert found.weighted_cosine == pytest.approx(np.average(cosine[each], weights=spread[each]))
    assert found.mean_teacher_advantage == pytest.approx(gain[each].mean())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"success_range": [0.1]}, "success_range of 1 and alignment of 2"),
        ({"rollouts": {"correct": [1, 2, 3]}}, "rollouts.* of 3"),
        ({"rollouts": {"correct": [1, -2]}}, "below 0"),
        ({"rollouts": {"correct": [1, NAN]}}, "missing"),
        ({"teacher_advantage": [NAN, 0.0]}, "missing"),
        ({"success_range": [-0.1, 0.0]}, "below 0"),
        ({"points_outside": [0, 1]}, "booleans"),
    ],
)
def test_bad_input_is_one_clear_error(change, says):
    good = {"alignment": [0.1, 0.2], "success_range": [0.1, 0.2], "teacher_advantage": [0, 0], "rollouts": {}}
    with pytest.raises(InvalidInputError, match=says):
        aggregate_nodes(**{**good, **change})
