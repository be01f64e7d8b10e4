"""What a browser's trace says of a stretch of time: milliseconds of script, style, layout, paint and raster.

In are the events of the page's main thread by their own time, so nothing counts twice: script (handlers, timers,
frames' callbacks, microtasks, compiling, garbage collection), style (recalculation), layout (hit tests and
intersections too), paint (pre-paint, paint, layerize, commit to the compositor). Beside them, not in the sum: raster,
on threads of its own, here in software. Not in: the compositor's and the screen's own work, the time a task waits.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

from playwright.sync_api import Browser, Page

CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline", "blink.user_timing", "v8"]
PARTS = {
    "script": {
        "FunctionCall", "v8.callFunction", "EvaluateScript", "EventDispatch", "FireAnimationFrame", "FireIdleCallback",
        "TimerFire", "RunMicrotasks", "HandlePostMessage", "MinorGC", "MajorGC", "BlinkGC.AtomicPhase", "v8.compile",
        "v8.compileModule", "v8.evaluateModule", "V8.GCScavenger", "V8.GCIncrementalMarking", "V8.GCFinalizeMC",
    },
    "style": {"UpdateLayoutTree", "RecalculateStyles", "ParseAuthorStyleSheet"},
    "layout": {"Layout", "HitTest", "IntersectionObserverController::computeIntersections"},
    "paint": {"PrePaint", "Paint", "Layerize", "Commit", "UpdateLayer", "UpdateLayerTree", "CompositeLayers"},
}  # fmt: skip
PART_OF = {name: part for part, names in PARTS.items() for name in names}
RASTER = "RasterTask"
Event = dict[str, Any]
Clock = Literal["ts", "tts"]


@dataclass(frozen=True)
class Work:
    """Milliseconds by part; `total` is the main thread's, without raster."""

    script: float = 0.0
    style: float = 0.0
    layout: float = 0.0
    paint: float = 0.0
    raster: float = 0.0

    @property
    def total(self) -> float:
        """Script, style, layout and paint together."""
        return self.script + self.style + self.layout + self.paint


@dataclass(frozen=True)
class Slice:
    """An uninterrupted piece of one event's own time, in microseconds."""

    start: float
    end: float
    part: str
    name: str


class Trace:
    """A recording of one page, cut by the marks its host set (`bench:<label>`).

    Args:
        events: the browser's.
        clock: "ts" is time on the wall; "tts" the main thread's own processor time, which other programs on a busy
            machine do not lengthen. Raster runs on other threads and is on the wall's clock only.

    """

    def __init__(self, events: Sequence[Event], clock: Clock = "ts") -> None:
        self.marks = sorted(
            ((event["name"].removeprefix("bench:"), event[clock]) for event in events if _is_mark(event)),
            key=lambda mark: mark[1],
        )
        thread = next(((e["pid"], e["tid"]) for e in events if _is_mark(e)), None)
        whole = [event for event in events if event.get("ph") == "X" and "dur" in event]
        length = {"ts": "dur", "tts": "tdur"}[clock]
        main = [(e["name"], e[clock], e[length]) for e in whole if (e["pid"], e["tid"]) == thread and length in e]
        self.slices = list(own_time(main))
        self.raster = [
            Slice(e["ts"], e["ts"] + e["dur"], "raster", RASTER)
            for e in whole
            if clock == "ts" and thread and e["pid"] == thread[0] and e["name"] == RASTER
        ]

    def between(self, start: float, end: float) -> Work:
        """Return the work between two moments, in the trace's microseconds."""
        sums = dict.fromkeys([*PARTS, "raster"], 0.0)
        for piece in (*self.slices, *self.raster):
            sums[piece.part] += max(0.0, min(end, piece.end) - max(start, piece.start)) / 1000
        return Work(**sums)

    def stretches(self, ending: str = ":end", since: str = "") -> list[tuple[str, Work]]:
        """Return the work between each `label` + `since` and the `label` + `ending` that follows."""
        found: list[tuple[str, Work]] = []
        opened: dict[str, float] = {}
        for name, at in self.marks:
            label = name.removesuffix(ending)
            if name.endswith(ending) and label in opened:
                found.append((label, self.between(opened.pop(label), at)))
            elif since and name.endswith(since):
                opened[name.removesuffix(since)] = at
            elif not since and ":" not in name:
                opened[name] = at
        return found

    def painted_after(self, label: str) -> float:
        """Return milliseconds from a mark to the end of the last paint before its end mark: what a reader waits."""
        at = dict(self.marks)
        start, end = at[label], at[f"{label}:end"]
        ends = [p.end for p in self.slices if p.part == "paint" and start < p.start < end]
        return float(max(ends) - start) / 1000

    def frames(self) -> list[Work]:
        """Return the work of each frame: from one frame mark to the next."""
        at = [moment for name, moment in self.marks if name == "frame"]
        return [self.between(one, other) for one, other in itertools.pairwise(at)]


def own_time(events: Iterable[tuple[str, float, float]]) -> Iterable[Slice]:
    """Cut nested events (name, start, length) of one thread into pieces that belong to the innermost known one."""
    known = sorted((e for e in events if e[0] in PART_OF), key=lambda e: (e[1], -e[2]))
    open_: list[tuple[float, str]] = []
    now = 0.0

    def close(until: float) -> Iterable[Slice]:
        nonlocal now
        while open_ and open_[-1][0] <= until:
            end, name = open_.pop()
            if end > now:
                yield Slice(now, end, PART_OF[name], name)
                now = end
        if open_ and until > now:
            yield Slice(now, until, PART_OF[open_[-1][1]], open_[-1][1])
        now = max(now, until)

    for name, start, length in known:
        yield from close(start)
        open_.append((start + length, name))
    yield from close(float("inf"))


def _is_mark(event: Event) -> bool:
    return "blink.user_timing" in event.get("cat", "") and str(event.get("name")).startswith("bench:")


class Recording:
    """`with Recording(browser, page) as recording: ...`, then `recording.trace`; `recording.cpu` on the other clock."""

    def __init__(self, browser: Browser, page: Page) -> None:
        self._browser, self._page = browser, page
        self.trace = self.cpu = Trace([])

    def __enter__(self) -> Self:
        self._browser.start_tracing(page=self._page, categories=CATEGORIES)
        return self

    def __exit__(self, *error: object) -> None:
        events = json.loads(self._browser.stop_tracing())["traceEvents"]
        self.trace, self.cpu = Trace(events), Trace(events, "tts")
