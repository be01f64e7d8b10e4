"""`opd-widgets diagnose`, as a user types it."""

from __future__ import annotations

import json
import subprocess
import sys

import pandas as pd
import pytest

import opd_widgets as opd
from opd_widgets.cli import main
from opd_widgets.demo.lab import MODELS
from opd_widgets.diagnosis.command import verifier_of
from opd_widgets.diagnosis.run.stored import load_diagnosis
from opd_widgets.diagnosis.verifiers import number
from opd_widgets.errors import InvalidInputError
from tests import tiny
from tests.models.stub_server import ServedModel, serving


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with questions of the lab and a file of contexts."""
    folder = tmp_path_factory.mktemp("given")
    questions = opd.demo(questions=3, rollouts=1).questions
    records = [{"id": q.id, "question": q.title, "answer": q.answer, "solution": q.solution} for q in questions]
    (folder / "questions.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (folder / "solutions.json").write_text(json.dumps({q.id: q.solution for q in questions}))
    return folder


def arguments(given, out, *more, budget=1500):
    return [
        "diagnose", str(given / "questions.jsonl"), "--student", str(MODELS / "student"),
        "--teacher", f"Teacher={MODELS / 'teacher'}",
        "--teacher", f"Self={MODELS / 'student'},context={given / 'solutions.json'}",
        "--verifier", "number", "--budget", str(budget), "--seed", "3", "--out", str(out),
        "--max-new-tokens", "48", "--device", "cpu", *more,
    ]  # fmt: skip


def test_it_says_what_came_out_and_the_run_opens(given, tmp_path, capsys):
    out, nodes, candidates = tmp_path / "run", tmp_path / "nodes.csv", tmp_path / "candidates.csv"
    files = ["--nodes-csv", str(nodes), "--candidates-csv", str(candidates)]
    assert main(arguments(given, out, *files)) == 0
    said = capsys.readouterr()
    result = load_diagnosis(out)
    assert result.teachers == ("Teacher", "Self")
    assert result.about["teachers"]["Self"]["is_self"]
    assert result.about["seed"] == result.settings.seed == 3
    assert result.to_text() in said.out
    assert result.recommend().text in said.out
    assert "of 1,500 tokens generated, " in said.out
    assert f"run: {out}" in said.out
    assert "3 questions, " in said.err  # the cost, before it begins
    assert len(pd.read_csv(nodes)) == len(result.nodes)
    assert len(pd.read_csv(candidates)) == len(result.candidates)


def test_json_for_a_machine_and_a_larger_budget_goes_on(given, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(arguments(given, out, "--json")) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["run"] == str(out)
    assert first["finished"]
    assert 1350 <= first["generated_tokens"] <= 1700
    assert {row["teacher"] for row in first["summary"]} == {"Teacher", "Self"}
    assert {row["outcome"] for row in first["summary"]} == {"all", "correct", "incorrect"}
    assert first["recommendation"]["text"] == load_diagnosis(out).recommend().text
    assert first["cost"]["tokens"] == 1500
    assert main(arguments(given, out, "--json", "--loss", "jsd", budget=2500)) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["initial_rollouts"] == first["initial_rollouts"]
    assert second["generated_tokens"] >= 2250
    assert load_diagnosis(out).settings.loss == "jsd"


def test_an_estimate_draws_the_probe_alone(given, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(arguments(given, out, "--estimate")) == 0
    assert "generated tokens, about " in capsys.readouterr().out
    assert len(list(out.glob("rollouts-*"))) == 1
    assert main(arguments(given, out, "--estimate", "--json")) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == 1500


def test_it_runs_as_a_command_with_a_verifier_of_ones_own_and_keeps_its_output_clean(given, tmp_path):
    (tmp_path / "mine.py").write_text("def right(question, text):\n    return question.answer in text\n")
    command = [sys.executable, "-m", "opd_widgets.cli", *arguments(given, "run", "--json", budget=600)]
    command[command.index("number")] = "mine:right"
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["questions"] == 3
    assert "mine.right" in (tmp_path / "run" / "diagnosis.json").read_text()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--teacher", "Self=x"], "found 2 teachers named 'Self'"),
        (["--teacher", "nothing"], "found the teacher 'nothing', expected NAME=MODEL[,context=FILE]"),
        (["--teacher", "T=no/model/here"], "no/model/here"),
        (["--teacher", "T=m,context=none.txt"], "'none.txt' cannot be read"),
        (
            ["--verifier", "nothing"],
            "expected one of exact, boolean, multiple_choice, number, math, or MODULE:FUNCTION",
        ),
        (["--verifier", "no_such_module:f"], "cannot be imported: ModuleNotFoundError"),
        (["--verifier", "json:nothing"], "cannot be imported: AttributeError"),
        (["--verifier", "json:__name__"], "found str at --verifier 'json:__name__'"),
        (["--budget", "0"], "found budget=0"),
        (["--initial", "0"], "found initial=0"),
        (["--max-new-tokens", "9999"], "Nothing is cut"),
        (["--verifier", "boolean"], "no verdict on any of the first"),
        (["--student", "no/model/here"], "no/model/here"),
        (["--student", "http://127.0.0.1:9/v1#m"], "expected URL#MODEL,tokenizer=FOLDER"),
        (["--student", "m,context=hint.txt"], "found a context for the student"),
    ],
)
def test_a_slip_is_one_line_and_a_non_zero_exit(given, tmp_path, capsys, more, says):
    assert main(arguments(given, tmp_path / "run", *more)) == 2
    said = capsys.readouterr()
    line = said.err.splitlines()[-1]
    assert line.startswith("opd-widgets: ")
    assert says in line
    assert "Traceback" not in said.err
    assert not said.out


def test_questions_that_are_none_are_one_line(given, tmp_path, capsys):
    command = arguments(given, tmp_path / "run")
    (tmp_path / "bad.jsonl").write_text('{"text": "x"}\n')
    command[1] = str(tmp_path / "bad.jsonl")
    assert main(command) == 2
    assert "bad.jsonl, line 1: found 'text', expected the prompt under" in capsys.readouterr().err


def test_a_folder_of_another_diagnosis_is_one_line(given, tmp_path, capsys):
    assert main(arguments(given, tmp_path / "run", "--estimate")) == 0
    capsys.readouterr()
    assert main(arguments(given, tmp_path / "run", "--seed", "4")) == 2
    assert "seed was 3 and is 4" in capsys.readouterr().err


def test_interrupted_it_says_so_and_what_was_drawn_stays(given, tmp_path, capsys, monkeypatch):
    from opd_widgets.diagnosis.run.requests import Drawer

    draw, left = Drawer.draw, [4]

    def interrupted(self, requests, round_):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return draw(self, requests, round_)

    monkeypatch.setattr(Drawer, "draw", interrupted)
    assert main(arguments(given, tmp_path / "run")) == 130
    said = capsys.readouterr().out
    assert "tokens generated, " in said
    assert "stopped: this is of what was drawn until now" in said
    left[0] = 0
    assert main(arguments(given, tmp_path / "other")) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "opd-widgets: stopped"


def test_a_student_on_a_server_who_teaches_itself(tmp_path, capsys):
    model = tiny.model(0, vocab=len(tiny.tokenizer()))
    tiny.tokenizer().save_pretrained(tmp_path / "tokenizer")
    (tmp_path / "hint.txt").write_text("say 3")
    (tmp_path / "asked.jsonl").write_text('{"question": "3+4=?", "answer": "7"}\n')
    (tmp_path / "has_digit_of_mine.py").write_text(
        "def f(question, text):\n    return any(c.isdigit() for c in text)\n"
    )
    with serving(ServedModel(model, most=64)) as stub, pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.syspath_prepend(str(tmp_path))
        where = f"{stub.url}/v1#tiny"
        command = [
            "diagnose", "asked.jsonl", "--student", f"{where},tokenizer=tokenizer",
            "--teacher", f"Hint={where},context=hint.txt", "--verifier", "has_digit_of_mine:f", "--budget", "60",
            "--out", "run", "--max-new-tokens", "4", "--json",
        ]  # fmt: skip
        assert main(command) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["student"] == "tiny"
    assert load_diagnosis(tmp_path / "run").about["teachers"]["Hint"]["is_self"]


def test_a_verifier_by_name():
    assert verifier_of("number") is number
    assert verifier_of("json:JSONEncoder.encode").__qualname__ == "JSONEncoder.encode"
    with pytest.raises(InvalidInputError, match="expected one of"):
        verifier_of(":x")
