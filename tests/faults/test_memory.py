"""Never the whole [tokens, vocabulary] at once."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from tests import tiny
from tests.benchmarks.memory import VOCAB, peak_above_weights

LENGTH = 2048


class Watched(opd.HFModel):
    """A real model that remembers how many vocabulary rows it made at a time."""

    rows: list[int]

    def head(self, rows):
        """Return the logits, and remember their number."""
        self.rows = [*getattr(self, "rows", []), len(rows)]
        return super().head(rows)


@pytest.mark.parametrize("chunk", [1, 7, 16])
def test_fault_41_vocabulary_rows_come_a_chunk_at_a_time_and_none_for_the_prompt(chunk):
    """verl#6593, NeMo-RL#4222, VeOmni#711, vllm#5907: the full log-softmax of a long response."""
    student, teacher = (Watched((tiny.qwen(seed), tiny.tokenizer()), device="cpu") for seed in (0, 1))
    rollout = opd.Rollout(id="r", prompt_ids=[3] * 100, response_ids=[9, 12, 7, 40] * 10)
    options = opd.Options(chunk_tokens=chunk)
    scores = opd.score(
        [rollout], student, {"t": opd.Teacher(teacher)}, options=options, noise_rollouts=0, progress=False
    )
    assert len(scores.items[0].student) == 40
    for model in (student, teacher):
        assert max(model.rows) <= max(chunk, 4)  # 4: the check of the head on its first use
        assert sum(model.rows) <= 40 + 4
    whole = opd.score([rollout], student, {"t": opd.Teacher(teacher)}, noise_rollouts=0, progress=False)
    np.testing.assert_allclose(scores.signal("reverse_kl", 0), whole.signal("reverse_kl", 0), atol=1e-5)


@pytest.mark.slow
def test_fault_41_a_long_response_takes_a_few_hundred_megabytes():
    """A student and three teachers, 2,048 tokens, 151,936 entries: one array of them all has 1,187 MB."""
    whole = LENGTH * VOCAB * 4 / 2**20
    above = peak_above_weights(LENGTH)
    assert whole > 1100
    assert above < 600


@pytest.mark.slow
def test_fault_41_the_noise_band_takes_no_mask_of_the_length_squared():
    """Three rows of 8,192 tokens filled up on the left would take a mask of 800 MB under every model."""
    assert peak_above_weights(8192, vocab=64, noise=1) < 500
