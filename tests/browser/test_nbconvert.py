"""A notebook that was run and made a page of by nbconvert, read without a network."""

from __future__ import annotations

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter
from traitlets.config import Config

from tests.browser.kernel import LAB, notebook

STATE = "application/vnd.jupyter.widget-state+json"
# A saved notebook holds the front end once a view, and the data: what a mail or a repository still takes.
SANE_BYTES = 2_000_000
SAID = (
    "Explorer(Scores(9 rollouts, 207 tokens, student 'lab-student', teachers 'Teacher', 'Other style', 'Self-1C'",
    "TokenStrip(Scores(9 rollouts, 207 tokens",
)


def executed(path, *, keep_state):
    """Run the notebook at `path` as nbconvert does, and return it."""
    nb = nbformat.read(path, as_version=4)
    NotebookClient(nb, kernel_name="python3", store_widget_state=keep_state, timeout=120).execute()
    return nb


@pytest.fixture(scope="module")
def with_state(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nbconvert")
    return executed(
        notebook(folder / "run.ipynb", LAB, "opd.TokenStrip(explorer.scores)"),
        keep_state=True,
    )


def read_offline(page, nb, path):
    html, _ = HTMLExporter(config=Config({"HTMLExporter": {"template_name": "lab"}})).from_notebook_node(nb)
    path.write_text(html, "utf-8")
    page.context.set_offline(True)
    page.goto(path.as_uri(), wait_until="domcontentloaded")
    return page.locator("body").inner_text()


def test_a_reader_without_network_sees_what_was_shown(page, with_state, tmp_path):
    """As JupyterLab saves a notebook unless told otherwise, and as `store_widget_state=False` does."""
    nb = nbformat.reads(nbformat.writes(with_state), as_version=4)
    del nb.metadata["widgets"]
    text = read_offline(page, nb, tmp_path / "page.html")
    for said in SAID:
        assert said in text
    assert "<opd_widgets" not in text


def test_a_notebook_with_its_views_state_stays_small(with_state):
    states = with_state.metadata["widgets"][STATE]["state"].values()
    ours = [state for state in states if state["model_module"] == "anywidget"]
    assert len(ours) >= 2
    size = len(nbformat.writes(with_state))
    print(f"{size} bytes with {len(ours)} views")  # noqa: T201
    assert size < SANE_BYTES
