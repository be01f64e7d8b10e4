"""Text of a rollout that would like to be markup."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.scoring.report import Report
from opd_widgets.widgets._base import STATIC

HOSTILE = [
    "<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<!--<script>", "]]>", "&lt;b&gt;", "\u2028",
    "javascript:alert(1)", "{{constructor.constructor('alert(1)')()}}", "\x00\x1b[31m", "\u202e",
]  # fmt: skip


class Elements(HTMLParser):
    """Collects what a browser would make of a page: elements with their attributes, and scripts' texts."""

    def __init__(self):
        super().__init__()
        self.elements = []
        self.scripts = {}
        self._inside = None

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._inside = dict(attrs).get("id") if tag == "script" else None

    def handle_endtag(self, tag):
        self._inside = None if tag == "script" else self._inside

    def handle_data(self, data):
        if self._inside:
            self.scripts[self._inside] = self.scripts.get(self._inside, "") + data


@pytest.fixture(scope="module")
def scores():
    tracks = {
        name: opd.LogprobTrack(np.full(len(HOSTILE), -1.0, np.float32)) for name in ("student", "<img src=x onerror=t>")
    }
    rollout = opd.Rollout(
        id="<img src=x onerror=i>", prompt_text="<img src=x onerror=p>", response_text="".join(HOSTILE),
        tokens=HOSTILE, question="<img src=x onerror=q>", text_source="strings", tracks=tracks,
        metadata={"<img>": "<img src=x onerror=m>"},
    )  # fmt: skip
    return opd.scores_from_tracks([rollout])


@pytest.mark.skipif(not (STATIC / "explorer.js").exists(), reason="the front end of this checkout has not been built")
@pytest.mark.parametrize("view", ["Explorer", "TokenStrip", "RolloutList", "TokenPanel"])
def test_fault_51_no_page_has_an_element_made_of_data(scores, view, tmp_path):
    """tinker-cookbook#337: rollout text was injected into HTML."""
    path = opd.write_page(getattr(opd, view)(scores), tmp_path / "page.html", title="</title><img src=x onerror=z>")
    found = Elements()
    found.feed(path.read_text("utf-8"))
    found.close()
    assert {tag for tag, _ in found.elements} <= {
        "html", "head", "meta", "title", "style", "body", "main", "h1", "div", "noscript", "script",
    }  # fmt: skip
    assert sum(tag == "script" for tag, _ in found.elements) == 3
    assert not any(name.startswith("on") for _, attributes in found.elements for name in attributes)
    state = json.loads(found.scripts["opd-state"])  # and the text is there, whole
    texts = state["state"]["scores"]["meta"]["looks"]["texts"]
    assert texts[:2] == HOSTILE[:2]


def test_fault_51_no_repr_is_html(scores):
    widget = opd.Explorer(scores)
    shown = widget._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    assert not any("html" in kind or "javascript" in kind or "svg" in kind for kind in data)
    rollout = scores.rollouts[0]
    for thing in (scores, rollout, rollout.tracks["student"], scores.items[0], widget):
        assert not hasattr(thing, "_repr_html_")
    for text in (repr(scores), repr(rollout), repr(widget), data["text/plain"]):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_fault_51_a_table_in_a_notebook_escapes_its_tokens(scores):
    assert "<img" not in scores.to_pandas()._repr_html_()


def test_fault_51_a_report_is_text_and_its_json_plain(scores, tmp_path):
    made = Report.of(scores, tmp_path, 0.0)
    assert json.loads(json.dumps(made.to_dict()))["teachers"][0]["teacher"] == "<img src=x onerror=t>"


def test_fault_52_a_rollout_of_32k_tokens_is_one_line_in_a_cells_output():
    """ipython/ipython#8703, vscode-jupyter#11636: huge outputs freeze a notebook."""
    count = 32_768
    track = opd.LogprobTrack(np.full(count, -1.0, np.float32))
    rollout = opd.Rollout(
        id="r" * 500, prompt_ids=[1], response_ids=[2] * count, response_text="ab" * count, tracks={"student": track}
    )
    for thing in (rollout, track, opd.scores_from_tracks([rollout])):
        assert len(repr(thing)) < 400
        assert "\n" not in repr(thing)
