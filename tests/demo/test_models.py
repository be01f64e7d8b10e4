"""The stored models: they reload offline, stay small, and can do what the lab claims for them."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from opd_widgets.demo import arithmetic
from opd_widgets.demo.corpus import prompt_text
from opd_widgets.demo.measure import Asker, accuracy, contrast, response_logprobs
from opd_widgets.demo.recipes import RECIPES
from opd_widgets.demo.sampling import complete
from opd_widgets.demo.storage import MODELS, load, training_record
from opd_widgets.demo.tokenizer import MODEL_ROWS, build_tokenizer

PROBLEMS = arithmetic.problems(150, "held_out", seed=77)
# Three standard errors of a share over 150 completions at most.
SLACK = 3 * (0.25 / 150) ** 0.5
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def askers():
    return {name: Asker(*load(MODELS / name)) for name in RECIPES}


@pytest.fixture(scope="module")
def sampled(askers):
    """Accuracy at temperature 1 by name, and of the student by kind of context."""
    found = {name: accuracy(asker, PROBLEMS, seed=5).share for name, asker in askers.items()}
    for kind in arithmetic.CONTEXT_KINDS:
        found[kind] = accuracy(askers["student"]._replace(kind=kind), PROBLEMS, seed=5).share
    return found


@pytest.mark.parametrize("name", RECIPES)
def test_reloads_offline_as_any_checkpoint_does(name, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = AutoModelForCausalLM.from_pretrained(MODELS / name)
    tokenizer = AutoTokenizer.from_pretrained(MODELS / name)
    assert model.config.model_type == "qwen3"
    assert model.dtype == torch.float16
    assert model.get_output_embeddings().weight.shape[0] == MODEL_ROWS > len(tokenizer)


@pytest.mark.parametrize("name", RECIPES)
def test_the_tokenizer_is_the_same_everywhere(name):
    stored = AutoTokenizer.from_pretrained(MODELS / name)
    assert stored.get_vocab() == build_tokenizer().get_vocab()
    assert stored.chat_template == build_tokenizer().chat_template
    for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja"):
        assert (MODELS / name / file).read_bytes() == (MODELS / "student" / file).read_bytes()


def test_text_survives_the_tokenizer(askers):
    tokenizer = askers["student"].tokenizer
    text = "Right: 43-40=3;3-36=-33 Wrong: 1+1=3\nQ: 43-40-36=?\n<think>43-40=3</think>-33<eos>"
    ids = tokenizer(text)["input_ids"]
    assert tokenizer.decode(ids) == text
    assert tokenizer.unk_token_id not in ids
    assert tokenizer.decode(ids, skip_special_tokens=True) == text.removesuffix("<eos>")
    assert tokenizer("é")["input_ids"] == [tokenizer.unk_token_id]


def test_the_chat_template_renders_what_was_trained_on(askers):
    problem, tokenizer = PROBLEMS[0], askers["student"].tokenizer
    context = arithmetic.context(problem, "self_1c1w")
    turns = [{"role": "user", "content": problem.question}]
    told = [{"role": "system", "content": context}, *turns]
    for prompt in (True, False):
        rendered = {"tokenize": False, "add_generation_prompt": prompt}
        assert tokenizer.apply_chat_template(turns, **rendered) == prompt_text(problem)
        assert tokenizer.apply_chat_template(told, **rendered) == prompt_text(problem, context)
    answered = [*turns, {"role": "assistant", "content": problem.completion()}]
    assert (
        tokenizer.apply_chat_template(answered, tokenize=False) == prompt_text(problem) + problem.completion() + "<eos>"
    )


def test_all_files_together_stay_small():
    assert sum(file.stat().st_size for file in MODELS.rglob("*") if file.is_file()) <= 20 * MEGABYTE


def test_the_stored_models_follow_the_recipes():
    for name, recipe in RECIPES.items():
        stored = training_record(MODELS / name)["recipe"]
        assert stored == json.loads(json.dumps(asdict(recipe)))


def test_the_student_is_partly_right(sampled):
    assert 0.40 - SLACK <= sampled["student"] <= 0.65 + SLACK


def test_the_teacher_is_nearly_always_right(sampled):
    assert sampled["teacher"] > 0.90


def test_the_other_style_is_as_accurate_as_the_teacher(sampled):
    measured = json.loads((MODELS / "measured.json").read_text(encoding="utf-8"))["plain"]
    assert measured["other_style"]["sampled"]["accuracy"] >= measured["teacher"]["sampled"]["accuracy"]
    # Near 1 the standard error is far smaller than SLACK allows for.
    assert sampled["other_style"] >= sampled["teacher"] - 0.04


def test_the_other_style_works_in_its_own_order(askers):
    responses = complete(
        askers["other_style"].model,
        askers["other_style"].tokenizer,
        [prompt_text(problem) for problem in PROBLEMS],
        greedy=True,
    )
    texts = askers["other_style"].tokenizer.batch_decode(responses)
    own = [
        arithmetic.solution_of(text) == problem.solution("right_pair_first")
        for problem, text in zip(PROBLEMS, texts, strict=True)
    ]
    assert sum(own) / len(own) > 0.9


@pytest.mark.parametrize(
    "kind",
    ["self_1c", "self_sum_1c", "self_1c1w", "self_sum_1c1w", "self_1c_large", "answer_only"],
)
def test_every_helpful_context_adds_at_least_20_points(sampled, kind):
    assert sampled[kind] >= sampled["student"] + 0.20


@pytest.mark.parametrize("kind", ["self_1w", "self_1c_misled"])
def test_a_wrong_solution_helps_less_than_a_correct_one(sampled, kind):
    assert sampled[kind] < sampled["self_1c"] - 0.20


def test_the_mark_and_not_the_place_says_which_solution_is_right(askers):
    swapped = [
        prompt_text(
            problem,
            f"{arithmetic.one_wrong(problem.wrong_solution(0))} {arithmetic.one_correct(problem.solution())}",
        )
        for problem in PROBLEMS
    ]
    student = askers["student"]
    texts = student.tokenizer.batch_decode(complete(student.model, student.tokenizer, swapped))
    right = [arithmetic.verify(p.answer, t) for p, t in zip(PROBLEMS, texts, strict=True)]
    assert sum(right) / len(right) > 0.8


def test_the_teacher_advises_on_correctness_and_the_other_style_on_style(askers):
    teachers = {name: askers[name] for name in ("teacher", "other_style")}
    found = contrast(askers["student"], teachers, PROBLEMS, samples=1)["mean_advantage"]
    assert found["teacher"]["incorrect"] < found["teacher"]["correct"] - 0.2
    assert abs(found["teacher"]["correct"]) < 0.1
    assert found["other_style"]["correct"] < -0.5


def test_sampling_follows_the_models_own_probabilities(askers):
    student, problem = askers["student"], PROBLEMS[0]
    n = 4000
    prompt = student.tokenizer(prompt_text(problem) + "<think>", return_tensors="pt")["input_ids"]
    expected = student.model(prompt).logits[0, -1].detach().softmax(-1)
    drawn = complete(student.model, student.tokenizer, [prompt_text(problem) + "<think>"] * n, seed=9)
    counts = torch.bincount(torch.tensor([row[0] for row in drawn]), minlength=MODEL_ROWS)
    error = (expected * (1 - expected) / n).sqrt()
    assert ((counts / n - expected).abs() <= 5 * error + 1e-3).all()


def test_response_logprobs_do_not_depend_on_the_batch(askers):
    student = askers["student"]
    chosen = PROBLEMS[:8]
    prompts = [student.prompt(problem) for problem in chosen]
    responses = complete(student.model, student.tokenizer, prompts, seed=3)
    together = response_logprobs(student, chosen, responses)
    alone = response_logprobs(student, chosen, responses, batch_size=1)
    for a, b, response in zip(together, alone, responses, strict=True):
        assert a.shape == (len(response),)
        assert torch.allclose(a, b, atol=1e-4)


def test_nothing_but_the_licensed_files_is_stored():
    names = {file.name for file in MODELS.rglob("*") if file.is_file()}
    assert names == {
        "MODEL_CARD.md",
        "chat_template.jinja",
        "config.json",
        "generation_config.json",
        "measured.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "training.json",
    }
    assert "apache-2.0" in Path(MODELS / "MODEL_CARD.md").read_text(encoding="utf-8")
