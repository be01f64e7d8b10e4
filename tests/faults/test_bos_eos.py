"""Tokens that begin and end a text: twice, hidden, or not the same for both sides."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import opd_widgets as opd
from opd_widgets.data.retokenise import PlainTokenizer
from tests import tiny
from tests.faults.made import at, chatml, hand_softmax, llama, model, scored

BOS = 1
TURNS = (opd.Message("user", "1+2=?"),)


def letters_with_bos():
    """A tokenizer of `tokenizers` itself, which knows no word for its beginning-of-text token."""
    inner = Tokenizer(models.WordLevel({"<s>": 0, "</s>": 1, "a": 2, "b": 3}, unk_token="a"))
    inner.add_special_tokens(["<s>", "</s>"])
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return inner


def test_fault_09_templated_text_tokenised_again_has_one_beginning():
    """vllm#27515, vllm#27486, huggingface/open-r1#462: the template writes <s>, and so does the tokenizer."""
    student = model(0, llama())
    text = student.tokenizer.render(TURNS, {})
    assert text.startswith("<s>")
    assert llama().encode(text)[:2] == [BOS, BOS]  # the fault itself, as the tokenizer left to itself makes it
    for rollout in (
        opd.Rollout(id="text", prompt_text=text, response_text="3", text_source="text"),
        opd.Rollout(id="turns", messages=TURNS, response_text="3", text_source="text"),
    ):
        scores = scored([rollout], student, {"t": opd.Teacher(model(1, llama()))})
        assert scores.rollouts[0].prompt_ids.tolist().count(BOS) == 1
        assert scores.items[0].teachers["t"].prompt_ids.tolist().count(BOS) == 1


@pytest.mark.parametrize("form", ["<s> $A", "<s> $A </s>"])
@pytest.mark.parametrize(("text", "ids"), [("ab", [0, 2, 3]), ("<s>ab", [0, 2, 3]), ("", [0])])
def test_fault_09_with_any_tokenizer_that_encodes(form, text, ids):
    inner = letters_with_bos()
    inner.post_processor = processors.TemplateProcessing(form, special_tokens=[("<s>", 0), ("</s>", 1)])
    assert PlainTokenizer(inner).encode_prompt(text).tolist() == ids


def test_fault_09_ids_that_begin_twice_warn():
    student, teacher = model(0, llama()), model(1, llama(), name="other")
    doubled = opd.Rollout(id="r", prompt_ids=[BOS, BOS, 20, 21], response_ids=[22, 2])
    single = opd.Rollout(id="s", prompt_ids=[BOS, 20, 21], response_ids=[22, 2])
    with pytest.warns(
        UserWarning, match=r"1 of 2 prompts of .* begin with two beginning-of-text tokens \(1 '<s>'\)"
    ) as said:
        scores = scored([doubled, single], student, {"t": opd.Teacher(teacher)})
    assert [note for note in scores.notes if "beginning-of-text" in note] == [str(entry.message) for entry in said]
    assert len(said) == 2  # the student's prompt and the teacher's
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scored([single], student).notes == ()


def test_fault_09_a_run_on_disk_carries_the_warning(tmp_path):
    rollout = opd.Rollout(id="r", prompt_ids=[BOS, BOS, 20], response_ids=[22])
    with pytest.warns(UserWarning, match="two beginning-of-text"):
        folder = opd.score_to([rollout], model(0, llama()), {}, tmp_path / "run", noise_rollouts=0, progress=False)
    assert any("two beginning-of-text" in note for note in opd.load(folder).notes)


@pytest.mark.parametrize("padding", ["left", "right"])
def test_fault_10_an_end_that_is_also_the_padding_is_scored_and_shown(padding):
    """trl#6357, trl#4970: masked by id and not by length, the end token lost its signal."""
    tokenizer = chatml(pad="<|im_end|>")
    end = tokenizer.eos_token_id
    assert tokenizer.pad_token_id == end
    student, teacher = model(0, tokenizer), model(1, tokenizer)
    rows = [([2, 9, 10], [11, end]), ([2, 9, 10], [11, 12, 13, 14, 15, 16, end])]
    rollouts = [opd.Rollout(id=str(n), prompt_ids=p, response_ids=r) for n, (p, r) in enumerate(rows)]
    scores = scored(rollouts, student, {"t": opd.Teacher(teacher)}, padding=padding)
    for index, (prompt, response) in enumerate(rows):
        for seed, track in ((0, scores.items[index].student), (1, scores.items[index].teachers["t"].track)):
            net = tiny.qwen(seed, max(64, len(tokenizer)))
            np.testing.assert_allclose(track.logprobs, at(hand_softmax(net, prompt, response), response), atol=1e-4)
        assert np.isfinite(scores.signal("advantage", index)[-1])
        assert scores.pieces[end].special
        assert scores.pieces[end].data == b"<|im_end|>"
    frame = scores.to_pandas()
    assert frame[frame.rollout == 0]["token"].tolist()[-1] == "<|im_end|>"


@pytest.mark.parametrize(
    ("response", "said"), [([11, 3, 0, 0], True), ([11, 3, 0], True), ([11, 0, 0], True), ([11, 3], False)]
)
def test_fault_10_a_padded_row_that_was_not_cut_by_its_length_is_named(response, said):
    student = model(0, chatml())
    rollout = opd.Rollout(id="r", prompt_ids=[2, 9], response_ids=response)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        scored([rollout], student)
    assert any("go on with padding (0 '<pad>')" in str(entry.message) for entry in found) == said


def base_and_instruct():
    base, instruct = chatml("<|endoftext|>"), chatml("<|im_end|>")
    assert base.get_vocab() == instruct.get_vocab()
    return model(0, base, name="base"), model(1, instruct, name="instruct")


def test_fault_11_end_tokens_that_differ_are_named_by_id_and_name():
    """ms-swift#9526: a base student ends with 151643, its instructed teacher with 151645."""
    student, teacher = base_and_instruct()
    rollout = opd.Rollout(id="r", prompt_ids=[2, 9, 10], response_ids=[11, 12, 13, 14, 1])
    expected = (
        r"t ends a response with 3 '<\|im_end\|>' and the student with 1 '<\|endoftext\|>'; "
        r"1 of 1 responses end with 1 '<\|endoftext\|>'"
    )
    with pytest.warns(UserWarning, match=expected):
        scores = scored([rollout], student, {"t": opd.Teacher(teacher)})
    assert any("<|endoftext|>" in note for note in scores.notes)
    assert scores.pieces[1].data == b"<|endoftext|>"


@pytest.mark.parametrize("response", [[11, 12, 13], [11]], ids=["cut off", "one token"])
def test_fault_11_says_nothing_where_no_response_ends(response):
    student, teacher = base_and_instruct()
    rollout = opd.Rollout(id="r", prompt_ids=[2, 9, 10], response_ids=response, status="truncated")
    notes = scored([rollout], student, {"t": opd.Teacher(teacher)}).notes
    assert not [note for note in notes if "lies on ids" not in note]  # random weights, rows that are no token


@pytest.mark.parametrize(
    ("end", "said"), [(1, True), (3, False)], ids=["with one the teacher never writes", "with the teacher's own"]
)
def test_fault_11_a_teacher_that_stops_at_both_still_closes_with_one(end, said):
    """Qwen's instructed models stop at both; a base student's end is unlikely to them all the same."""
    net = copy.deepcopy(tiny.qwen(1, max(64, len(chatml()))))
    net.generation_config.eos_token_id = [1, 3]
    teacher = opd.HFModel((net, chatml("<|im_end|>")), device="cpu", name="instruct")
    assert teacher.tokenizer.end_ids == {1, 3}
    student = model(0, chatml("<|endoftext|>" if end == 1 else "<|im_end|>"))
    rollout = opd.Rollout(id="r", prompt_ids=[2, 9, 10], response_ids=[11, 12, end])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        scored([rollout], student, {"t": opd.Teacher(teacher)})
    assert any("ends a response with" in str(entry.message) for entry in found) == said


def test_fault_11_says_nothing_where_both_end_alike():
    student, teacher = model(0, chatml()), model(1, chatml())
    rollout = opd.Rollout(id="r", prompt_ids=[2, 9, 10], response_ids=[11, 3])
    notes = scored([rollout], student, {"t": opd.Teacher(teacher)}).notes
    assert not [note for note in notes if "lies on ids" not in note]  # random weights, rows that are no token
