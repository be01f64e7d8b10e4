"""Training in a few steps: batches, repeatability, storage and the card."""

import json
import random

import pytest
import torch

from opd_widgets.demo import arithmetic
from opd_widgets.demo.card import model_card
from opd_widgets.demo.corpus import IGNORED, TRAINED_KINDS, make_batch, training_context
from opd_widgets.demo.recipes import RECIPES
from opd_widgets.demo.sampling import complete
from opd_widgets.demo.storage import MODELS, load, save, training_record
from opd_widgets.demo.tokenizer import build_tokenizer
from opd_widgets.demo.train import main
from opd_widgets.demo.training import new_model, rate_at, train

STUDENT = RECIPES["student"]


@pytest.fixture(scope="module")
def tokenizer():
    return build_tokenizer()


def test_five_steps_with_one_seed_give_identical_weights(tokenizer):
    first, second = (train(STUDENT.shortened(5), tokenizer).state_dict() for _ in range(2))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_another_seed_gives_other_weights(tokenizer):
    first = new_model(STUDENT, tokenizer).state_dict()
    second = new_model(RECIPES["teacher"], tokenizer).state_dict()
    assert not torch.equal(first["model.embed_tokens.weight"][:4, :4], second["model.embed_tokens.weight"][:4, :4])


def test_labels_cover_the_completion_and_nothing_else(tokenizer):
    batch = make_batch(STUDENT, tokenizer, random.Random(3))
    assert batch.ids.shape == batch.labels.shape == (STUDENT.batch_size, batch.ids.shape[1])
    for ids, labels in zip(batch.ids, batch.labels, strict=True):
        kept = labels != IGNORED
        assert torch.equal(ids[kept], labels[kept])
        prompt, _, completion = tokenizer.decode(ids[ids != tokenizer.pad_token_id]).rpartition("\n")
        assert completion == tokenizer.decode(labels[kept])
        assert completion.startswith("<think>")
        assert completion.endswith("<eos>")
        chain = prompt.rpartition("Q: ")[2].removesuffix("=?")
        assert arithmetic.verify(str(eval(chain)), completion)


def test_both_orders_of_right_and_wrong_are_trained_on():
    rng, problem = random.Random(0), arithmetic.Problem(43, "-", 40, "-", 36)
    for kind in ("self_1c1w", "self_sum_1c1w"):
        lines = [training_context(problem, kind, rng) for _ in range(40)]
        assert {line.split(":")[0] for line in lines} == {"Right", "Wrong"}
    assert "self_1c_misled" not in TRAINED_KINDS


def test_rate_warms_up_and_ends_low():
    assert rate_at(STUDENT, 0) == pytest.approx(STUDENT.learning_rate / STUDENT.warmup_steps)
    assert rate_at(STUDENT, STUDENT.warmup_steps) == pytest.approx(STUDENT.learning_rate)
    last = rate_at(STUDENT, STUDENT.steps - 1)
    assert last == pytest.approx(STUDENT.learning_rate * STUDENT.final_rate_share, rel=0.01)


def test_a_saved_model_reloads_with_its_record(tokenizer, tmp_path):
    recipe = STUDENT.shortened(1)
    model = new_model(recipe, tokenizer)
    before = {name: weight.half().float() for name, weight in model.state_dict().items()}
    save(model, tokenizer, recipe, 0.5, tmp_path)
    reloaded, again = load(tmp_path / "student")
    assert all(torch.equal(before[name], weight) for name, weight in reloaded.state_dict().items())
    assert again.get_vocab() == tokenizer.get_vocab()
    assert training_record(tmp_path / "student")["recipe"]["steps"] == 1


def test_padded_rows_are_never_drawn(tokenizer):
    # Untrained, every row is about as likely as any other.
    drawn = complete(new_model(STUDENT, tokenizer), tokenizer, ["Q: 1+1+1=?\n"] * 64, seed=0)
    ids = {token for row in drawn for token in row}
    assert max(ids) < len(tokenizer)
    assert len(ids) == len(tokenizer)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"expected a config\.json there; train it with"):
        load(tmp_path)


def test_the_command_trains_one_model_and_says_what_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch, "set_num_threads", lambda _: None)
    main(["--only", "student", "--steps", "1", "--out", str(tmp_path)])
    assert "not measured: teacher, other_style not trained yet" in capsys.readouterr().out
    assert (tmp_path / "student" / "model.safetensors").is_file()
    assert not (tmp_path / "measured.json").exists()


def test_the_command_refuses_no_steps(capsys):
    with pytest.raises(SystemExit):
        main(["--steps", "0"])
    assert "--steps is 0, expected 1 or more" in capsys.readouterr().err


def test_the_stored_card_is_what_the_script_writes():
    measured = json.loads((MODELS / "measured.json").read_text(encoding="utf-8"))
    assert (MODELS / "MODEL_CARD.md").read_text(encoding="utf-8") == model_card(MODELS, measured)
