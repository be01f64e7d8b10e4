"""What a reader sees at any width: no value touches its name, nothing is cut, and a prompt shows whole lines."""

from __future__ import annotations

import pytest

import opd_widgets as opd
from tests import byte_pair
from tests.browser import seen

WIDTHS = (1500, 1000, 420, 260)
HINT = "Read this before you answer; it is long.\n" * 6 + "Earlier work:\n" + "1+1=2\n" * 12
# Gaps between what stands in the cells of each row, pixels, and how far it stands out of its table.
ROWS = """() => [...document.querySelectorAll(".opd-values tr")].map((row) => {
  const shown = [...row.children].map((cell) => {
    const range = document.createRange();
    range.selectNodeContents(cell);
    return range.getBoundingClientRect();
  }).filter((box) => box.width > 0);
  const gaps = shown.slice(1).map((box, i) => box.left - shown[i].right);
  const panel = row.closest(".opd-panel").getBoundingClientRect();
  return { text: row.innerText, gap: Math.min(...gaps), out: Math.max(...shown.map((box) => box.right)) - panel.right };
})"""
PAGE_OVERFLOW = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Tops of the lines of a folded prompt against what is in sight of it, and where its marked part begins.
PROMPT = """(box) => {
  const edge = box.getBoundingClientRect();
  const top = edge.top + box.clientTop;
  const line = parseFloat(getComputedStyle(box).lineHeight);
  const mark = box.querySelector(".opd-only").getClientRects()[0];
  return {
    hidden: box.scrollTop / line,
    lines: box.clientHeight / line,
    mark: ((mark.top + mark.bottom) / 2 - top) / line,
    folded: box.scrollHeight > box.clientHeight,
  };
}"""


@pytest.fixture(scope="module")
def widget():
    lab = opd.demo(questions=2, rollouts=2)
    other = byte_pair.model(
        1, byte_pair.tokenizer(byte_pair.OTHER, ("</s>",), "<s>", byte_pair.OTHER_TEMPLATE), "other", limit=2048
    )
    teachers = {"Teacher": lab.teachers["Teacher"], "hinted": opd.Teacher(other, opd.contexts.free_text(HINT))}
    scores = opd.score(lab.rollouts, lab.student, teachers, progress=False)
    return opd.Explorer(scores, token=4, teacher="hinted")


@pytest.fixture(params=WIDTHS)
def root(request, page, widget, tmp_path):
    page.set_viewport_size({"width": request.param, "height": 900})
    page.goto(opd.write_page(widget, tmp_path / "page.html").as_uri())
    return seen.explorer(page)


@pytest.mark.parametrize("teacher", ["Teacher", "hinted"])
def test_names_and_values_stand_apart_and_inside(root, teacher):
    root.locator(f'[data-teacher-row="{teacher}"]').click()
    root.locator(f'.opd-signal-values caption:has-text("{teacher}")').wait_for()
    rows = root.page.evaluate(ROWS)
    assert len(rows) > 20
    assert [row for row in rows if row["gap"] < 5 or row["out"] > 0] == []
    assert root.page.evaluate(PAGE_OVERFLOW) <= 0


def test_a_folded_prompt_shows_whole_lines_from_before_its_marked_part(root):
    found = root.locator('[data-side="teacher"] .opd-prompt-text').evaluate(PROMPT)
    assert found["folded"]
    assert found["lines"] == pytest.approx(5, abs=0.05)
    assert found["hidden"] == pytest.approx(round(found["hidden"]), abs=0.05)
    assert found["hidden"] >= 0
    assert 0 < found["mark"] < 2
