"""The exported page: one file, nothing from outside, nothing that can leave its JSON."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, MissingDependencyError
from opd_widgets.widgets import _base, page
from tests import tiny


@pytest.fixture(scope="module")
def html():
    hostile = opd.Rollout(
        id="<b>", prompt_ids=[3], response_ids=[9, 8],
        messages=[opd.Message("user", "</script><script>alert(1)</script><!-- \u2028")], question="</script>",
    )  # fmt: skip
    scores = opd.score([hostile], tiny.model(0), {"<i>t": opd.Teacher(tiny.model(1))}, progress=False)
    return page.page_html(opd.Explorer(scores, token=1), title="<script>x</script>")


def block(html, name):
    return json.loads(re.search(rf'id="opd-{name}">(.*?)</script>', html, re.DOTALL).group(1))


def test_no_outside_source_and_a_policy_against_any(html):
    head = html.split('<script type="application/json"')[0]
    assert "default-src 'none'" in head
    assert not re.search(r"""(src|href)\s*=\s*["']?\s*(https?:)?//""", head)


def test_the_policy_names_the_pages_own_script_and_styles_and_nothing_else(html):
    def hashes(pattern):
        texts = re.findall(pattern, html, re.DOTALL)
        return [f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in texts]

    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)"', html).group(1)
    (script,), (frame, css) = hashes(r"<script>(.*?)</script>"), hashes(r"<style>(.*?)</style>")
    assert policy == (
        f"default-src 'none'; script-src {script} blob:; style-src {frame} {css}; base-uri 'none'; form-action 'none'"
    )
    assert not re.search(r'\sstyle="', html.split('<script type="application/json"')[0])


def test_hostile_text_stays_in_its_json(html):
    assert len(re.findall(r"<script", html)) == 3
    assert "<title>&lt;script&gt;x&lt;/script&gt;</title>" in html
    assert block(html, "state")["state"]["scores"]["meta"]["teachers"][0]["name"] == "<i>t"


def test_state_holds_the_selection_and_the_numbers(html):
    state = block(html, "state")["state"]
    assert state["token"] == 1
    assert state["job"]["state"] == "none"
    data = base64.b64decode(state["scores"]["values"]["$buffer"])
    planes = len(state["scores"]["meta"]["planes"])
    assert np.frombuffer(data, "<f4").reshape(planes, -1).shape[1] == 2


def test_no_model_id_and_no_path_of_this_machine(html):
    state = json.dumps(block(html, "state"))
    assert "model_id" not in state
    assert "_model_module" not in state
    assert "/site-packages/" not in html


def test_the_bundle_is_the_widgets_own(html):
    assert block(html, "bundle") == (_base.STATIC / "explorer.js").read_text()


def test_a_page_is_made_of_a_widget():
    with pytest.raises(InvalidInputError, match="found str, expected a widget"):
        opd.write_page("scores", "page.html")


def test_an_unbuilt_checkout_says_what_to_run(monkeypatch, tmp_path):
    monkeypatch.setattr(page, "STATIC", tmp_path)
    scores = opd.score([opd.Rollout(id="r", prompt_ids=[3], response_ids=[9])], tiny.model(0), {}, progress=False)
    with pytest.raises(MissingDependencyError, match="make build-js"):
        page.page_html(opd.Explorer(scores))


def test_an_unbuilt_checkout_shows_a_note_and_does_not_break_import(monkeypatch, tmp_path):
    monkeypatch.setattr(_base, "STATIC", tmp_path)
    assert "make build-js" in str(_base.bundle("explorer", "js"))
    assert _base.bundle("explorer", "css") == ""


@pytest.fixture(scope="module")
def explorer():
    rollout = opd.Rollout(
        id="r\ud800",
        prompt_ids=[3],
        response_ids=[9],
        messages=[opd.Message("user", "half \ud83d")],
        question="q\udfff",
    )
    return opd.Explorer(opd.score([rollout], tiny.model(0), {}, progress=False))


def test_half_a_surrogate_pair_does_not_stop_the_page(explorer, tmp_path):
    path = opd.write_page(explorer, tmp_path / "new" / "page.html", title="t\ud800")
    html = path.read_text("utf-8")
    assert "\\udfff" in html
    assert "q\udfff" in json.dumps(block(html, "state"), ensure_ascii=False)


def test_a_page_where_no_file_can_be(explorer, tmp_path):
    with pytest.raises(InvalidInputError, match="found a folder"):
        opd.write_page(explorer, tmp_path)


def test_a_page_that_fails_leaves_nothing(explorer, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "STATIC", tmp_path / "none")
    with pytest.raises(MissingDependencyError):
        opd.write_page(explorer, tmp_path / "page.html")
    assert not list(tmp_path.iterdir())
