"""Scores against a direct float64 softmax, and the invariants that catch shifts, padding and vocabulary faults."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.data.scores import Scores
from opd_widgets.errors import InvalidInputError, RolloutError
from tests import tiny

QUESTIONS = [opd.Question("q1", "1+2=?"), opd.Question("q2", "what is 10-7?")]


@pytest.fixture(scope="module")
def rollouts():
    return opd.sample_rollouts(QUESTIONS, tiny.model(0), n=3, max_new_tokens=12, seed=1)


@pytest.fixture(scope="module")
def teachers():
    hint = opd.contexts.free_text(lambda rollout: f"hint {rollout.question}")
    return {
        "other": opd.Teacher(tiny.model(1)),
        "itself": opd.Teacher(tiny.model(0)),
        "hinted": opd.Teacher(tiny.model(0), hint),
    }


@pytest.fixture(scope="module")
def scores(rollouts, teachers):
    return opd.score(rollouts, tiny.model(0), teachers, progress=False)


def reference(model, prompt, response):
    """Log-softmax rows, float64 [R, V], that predict each response token: one forward pass, nothing shared."""
    ids = torch.tensor(np.concatenate([prompt, response]).astype(np.int64))[None]
    with torch.no_grad():
        logits = model._model(input_ids=ids).logits[0].double()
    rows = torch.log_softmax(logits, -1)[len(prompt) - 1 : -1]
    return rows.numpy()


def sampled(rows, response):
    return rows[np.arange(len(response)), response]


def test_a_track_belongs_to_the_token_it_scores(scores, rollouts):
    for index, rollout in enumerate(rollouts):
        item = scores.items[index]
        rows = reference(tiny.model(0), rollout.prompt_ids, rollout.response_ids)
        assert len(item.student) == len(rollout)
        np.testing.assert_allclose(item.student.logprobs, sampled(rows, rollout.response_ids), atol=1e-4)
        np.testing.assert_allclose(item.student.entropy, -(np.exp(rows) * rows).sum(-1), atol=1e-4)
        ranks = 1 + (rows > sampled(rows, rollout.response_ids)[:, None]).sum(-1)
        assert item.student.rank.tolist() == ranks.tolist()


def test_a_teachers_context_moves_its_prompt_and_not_the_response(scores, rollouts):
    for index, rollout in enumerate(rollouts):
        hinted = scores.items[index].teachers["hinted"]
        text = tiny.model(0).tokenizer.decode(hinted.prompt_ids)
        assert hinted.context in text
        assert hinted.context == f"hint {rollout.question}"
        rows = reference(tiny.model(0), hinted.prompt_ids, rollout.response_ids)
        np.testing.assert_allclose(hinted.track.logprobs, sampled(rows, rollout.response_ids), atol=1e-4)


def test_divergences_over_the_shared_real_vocabulary(scores, rollouts):
    real = tiny.model(0).tokenizer.size
    assert real < tiny.model(0).vocab_size  # padded rows are there to be left out
    for index, rollout in enumerate(rollouts):
        ids = (rollout.prompt_ids, rollout.response_ids)
        s, t = (reference(tiny.model(seed), *ids) for seed in (0, 1))
        outside = 1 - np.exp(t[:, :real]).sum(-1)
        s, t = (x[:, :real] - np.log(np.exp(x[:, :real]).sum(-1, keepdims=True)) for x in (s, t))
        m = np.log(0.5 * np.exp(s) + 0.5 * np.exp(t))
        wanted = {
            "reverse_kl": (np.exp(s) * (s - t)).sum(-1),
            "forward_kl": (np.exp(t) * (t - s)).sum(-1),
            "jsd": 0.5 * (np.exp(t) * (t - m)).sum(-1) + 0.5 * (np.exp(s) * (s - m)).sum(-1),
            "teacher_outside": outside,
        }
        for name, values in wanted.items():
            np.testing.assert_allclose(scores.signal(name, index, "other"), values, atol=2e-4, rtol=1e-3)


def test_top_k_of_both_sides_and_each_at_the_others(scores, rollouts):
    rollout, item = rollouts[0], scores.items[0]
    real = tiny.model(0).tokenizer.size
    s = reference(tiny.model(0), rollout.prompt_ids, rollout.response_ids)
    t = reference(tiny.model(1), rollout.prompt_ids, rollout.response_ids)
    other = item.teachers["other"]
    assert item.student.topk.k == 20
    for row in range(len(rollout)):
        assert item.student.topk.ids[row].tolist() == np.argsort(-s[row, :real])[:20].tolist()
        assert other.track.topk.ids[row].tolist() == np.argsort(-t[row, :real])[:20].tolist()
        np.testing.assert_allclose(other.student_at_top[row], s[row, other.track.topk.ids[row]], atol=1e-4)
        np.testing.assert_allclose(other.at_student_top[row], t[row, item.student.topk.ids[row]], atol=1e-4)
    assert np.isfinite(scores.signal("teacher_mass", 0, "other")).all()


def test_a_teacher_that_is_the_student_has_no_advantage(scores):
    for index in range(len(scores)):
        np.testing.assert_allclose(scores.signal("advantage", index, "itself"), 0, atol=1e-5)
        np.testing.assert_allclose(scores.signal("reverse_kl", index, "itself"), 0, atol=1e-5)
        np.testing.assert_allclose(scores.signal("topk_overlap", index, "itself"), 1)


def test_advantage_turns_its_sign_with_the_roles(rollouts):
    one = opd.score(rollouts, tiny.model(0), {"x": opd.Teacher(tiny.model(1))}, progress=False)
    two = opd.score(rollouts, tiny.model(1), {"x": opd.Teacher(tiny.model(0))}, progress=False)
    for index in range(len(one)):
        np.testing.assert_allclose(one.signal("advantage", index), -two.signal("advantage", index), atol=1e-5)
        np.testing.assert_allclose(one.signal("reverse_kl", index), two.signal("forward_kl", index), atol=1e-4)


def assert_same(one: Scores, two: Scores, order=None):
    for index in range(len(one)):
        other = index if order is None else order[index]
        for teacher in one.teachers:
            for name, values in one.items[index].teachers[teacher].signals.items():
                np.testing.assert_allclose(
                    values, two.items[other].teachers[teacher].signals[name], atol=1e-4, rtol=1e-3, err_msg=name
                )


@pytest.mark.parametrize(
    "options",
    [
        opd.Options(batch_rows=1),
        opd.Options(padding="left"),
        opd.Options(batch_rows=2, padding="left", chunk_tokens=3),
        opd.Options(batch_tokens=40, chunk_tokens=1),
    ],
    ids=["alone", "left padding", "left padding in twos", "small chunks"],
)
def test_scores_do_not_depend_on_batch_padding_or_chunk(rollouts, teachers, scores, options):
    assert_same(scores, opd.score(rollouts, tiny.model(0), teachers, options=options, progress=False))


def test_a_row_beside_one_ten_times_longer(teachers):
    prompt = tiny.model(0).tokenizer.encode("<u>1+2=?\n<a>")
    short = opd.Rollout(id="s", prompt_ids=prompt, response_ids=[12], messages=QUESTIONS[0].messages)
    long = opd.Rollout(id="l", prompt_ids=prompt, response_ids=[12, 9] * 20, messages=QUESTIONS[0].messages)
    alone = opd.score([short], tiny.model(0), teachers, progress=False)
    beside = opd.score([long, short], tiny.model(0), teachers, progress=False)
    assert_same(alone, beside, order=[1])
    assert len(alone.items[0].student) == 1
    assert np.isfinite(alone.items[0].student.logprobs).all()


def test_an_empty_response_has_no_value_and_an_empty_prompt_no_first_one():
    teachers = {"other": opd.Teacher(tiny.model(1))}
    empty = opd.Rollout(id="e", prompt_ids=[3, 4], response_ids=[], messages=QUESTIONS[0].messages)
    bare = opd.Rollout(id="b", prompt_ids=[], response_ids=[7, 8], messages=QUESTIONS[0].messages)
    scored = opd.score([empty, bare], tiny.model(0), teachers, progress=False)
    assert len(scored.signal("advantage", 0, "other")) == 0
    values = scored.items[1].student.logprobs
    assert np.isnan(values[0])
    rows = reference(tiny.model(0), [7], [8])
    np.testing.assert_allclose(values[1], rows[0, 8], atol=1e-4)


def test_only_an_empty_response():
    empty = opd.Rollout(id="e", prompt_ids=[3], response_ids=[])
    scored = opd.score([empty], tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, progress=False)
    assert len(scored.to_pandas()) == 0
    assert scored.noise == {}


def test_heads_wider_than_the_tokenizer_and_than_each_other():
    student, teacher = tiny.model(2, vocab=70), tiny.model(3, vocab=80)
    rollout = opd.Rollout(id="r", prompt_ids=[3, 10, 4], response_ids=[12, 49, 8])
    scored = opd.score([rollout], student, {"t": opd.Teacher(teacher)}, progress=False)
    own = reference(teacher, rollout.prompt_ids, rollout.response_ids)
    np.testing.assert_allclose(scored.items[0].teachers["t"].track.logprobs, sampled(own, [12, 49, 8]), atol=1e-4)
    assert (scored.signal("teacher_outside", 0) > 0.05).all()
    assert (scored.signal("reverse_kl", 0) >= 0).all()
    assert scored.items[0].teachers["t"].track.topk.ids.max() < student.tokenizer.size


def test_a_sampled_padding_row_is_shown_for_what_it_is():
    rollout = opd.Rollout(id="r", prompt_ids=[3], response_ids=[60])
    scored = opd.score([rollout], tiny.model(0), {}, progress=False)
    assert scored.pieces[60].data == b"<unused 60>"


def test_pad_equal_to_eos_does_not_hide_the_end():
    teachers = {"other": opd.Teacher(tiny.model(1))}
    ends = opd.Rollout(id="r", prompt_ids=[3, 4], response_ids=[9, 1], messages=QUESTIONS[0].messages)
    longer = opd.Rollout(id="s", prompt_ids=[3, 4], response_ids=[9, 1, 1, 1, 1], messages=QUESTIONS[0].messages)
    scored = opd.score([ends, longer], tiny.model(0), teachers, progress=False)
    assert np.isfinite(scored.signal("advantage", 0, "other")).all()
    assert np.isfinite(scored.signal("advantage", 1, "other")).all()


def test_text_is_tokenised_and_says_so():
    text = opd.Rollout(id="t", prompt_text="1+2=?", response_text="3", text_source="text")
    scored = opd.score([text], tiny.model(0), {}, progress=False)
    assert scored.rollouts[0].text_source == "retokenised"
    assert scored.rollouts[0].response_ids.tolist() == tiny.model(0).tokenizer.encode("3").tolist()


def test_characters_the_tokenizer_lacks_are_said():
    text = opd.Rollout(id="t", prompt_text="1+2=?", response_text="3é", text_source="text")
    with pytest.warns(UserWarning, match=r"1 of 1 rollouts does not come back from its tokens; first in 't'"):
        assert opd.score([text], tiny.model(0), {}, progress=False).notes


def test_a_conversation_counts_only_the_students_turns():
    turns = [
        opd.Message("user", "2+3?"), opd.Message("assistant", "5"),
        opd.Message("user", "sure?"), opd.Message("assistant", "yes"),
    ]  # fmt: skip
    rollout = opd.Rollout(id="c", turns=turns, text_source="text")
    made = opd.score([rollout], tiny.model(0), {}, progress=False).rollouts[0]
    decode = tiny.model(0).tokenizer.decode
    assert made.response_ids is not None
    assert made.response_mask is not None
    assert decode(made.prompt_ids) == "<u>2+3?\n<a>"
    assert decode(made.response_ids[made.response_mask]) == "5yes"
    assert "sure?" in decode(made.response_ids[~made.response_mask])


def test_a_conversation_with_tools_keeps_its_headers():
    turns = [
        opd.Message("user", "2+3?"), opd.Message("assistant", "ab"),
        opd.Message("tool", "x"), opd.Message("tool", "y"), opd.Message("assistant", "c"), opd.Message("user", "bye"),
    ]  # fmt: skip
    rollout = opd.Rollout(id="c", turns=turns, text_source="text")
    made = opd.score([rollout], tiny.model(0), {}, progress=False).rollouts[0]
    decode = tiny.model(0).tokenizer.decode
    assert made.response_ids is not None
    assert decode(made.response_ids[made.counted]) == "abc"
    assert decode(made.response_ids[~made.counted]) == "\n<unk>t<unk>x\n<unk>t<unk>y\n<a>"


def test_a_template_that_rewrites_earlier_turns_is_refused():
    template = "{% for m in messages %}{{ loop.length }}{{ m['content'] }}{% endfor %}:"
    model = opd.HFModel((tiny.qwen(4), tiny.tokenizer(template=template)), device="cpu", name="rewrites")
    turns = [opd.Message(role, "a") for role in ("user", "assistant", "user", "assistant")]
    with pytest.raises(RolloutError, match="rewrites earlier turns"):
        opd.score([opd.Rollout(id="c", turns=turns, text_source="text")], model, {}, progress=False)


def test_exact_response_ids_keep_their_mask_and_tracks():
    track = opd.LogprobTrack(np.array([-1.0, -2.0, -3.0]))
    given = opd.Rollout(
        id="r", prompt_text="1+2=?", response_ids=[8, 9, 10], response_mask=[True, False, True], tracks={"old": track}
    )
    made = opd.score([given], tiny.model(0), {}, progress=False).rollouts[0]
    assert made.response_ids.tolist() == [8, 9, 10]
    assert made.counted.tolist() == [True, False, True]
    assert made.tracks["old"] is track
    assert made.text_source == "exact_ids"


def test_ids_beyond_a_teachers_head_are_refused_by_name():
    narrow = tiny.model(8, vocab=52, name="narrow")
    rollout = opd.Rollout(id="r", prompt_ids=[3], response_ids=[9, 60])
    with pytest.raises(RolloutError, match=r"id 60 at response token 1, and 'narrow' has rows for ids 0 to 51"):
        opd.score([rollout], tiny.model(0), {"narrow": opd.Teacher(narrow)}, progress=False)


def test_a_teacher_without_context_sees_the_very_ids_the_student_saw():
    """Sampled under another system prompt: rendering the messages anew would pass that off as advice."""
    prompt = tiny.model(0).tokenizer.encode("<s>be brief\n<u>1+2=?\n<a>")
    rollout = opd.Rollout(id="r", prompt_ids=prompt, response_ids=[8, 9], messages=QUESTIONS[0].messages)
    itself = {"itself": opd.Teacher(tiny.model(0))}
    scored = opd.score([rollout], tiny.model(0), itself, progress=False)
    np.testing.assert_allclose(scored.signal("advantage", 0), 0, atol=1e-6)
    hinted = {"hinted": opd.Teacher(tiny.model(0), opd.contexts.free_text("hint"))}
    with pytest.warns(UserWarning, match="1 of 1 prompts are not what the student's chat template makes"):
        assert opd.score([rollout], tiny.model(0), hinted, progress=False).notes


def test_a_teacher_needs_a_name():
    wrong: list[Any] = ["", 1]
    for name in wrong:
        with pytest.raises(InvalidInputError, match="as a teacher's name"):
            opd.score(
                [opd.Rollout(id="r", prompt_ids=[3], response_ids=[8])],
                tiny.model(0),
                {name: opd.Teacher(tiny.model(1))},
            )


def test_noise_is_measured_in_other_company_also_for_one_rollout():
    rollout = opd.Rollout(id="r", prompt_ids=[3, 12, 9, 14], response_ids=list(range(6, 40)))
    noise = opd.score([rollout], tiny.model(0), {"t": opd.Teacher(tiny.model(1))}, progress=False).noise
    assert noise["advantage"] > 0
    full = opd.Rollout(id="f", prompt_ids=[3], response_ids=[9] * 255)
    assert opd.score([full], tiny.model(0), {}, progress=False).noise == {}


def test_noise_band_is_measured_and_small_in_float32(scores):
    assert 0 <= scores.noise["advantage"] < 1e-4
    assert set(scores.noise) >= {"advantage", "reverse_kl", "student_entropy"}


def test_noise_band_can_be_left_out(rollouts, teachers):
    assert opd.score(rollouts[:1], tiny.model(0), teachers, noise_rollouts=0, progress=False).noise == {}


def test_data_frame_has_one_row_a_token_and_teacher(scores, rollouts, teachers):
    frame = scores.to_pandas()
    assert len(frame) == len(teachers) * sum(map(len, rollouts))
    assert frame.columns[:5].tolist() == ["rollout", "position", "token_id", "token", "teacher"]
    row = frame[(frame.rollout == 2) & (frame.teacher == "other")]
    np.testing.assert_array_equal(row["advantage"], scores.signal("advantage", 2, "other"))
    assert row["token_id"].tolist() == rollouts[2].response_ids.tolist()


def test_unlike_tracks_warn_and_name_both():
    half = opd.HFModel((tiny.qwen(9), tiny.tokenizer()), device="cpu", dtype="bfloat16", name="half")
    rollout = opd.Rollout(id="r", prompt_ids=[3], response_ids=[9])
    with pytest.warns(UserWarning, match="dtype float32 against bfloat16"):
        scored = opd.score([rollout], tiny.model(0), {"t": opd.Teacher(half)}, progress=False)
    assert "bfloat16" in scored.notes[0]


def test_no_divergence_of_two_that_agree_is_below_zero():
    lab = opd.demo()
    twin = opd.HFModel((lab.student._model, lab.student.tokenizer.inner), device="cpu", name="twin")
    scores = opd.score(lab.rollouts, lab.student, {"twin": opd.Teacher(twin)}, noise_rollouts=0, progress=False)
    for name in ("reverse_kl", "forward_kl", "jsd", "skew_reverse_kl"):
        assert min(float(item.teachers["twin"].signals[name].min()) for item in scores.items) >= 0
