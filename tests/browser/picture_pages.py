"""What the pictures of single views show, from real runs, each state found by a rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

import opd_widgets as opd
from opd_widgets.data.scores import Scores
from opd_widgets.diagnosis.drawn import INCORRECT
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.widgets._base import OpdWidget
from opd_widgets.widgets.wire.places import initial_nodes
from tests.benchmarks.frontend_data import scored
from tests.browser.small_png import write_small

QUESTIONS, ROLLOUTS, BUDGET = 12, 6, 120_000
LONG = 8_192
SCALE = 1.5
WIDER = 1320  # where a scale with all its controls is one line


@dataclass(frozen=True)
class Picture:
    """One view to photograph.

    Args:
        name: the file's name without the theme.
        widget: at the place to show.
        width: of the window, in CSS pixels.

    """

    name: str
    widget: OpdWidget
    width: int = 1240


def pictures() -> Iterator[Picture]:
    """Yield the views that need no kernel."""
    lab = opd.demo(questions=QUESTIONS, rollouts=ROLLOUTS)
    scores = opd.score(lab.rollouts, lab.student, lab.teachers, progress=False)
    yield _teachers(scores)
    yield _rollouts(scores)
    given = {"verifier": lab.verifier, "budget": BUDGET, "seed": 0, "progress": False}
    result = opd.diagnose(lab.questions, lab.student, lab.teachers, **given)
    question, rollout, node = telling_node(result)
    place = {"question": question, "rollout": rollout, "node": node, "teacher": "Self-1C"}
    yield Picture("alignment", opd.AlignmentView(result, **place))
    yield Picture("tree", opd.TreeView(result, **place))
    long = scored(LONG)
    sizes = np.abs(np.nan_to_num(long.signal("advantage", 0, next(iter(long.teachers)))))
    yield Picture(
        "long-text", opd.TokenStrip(long, rollout=0, token=int(sizes[LONG // 3 :].argmax()) + LONG // 3), 1100
    )


def telling_node(result: Diagnosis) -> tuple[str, str, int]:
    """Return question, an incorrect rollout, and the node on it where most is at stake.

    Of nodes with three tokens in the support, whose gradients are arrows on a simplex, the one with the widest range of
    success among its candidates, counting as often as rollouts come there.
    """
    nodes = result.nodes[(result.nodes.teacher == "Self-1C") & (result.nodes.verdict == "")]
    wide = nodes[nodes.n_support == 3]
    stake = (wide.success_range * wide.visits).to_numpy(float)
    reach = dict(zip(zip(wide.question, wide.node.astype(int), strict=True), stake, strict=True))
    found = [
        (reach[one.question, int(node)], one.question, f"{one.question}/{index}", int(node))
        for one in result.evidence
        for index, at in initial_nodes(one).items()
        if one.rollouts[index].outcome == INCORRECT
        for node in at
        if (one.question, int(node)) in reach
    ]
    return max(found)[1:]


def _teachers(scores: Scores) -> Picture:
    """Return the incorrect rollout, and its token, where two teachers differ most."""
    first, second = "Teacher", "Self-1C"
    wrong = [i for i, rollout in enumerate(scores.rollouts) if rollout.outcome == "incorrect"]
    gaps = {i: np.abs(scores.signal("advantage", i, first) - scores.signal("advantage", i, second)) for i in wrong}
    most = max(wrong, key=lambda i: float(np.nanmax(gaps[i])))
    token = int(np.nanargmax(gaps[most]))
    compared = [first, second, "Other style"]
    return Picture("compare-teachers", opd.Compare(scores, rollout=most, token=token, compared=compared), WIDER)


def _rollouts(scores: Scores) -> Picture:
    """Return the incorrect rollout that goes longest with a correct one, where they part."""
    ids = [np.asarray(rollout.response_ids) for rollout in scores.rollouts]

    def shared(one: int, other: int) -> int:
        same = min(len(ids[one]), len(ids[other]))
        apart = np.flatnonzero(ids[one][:same] != ids[other][:same])
        return int(apart[0]) if len(apart) else -1

    pairs = [
        (shared(wrong, right), wrong)
        for wrong, one in enumerate(scores.rollouts)
        for right, other in enumerate(scores.rollouts)
        if (one.outcome, other.outcome) == ("incorrect", "correct") and one.group == other.group
    ]
    token, rollout = max(pairs)
    view = opd.Compare(scores, rollout=rollout, token=token, teacher="Self-1C", across="rollouts")
    return Picture("compare-rollouts", view, WIDER)


def photograph(browser: Browser, picture: Picture, folder: Path, scratch: Path) -> list[Path]:
    """Write a view's page, and take it in the light and in the dark theme."""
    file = opd.write_page(picture.widget, scratch / f"{picture.name}.html")
    window = {"width": picture.width, "height": 900}
    page = browser.new_page(viewport=window, device_scale_factor=SCALE)
    page.goto(file.as_uri())
    root = page.locator(".opd-root")
    paths = []
    for theme in ("light", "dark"):
        page.evaluate("(theme) => { document.body.dataset.theme = theme; }", theme)
        root.and_(page.locator(f'[data-opd-theme="{theme}"]')).wait_for()
        page.wait_for_timeout(500)
        paths.append(write_small(root.screenshot(caret="hide"), folder / f"{picture.name}-{theme}.png"))
    page.close()
    return paths
