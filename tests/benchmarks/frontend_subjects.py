"""What is measured: two widgets on their real bundles, and two peers on the same tokens and values."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from playwright.sync_api import Browser, CDPSession, Page

import opd_widgets as opd
from opd_widgets.data.scores import response_pieces, token_text
from opd_widgets.widgets._base import STATIC
from tests.browser.jupyter import VIEWPORT

HOST = Path(__file__).with_name("frontend_host.js")
PATIENCE_MS = 240_000  # a peer takes many seconds for one rendering of a long rollout
Kind = Literal["widget", "spans", "circuitsvis"]


@dataclass(frozen=True)
class Subject:
    """Something that shows a rollout's tokens in colour; `kind` is the host's name for the way to run it."""

    name: str
    kind: Kind
    stem: str = "token_strip"

    @property
    def ours(self) -> bool:
        """Whether it is a widget of this package."""
        return self.kind == "widget"


STRIP = Subject("TokenStrip", "widget")
EXPLORER = Subject("Explorer", "widget", "explorer")
SPANS = Subject("one span a token, inline colours", "spans", "plain")
CIRCUITSVIS = Subject("CircuitsVis, coloured tokens", "circuitsvis", "plain")
WIDGETS, PEERS = [STRIP, EXPLORER], [SPANS, CIRCUITSVIS]
SUBJECTS = [*WIDGETS, *PEERS]
# Signals that teachers differ in at nearly every token: under these they are switched, and these the peers show.
HOMES = ("reverse_kl", "soft_log_advantage", "jsd", "baseline_subtracted")
START = "advantage"  # what is shown first


def without_host(page: str) -> str:
    """Return an exported page without its last script, which would show the widget before it can be timed."""
    return page[: page.rindex("<script>")] + "</body></html>"


def write_pages(scores: opd.Scores, folder: Path) -> dict[str, Path]:
    """Write the pages of both widgets, by stem, and the peers' one."""
    found = {"plain": folder / "plain.html"}
    found["plain"].write_text(plain_page(scores), encoding="utf-8")
    for stem, widget in (("token_strip", opd.TokenStrip(scores)), ("explorer", opd.Explorer(scores))):
        path = opd.write_page(widget, folder / f"{stem}.html")
        path.write_text(without_host(path.read_text(encoding="utf-8")), encoding="utf-8")
        found[stem] = path
    return found


def plain_page(scores: opd.Scores) -> str:
    """Return a page with what the peers take: token texts and, for the first two teachers, values of a few signals."""
    rollout = scores.rollouts[0]
    texts = [token_text(piece) for piece in response_pieces(rollout, scores.pieces)]
    rows = []
    for signal in (START, *HOMES):
        for teacher in list(scores.teachers)[:2]:
            values = np.nan_to_num(scores.signal(signal, 0, teacher))
            limit = float(np.quantile(np.abs(values), 0.99))
            rows.append({"signal": signal, "teacher": teacher, "limit": limit, "values": values.tolist()})
    state = {"state": {"texts": texts, "rows": rows}}
    text = json.dumps(state).replace("<", "\\u003c")
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>peers</title><body><div id="opd-mount"></div>'
        f'<script type="application/json" id="opd-state">{text}</script></body></html>'
    )


def circuitsvis_script() -> Path | None:
    """Return the script that the wheel of CircuitsVis puts into its HTML; None where it is not installed."""
    spec = importlib.util.find_spec("circuitsvis")
    folders = spec.submodule_search_locations if spec else None
    return Path(next(iter(folders))) / "dist" / "cdn" / "iife.js" if folders else None


class Shown:
    """A subject in a page of its own, its data loaded and not yet drawn."""

    def __init__(self, browser: Browser, subject: Subject, pages: dict[str, Path]) -> None:
        self.subject = subject
        self.page: Page = browser.new_page(viewport=VIEWPORT)
        self.page.set_default_timeout(PATIENCE_MS)
        self.errors: list[str] = []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.goto(pages[subject.stem].as_uri())
        self.page.evaluate(HOST.read_text(encoding="utf-8"))
        if subject.kind == "circuitsvis":
            self.page.add_script_tag(path=circuitsvis_script())
        self.page.evaluate("kind => bench.load(kind)", subject.kind)
        self._tools: CDPSession = self.page.context.new_cdp_session(self.page)

    def draw(self) -> None:
        """Draw it for the first time."""
        self.page.evaluate("bench.first()")

    def switch(self, changes: Sequence[tuple[str, str, str]], later_ms: int) -> None:
        """Set each (trait, value) in turn, each till painted; its third part labels the marks."""
        self.page.bring_to_front()
        self.page.evaluate("([list, later]) => bench.switches(list, later)", [list(changes), later_ms])

    def heap(self) -> float:
        """Return megabytes after a collection: JavaScript's objects, the browser's own for them, and buffers."""
        self._tools.send("HeapProfiler.collectGarbage")
        used = self._tools.send("Runtime.getHeapUsage")
        kinds = ("usedSize", "embedderHeapUsedSize", "backingStorageSize")
        return sum(float(used.get(kind, 0)) for kind in kinds) / 1e6

    def nodes(self) -> int:
        """Return elements and text nodes of the view."""
        count: int = self.page.evaluate(
            """() => {
              const walker = document.createTreeWalker(document.getElementById("opd-mount"));
              let found = 0;
              while (walker.nextNode()) found++;
              return found;
            }"""
        )
        return count

    def close(self) -> None:
        """Close the page, and say what went wrong in it."""
        self.page.close()
        if self.errors:
            msg = f"{self.subject.name}: {self.errors[0]}"
            raise RuntimeError(msg)


def bundle_sizes() -> dict[str, tuple[float, float]]:
    """Return KB (1,024 bytes) of script and style sheet of each built widget."""
    found = {}
    for script in sorted(STATIC.glob("*.js")):
        if script.stem == "static_page":
            continue
        style = script.with_suffix(".css")
        found[script.stem] = (script.stat().st_size / 1024, style.stat().st_size / 1024 if style.exists() else 0.0)
    return found


def chromium_version(browser: Browser) -> str:
    """Return the browser's version, two numbers of it."""
    return "Chromium " + ".".join(re.findall(r"\d+", browser.version)[:1])
