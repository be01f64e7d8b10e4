"""Questions from files."""

from __future__ import annotations

import gzip
import json

import pandas as pd
import pytest

from opd_widgets.data.message import Message
from opd_widgets.data.questions import read_questions
from opd_widgets.errors import ReadError


def lines(path, *records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def one(tmp_path, record):
    return read_questions(lines(tmp_path / "asked.jsonl", record))[0]


@pytest.mark.parametrize("key", ["question", "prompt", "problem"])
@pytest.mark.parametrize("answer", ["answer", "ground_truth"])
def test_names_of_prompt_and_answer(tmp_path, key, answer):
    found = one(tmp_path, {key: "1+1=?", answer: "2", "level": 3})
    assert (found.id, found.title, found.answer) == ("asked:1", "1+1=?", "2")
    assert found.solution is None
    assert found.metadata == {"level": 3}


def test_everything_a_question_may_have(tmp_path):
    record = {"id": 7, "question": "1+1=?", "answer": 2, "solution": "1+1=2", "wrong_solution": "1+1=3"}
    found = one(tmp_path, record)
    assert (found.id, found.answer, found.solution, found.wrong_solution) == ("7", "2", "1+1=2", "1+1=3")


def test_turns(tmp_path):
    turns = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "1+1=?"}]
    for key in ("prompt", "messages"):
        assert one(tmp_path, {key: turns}).messages == (Message("system", "be brief"), Message("user", "1+1=?"))


def test_a_solution_alone_is_the_answer_too(tmp_path):
    found = one(tmp_path, {"problem": "1+1=?", "solution": "2"})
    assert (found.answer, found.solution) == ("2", "2")


def test_gsm8k_has_the_answer_behind_its_mark(tmp_path):
    found = one(tmp_path, {"question": "?", "answer": "1 and 1\nare 2\n#### 1,002"})
    assert (found.answer, found.solution) == ("1,002", "1 and 1\nare 2")


def test_verl_has_it_in_the_reward_model(tmp_path):
    record = {"prompt": [{"role": "user", "content": "?"}], "reward_model": {"style": "rule", "ground_truth": "34"}}
    assert one(tmp_path, record).answer == "34"


def test_json_csv_parquet_gzip_and_frames_say_the_same(tmp_path):
    records = [{"id": f"q{i}", "question": f'{i}+{i}, "is"?', "answer": str(2 * i)} for i in range(3)]
    frame = pd.DataFrame(records)
    (tmp_path / "a.json").write_text(json.dumps(records, indent=1))
    (tmp_path / "b.json").write_text(json.dumps({"data": records}))
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_csv(tmp_path / "a.tsv", index=False, sep="\t")
    frame.to_parquet(tmp_path / "a.parquet")
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)
    expected = read_questions(lines(tmp_path / "a.jsonl", *records))
    assert [(q.id, q.title, q.answer) for q in expected] == [(r["id"], r["question"], r["answer"]) for r in records]
    for name in ("a.json", "b.json", "a.csv", "a.tsv", "a.parquet", "a.jsonl.gz"):
        assert read_questions(tmp_path / name) == expected, name
    assert read_questions(frame) == expected


def test_an_empty_cell_is_nothing(tmp_path):
    (tmp_path / "a.csv").write_text("question,answer,solution\nwhat?,,\n")
    found = read_questions(tmp_path / "a.csv")[0]
    assert (found.answer, found.solution, found.metadata) == (None, None, {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            '{"question": "a?"}\n{"text": "b?"}\n',
            r"a\.jsonl, line 2: found 'text', expected the prompt under 'question'",
        ),
        ('{"question": "a?"}\n{"question": ""}\n', r"a\.jsonl, line 2: 'question' cannot be asked: .* has no text"),
        ('{"question": "a?"}\n[1]\n', "line 2 item 1: found a int, expected an object"),
        ('{"question": "a?"}\n{"question"\n', "line 2: JSONDecodeError"),
        ('{"question": "a?", "id": 1}\n{"question": "b?", "id": "1"}\n', "line 2: the id '1' is that of line 1 too"),
        ('{"question": 7}\n', "line 1: 'question' cannot be asked: found messages of type int"),
        ('{"question": "a?", "answer": {"x": 1}}\n', "line 1: found answer of type dict, expected a text or a number"),
        ("", "no questions in 'a.jsonl': it is empty"),
    ],
)
def test_a_slip_is_named_with_file_and_line(tmp_path, text, says):
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(ReadError, match=says):
        read_questions(tmp_path / "a.jsonl")


def test_a_broken_csv_and_no_file(tmp_path):
    (tmp_path / "a.csv").write_text("question,answer\na?,1,2\n")
    with pytest.raises(ReadError, match=r"a\.csv, line 2: it has more cells"):
        read_questions(tmp_path / "a.csv")
    (tmp_path / "b.csv").write_bytes(b"question\n\xff\xfe\n")
    with pytest.raises(ReadError, match=r"b\.csv is no CSV in UTF-8"):
        read_questions(tmp_path / "b.csv")
    with pytest.raises(ReadError, match="found no file at"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(ReadError, match="found a folder at"):
        read_questions(tmp_path)
    with pytest.raises(ReadError, match="found questions of type int"):
        read_questions(3)


def test_a_missing_answer_that_json_writes_as_nan_is_none(tmp_path):
    (tmp_path / "q.jsonl").write_text('{"question": "3+4=?", "answer": NaN}\n')
    assert read_questions(tmp_path / "q.jsonl")[0].answer is None
