"""A diagnosis in a folder, and a copy of it to go on with."""

from __future__ import annotations

import shutil

import pytest

from tests.diagnosis.toy_run import run


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole") / "run"
    run(out=folder)
    return folder


@pytest.fixture
def copy(whole, tmp_path):
    shutil.copytree(whole, tmp_path / "copy")
    return tmp_path / "copy"
