"""Log-probability tracks: NaN is missing, -inf is a value, a sentinel is neither."""

from __future__ import annotations

import numpy as np
import pytest

from opd_widgets.data.topk import TopK
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import RolloutError


def test_missing_infinite_and_zero_are_three_things():
    track = LogprobTrack.from_optional([None, float("-inf"), 0.0])
    assert np.isnan(track.logprobs[0])
    assert np.isneginf(track.logprobs[1])
    assert track.logprobs[2] == 0
    assert track.logprobs.dtype == np.float32


def test_sentinel_becomes_minus_infinity_and_is_flagged():
    track = LogprobTrack(np.array([-0.3, -9999.0, -np.inf]))
    assert np.isneginf(track.logprobs[1])
    assert track.censored.tolist() == [False, True, False]


def test_a_logprob_above_zero_is_refused_by_value_and_place():
    with pytest.raises(RolloutError, match=r"above 0: 0\.4 at token 1"):
        LogprobTrack(np.array([-1.0, 0.4]))


def test_rounding_above_zero_is_taken_for_zero():
    assert LogprobTrack(np.array([1e-6])).logprobs[0] == 0


@pytest.mark.parametrize("field", ["rank", "entropy", "censored"])
def test_every_companion_has_one_value_a_token(field):
    with pytest.raises(RolloutError, match=f"{field} has 1 values and logprobs has 2"):
        LogprobTrack(np.array([-1.0, -2.0]), **{field: np.array([1])})


def test_topk_has_one_row_a_token():
    topk = TopK(np.array([[1, 2]]), np.array([[-0.1, -2.0]]))
    with pytest.raises(RolloutError, match="topk has 1"):
        LogprobTrack(np.array([-1.0, -2.0]), topk=topk)


def test_topk_shapes_must_agree():
    with pytest.raises(RolloutError, match="same"):
        TopK(np.zeros((2, 3)), np.zeros((2, 2)))


def test_tracks_are_frozen():
    track = LogprobTrack(np.array([-1.0]))
    with pytest.raises(ValueError, match="read-only"):
        track.logprobs[0] = 0


def test_provenance_names_what_differs_and_only_what_is_known():
    here = Provenance("transformers", "a", "float32", 1.0, "raw")
    there = Provenance("vllm", "b", "bfloat16", 1.0, "unknown")
    assert here.differences(there) == [
        "engine transformers against vllm",
        "dtype float32 against bfloat16",
    ]
    assert here.differences(here) == []


def test_masking_makes_placeholders_missing():
    track = LogprobTrack(np.array([-1.0, 0.0])).masked(np.array([True, False]))
    assert track.logprobs[0] == -1
    assert np.isnan(track.logprobs[1])


@pytest.mark.parametrize(
    "bad",
    [
        {"logprobs": [[-1.0], [-1.0, -2.0]]}, {"logprobs": ["low", "high"]}, {"rank": 5}, {"rank": [[1], [2]]},
        {"censored": True}, {"entropy": ["a", "b"]}, {"rank": [10**12, 1]},
    ],
)  # fmt: skip
def test_a_column_of_another_kind_is_refused_by_name(bad):
    (name,) = bad
    with pytest.raises(RolloutError, match=name):
        LogprobTrack(**{"logprobs": [-1.0, -2.0], **bad})


def test_ragged_top_k_is_refused():
    with pytest.raises(RolloutError, match="top-k ids cannot be read"):
        TopK([[1], [2, 3]], [[-1.0], [-1.0]])
