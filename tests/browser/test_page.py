"""The exported page, opened from a file with no network: scrub, switch teachers, read Python's numbers."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from tests.browser import seen
from tests.browser.jupyter import watch_errors


@pytest.fixture(scope="module")
def scores():
    lab = opd.demo(questions=3, rollouts=3)
    return opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)


def show(page, widget, path):
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.context.set_offline(True)
    errors = watch_errors(page)
    page.goto(opd.write_page(widget, path).as_uri())
    return errors, requests


def test_scrub_and_switch_without_network_or_python(page, scores, tmp_path):
    errors, requests = show(page, opd.Explorer(scores, rollout=2), tmp_path / "page.html")
    root, meta = seen.explorer(page), seen.meta_of(scores)
    seen.expect(root, seen.wanted(scores, 2, "Teacher", meta))

    cells = root.locator(".opd-strip .opd-cell")
    cells.nth(2).hover()
    page.mouse.down()
    cells.nth(6).hover()
    cells.nth(9).hover()
    page.mouse.up()
    assert cells.nth(9).get_attribute("aria-selected") == "true"

    page.keyboard.press("2")
    seen.expect(root, seen.wanted(scores, 2, "Other style", meta))
    page.keyboard.press("j")
    seen.expect(root, seen.wanted(scores, 3, "Other style", meta))

    assert root.locator(".opd-context-cancel").is_hidden()
    assert [url for url in requests if not url.startswith(("file:", "blob:", "data:"))] == []
    assert errors == []


def test_the_panel_shows_pythons_numbers(page, scores, tmp_path):
    errors, _ = show(page, opd.Explorer(scores, rollout=1, token=5, teacher="Self-1C"), tmp_path / "page.html")
    root = seen.explorer(page)
    for signal in ("advantage", "reverse_kl", "student_entropy"):
        shown = root.locator(f'.opd-signal-values tr[data-row="{signal}"] .opd-figure').inner_text()
        value = float(scores.signal(signal, 1, "Self-1C")[5])
        assert number(shown) == pytest.approx(value, rel=0.06, abs=6e-4)
    top = root.locator(".opd-top tr[data-token-id]").first.get_attribute("data-token-id")
    assert int(top) == int(scores.items[1].student.topk.ids[5, 0])
    assert errors == []


def number(text: str) -> float:
    """Read a figure as the panel writes it: 1.2×10⁻³ with a true minus."""
    text = text.strip().replace("−", "-").replace("+", "")
    if "×10" in text:
        mantissa, _, power = text.partition("×10")
        return float(mantissa) * 10.0 ** int(power.translate(str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")))
    return float(str(text))


def test_dark_where_the_reader_wants_dark_and_light_in_print(page, scores, tmp_path):
    show(page, opd.Explorer(scores), tmp_path / "page.html")
    root = seen.explorer(page)
    assert root.get_attribute("data-opd-theme") == "light"
    page.emulate_media(media="print")
    assert root.get_attribute("data-opd-theme") == "light"
