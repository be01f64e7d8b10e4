"""Characters that lie in several tokens, and tokens written in a tokenizer's own alphabet."""

from __future__ import annotations

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.scores import response_pieces
from opd_widgets.data.tokens import display_cells
from opd_widgets.widgets._traits import wire_scores
from tests import wire
from tests.faults.made import bytes_tokenizer, model, read, scored

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
TEXTS = ["한국어", "是", "👍🏽", "e\u0301", "naïve", "مرحبا", "a\tb\nc", FAMILY]


def cells_of(rollout, pieces):
    return display_cells(response_pieces(rollout, pieces))


@pytest.fixture(scope="module")
def byte_model():
    tokenizer = bytes_tokenizer()
    return model(0, tokenizer), opd.Teacher(model(1, tokenizer))


@pytest.mark.parametrize("text", TEXTS)
def test_fault_22_tokens_of_one_character_are_one_cell_whose_values_add_up(byte_model, text):
    """vllm#34875, #28874, #27300: part of a character came back as nothing or as U+FFFD."""
    student, teacher = byte_model
    rollout = opd.Rollout(id="r", prompt_text="q", response_text=text, text_source="text")
    scores = scored([rollout], student, {"t": teacher})
    made = scores.rollouts[0]
    assert len(made) == len(text.encode())  # every byte is a token of this tokenizer
    cells = cells_of(made, scores.pieces)
    sizes = [len(character.encode()) for character in text]
    assert [cell.stop - cell.start for cell in cells] == sizes
    assert not any("\ufffd" in cell.text or not cell.text for cell in cells)
    for track in (scores.items[0].student, scores.items[0].teachers["t"].track):
        parts = [float(track.logprobs[cell.start : cell.stop].sum()) for cell in cells]
        assert sum(parts) == pytest.approx(float(track.logprobs.sum()), rel=1e-5)
    sent = wire_scores(scores)
    assert wire.cells(sent, 0).starts == np.cumsum([0, *sizes])[:-1].tolist()
    assert {row["name"]: row["aggregate"] for row in sent["meta"]["signals"]}["advantage"] == "sum"


def test_fault_22_a_response_cut_within_a_character_shows_the_bytes_it_has(byte_model):
    student, _ = byte_model
    ids = student.tokenizer.encode("是")[:2]
    scores = scored([opd.Rollout(id="r", prompt_ids=[3], response_ids=ids)], student)
    cells = cells_of(scores.rollouts[0], scores.pieces)
    assert [cell.text for cell in cells] == ["⟨E6⟩", "⟨98⟩"]


def entries(tokens):
    return [{"token": token, "bytes": None, "logprob": -0.5} for token in tokens]


@pytest.mark.parametrize(
    ("tokens", "sizes"),
    [
        (["a", "\ufffd", "\ufffd", "\ufffd", "b"], [1, 3, 1]),
        (["a", "", "", "是", "b"], [1, 3, 1]),
        (["a", "", "是b"], [1, 2]),
        (["a", "\ufffd", "\ufffd b"], [1, 2]),
    ],
    ids=["U+FFFD", "empty", "empty, and more than the character", "U+FFFD, and more than the character"],
)
def test_fault_22_strings_of_a_server_are_put_together_by_the_text(tmp_path, tokens, sizes):
    text = "a是 b" if " b" in tokens[-1] else "a是b"
    message = {"message": {"role": "assistant", "content": text}, "logprobs": {"content": entries(tokens)}}
    (chat,) = read(tmp_path, {"choices": [message]})
    said = {"tokens": tokens, "token_logprobs": [-0.5] * len(tokens)}
    (completion,) = read(tmp_path, {"choices": [{"text": text, "logprobs": said}]})
    board = {"prompt": "q", "response": text, "response_tokens": tokens, "logprobs": [-0.5] * len(tokens)}
    (logged,) = read(tmp_path, board)
    rows = [{str(7 + n): {"logprob": -0.5, "rank": 1, "decoded_token": token}} for n, token in enumerate(tokens)]
    output = {"text": text, "token_ids": list(range(7, 7 + len(tokens))), "logprobs": rows}
    (engine,) = read(tmp_path, {"prompt_token_ids": [1], "outputs": [output]})
    for rollout in (chat, completion, logged, engine):
        cells = cells_of(rollout, {})
        assert [cell.stop - cell.start for cell in cells] == sizes
        assert "".join(cell.text for cell in cells) == text
        scores = opd.scores_from_tracks([rollout])
        assert "".join(wire.cells(wire_scores(scores), 0).texts) == text


def test_fault_23_a_byte_level_alphabet_is_mapped_back(byte_model):
    """vllm#16838, vllm#19177: "æĺ¯" was shown for "是"."""
    student, _ = byte_model
    spelled = bytes_tokenizer().convert_ids_to_tokens(bytes_tokenizer().encode("是 a"))
    assert "".join(spelled) == "æĺ¯Ġa"  # the fault itself
    assert [student.tokenizer.piece(token).data for token in student.tokenizer.encode("是").tolist()] == [
        b"\xe6",
        b"\x98",
        b"\xaf",
    ]


@pytest.mark.parametrize(
    ("tokens", "text", "shown"),
    [
        (["It", "Ġis", "Ġæĺ¯"], "It is 是", ["It", " is", " 是"]),
        (["It", "Ġis", "Ċ"], "It is\n", ["It", " is", "\n"]),
        (["æĺ", "¯"], "是", ["是"]),
        (["▁It", "▁is", "<0xE6>", "<0x98>", "<0xAF>"], " It is是", [" It", " is", "是"]),
        (["▁It", "▁is"], "It is", ["It", " is"]),
        (["Ġ", "is"], "Ġis", ["Ġ", "is"]),
    ],
)
def test_fault_23_strings_that_a_dump_left_in_that_alphabet(tmp_path, tokens, text, shown):
    record = {"prompt": "q", "response": text, "response_tokens": tokens, "logprobs": [-0.5] * len(tokens)}
    (rollout,) = read(tmp_path, record)
    assert [cell.text for cell in cells_of(rollout, {})] == shown
