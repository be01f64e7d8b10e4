"""What a release holds: an sdist made from the checkout, and a wheel made from that sdist.

Builds run without build isolation and on a copy of the checkout, so that they need no network and
disturb no other test.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.checkout import ROOT, project_files

MAX_BUNDLE_BYTES = 100 * 1024
NODE_PROGRAMS = ("node", "npm")


def _copy_checkout(target):
    for name in project_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    (target / "js/node_modules").symlink_to(ROOT / "js/node_modules")
    return target


def _build(kind, source, out, **environment):
    command = [
        sys.executable,
        "-m",
        "build",
        f"--{kind}",
        "--no-isolation",
        "--outdir",
        out,
        source,
    ]
    variables = {k: v for k, v in os.environ.items() if k != "OPD_WIDGETS_SKIP_JS"}
    return subprocess.run(command, env={**variables, **environment}, capture_output=True, text=True, timeout=300)


def _only(folder, pattern):
    (found,) = folder.glob(pattern)
    return found


@pytest.fixture(scope="module")
def without_node(tmp_path_factory):
    """A PATH on which everything is found but Node."""
    folder = tmp_path_factory.mktemp("bin")
    for entry in os.environ["PATH"].split(os.pathsep):
        if not Path(entry).is_dir():
            continue
        for program in Path(entry).iterdir():
            link = folder / program.name
            if program.name not in NODE_PROGRAMS and not link.exists():
                link.symlink_to(program)
    return str(folder)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    checkout = _copy_checkout(tmp_path_factory.mktemp("checkout"))
    out = tmp_path_factory.mktemp("sdist")
    run = _build("sdist", checkout, out)
    assert run.returncode == 0, run.stdout + run.stderr
    return _only(out, "*.tar.gz")


@pytest.fixture(scope="module")
def wheel(sdist, without_node, tmp_path_factory):
    """Built from the sdist, on a machine without Node: the sdist brings the bundles."""
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    out = tmp_path_factory.mktemp("wheel")
    run = _build("wheel", _only(unpacked, "*"), out, PATH=without_node)
    assert run.returncode == 0, run.stdout + run.stderr
    return _only(out, "*.whl")


@pytest.fixture(scope="module")
def sizes(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.file_size for info in archive.infolist()}


def test_wheel_holds_the_package_as_it_is_in_the_checkout(sizes):
    ours = {name for name in project_files() if name.startswith("opd_widgets/")}
    assert ours <= set(sizes)
    assert any(name.startswith("opd_widgets/demo/models/") for name in sizes)


def test_wheel_holds_the_quickstart(sizes):
    assert sizes["opd_widgets/demo/01_quickstart.ipynb"] > 0


def test_wheel_holds_a_small_bundle_for_every_widget(sizes):
    modules = (ROOT / "opd_widgets/widgets").glob("[!_]*.py")
    names = {path.stem for path in modules if f'bundle("{path.stem}", "js")' in path.read_text("utf-8")}
    bundles = {
        Path(name).stem: size
        for name, size in sizes.items()
        if name.startswith("opd_widgets/static/") and name.endswith(".js")
    }
    assert names
    assert names <= set(bundles)
    too_large = {name: size for name, size in bundles.items() if size > MAX_BUNDLE_BYTES}
    assert not too_large


def test_wheel_holds_nothing_else(sizes):
    unwanted = [
        name
        for name in sizes
        if not name.startswith(("opd_widgets/", "opd_widgets-0."))
        or name.endswith((".map", ".pyc", ".ts"))
        or "/.made" in name
    ]
    assert not unwanted


def test_sdist_can_be_built_and_tested_again(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "Makefile", "js/package-lock.json", "tests/test_wheel.py"} <= names
    assert {"LICENSE", "README.md", "CHANGELOG.md", "notebooks/01_quickstart.ipynb"} <= names
    assert not any("node_modules" in name or name.endswith(".map") for name in names)


def test_build_without_node_says_what_is_missing(without_node, tmp_path):
    checkout = _copy_checkout(tmp_path / "checkout")
    run = _build("wheel", checkout, tmp_path / "out", PATH=without_node)
    said = run.stdout + run.stderr
    assert run.returncode != 0
    assert "found no node and npm on PATH" in said
    assert "Node 20 or newer" in said
    assert "OPD_WIDGETS_SKIP_JS=1" in said
    assert "Traceback" not in said


def test_build_with_an_old_node_says_which_was_found(without_node, tmp_path):
    checkout = _copy_checkout(tmp_path / "checkout")
    old = tmp_path / "old"
    old.mkdir()
    for program in NODE_PROGRAMS:
        (old / program).write_text("#!/bin/sh\necho v16.20.2\n")
        (old / program).chmod(0o755)
    path = f"{old}{os.pathsep}{without_node}"
    run = _build("wheel", checkout, tmp_path / "out", PATH=path)
    assert run.returncode != 0
    assert f"found Node v16.20.2 at {old / 'node'}" in run.stdout + run.stderr


def test_build_without_front_end_when_asked(without_node, tmp_path):
    checkout = _copy_checkout(tmp_path / "checkout")
    run = _build("wheel", checkout, tmp_path / "out", PATH=without_node, OPD_WIDGETS_SKIP_JS="1")
    assert run.returncode == 0, run.stdout + run.stderr
    with zipfile.ZipFile(_only(tmp_path / "out", "*.whl")) as archive:
        assert not any(name.startswith("opd_widgets/static/") for name in archive.namelist())
