"""Each layout of Compare on the exported page: colours against numbers computed here, the scale pinned."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import opd_widgets as opd
from opd_widgets.data.scores import response_pieces
from opd_widgets.data.tokens import display_cells
from tests.browser.jupyter import watch_errors

STEPS = 12  # colour steps on either side of zero
FIRST, SECOND = "Teacher", "Other style"


@pytest.fixture(scope="module")
def lab():
    return opd.demo(questions=2, rollouts=4)


@pytest.fixture(scope="module")
def teachers(lab):
    return {name: lab.teachers[name] for name in (FIRST, SECOND)}


@pytest.fixture(scope="module")
def scores(lab, teachers):
    return opd.score(lab.rollouts, lab.student, teachers, progress=False)


@pytest.fixture(scope="module")
def later(lab, teachers):
    """Another checkpoint: the student with other weights, of the same rollouts."""
    import torch

    model = copy.deepcopy(lab.student._model)
    random = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(0.2 * weight.std(correction=0) * torch.randn(weight.shape, generator=random))
    student = opd.HFModel((model, lab.student._tokenizer.inner), device="cpu", name="later")
    return opd.score(lab.rollouts, student, teachers, progress=False)


def show(page, widget, path):
    page.context.set_offline(True)
    errors = watch_errors(page)
    page.goto(opd.write_page(widget, path).as_uri())
    root = page.locator(".opd-compare")
    root.locator(".opd-cell").first.wait_for()
    return root, errors


def by_cell(scores, rollout, values):
    """One sum a display cell, float64."""
    cells = display_cells(response_pieces(scores.rollouts[rollout], scores.pieces))
    return [float(np.asarray(values, np.float64)[cell.start : cell.stop].sum()) for cell in cells]


def row_colours(root, track):
    """The colour class of every cell of one row, all lines together."""
    nodes = root.locator(f'.opd-aligned-row[data-track="{track}"] [data-cell]')
    return nodes.evaluate_all(
        "cells => cells.map(c => [...c.classList].find(n => n.startsWith('opd-v-')) ?? c.className)"
    )


def assert_colours(shown, values, limit, noise):
    assert len(shown) == len(values)
    for name, value in zip(shown, values, strict=True):
        allowed = set()
        for near in (value * (1 - 1e-3), value * (1 + 1e-3)):
            step = min(STEPS, round(abs(near) / limit * STEPS))
            allowed.add(f"opd-v-{'p' if near > 0 else 'n'}{step}" if step else "opd-v-zero")
        if abs(value) < 20 * noise + 1e-4:  # values travel as float32, the band is of that size
            allowed |= {"opd-v-noise", "opd-v-zero"}
        assert name in allowed, (name, value, allowed)


def limit_of(root, scale):
    return float(root.locator(f'.opd-compare-scale[aria-label="Scale of {scale}"] .opd-compare-limit').input_value())


def test_teachers_in_aligned_rows_and_their_difference(page, scores, tmp_path):
    rollout = 1
    root, errors = show(page, opd.Compare(scores, rollout=rollout, token=4), tmp_path / "page.html")
    values = {name: by_cell(scores, rollout, scores.signal("advantage", rollout, name)) for name in (FIRST, SECOND)}
    noise = scores.noise["advantage"]
    assert_colours(row_colours(root, 0), values[FIRST], limit_of(root, "advantage"), noise)
    assert_colours(row_colours(root, 1), values[SECOND], limit_of(root, "advantage"), noise)
    difference = np.asarray(values[FIRST]) - np.asarray(values[SECOND])
    assert_colours(row_colours(root, 2), difference, limit_of(root, "difference of advantage"), 2 * noise)

    # token under token: the same left edges in all rows
    lefts = [
        root.locator(f'.opd-aligned-row[data-track="{track}"] [data-cell]').evaluate_all(
            "cells => cells.map(c => Math.round(c.getBoundingClientRect().left))"
        )
        for track in range(3)
    ]
    assert lefts[0] == lefts[1] == lefts[2]

    far = int(np.abs(difference).argmax())
    assert abs(difference[far]) > 0.1
    root.locator(f'.opd-aligned-row[data-track="1"] [data-cell="{far}"]').click()
    page.wait_for_function(
        "at => document.querySelectorAll(`[data-cell='${at}'][data-selected]`).length === 3", arg=far
    )
    shown = root.locator('[data-value="difference"]').inner_text().split()[0]
    # what a reader sees is rounded to two places
    assert float(shown.replace("−", "-").replace("+", "")) == pytest.approx(difference[far], abs=0.0051)
    assert root.locator(f'[data-multiple="{SECOND}"][aria-pressed="true"]').count() == 1
    root.get_by_label("Difference: of").select_option(SECOND)
    page.wait_for_function(
        "name => document.querySelector('[data-track=\"0\"] .opd-aligned-name').textContent === name", arg=SECOND
    )
    assert_colours(row_colours(root, 2), -difference, limit_of(root, "difference of advantage"), 2 * noise)
    assert errors == []


def test_a_pinned_scale_stays_and_nothing_refits_it(page, scores, tmp_path):
    root, errors = show(page, opd.Compare(scores, rollout=0), tmp_path / "page.html")
    field = root.locator('.opd-compare-scale[aria-label="Scale of advantage"] .opd-compare-limit')
    fitted = field.input_value()
    field.fill("0.75")
    field.press("Enter")
    root.locator(".opd-aligned").focus()
    for key in ("2", "j", "s", "S", "k", "ArrowRight", "n"):
        page.keyboard.press(key)
    page.wait_for_timeout(100)
    assert field.input_value() == "0.75"
    ends = root.locator('.opd-compare-scale[aria-label="Scale of advantage"] .opd-legend-number').all_inner_texts()
    assert [text[-4:] for text in ends] == ["0.75", "0.75"]
    values = by_cell(scores, 0, scores.signal("advantage", 0, FIRST))
    assert_colours(row_colours(root, 0), values, 0.75, scores.noise["advantage"])
    root.locator('.opd-compare-scale[aria-label="Scale of advantage"] [data-scale="all"]').click()
    page.wait_for_timeout(100)
    assert field.input_value() == fitted
    assert errors == []


def test_rollouts_of_a_question_with_the_beginning_they_share(page, scores, tmp_path):
    rollout = 4
    root, errors = show(page, opd.Compare(scores, across="rollouts", rollout=rollout, token=2), tmp_path / "page.html")
    columns = root.locator(".opd-compare-column")
    group = [i for i, one in enumerate(scores.rollouts) if one.group == scores.rollouts[rollout].group]
    assert columns.count() == min(4, len(group))
    cells = {i: display_cells(response_pieces(scores.rollouts[i], scores.pieces)) for i in group}
    ids = {i: scores.rollouts[i].response_ids for i in group}
    for at in range(columns.count()):
        column = columns.nth(at)
        name = column.get_attribute("aria-label")
        here = int(name.split(",")[0].removeprefix("Rollout ")) - 1
        assert name.endswith(scores.rollouts[here].outcome)
        shared = {}
        for other in group:
            same = np.cumprod([a == b for a, b in zip(ids[here], ids[other], strict=False)]).sum()
            shared[other] = int(same)
        everyone = min(shared.values())
        longest = max(same for other, same in shared.items() if other != here)
        marked = column.locator(".opd-compare-all, .opd-compare-some").count()
        assert column.locator(".opd-compare-all").count() == sum(c.stop <= everyone for c in cells[here])
        assert marked == sum(c.stop <= longest for c in cells[here])
        assert column.locator(".opd-compare-leaves").count() == int(0 < longest < len(ids[here]))
        values = by_cell(scores, here, scores.signal("advantage", here, FIRST))
        shown = column.locator(".opd-strip [data-cell]").evaluate_all(
            "cells => cells.map(c => [...c.classList].find(n => n.startsWith('opd-v-')))"
        )
        assert_colours(shown, values, limit_of(root, "advantage"), scores.noise["advantage"])
    columns.nth(0).locator('[data-cell="3"]').click()
    page.wait_for_function("document.querySelectorAll('.opd-compare-column[data-current]').length === 1")
    assert columns.nth(0).locator('[aria-selected="true"]').get_attribute("data-cell") == "3"
    assert errors == []


def test_a_rollout_by_step(page, scores, later, tmp_path):
    rollout = 2
    widget = opd.Compare({100: scores, 200: later}, rollout=rollout, token=5)
    root, errors = show(page, widget, tmp_path / "page.html")
    early, late = (by_cell(one, rollout, one.signal("advantage", rollout, FIRST)) for one in (scores, later))
    noise = scores.noise["advantage"]
    limit = limit_of(root, "advantage")
    assert limit == widget.steps["limits"]["advantage"]
    assert_colours(row_colours(root, 0), early, limit, noise)
    assert_colours(row_colours(root, 1), late, limit, noise)
    change = np.asarray(late) - np.asarray(early)
    assert np.abs(change).max() > 0.1
    assert_colours(row_colours(root, 2), change, limit_of(root, "difference of advantage"), 2 * noise)
    assert root.locator(".opd-line-point").count() == 2

    # the map: upper row the first step, and a press there selects it
    box = root.locator(".opd-heat-frame").bounding_box()
    page.mouse.click(box["x"] + box["width"] * 0.5 / len(scores.rollouts[rollout]), box["y"] + box["height"] * 0.25)
    page.wait_for_function("document.querySelector('[aria-label=Step]').value === '100'")
    assert_colours(row_colours(root, 2), [0.0] * len(early), limit_of(root, "difference of advantage"), 2 * noise)
    assert root.locator(".opd-aligned [aria-selected=true]").get_attribute("data-cell") == "0"
    assert errors == []


def test_a_long_rollout_keeps_the_dom_small(page, tmp_path):
    length = 32_768
    rng = np.random.default_rng(0)
    tokens = tuple(rng.choice(["ab", " the", " x", "\n", "語", ".", " longer"], length))
    engine = opd.Provenance("vllm", "m", "float32", 1.0, "raw")
    tracks = {
        name: opd.LogprobTrack(rng.normal(-2, 1, length).clip(-9, 0), provenance=engine)
        for name in ("student", "a", "b")
    }
    rollout = opd.Rollout(
        id="r", prompt_text="q", response_text="".join(tokens), tokens=tokens, text_source="strings", tracks=tracks
    )
    widget = opd.Compare(opd.scores_from_tracks([rollout]), token=20_000)
    root, errors = show(page, widget, tmp_path / "page.html")
    assert root.locator("*").count() < 9_000
    assert root.locator('.opd-aligned [aria-selected="true"]').get_attribute("data-cell") == "20000"
    root.locator(".opd-aligned").evaluate("box => { box.scrollTop = 1e9; }")
    root.locator(f'.opd-aligned-row[data-track="2"] [data-cell="{length - 1}"]').wait_for()
    assert root.locator("*").count() < 9_000
    assert errors == []
