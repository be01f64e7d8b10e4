"""The command, as a user types it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request

import pytest

from opd_widgets.cli import main
from opd_widgets.demo import show
from opd_widgets.errors import MissingDependencyError


def run(*arguments, cwd):
    command = [sys.executable, "-m", "opd_widgets.cli", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True)


def test_demo_prints_the_table_writes_the_page_and_says_where(tmp_path):
    done = run("demo", "--no-lab", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"Other style\s+[+−][\d.]+\s+[+−][\d.]+", done.stdout)
    assert re.search(r"scored in [\d.]+ s", done.stdout)
    page = tmp_path / "opd-widgets-demo" / "demo.html"
    assert str(page) in done.stdout
    assert "default-src 'none'" in page.read_text()


def test_demo_as_json_to_a_page_of_ones_choice(tmp_path):
    done = run("demo", "--html", "page.html", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["rollouts"] == 96
    assert 0 < found["correct"] < 96
    assert {"teacher", "correct", "incorrect", "infinite", "undefined"} == set(found["teachers"][0])
    assert (tmp_path / "page.html").exists()


def test_an_error_is_one_line_and_a_non_zero_exit(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("opd_widgets.demo.lab.MODELS", tmp_path)
    assert main(["demo", "--no-lab"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "opd_widgets.demo.train" in said


def test_a_page_that_cannot_be_written_is_said_before_anything_is_scored(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(show, "load", lambda _: pytest.fail("scored first"))
    (tmp_path / "file").write_text("x")
    for place in (tmp_path, tmp_path / "file" / "page.html"):
        assert main(["demo", "--html", str(place)]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        assert str(place) in said


def test_an_error_of_the_system_is_one_line(monkeypatch, capsys, tmp_path):
    def full(*_):
        raise OSError(28, "No space\nleft on device", "page.html")

    monkeypatch.setattr(show, "show", full)
    assert main(["demo", "--html", str(tmp_path / "page.html")]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "left on device" in said


def test_a_missing_jupyterlab_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingDependencyError, match=r"opd-widgets\[lab\]"):
        show.open_lab(tmp_path / "x.ipynb", browser=False)


def test_the_notebook_is_copied_once_and_a_users_changes_stay(tmp_path):
    first = show.place_notebook(tmp_path / "demo")
    first.write_text("mine")
    assert show.place_notebook(tmp_path / "demo").read_text() == "mine"


@pytest.mark.slow
def test_demo_starts_jupyterlab_and_prints_an_address_that_answers(tmp_path):
    command = [sys.executable, "-m", "opd_widgets.cli", "demo", "--no-browser"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "JUPYTER_RUNTIME_DIR": str(tmp_path / "runtime")}
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = next(line for line in process.stdout if line.startswith("JupyterLab: ")).split()[1]
            status = address.replace("/lab/tree/01_quickstart.ipynb", "/api/status")
            assert _answer(status) == 200
            assert (tmp_path / "opd-widgets-demo" / "01_quickstart.ipynb").exists()
        finally:
            process.terminate()
            process.wait(20)


def _answer(address: str) -> int:
    import time

    for _ in range(150):
        try:
            with urllib.request.urlopen(address, timeout=2) as answer:
                return int(answer.status)
        except OSError:
            time.sleep(0.2)
    return 0
