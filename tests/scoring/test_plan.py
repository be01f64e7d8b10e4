"""Batches: like lengths together, and rollouts of one long prompt, every row once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import opd_widgets as opd
from opd_widgets.scoring.batch import score_batch
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.plan import Length, plan_batches
from opd_widgets.scoring.prepare import check_rollouts, make_task
from tests import tiny

ROWS = st.lists(st.tuples(st.integers(1, 300), st.integers(0, 3)), min_size=1, max_size=40)


def lengths(rows):
    return [Length(100 * key + n, 100 * key, key) for n, key in rows]


@given(ROWS, st.integers(1, 2000), st.one_of(st.none(), st.integers(1, 5)))
def test_every_row_once_and_no_batch_too_large(rows, most, most_rows):
    sizes = lengths(rows)
    batches = plan_batches(sizes, most, most_rows)
    assert sorted(row for batch in batches for row in batch) == list(range(len(rows)))
    for batch in batches:
        assert most_rows is None or len(batch) <= most_rows
        one_prompt = len({sizes[row].key for row in batch}) == 1
        prompt = sizes[batch[0]].prompt if one_prompt else 0
        padded = prompt + len(batch) * max(sizes[row].tokens - prompt for row in batch)
        assert len(batch) == 1 or padded <= most or len(batch) * max(sizes[row].tokens for row in batch) <= most


def test_like_lengths_go_together():
    sizes = [Length(n, 10, n) for n in (50, 10, 52, 11)]
    assert plan_batches(sizes, 110) == [[1, 3], [0, 2]]


def test_a_long_prompt_is_shared_and_a_short_one_is_not():
    long = [Length(1700, 1500, "a"), Length(1600, 1500, "b"), Length(1650, 1500, "a"), Length(1620, 1500, "b")]
    assert plan_batches(long, 8192) == [[2, 0], [1, 3]]
    short = [Length(220, 20, key) for key in "abab"]
    assert plan_batches(short, 8192) == [[0, 1, 2, 3]]


def test_rollouts_of_one_question_under_a_long_context_read_it_once():
    """Student and teachers each read their own prompt once; the numbers are those of rollouts scored one by one."""
    student, other = tiny.model(0, limit=1024), tiny.model(1, limit=1024)
    rng = np.random.default_rng(0)
    messages = (opd.Message("user", "what is 3 + 4"),)
    prompt = tiny.tokenizer().apply_chat_template(
        [{"role": "user", "content": "what is 3 + 4"}], add_generation_prompt=True
    )["input_ids"]
    rollouts = [
        opd.Rollout(id=str(i), prompt_ids=prompt, messages=messages, question="q", response_ids=rng.integers(6, 40, n))
        for i, n in enumerate((9, 17, 3, 12, 8))
    ]
    context = opd.contexts.free_text("think of 3 and of 4 " * 20)
    teachers = {"self": opd.Teacher(student, context), "other": opd.Teacher(other, context)}
    panel = Panel.of(student, teachers, Options())
    tasks = [make_task(rollout, panel) for rollout in check_rollouts(rollouts, student)]
    assert len(plan_batches([task.size for task in tasks], 8192)) == 1
    read = []
    for model in (student, other):
        model._reader.prefixes.clear()
        model._model.get_decoder().register_forward_pre_hook(
            lambda _, __, given: read.append(tuple(given["input_ids"].shape)), with_kwargs=True
        )
    together = opd.score(rollouts, student, teachers, noise_rollouts=0, progress=False)
    context_length = len(tasks[0].prompts["self"].ids)
    assert read.count((1, context_length - 1)) == 2  # once under each of the two models
    assert sum(rows * columns for rows, columns in read) < 3 * len(rollouts) * (context_length + 17) / 2
    for index, task in enumerate(tasks):
        alone = score_batch([task], panel)[0]
        for name in teachers:
            for signal in ("advantage", "reverse_kl", "teacher_entropy"):
                np.testing.assert_allclose(
                    together.items[index].teachers[name].signals[signal],
                    alone.teachers[name].signals[signal],
                    atol=2e-4,
                )
