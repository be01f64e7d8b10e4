"""The measurements: switches, first paint, scrubbing, memory. Every subject in turns, the order reversed each round."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from playwright.sync_api import Browser

import opd_widgets as opd
from opd_widgets.measures.signals import REGISTRY
from tests.benchmarks.frontend_subjects import CIRCUITSVIS, HOMES, START, Shown, Subject
from tests.benchmarks.frontend_trace import Recording, Work

LATER_MS = 50  # watched after a switch was painted: work put off is counted, in a column of its own
SLOW_LOADS = 2  # how often CircuitsVis is drawn first: seconds each time
FRAME_MS = 1000 / 60
STEPS = 90  # pointer moves of one drag, one a frame
Change = tuple[str, str, str]


@dataclass
class Measured:
    """All that was found at one length, by subject's name."""

    first_paint: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    first_paint_cpu: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    switches: dict[tuple[str, str], list[Work]] = field(default_factory=lambda: defaultdict(list))
    switches_cpu: dict[tuple[str, str], list[Work]] = field(default_factory=lambda: defaultdict(list))
    later: dict[tuple[str, str], list[Work]] = field(default_factory=lambda: defaultdict(list))
    drags: dict[tuple[str, str], Drag] = field(default_factory=dict)
    heap: dict[str, float] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Drag:
    """Frames of a drag: milliseconds from one to the next, and the main thread's processor time in each."""

    intervals: list[float]
    work: list[float]

    @property
    def rate(self) -> float:
        """Frames a second."""
        return 1000 * len(self.intervals) / sum(self.intervals)

    @property
    def late(self) -> float:
        """Share of frames whose work does not fit 16.7 ms."""
        return float(np.mean(np.array(self.work) > FRAME_MS))


def in_turns(subjects: Sequence[Subject], rounds: int) -> Iterator[tuple[int, Subject]]:
    """Yield every subject in every round, the order reversed each time."""
    for number in range(rounds):
        for subject in subjects if number % 2 == 0 else reversed(subjects):
            yield number, subject


def signals_of(scores: opd.Scores) -> list[str]:
    """Return the signals there are, in registry order."""
    item = scores.items[0]
    held = {*item.signals, *(name for scored in item.teachers.values() for name in scored.signals)}
    return [name for name in REGISTRY if name in held]


def parts(scores: opd.Scores, rounds: int) -> list[list[str]]:
    """Deal the signals but the one shown at first to the rounds; each part ends with one of HOMES."""
    names = [name for name in signals_of(scores) if name not in {START, *HOMES}]
    return [[*names[number::rounds], HOMES[number % len(HOMES)]] for number in range(rounds)]


def changes_of_widget(part: Sequence[str], teachers: Sequence[str]) -> list[Change]:
    """Return switches to what was not shown before, "first", and back to what was, "again"."""
    home, *others = teachers
    return [
        *(("signal", name, "signal first") for name in part),
        *(("teacher", name, "teacher first") for name in others),
        *(("teacher", name, "teacher again") for name in (home, *others, home)),
        *(("signal", name, "signal again") for name in reversed(part[:-1])),
    ]


def changes_of_peer(part: Sequence[str], teachers: Sequence[str], count: int) -> list[Change]:
    """Return switches of a peer, teacher and signal in turns; to it nothing is ever seen before."""
    home, other = teachers[:2]
    turns = [("teacher", other), ("signal", part[-1]), ("teacher", home), ("signal", START)]
    return [(trait, value, f"{trait} first") for trait, value in (turns * count)[:count]]


def changes(
    subject: Subject, number: int, dealt: Sequence[Sequence[str]], teachers: Sequence[str], long: int
) -> list[Change]:
    """Return what one subject does in one round; `long` is the rollout's length."""
    if subject.ours:
        return changes_of_widget(dealt[number], teachers)
    if subject is not CIRCUITSVIS:
        return changes_of_peer(dealt[number], teachers, 8)
    # each rendering takes seconds: two a round, at the greatest length two in all, one of teacher and one of signal
    two = changes_of_peer(dealt[number], teachers, 2)
    return two if long < 16_384 else two[number : number + 1]


def draw_first(
    browser: Browser, subjects: Sequence[Subject], pages: Mapping[str, Path], rounds: int, found: Measured
) -> dict[str, Shown]:
    """Time the first drawing in a fresh document, several times; return each subject's last page, drawn."""
    shown: dict[str, Shown] = {}
    for number, subject in in_turns(subjects, rounds):
        if subject is CIRCUITSVIS and number >= SLOW_LOADS:
            continue
        if subject.name in shown:
            shown.pop(subject.name).close()
        view = Shown(browser, subject, dict(pages))
        before = view.heap()
        with Recording(browser, view.page) as recording:
            view.draw()
        found.first_paint[subject.name].append(recording.trace.painted_after("first"))
        found.first_paint_cpu[subject.name] += [work.total for _, work in recording.cpu.stretches()]
        found.heap[subject.name] = view.heap() - before
        found.nodes[subject.name] = view.nodes()
        shown[subject.name] = view
    return shown


def switch(browser: Browser, shown: Mapping[str, Shown], scores: opd.Scores, rounds: int, found: Measured) -> None:
    """Switch teachers and signals, rounds times."""
    dealt, teachers = parts(scores, rounds), list(scores.teachers)
    for number, subject in in_turns([view.subject for view in shown.values()], rounds):
        view = shown[subject.name]
        planned = changes(subject, number, dealt, teachers, len(scores.rollouts[0]))
        if not planned:
            continue
        with Recording(browser, view.page) as recording:
            view.switch(planned, LATER_MS if subject.ours else 0)
        for label, work in recording.trace.stretches():
            found.switches[subject.name, label].append(work)
        for label, work in recording.cpu.stretches():
            found.switches_cpu[subject.name, label].append(work)
        for label, work in recording.cpu.stretches(":later", since=":end"):
            found.later[subject.name, label].append(work)


def drag(browser: Browser, view: Shown, role: str) -> Drag:
    """Drag over the minimap (role slider) or the text (listbox), one move a frame."""
    page = view.page
    page.bring_to_front()
    target = page.get_by_role(role).first
    target.scroll_into_view_if_needed()
    box = target.bounding_box()
    if box is None:
        msg = f"{view.subject.name} shows nothing of role {role}"
        raise RuntimeError(msg)
    left, top, right, bottom = box["x"] + 8, box["y"] + 8, box["x"] + box["width"] - 8, box["y"] + box["height"] - 8
    rows = 1 if role == "slider" else 4
    with Recording(browser, page) as recording:
        page.mouse.move(left, top)
        page.mouse.down()
        page.evaluate("bench.count()")
        for row in range(rows):
            y = top + (bottom - top) * (row + 0.5) / rows
            page.mouse.move(right if row % 2 == 0 else left, y, steps=STEPS // rows)
        at: list[float] = page.evaluate("bench.counted()")
        page.mouse.up()
    return Drag(list(np.diff(at)), [work.total for work in recording.cpu.frames()])


def measure(
    browser: Browser, subjects: Sequence[Subject], scores: opd.Scores, pages: Mapping[str, Path], *,
    loads: int, rounds: int,
) -> Measured:  # fmt: skip
    """Return everything at one length."""
    found = Measured()
    shown = draw_first(browser, subjects, pages, loads, found)
    switch(browser, shown, scores, rounds, found)
    for subject in subjects:
        if subject.ours:
            view = shown[subject.name]
            found.drags[subject.name, "text"] = drag(browser, view, "listbox")
            if view.page.get_by_role("slider").count():
                found.drags[subject.name, "minimap"] = drag(browser, view, "slider")
    for view in shown.values():
        view.close()
    return found
