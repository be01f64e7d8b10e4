"""A real model, a random Qwen3 of vocabulary 8, diagnosed end to end and held against exhaustive enumeration."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.measures.gradients import node_alignment
from tests.diagnosis.exact import enumerate_exact, qwen_correct, qwen_policy

LENGTH = 6
PIECES = ["<pad>", "<eos>", "<s>", "<u>", "<a>", "<unk>", "0", "1"]
SPELLED = re.compile("|".join(map(re.escape, PIECES)))


def verifier(_question, text):
    ids = [PIECES.index(piece) for piece in SPELLED.findall(text)]
    return qwen_correct((*ids, 1))


def errors(truth, budget):
    """Of the alignment at every node with a score, and whether its interval holds the exact one."""
    student, teacher = qwen_policy(0), qwen_policy(1)
    question = opd.Question("q", "as it comes")
    result = opd.diagnose(
        [question], student, {"other": teacher}, verifier=verifier, budget=budget, max_new_tokens=LENGTH, progress=False
    )
    nodes, found = result.evidence[0].nodes, []
    rows = result.nodes
    row: Any
    for row in rows[(rows.verdict == "") & (rows.visits >= 2)].itertuples():
        prefix = nodes.prefixes[row.node]
        kept = nodes.tokens[row.node][result.readings[0].kept[row.node, 0]]
        logp = teacher.next_logprobs([prefix])[0]
        exact = node_alignment(truth[prefix].logp, logp, truth[prefix].success, support=kept).alignment
        if not np.isnan(exact):
            held = row.alignment_low - 1e-4 <= exact <= row.alignment_high + 1e-4
            found.append((abs(row.alignment - exact), held, row.n_support))
    return np.array(found, float), result


@pytest.mark.slow
def test_the_diagnosis_of_a_model_comes_to_the_enumerated_truth():
    truth = enumerate_exact(qwen_policy(0), LENGTH, qwen_correct)
    few, _ = errors(truth, 4_000)
    many, result = errors(truth, 24_000)
    assert len(few) > 10
    assert len(many) > 40
    assert many[:, 0].mean() < 0.15
    assert many[:, 0].mean() < 0.85 * few[:, 0].mean()
    assert many[many[:, 2] >= 3][:, 1].mean() > 0.65  # of 66 nodes that share their rollouts; measured: 0.74
    value = truth[()].value
    root = result.candidates[(result.candidates.node == 0)]
    p, success = np.exp(root.student_logprob), root.success
    assert float((p * success).sum() / p.sum()) == pytest.approx(value, abs=0.03)
