"""The likeliest tokens of a run too large to send whole: Python's numbers at every place, also behind a busy kernel."""

from __future__ import annotations

import os
import re
import signal
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import expect

import opd_widgets as opd
from opd_widgets.data.scored import RolloutScores, TeacherScores
from opd_widgets.data.scores import Scores
from opd_widgets.data.topk import TopK
from opd_widgets.data.track import LogprobTrack
from opd_widgets.widgets.wire.top_windows import WITH_SCORES, columns_sent, top_bytes
from tests.browser import seen
from tests.browser.jupyter import run_all
from tests.browser.kernel import ask, notebook
from tests.browser.test_page import number

TEACHER = "Self-1C"
WAIT_MS = 30_000
BUSY = "The kernel is busy: the likeliest tokens come when it is free."


def joined(parts: list[np.ndarray], times: int) -> np.ndarray:
    return np.concatenate(parts * times)


def track(tracks: list[LogprobTrack], times: int) -> LogprobTrack:
    tops = [one.topk for one in tracks if one.topk is not None]
    top = TopK(joined([one.ids for one in tops], times), joined([one.logprobs for one in tops], times))
    return LogprobTrack(joined([one.logprobs for one in tracks], times), topk=top)


def signals(many: list[dict], times: int) -> dict:
    return {name: joined([one[name] for one in many], times) for name in many[0]}


def as_one(scores: Scores, times: int) -> Scores:
    """Return one long rollout of all of them, over and over: each token's numbers are measured ones."""
    ids = joined([r.response_ids for r in scores.rollouts if r.response_ids is not None], times)
    rollout = replace(scores.rollouts[0], id="long", response_ids=ids, response_mask=None, turns=None)
    teachers = {}
    for name in scores.teachers:
        many = [item.teachers[name] for item in scores.items]
        teachers[name] = TeacherScores(
            track([one.track for one in many], times),
            joined([one.at_student_top for one in many], times),
            joined([one.student_at_top for one in many], times),
            signals([dict(one.signals) for one in many], times),
            many[0].prompt_ids,
        )
    own = signals([dict(item.signals) for item in scores.items], times)
    item = RolloutScores(track([item.student for item in scores.items], times), own, teachers)
    return replace(scores, rollouts=(rollout, *scores.rollouts), items=(item, *scores.items))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    lab = opd.demo(questions=3, rollouts=3)
    scores = as_one(opd.score(lab.rollouts, lab.student, lab.teachers, progress=False), 60)
    assert top_bytes(scores) > WITH_SCORES
    folder = tmp_path_factory.mktemp("large") / "run"
    scores.save(folder)
    return scores, folder


def shown(root):
    """Return the rows of the table: what the student and the teacher give each id."""
    rows = root.locator(".opd-top tr[data-token-id]").evaluate_all(
        "rows => rows.map((row) => [row.dataset.tokenId, ...[...row.querySelectorAll('.opd-figure')]"
        ".map((figure) => figure.textContent)])"
    )
    return {int(token): [share(figure) for figure in figures] for token, *figures in rows}


def share(text):
    """Read a probability; None where there is a dash."""
    return 0.0 if text == "<0.001" else None if text == "–" else float(text)


def token_in(root):
    """Return the selected token once it has come to rest."""
    before = None
    while before != (now := root.locator(".opd-panel [role=heading]").first.inner_text()):
        before = now
        root.page.wait_for_timeout(500)
    found = re.search(r"token (\d+) of", now, re.IGNORECASE)
    assert found is not None, now
    return int(found[1]) - 1


def wanted(scores, token, teacher):
    """Return the same from Python's arrays; None where a side does not say."""
    k, item = columns_sent(scores), scores.items[0]
    theirs = item.teachers[teacher]
    found: dict[int, list] = {}
    for ids, own, other in (
        (item.student.topk.ids, item.student.topk.logprobs, theirs.at_student_top),
        (theirs.track.topk.ids, theirs.student_at_top, theirs.track.topk.logprobs),
    ):
        for column in range(k):
            if ids[token, column] >= 0:
                found[int(ids[token, column])] = [
                    float(np.exp(own[token, column])),
                    float(np.exp(other[token, column])),
                ]
    return found


def compare(root, scores, token, teacher=TEACHER):
    expect(root.locator(".opd-top-box")).to_have_attribute("data-top", "here", timeout=WAIT_MS)
    expect(root.locator(".opd-panel")).to_contain_text(f"Token {token + 1} of")
    more = root.locator(".opd-top-box .opd-link", has_text="show all")
    if more.count():
        more.click()
    found, right = shown(root), wanted(scores, token, teacher)
    assert set(found) == set(right)
    compared = 0
    for one, values in found.items():
        for value, true in zip(values, right[one], strict=True):
            if value is not None:
                compared += 1
                assert value == pytest.approx(true, abs=6e-4)
    assert compared >= 4


def test_python_numbers_at_every_place_and_behind_a_busy_kernel(run, lab_page, tmp_path):
    scores, folder = run
    length = len(scores.rollouts[0])
    source = f"explorer = opd.Explorer(opd.load({str(folder)!r}), teacher={TEACHER!r})\nexplorer"
    page, errors = lab_page(notebook(tmp_path / "large.ipynb", f"import opd_widgets as opd\n{source}"))
    run_all(page)
    root = seen.explorer(page)
    pid = ask(page, "__import__('os').getpid()")
    strip = root.locator(".opd-strip")

    def go(token):
        ask(page, f"setattr(explorer, 'token', {token})")

    for token in (3, 300, length - 1, 1000):
        go(token)
        compare(root, scores, token)
    strip.focus()
    for _ in range(40):
        page.keyboard.press("ArrowRight")
    at = token_in(root)
    assert 1024 < at <= 1040  # in another block; presses within one frame may count once
    compare(root, scores, at)
    page.keyboard.press("2")
    compare(root, scores, at, list(scores.teachers)[1])

    box, last = root.locator(".opd-top-box"), length - 1
    os.kill(pid, signal.SIGSTOP)
    try:
        page.keyboard.press("End")
        expect(box).to_contain_text(BUSY, timeout=WAIT_MS)
        expect(root.locator('.opd-strip .opd-cell[aria-selected="true"]').first).to_be_visible()
        figure = root.locator('.opd-signal-values tr[data-row="student_entropy"] .opd-figure').inner_text()
        assert number(figure) == pytest.approx(float(scores.signal("student_entropy", 0)[last]), abs=6e-3)
        page.keyboard.press(str(1 + list(scores.teachers).index(TEACHER)))
        compare(root, scores, last)  # fetched before
        page.keyboard.press("2")
        expect(box).to_contain_text(BUSY, timeout=WAIT_MS)
    finally:
        os.kill(pid, signal.SIGCONT)
    compare(root, scores, last, list(scores.teachers)[1])
    assert errors == []
