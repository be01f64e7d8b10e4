"""Teachers of another tokenizer against a brute force of its own, and the faults they invite."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch

import opd_widgets as opd
from opd_widgets.errors import ContextError, InvalidInputError, LengthLimitError
from tests import byte_pair, tiny
from tests.models.stub_server import ServedModel, serving
from tests.same_scores import assert_same_scores

QUESTIONS = [opd.Question("q1", "What is 10+2=?"), opd.Question("q2", "Hello world, and then?")]
SUMS = {
    "advantage", "teacher_surprisal", "position_weighted", "reward_to_go", "discounted_advantage", "power_advantage",
    "soft_log_advantage", "k2", "k3",
}  # fmt: skip
STUDENT, TEACHER = byte_pair.student(), byte_pair.teacher()


def written(*parts, name="r", question="q1"):
    """Return a rollout of texts (and, as one-tuples, special tokens) in the student's tokens."""
    own = STUDENT.tokenizer
    ids = [[own.vocabulary()[p[0]]] if isinstance(p, tuple) else own.encode(p) for p in parts]
    asked = next(q for q in QUESTIONS if q.id == question)
    return opd.Rollout(
        id=name,
        question=question,
        messages=asked.messages,
        prompt_ids=own.encode(own.render(asked.messages, {})),
        response_ids=np.concatenate([np.zeros(0, np.int32), *ids]),
    )


ROLLOUTS = [
    written("the thing and the other one is 12=? abc", ("<|end|>",), name="long"),
    written("Hello world 是 that is all", name="cut", question="q2"),
    written("", name="empty"),
    written("ab", ("<|end|>",), name="short"),
]


def score(rollouts=ROLLOUTS, teachers=None, student=STUDENT, **more):
    teachers = {"other": opd.Teacher(TEACHER)} if teachers is None else teachers
    return opd.score(rollouts, student, teachers, progress=False, **more)


@pytest.fixture(scope="module")
def scores():
    hint = opd.contexts.free_text("It is 12.", placement="system")
    return score(teachers={
        "same": opd.Teacher(byte_pair.student(3)), "other": opd.Teacher(TEACHER), "hinted": opd.Teacher(TEACHER, hint),
    })  # fmt: skip


def plain(model, prompt, response):
    """Log-probability of each response token, float64: one forward pass over plain logits."""
    ids = torch.tensor([*prompt, *response])[None]
    with torch.no_grad():
        rows = torch.log_softmax(model._model(input_ids=ids).logits[0].double(), -1).numpy()
    return np.array([rows[len(prompt) - 1 + i, token] for i, token in enumerate(response)])


def spelled(model, tokens):
    """Token strings as transformers has them; a byte-level alphabet has one character a byte."""
    return model.tokenizer.inner.convert_ids_to_tokens([int(token) for token in tokens])


def by_hand(rollout, prompt):
    """Return {last student token: (student's sum, teacher's)}, from offsets counted out and plain forward passes."""
    response, own, inner = rollout.response_ids.tolist(), STUDENT.tokenizer.inner, TEACHER.tokenizer.inner
    ended = response[-1] == own.eos_token_id
    theirs = inner.encode(own.decode(response, skip_special_tokens=True), add_special_tokens=False)
    theirs += [inner.eos_token_id] * ended
    s, t = plain(STUDENT, rollout.prompt_ids, response), plain(TEACHER, prompt, theirs)
    body_s = np.cumsum([len(name) for name in spelled(STUDENT, response)[: len(response) - ended]]).tolist()
    body_t = np.cumsum([len(name) for name in spelled(TEACHER, theirs)[: len(theirs) - ended]]).tolist()
    found, i, j = {}, 0, 0
    for edge in sorted(set(body_s) & set(body_t)):
        a, b = body_s.index(edge) + 1, body_t.index(edge) + 1
        found[a - 1] = (sum(s[i:a]), sum(t[j:b]))
        i, j = a, b
    if ended:
        found[len(response) - 1] = (s[-1], t[-1])
    return found


@pytest.mark.parametrize("name", ["other", "hinted"])
def test_whole_rollouts_against_plain_forward_passes(scores, name):
    kept = 0
    for rollout, item in zip(scores.rollouts, scores.items, strict=True):
        if not len(rollout):
            continue
        teacher = item.teachers[name]
        asked = TEACHER.tokenizer.inner.decode(teacher.prompt_ids)
        assert asked.endswith(f"<user> {rollout.messages[-1].content}\n<assistant> ")
        assert ("It is 12." in asked) == (name == "hinted")
        hand = by_hand(rollout, teacher.prompt_ids.tolist())
        advantage, track = teacher.signals["advantage"], teacher.track.logprobs
        assert sorted(hand) == np.flatnonzero(~np.isnan(advantage)).tolist()
        for place, (s, t) in hand.items():
            assert track[place] == pytest.approx(t, abs=2e-5)
            assert advantage[place] == pytest.approx(t - s, abs=4e-5)
            assert teacher.signals["k2"][place] == pytest.approx((t - s) ** 2 / 2, abs=2e-3)
        kept += len(hand)
    assert kept > 20


def test_the_chain_rule_holds_over_a_response(scores):
    # all text comes back, so the groups' sums are the whole response's log-probability on each side
    item, rollout = scores.items[0], scores.rollouts[0]
    other = item.teachers["other"]
    assert np.nansum(other.track.logprobs) == pytest.approx(
        plain(TEACHER, other.prompt_ids.tolist(), other.own.ids.tolist()).sum(), abs=1e-3
    )
    whole = item.student.logprobs.sum()
    assert np.nansum(other.track.logprobs) - np.nansum(other.signals["advantage"]) == pytest.approx(whole, abs=1e-3)
    assert len(rollout) > np.isfinite(other.signals["advantage"]).sum()  # there are groups of several tokens


def test_fault_18_a_beginning_of_text_token_on_one_side_is_a_group_of_its_own():
    begun = byte_pair.model(0, byte_pair.tokenizer(begin="<|begin|>"), "begun")
    own = begun.tokenizer
    asked = QUESTIONS[0].messages
    body = own.encode("Hello world")
    assert [own.piece(int(token)).data for token in body] == [b"Hello", b" world"]

    def scored(ids, teacher):
        rollout = opd.Rollout(id="r", messages=asked, prompt_ids=own.encode("x"), response_ids=ids)
        return score([rollout], {"t": opd.Teacher(teacher)}, begun, noise_rollouts=0).items[0].teachers["t"]

    without = scored(body, TEACHER)
    with_it = scored([own.vocabulary()["<|begin|>"], *body], TEACHER)
    assert without.groups.tolist() == [0, 1]
    assert with_it.groups.tolist() == [-1, 0, 1]  # the teacher has no such token, and the others keep their groups
    assert np.isnan(with_it.track.logprobs[0])
    namesake = byte_pair.model(1, byte_pair.tokenizer(byte_pair.OTHER, ("</s>",), "<|begin|>"), "namesake")
    assert scored([own.vocabulary()["<|begin|>"], *body], namesake).groups.tolist() == [0, 1, 2]


def test_fault_19_a_groups_probability_is_the_chain_rules_product():
    # student "ab","c" against teacher "a","bc"
    rollout = written("abc")
    teacher = score([rollout], noise_rollouts=0).items[0].teachers["other"]
    assert spelled(STUDENT, rollout.response_ids) == ["ab", "c"]
    assert spelled(TEACHER, teacher.own.ids) == ["a", "bc"]
    t = plain(TEACHER, teacher.prompt_ids.tolist(), teacher.own.ids.tolist())
    s = plain(STUDENT, rollout.prompt_ids.tolist(), rollout.response_ids.tolist())
    assert np.isnan(teacher.track.logprobs[0])
    assert np.exp(teacher.track.logprobs[1]) == pytest.approx(np.exp(t[0]) * np.exp(t[1]), rel=1e-4)
    assert teacher.signals["advantage"][1] == pytest.approx(t.sum() - s.sum(), abs=1e-4)


def test_fault_20_tokens_of_one_sides_template_are_missing_and_not_certain():
    special = ("<|end|>", "<|start|>")
    own = byte_pair.model(0, byte_pair.tokenizer(special=special), "templated")
    tokens = own.tokenizer.vocabulary()
    ids = [*own.tokenizer.encode("ab"), tokens["<|end|>"], tokens["<|start|>"], *own.tokenizer.encode("12")]
    rollout = opd.Rollout(
        id="r", messages=QUESTIONS[0].messages, prompt_ids=own.tokenizer.encode("x"), response_ids=ids,
        response_mask=[1, 1, 0, 1],
    )  # fmt: skip
    teacher = score([rollout], {"t": opd.Teacher(TEACHER)}, own, noise_rollouts=0).items[0].teachers["t"]
    assert teacher.groups.tolist() == [0, 1, -1, 2]
    for name, values in {"logprob": teacher.track.logprobs, **teacher.signals}.items():
        assert np.isnan(values[2]), name
        assert np.isfinite(values[[0, 1, 3]]).all(), name


def test_a_misfit_in_one_turn_does_not_spoil_the_others():
    broken = STUDENT.tokenizer.encode("是")[:1]
    clean = written()
    parts = [STUDENT.tokenizer.encode(text) for text in ("the thing", "12=?", " and abc")]
    ids = np.concatenate([parts[0], broken, parts[1], parts[2]])
    mask = [*[True] * (len(parts[0]) + 1), *[False] * len(parts[1]), *[True] * len(parts[2])]
    teacher = score([replace(clean, response_ids=ids, response_mask=mask)], noise_rollouts=0).items[0].teachers["other"]
    assert np.flatnonzero(teacher.groups == -1).tolist() == [len(parts[0])]
    edges = np.flatnonzero(np.diff(np.asarray(mask, int))) + 1
    for before, after in zip(edges - 1, edges, strict=True):
        assert teacher.groups[before] != teacher.groups[after] or teacher.groups[before] == -1


def test_a_conversation_is_read_under_the_teachers_own_template_throughout():
    turns = [
        {"role": "user", "content": "What is 10+2=?"},
        {"role": "assistant", "content": "the 12"},
        {"role": "tool", "content": "and?"},
        {"role": "assistant", "content": "Hello world"},
    ]
    found = score([opd.Rollout(id="r", turns=turns, text_source="text")], noise_rollouts=0)
    teacher, rollout = found.items[0].teachers["other"], found.rollouts[0]
    read = TEACHER.tokenizer.decode(np.concatenate([teacher.prompt_ids, teacher.own.ids]))
    assert read == TEACHER.tokenizer.render([opd.Message(**turn) for turn in turns[:3]], {}) + "Hello world"
    assert (teacher.groups >= 0).tolist() == rollout.response_mask.tolist()
    hand = plain(TEACHER, teacher.prompt_ids.tolist(), teacher.own.ids.tolist())
    last = teacher.own.groups == teacher.groups.max()
    assert teacher.track.logprobs[-1] == pytest.approx(hand[last].sum(), abs=2e-5)


def test_only_signals_of_sums_are_there_and_a_note_says_which_are_not(scores):
    for item, rollout in zip(scores.items, scores.rollouts, strict=True):
        for name in ("other", "hinted"):
            assert set(item.teachers[name].signals) == SUMS
            assert all(len(values) == len(rollout) for values in item.teachers[name].signals.values())
            assert item.teachers[name].track.rank is None
        assert set(item.teachers["same"].signals) > SUMS
        assert item.teachers["same"].groups is None
    note = next(note for note in scores.notes if note.startswith("other has another tokenizer"))
    assert "there is no reverse_kl" in note
    assert note.endswith(f" 0 of {sum(map(len, ROLLOUTS))} counted tokens are not comparable")
    assert not any(note.startswith("same has another") for note in scores.notes)


def test_a_group_counts_once(scores):
    table = scores.to_pandas()
    mine = table[(table["teacher"] == "other") & (table["rollout"] == 0)]
    groups = scores.items[0].teachers["other"].groups
    assert mine["group"].tolist() == groups.tolist()
    assert mine["advantage"].notna().sum() == groups.max() + 1
    assert table[table["teacher"] == "same"]["group"].isna().all()
    assert "group" not in score(ROLLOUTS[:1], {"same": opd.Teacher(byte_pair.student(3))}).to_pandas()


def test_alone_or_in_any_batch_and_chunk(scores):
    for index, rollout in enumerate(ROLLOUTS):
        options = opd.Options(padding="left", chunk_tokens=3)
        alone = score([rollout], noise_rollouts=0, options=options).items[0].teachers["other"]
        together = scores.items[index].teachers["other"]
        np.testing.assert_allclose(alone.track.logprobs, together.track.logprobs, atol=1e-4)
        np.testing.assert_array_equal(alone.groups, together.groups)


def test_the_noise_band_is_measured():
    band = score(teachers={"other": opd.Teacher(TEACHER)}).noise
    assert 0 <= band["advantage"] < 1e-3
    assert "reverse_kl" not in band


def test_a_teacher_behind_a_server_says_the_same(scores):
    served = byte_pair.teacher()
    with serving(ServedModel(served)) as stub:
        remote = opd.ServerModel(stub.url, "tiny", tokenizer=served, retries=0, timeout=30)
        with pytest.warns(UserWarning, match="engine transformers against"):
            found = score(teachers={"there": opd.Teacher(remote)})
    for item, here in zip(found.items, scores.items, strict=True):
        there, other = item.teachers["there"], here.teachers["other"]
        np.testing.assert_allclose(there.track.logprobs, other.track.logprobs, atol=2e-5)
        np.testing.assert_array_equal(there.groups, other.groups)
        assert set(there.signals) == SUMS


def test_a_prompt_of_ids_alone_is_refused_and_text_will_do():
    bare = replace(ROLLOUTS[0], messages=None)
    with pytest.raises(ContextError, match=r"neither messages nor prompt_text in rollout 'long'.*Give the rollout its"):
        score([bare])
    teacher = score([replace(bare, prompt_text="10+2=?")], noise_rollouts=0).items[0].teachers["other"]
    assert TEACHER.tokenizer.decode(teacher.prompt_ids) == "<s>10+2=?"


def test_a_response_too_long_in_the_teachers_tokens():
    short = byte_pair.model(1, byte_pair.tokenizer(()), "bytes", limit=60)
    long = written(" the" * 12)
    with pytest.raises(LengthLimitError, match=r"'t' takes 60 tokens and rollout 'r' needs .*a response of 48"):
        score([long], {"t": opd.Teacher(short)})


def test_a_run_keeps_the_groups_and_continues_only_with_the_same_teacher(tmp_path, scores):
    scores.save(tmp_path / "saved")
    assert_same_scores(opd.load(tmp_path / "saved"), scores)
    teachers = {"other": opd.Teacher(TEACHER)}
    opd.score_to(ROLLOUTS, STUDENT, teachers, tmp_path / "run", progress=False)
    assert_same_scores(opd.load(tmp_path / "run"), score(teachers=teachers, noise_rollouts=8))
    opd.score_to(ROLLOUTS, STUDENT, teachers, tmp_path / "run", progress=False)  # finished: nothing to do
    unlike = {"other": opd.Teacher(byte_pair.model(1, byte_pair.tokenizer(("bc",), ("</s>",), "<s>"), "teacher"))}
    with pytest.raises(InvalidInputError, match="is another one"):
        opd.score_to(ROLLOUTS, STUDENT, unlike, tmp_path / "run", progress=False)


def test_groups_come_with_a_part_of_a_run_and_are_not_missed_in_one_of_before(tmp_path, scores):
    scores.save(tmp_path / "run")
    some = opd.load(tmp_path / "run", signals=["advantage"]).items[0].teachers["other"]
    np.testing.assert_array_equal(some.groups, scores.items[0].teachers["other"].groups)
    assert list(some.signals) == ["advantage"]
    same = score(teachers={"same": opd.Teacher(byte_pair.student(3))}, noise_rollouts=0)
    same.save(tmp_path / "before")
    for path in (tmp_path / "before").glob("*-0*.parquet"):
        table = pq.read_table(path)
        gone = {"group", "own_ids", "own_groups", "own_pieces"} & set(table.column_names)
        assert gone
        pq.write_table(table.drop_columns(sorted(gone)), path)
    assert_same_scores(opd.load(tmp_path / "before"), same)


def test_an_edited_context_of_such_a_teacher_is_rescored():
    hint = opd.contexts.free_text("It is 12.", placement="system")
    explorer = opd.Explorer(ROLLOUTS, STUDENT, {"hinted": opd.Teacher(TEACHER, hint)})
    job = explorer.set_context("hinted", "No, it is 13.", rollout=0)
    assert job.wait(30)
    assert job.error is None
    wanted = opd.contexts.free_text("No, it is 13.", placement="system")
    expected = score(teachers={"hinted": opd.Teacher(TEACHER, wanted)}).items[0].teachers["hinted"]
    edited = explorer.edited_scores().items[0].teachers["hinted"]
    np.testing.assert_allclose(edited.signals["advantage"], expected.signals["advantage"], atol=1e-4)
    np.testing.assert_array_equal(edited.groups, expected.groups)
    (entry,) = [e for e in explorer.live["entries"] if e["rollout"] == 0]
    assert "13." in "".join(entry["prompt"]["cells"]["texts"])
    assert explorer.live["vocab"] == {}  # the prompt's ids are of the teacher's vocabulary, and name nothing here
    explorer.close()


def test_ids_of_the_teachers_vocabulary_are_not_spelled_in_the_students():
    few = opd.Options(top_k=1, settings=opd.SignalSettings(overlap_k=1))
    found = score([ROLLOUTS[3]], noise_rollouts=0, options=few)
    item, rollout = found.items[0], found.rollouts[0]
    theirs = {*item.teachers["other"].prompt_ids.tolist(), *item.teachers["other"].own.ids.tolist()}
    mine = {*rollout.token_ids.tolist(), *item.student.topk.ids.ravel().tolist()}
    assert theirs - mine
    assert set(found.pieces) == mine
    assert set(item.teachers["other"].own.pieces) == theirs


def test_a_tokenizer_with_the_same_ids_and_a_longer_head_stays_as_it_is():
    found = opd.score(
        [opd.Rollout(id="r", prompt_ids=[4, 8], response_ids=[9, 10])],
        tiny.model(0),
        {"t": opd.Teacher(tiny.model(1, vocab=80))},
        progress=False,
    )
    assert found.items[0].teachers["t"].groups is None
    assert "reverse_kl" in found.items[0].teachers["t"].signals


def test_a_teacher_that_sees_nothing_before_takes_nothing_from_the_student():
    student = byte_pair.model(0, byte_pair.tokenizer(begin="<s>"), "student")
    teacher = byte_pair.model(1, byte_pair.tokenizer(byte_pair.OTHER, ("</s>",), None, byte_pair.OTHER_TEMPLATE), "t")
    rollouts = [opd.Rollout(id="r", prompt_text="", response_text="the thing and more")]
    alone, beside = (score(rollouts, teachers, student) for teachers in ({}, {"other": opd.Teacher(teacher)}))
    np.testing.assert_array_equal(beside.items[0].student.logprobs, alone.items[0].student.logprobs)
    assert np.isfinite(alone.items[0].student.logprobs).all()
    assert np.isnan(beside.items[0].teachers["other"].track.logprobs[0])


def test_a_teacher_that_lacks_a_token_of_the_rollouts_reads_its_text():
    """A student that was given a token more: the teacher has no row for it, or one that was never trained."""
    plain = byte_pair.tokenizer()
    more = byte_pair.tokenizer(special=("<|end|>",))
    more.add_tokens(["<think>"])
    student, teacher = byte_pair.model(0, more, "student"), byte_pair.model(1, plain, "teacher")
    teachers = {"t": opd.Teacher(teacher)}

    def rollout(text):
        return opd.Rollout(id=text, prompt_text="the thing", response_text=text, messages=[opd.Message("user", "the")])

    whole = score([rollout("the thing")], teachers, student)
    assert "reverse_kl" in whole.items[0].teachers["t"].signals
    scores = score([rollout("<think>the thing"), rollout("the thing")], teachers, student)
    assert any("it has the ids 0 to" in note for note in scores.notes)
    item = scores.items[0].teachers["t"]
    assert "reverse_kl" not in item.signals
    assert item.groups is not None
    thought = [more.convert_tokens_to_ids("<think>")]
    assert item.groups[scores.rollouts[0].response_ids.tolist().index(thought[0])] == -1
    assert np.isfinite(item.signals["advantage"][item.groups >= 0]).any()
    np.testing.assert_allclose(
        np.nansum(scores.signal("advantage", 1, "t")), whole.signal("advantage", 0, "t").sum(), atol=1e-4
    )
