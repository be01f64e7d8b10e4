"""What the context card is told: kind, lengths, limit, template arguments and whether the context holds the answer."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import opd_widgets as opd
from opd_widgets.errors import ContextError
from opd_widgets.widgets._traits import wire_scores
from tests import tiny


@pytest.fixture(scope="module")
def panel():
    student = tiny.model(0)
    asked = [opd.Question(str(n), f"{n}+4=?", answer=str(n + 4)) for n in (3, 5)]
    rollouts = opd.sample_rollouts(asked, student, n=1, max_new_tokens=8, seed=1)
    teachers = {
        "Hint": opd.Teacher(student, opd.contexts.hint("more than 7", template="{hint}")),
        "Vague": opd.Teacher(student, opd.contexts.hint("think", template="{hint}"), {"enable_thinking": False}),
        "Other": opd.Teacher(tiny.model(1), chat_template_kwargs={"date": "2026"}),
    }
    return rollouts, student, teachers


@pytest.fixture(scope="module")
def scores(panel):
    return opd.score(*panel, progress=False, noise_rollouts=0)


def test_the_flag_is_per_rollout_and_there_only_where_there_is_a_context(scores):
    found = [[item.teachers[name].leaks_answer for name in scores.teachers] for item in scores.items]
    assert found == [[True, False, None], [False, False, None]]  # the answers are 7 and 9
    wire = wire_scores(scores)["meta"]
    cards = [rollout["contexts"] for rollout in wire["rollouts"]]
    assert [card["Hint"]["leaks"] for card in cards] == [True, False]
    assert cards[0]["Hint"]["tokens"] == len("more than 7")
    assert "Other" not in cards[0]


def test_arguments_and_limits_are_told_of_every_teacher(scores):
    teachers = {row["name"]: row for row in wire_scores(scores)["meta"]["teachers"]}
    assert {name: row["arguments"] for name, row in teachers.items()} == {
        "Hint": [], "Vague": ["enable_thinking=False"], "Other": ["date='2026'"],
    }  # fmt: skip
    assert teachers["Hint"]["limit"] == 256
    assert teachers["Hint"]["kind"] == "hint"


def test_an_edit_is_looked_at_anew(panel, scores):
    explorer = opd.Explorer(scores, panel[1], panel[2])
    explorer.set_context("Vague", "it is 7", rollout=0).wait()
    [entry] = explorer.live["entries"]
    assert entry["context"] == {"text": "it is 7", "tokens": 7, "leaks": True}
    assert explorer.edited_scores().items[0].teachers["Vague"].leaks_answer is True
    assert explorer.scores.items[0].teachers["Vague"].leaks_answer is False
    with pytest.raises(ContextError, match="holds '<u>', with which 'tiny-0' begins or ends a turn"):
        explorer.set_context("Vague", "then <u>6+4=?", rollout=0)


def test_without_answers_nothing_is_claimed_and_they_can_be_given_later(panel):
    rollouts, student, teachers = panel
    bare = [opd.Rollout(**{**vars(rollout), "metadata": {}}) for rollout in rollouts]

    def flags(some):
        made = opd.score(some, student, {"Hint": teachers["Hint"]}, progress=False, noise_rollouts=0)
        return [item.teachers["Hint"].leaks_answer for item in made.items]

    assert flags(bare) == [None, None]
    assert flags(opd.with_answers(bare, {"3": "7", "5": "9"})) == [True, False]


def test_a_run_keeps_both_and_one_of_before_claims_nothing(scores, tmp_path):
    folder = scores.save(tmp_path / "run")
    loaded = opd.load(folder)
    assert [item.teachers["Hint"].leaks_answer for item in loaded.items] == [True, False]
    assert loaded.teachers == scores.teachers
    assert loaded.teachers["Vague"].chat_template_kwargs == {"enable_thinking": False}
    prompts = folder / "prompts-00000.parquet"
    pq.write_table(pq.read_table(prompts).drop_columns(["leaks_answer"]), prompts)
    assert opd.load(folder).items[0].teachers["Hint"].leaks_answer is None


def test_the_lab_says_which_contexts_hold_the_answer():
    lab = opd.demo(questions=4, rollouts=1)
    some = {name: lab.teachers[name] for name in ("Teacher", "Self-1C", "Self-answer")}
    scores = opd.score(lab.rollouts, lab.student, some, progress=False, noise_rollouts=0)
    for item in scores.items:
        assert item.teachers["Teacher"].leaks_answer is None
        assert item.teachers["Self-1C"].leaks_answer is True
        assert item.teachers["Self-answer"].leaks_answer is True


def test_the_table_says_it_without_a_view(scores):
    table = opd.context_table(scores).set_index("teacher")
    assert table[["leaks_answer", "lacks_answer", "answer_unknown"]].to_numpy().tolist() == [
        [1, 1, 0],
        [0, 2, 0],
        [0, 0, 0],
    ]
    assert table["kind"].tolist() == ["hint", "hint", "external"]
    assert table["context_tokens"].tolist() == [len("more than 7"), len("think"), 0]
    assert table.loc["Vague", "chat_template_kwargs"] == {"enable_thinking": False}
    longest = max(len("<u>3+4=?\n\nmore than 7\n<a>") - 4 + len(rollout) for rollout in scores.rollouts)  # role tokens
    assert table.loc["Hint", "tokens"] == longest
    assert table.loc["Hint", "limit"] == 256
