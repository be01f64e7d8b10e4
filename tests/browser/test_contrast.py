"""Light, dark and high contrast: JupyterLab's themes while a view is shown, and what a reader's system asks for."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from tests.browser import seen
from tests.browser.jupyter import run_all, set_theme
from tests.browser.kernel import notebook

PRE_SCORED = """import opd_widgets as opd
lab = opd.demo(questions=1, rollouts=2)
opd.Explorer(lab.rollouts, lab.student, {"Teacher": lab.teachers["Teacher"]})"""
# The page, its ink and a line, as they are drawn.
DRAWN = """(root) => {
  const style = getComputedStyle(root);
  const frame = getComputedStyle(root.querySelector(".opd-frame"));
  const shadows = [...root.querySelectorAll(".opd-strip .opd-cell")].map((cell) => getComputedStyle(cell).boxShadow);
  return {
    page: style.backgroundColor,
    ink: style.color,
    line: frame.borderTopColor,
    bars: shadows.filter((shadow) => shadow !== "none").length,
    thick: shadows.filter((shadow) => /[ -]3px /.test(shadow)).length,
  };
}"""


def luminance(colour):
    """WCAG's relative luminance of rgb(r, g, b)."""
    parts = [float(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def is_strong(drawn):
    assert contrast(drawn["ink"], drawn["page"]) > 20
    assert contrast(drawn["line"], drawn["page"]) >= 4.5
    assert drawn["bars"] > 0
    assert drawn["thick"] == drawn["bars"]


def test_the_themes_of_jupyterlab_are_followed_without_a_reload(lab_page, tmp_path):
    page, errors = lab_page(notebook(tmp_path / "themes.ipynb", PRE_SCORED))
    run_all(page)
    root = seen.explorer(page)
    page.evaluate("() => { document.querySelector('.opd-explorer').dataset.mine = 'kept'; }")
    drawn = {}
    for theme, (ground, more) in {
        "light": ("light", "normal"),
        "dark": ("dark", "normal"),
        "high contrast": ("dark", "more"),
    }.items():
        set_theme(page, theme)
        expect(root).to_have_attribute("data-opd-theme", ground)
        expect(root).to_have_attribute("data-opd-contrast", more)
        drawn[theme] = root.evaluate(DRAWN)
    assert luminance(drawn["light"]["page"]) > 0.9
    assert luminance(drawn["dark"]["page"]) < 0.02
    assert contrast(drawn["dark"]["line"], drawn["dark"]["page"]) < 3, "hairlines, as long as nobody asks for more"
    is_strong(drawn["high contrast"])
    assert root.get_attribute("data-mine") == "kept"
    set_theme(page, "light")
    expect(root).to_have_attribute("data-opd-contrast", "normal")
    assert errors == []


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    lab = opd.demo(questions=3, rollouts=3)
    scores = opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)
    return opd.write_page(opd.Explorer(scores, token=4), tmp_path_factory.mktemp("contrast") / "page.html")


@pytest.mark.parametrize("media", [{"contrast": "more"}, {"forced_colors": "active"}])
def test_a_reader_who_asks_for_more_contrast_gets_it(page, exported, media):
    page.goto(exported.as_uri())
    root = seen.explorer(page)
    expect(root).to_have_attribute("data-opd-contrast", "normal")
    page.emulate_media(**media)
    expect(root).to_have_attribute("data-opd-contrast", "more")
    if "contrast" in media:
        is_strong(root.evaluate(DRAWN))
    page.emulate_media(**dict.fromkeys(media, "no-preference" if "contrast" in media else "none"))
    expect(root).to_have_attribute("data-opd-contrast", "normal")


def test_print_is_light_whatever_the_screen_shows(page, exported):
    page.goto(exported.as_uri())
    root = seen.explorer(page)
    page.evaluate("() => { document.body.dataset.theme = 'dark'; }")
    expect(root).to_have_attribute("data-opd-theme", "dark")
    for more in ("no-preference", "more"):
        page.emulate_media(contrast=more, media="screen")
        assert luminance(root.evaluate(DRAWN)["page"]) < 0.02
        page.emulate_media(contrast=more, media="print")
        drawn = root.evaluate(DRAWN)
        assert luminance(drawn["page"]) > 0.99
        assert contrast(drawn["ink"], drawn["page"]) > 15
