"""What a reader sees in an Explorer, and what they should see by Python's numbers."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from playwright.sync_api import Locator, Page

import opd_widgets as opd
from opd_widgets.data.scores import Scores, response_pieces
from opd_widgets.data.tokens import display_cells

STEPS = 12  # colour steps on either side of zero


def explorer(page: Page) -> Locator:
    """Return the Explorer once its text is drawn."""
    root = page.locator(".opd-explorer").first
    root.locator(".opd-strip .opd-cell").first.wait_for()
    return root


# Cells in the DOM by their place in the text: one broken over rows has several nodes, and only rows in sight are there.
CELLS = """nodes => {
  const cells = {};
  for (const node of nodes) {
    const cell = (cells[node.dataset.cell] ??= { text: "", colour: "" });
    cell.text += node.textContent;
    cell.colour = [...node.classList].find((name) => name.startsWith("opd-v-")) ?? "";
  }
  return Object.keys(cells).map(Number).sort((a, b) => a - b).map((at) => [cells[at].text, cells[at].colour]);
}"""


def cells(root: Locator) -> list[tuple[str, str]]:
    """Return text and colour class of every cell of the strip that is drawn, in order."""
    found: list[list[str]] = root.locator(".opd-strip [data-cell]").evaluate_all(CELLS)
    return [(shown, colour) for shown, colour in found]


def colours(root: Locator) -> list[str]:
    """Return the colour class of every cell of the strip."""
    return [colour for _, colour in cells(root)]


def text(root: Locator) -> str:
    """Return the strip's text."""
    return "".join(shown for shown, _ in cells(root))


def wanted(scores: Scores, rollout: int, teacher: str, meta: dict[str, Any]) -> list[set[str]]:
    """Return the colour classes every cell may have for the advantage: two where its value lies on a border."""
    row = next(signal for signal in meta["signals"] if signal["name"] == "advantage")
    values = scores.signal("advantage", rollout, teacher)
    cells = display_cells(response_pieces(scores.rollouts[rollout], scores.pieces))
    return [_classes(float(values[c.start : c.stop].sum()), row["limit"], row["noise"]) for c in cells]


def _classes(value: float, limit: float, noise: float) -> set[str]:
    if np.isnan(value):
        return {"opd-v-nan"}
    allowed = set()
    for near in (value * (1 - 1e-3), value * (1 + 1e-3)):
        step = min(STEPS, round(abs(near) / limit * STEPS))
        allowed.add(f"opd-v-{'p' if near > 0 else 'n'}{step}" if step else "opd-v-zero")
    if abs(value) < 20 * noise + 1e-4:  # the band is measured anew in every process
        allowed |= {"opd-v-noise", "opd-v-zero"}
    return allowed


def expect(root: Locator, allowed: list[set[str]], seconds: float = 5.0) -> None:
    """Wait until every cell has one of its allowed colours; the view draws on the next frame."""
    end = time.monotonic() + seconds
    while True:
        found = colours(root)
        wrong = [(i, one, may) for i, (one, may) in enumerate(zip(found, allowed, strict=False)) if one not in may]
        if len(found) == len(allowed) and not wrong:
            return
        assert time.monotonic() < end, (len(found), len(allowed), wrong)
        root.page.wait_for_timeout(20)


def meta_of(scores: Scores) -> dict[str, Any]:
    """Return the metadata the front end was given."""
    found: dict[str, Any] = opd.Explorer(scores).get_state()["scores"]["meta"]
    return found
