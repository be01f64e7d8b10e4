"""`opd-widgets score`, as a user types it."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.cli import main
from opd_widgets.errors import ContextError, InvalidInputError
from opd_widgets.scoring.specs import TeacherSpec, load_models, read_context
from tests import byte_pair, tiny
from tests.models.stub_server import Reply, ServedModel, serving

QUESTIONS = {"sum": "12+7=?", "difference": "9-4=?"}


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A folder with two models, rollouts and context files."""
    folder = tmp_path_factory.mktemp("given")
    for name, seed in (("student", 0), ("other", 1)):
        tiny.qwen(seed).save_pretrained(folder / name)
        tiny.tokenizer().save_pretrained(folder / name)
    rollouts = [
        opd.Rollout(
            id=f"r{i}",
            messages=[opd.Message("user", list(QUESTIONS.values())[i % 2])],
            response_text="ab 12+7=19"[: 3 + i],
            question=list(QUESTIONS)[i % 2],
            outcome="correct" if i else "incorrect",
        )
        for i in range(5)
    ]
    opd.write_rollouts(rollouts, folder / "rollouts.jsonl")
    (folder / "hint.txt").write_text("the answer is 19\n")
    (folder / "hints.json").write_text(json.dumps({"sum": "it is 19", "difference": "it is 5"}))
    return folder


def arguments(given, out, *more):
    return [
        "score", str(given / "rollouts.jsonl"), "--student", str(given / "student"),
        "--teacher", f"Other={given / 'other'}",
        "--teacher", f"Hint={given / 'student'},context={given / 'hint.txt'}",
        "--teacher", f"Hints={given / 'student'},context={given / 'hints.json'}",
        "--out", str(out), "--device", "cpu", "--batch-tokens", "64", *more,
    ]  # fmt: skip


def test_it_scores_into_a_run_prints_the_table_and_again_as_json(given, tmp_path, capsys):
    out = tmp_path / "run"
    assert main(arguments(given, out)) == 0
    said = capsys.readouterr().out
    assert "5 rollouts of student (4 correct, 1 incorrect), 25 tokens" in said
    assert "mean advantage, nats a token" in said
    assert f"run: {out}" in said
    assert main(arguments(given, out, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["teacher"] for row in found["teachers"]] == ["Other", "Hint", "Hints"]
    assert found["run"] == str(out)
    assert found["outcomes"] == {"incorrect": 1, "correct": 4}
    scores = opd.load(out)
    values = np.concatenate([scores.signal("advantage", i, "Hint") for i in range(5)])
    assert found["teachers"][1]["all"] == pytest.approx(float(values.mean()), rel=1e-5)
    assert scores.teachers["Hint"].self_distillation
    assert not scores.teachers["Other"].self_distillation
    assert scores.items[0].teachers["Hint"].context == "the answer is 19"
    assert scores.items[1].teachers["Hints"].context == "it is 5"


def test_another_teacher_into_the_same_run_is_one_line(given, tmp_path, capsys):
    assert main(arguments(given, tmp_path / "run")) == 0
    capsys.readouterr()
    assert main(arguments(given, tmp_path / "run", "--teacher", f"More={given / 'other'}")) == 2
    said = capsys.readouterr().err
    assert "teachers.More was nothing and is 'other'" in said
    assert "Traceback" not in said


def test_it_runs_as_a_command_and_keeps_its_output_clean(given, tmp_path):
    command = [sys.executable, "-m", "opd_widgets.cli", *arguments(given, "run", "--json")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rollouts"] == 5


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--teacher", "Other=x"], "found 2 teachers named 'Other'"),
        (["--teacher", "nothing"], "found the teacher 'nothing', expected NAME=MODEL[,context=FILE]"),
        (["--teacher", "T=m,context=none.txt"], "'none.txt' cannot be read: No such file"),
        (["--teacher", "T=no/model/here"], "no/model/here"),
        (["--batch-tokens", "0"], "batch_tokens=0"),
        (["--dtype", "float7"], "float7"),
        (["--student", "no/model/here"], "no/model/here"),
        (["--student", "http://127.0.0.1:9/v1#m"], "Only a teacher can be on a server"),
        (["--teacher", "T=http://127.0.0.1:9/v1#m,key-env=NO_SUCH_KEY"], "'NO_SUCH_KEY' is empty or missing"),
    ],
)
def test_a_slip_is_one_line_and_a_non_zero_exit(given, tmp_path, capsys, more, says):
    assert main(arguments(given, tmp_path / "run", *more)) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
    assert not (tmp_path / "run").exists()


def dumped(given, out, rows, *more, name="20.jsonl"):
    """Return a score command on a dump of its own, in a folder of its own."""
    folder = out.parent / "dump"
    folder.mkdir()
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["score", str(folder), "--student", str(given / "student"), "--out", str(out), "--device", "cpu", *more]


ROWS = [{"input": "12+7=?", "output": "19", "score": value, "right": 1 - value} for value in (1.0, 0.0, 1.0)]


def test_an_outcome_is_named_and_without_it_outcomes_are_unknown(given, tmp_path, capsys):
    command = dumped(given, tmp_path / "run", ROWS)
    assert main(command) == 0
    assert "3 rollouts of student (outcome unknown: 3), " in capsys.readouterr().out
    command[command.index("--out") + 1] = str(tmp_path / "judged")
    assert main([*command, "--outcome", "score"]) == 0
    assert "3 rollouts of student (2 correct, 1 incorrect), " in capsys.readouterr().out
    command[command.index("--out") + 1] = str(tmp_path / "other")
    assert main([*command, "--outcome", "right", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"incorrect": 2, "correct": 1}
    assert main([*command, "--outcome", "wrong"]) == 2
    assert "no reward 'wrong' in any rollout, expected one of ['reward', 'right']" in capsys.readouterr().err


def test_a_format_is_forced(given, tmp_path, capsys):
    command = dumped(given, tmp_path / "run", [{"prompt": "12+7=?", "completion": "19", "accuracy": 1.0}])
    assert main([*command, "--format", "verl2"]) == 2
    assert "found format='verl2', expected one of" in capsys.readouterr().err
    assert main([*command, "--format", "trl", "--outcome", "accuracy", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["outcomes"] == {"correct": 1}


def test_a_pickle_is_read_where_it_is_trusted(given, tmp_path, capsys):
    command = dumped(given, tmp_path / "run", [])
    (tmp_path / "dump" / "20.jsonl").unlink()
    (tmp_path / "dump" / "20.pkl").write_bytes(pickle.dumps(ROWS))
    assert main(command) == 2
    assert "to the command --trust-pickle" in capsys.readouterr().err
    assert main([*command, "--trust-pickle", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rollouts"] == 3


def test_the_help_says_what_rollouts_may_be(capsys):
    with pytest.raises(SystemExit):
        main(["score", "--help"])
    said = " ".join(capsys.readouterr().out.split())
    assert "a file of rollouts, a folder of such files, or a glob in quotes" in said


def test_no_rollouts_there_is_one_line(given, tmp_path, capsys):
    command = arguments(given, tmp_path / "run")
    command[1] = str(given / "none.jsonl")
    assert main(command) == 2
    assert "none.jsonl" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A=b", ("A", "b", None)),
        ("Self 1C=org/model,context=a,b.txt", ("Self 1C", "org/model", "a,b.txt")),
        ("A=dir/x=1,y", ("A", "dir/x=1,y", None)),
        ("A=https/x#y", ("A", "https/x#y", None)),  # a folder
    ],
)
def test_a_teacher_is_a_name_a_model_and_perhaps_a_context(text, expected):
    spec = TeacherSpec.parse(text)
    assert (spec.name, spec.model, spec.context and str(spec.context)) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "A",
        "=b",
        "A=",
        " =b",
        "A=,context=c.txt",
        "A=b,context=",
        "A=b,context=c,context=d",
        "A=http://h#m,key-env=",
    ],
)
def test_a_teacher_of_another_form_is_refused(text):
    with pytest.raises(InvalidInputError, match="expected NAME=MODEL"):
        TeacherSpec.parse(text)


@pytest.mark.parametrize(
    ("text", "served", "context", "key_env"),
    [
        ("32B=http://127.0.0.1:8000/v1#Qwen3-32B", ("http://127.0.0.1:8000/v1", "Qwen3-32B"), None, None),
        ("A=https://h/v1#org/m#2,key-env=MY_KEY", ("https://h/v1", "org/m#2"), None, "MY_KEY"),
        ("A=HTTP://h#m,context=c.txt,key-env=K", ("HTTP://h", "m"), "c.txt", "K"),
        ("A=http://h#m,key-env=K,context=c=1.txt", ("http://h", "m"), "c=1.txt", "K"),
    ],
)
def test_a_teacher_on_a_server_is_a_url_and_a_name(text, served, context, key_env):
    spec = TeacherSpec.parse(text)
    assert (spec.served, spec.context and str(spec.context), spec.key_env) == (served, context, key_env)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("A=http://h/v1", r"expected NAME=URL#MODEL.*'A=http://127\.0\.0\.1:8000/v1#Qwen3-32B'"),
        ("A=http://h/v1#", "expected NAME=URL#MODEL"),
        ("A=org/model,key-env=K", "found key-env= .* which is loaded here; only one at a server"),
        ("A=org/model,tokenizer=T", "found tokenizer= .* which is loaded here; only one at a server"),
    ],
)
def test_a_server_without_a_model_or_a_key_without_a_server_is_refused(text, says):
    with pytest.raises(InvalidInputError, match=says):
        TeacherSpec.parse(text)


def served_arguments(given, out, *teachers):
    return [
        "score", str(given / "rollouts.jsonl"), "--student", str(given / "student"), "--device", "cpu",
        "--out", str(out), "--json", *(word for teacher in teachers for word in ("--teacher", teacher)),
    ]  # fmt: skip


def test_it_scores_under_teachers_on_a_server(given, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("MY_KEY", "a-key-nobody-sees")
    with serving(ServedModel(tiny.model(1))) as stub:
        remote = f"{stub.url}/v1#tiny"
        teachers = [
            f"There={remote},key-env=MY_KEY",
            f"Hinted={remote},context={given / 'hint.txt'},key-env=MY_KEY",
            f"Here={given / 'other'}",
        ]
        with pytest.warns(UserWarning, match="engine transformers against"):
            assert main(served_arguments(given, tmp_path / "run", *teachers)) == 0
        assert {request.headers.get("authorization") for request in stub.requests} == {"Bearer a-key-nobody-sees"}
        assert stub.paths().count("/v1/models") == 1  # one model, asked once who it is
    found = {row["teacher"]: row["all"] for row in json.loads(capsys.readouterr().out)["teachers"]}
    assert list(found) == ["There", "Hinted", "Here"]
    assert found["There"] == pytest.approx(found["Here"], abs=1e-4)
    assert found["Hinted"] != pytest.approx(found["Here"], abs=1e-2)
    assert not [
        path for path in (tmp_path / "run").rglob("*") if path.is_file() and b"nobody-sees" in path.read_bytes()
    ]


def test_a_served_teacher_of_another_tokenizer_names_its_folder(given, tmp_path, capsys):
    teacher = byte_pair.teacher()
    teacher.tokenizer.inner.save_pretrained(tmp_path / "tokenizer")
    with serving(ServedModel(teacher)) as stub:
        spec = f"There={stub.url}/v1#tiny,tokenizer={tmp_path / 'tokenizer'}"
        with pytest.warns(UserWarning, match="engine"):
            assert main(served_arguments(given, tmp_path / "run", spec)) == 0
    assert [row["teacher"] for row in json.loads(capsys.readouterr().out)["teachers"]] == ["There"]
    found = opd.load(tmp_path / "run")
    expected = opd.score(found.rollouts, tiny.model(0), {"There": opd.Teacher(teacher)}, progress=False)
    for index in range(len(found)):
        np.testing.assert_allclose(
            found.signal("advantage", index, "There"), expected.signal("advantage", index, "There"), atol=1e-4
        )


def test_a_server_that_is_down_or_of_another_tokenizer_is_one_line(given, tmp_path, capsys):
    assert main(served_arguments(given, tmp_path / "run", "T=http://127.0.0.1:9#m", "L=no/model/here")) == 2
    said = capsys.readouterr().err
    assert "http://127.0.0.1:9/v1/models gave no answer" in said  # and the local one was not looked for
    assert said.count("\n") == 1

    class Other(ServedModel):
        def tokenize(self, body):
            return Reply({"tokens": [int(token) + 1 for token in self.model.tokenizer.encode(body["prompt"])]})

    with serving(Other(tiny.model(1))) as stub:
        assert main(served_arguments(given, tmp_path / "run", f"T={stub.url}#tiny")) == 2
    said = capsys.readouterr().err
    assert "teacher 'T': 'tiny' is served with another tokenizer" in said
    assert "Without ,tokenizer=FOLDER the command asks a server with the student's tokenizer" in said
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("c.md", "x", "expected a .txt"),
        ("c.txt", " \n", "is empty"),
        ("c.txt", b"\xff\xfe\xff", "cannot be read"),
        ("c.json", "{", "is no JSON"),
        ("c.json", "[]", "expected an object"),
        ("c.json", '{"q": 1}', "expected an object"),
    ],
)
def test_a_context_file_that_cannot_be_used_says_why(tmp_path, name, content, says):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(ContextError, match=says):
        read_context(tmp_path / name)


def test_a_model_named_twice_is_loaded_once(given, monkeypatch):
    monkeypatch.chdir(given)
    specs = [TeacherSpec("A", f"{given}/student"), TeacherSpec("B", "other"), TeacherSpec("C", "./other")]
    student, teachers = load_models("student", specs, device="cpu")
    assert teachers["A"].model is student
    assert teachers["B"].model is teachers["C"].model is not student
