"""Fixtures for tests in a browser: every test below this folder is marked `browser`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.jupyter import (
    VIEWPORT,
    LabServer,
    open_notebook,
    watch_errors,
)
from tests.browser.marimo_host import MarimoServer
from tests.browser.notebook7 import NotebookServer


class LabPage(NamedTuple):
    """A notebook shown in JupyterLab, with the list that its console errors go to."""

    page: Page
    errors: list[str]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker("browser")


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A fresh page with nothing remembered."""
    context = browser.new_context(viewport=VIEWPORT)
    yield context.new_page()
    context.close()


@pytest.fixture(scope="session")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    """One JupyterLab for all tests."""
    with LabServer(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def notebook_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NotebookServer]:
    """One Notebook 7 for all tests."""
    with NotebookServer(tmp_path_factory.mktemp("notebook7")) as server:
        yield server


@pytest.fixture(scope="session")
def marimo_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MarimoServer]:
    """One marimo for all tests, its notebook shown as an app."""
    with MarimoServer(tmp_path_factory.mktemp("marimo")) as server:
        yield server


@pytest.fixture
def lab_page(page: Page, lab_server: LabServer) -> Iterator[Callable[[Path], LabPage]]:
    """Call it with a notebook's path: a copy of it, shown in JupyterLab, its kernel idle."""

    def show(notebook: Path) -> LabPage:
        errors = watch_errors(page)
        open_notebook(page, lab_server, lab_server.add_notebook(notebook))
        return LabPage(page, errors)

    yield show
    lab_server.reset()
