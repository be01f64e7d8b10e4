"""The section "Front end" of RESULTS.md: every figure beside its target and its peers."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np

from tests.benchmarks.frontend_data import LONG, SHORT
from tests.benchmarks.frontend_measure import LATER_MS, STEPS, Drag, Measured
from tests.benchmarks.frontend_subjects import CIRCUITSVIS, PEERS, SPANS, STRIP, SUBJECTS, Subject
from tests.benchmarks.frontend_trace import PARTS, Work
from tests.benchmarks.frontend_wire import Wire
from tests.benchmarks.markdown import table

FIRST_PAINT_MS = {SHORT: 150, LONG: 300}
SWITCH_MS = 8
FASTER = 10
BUNDLE_KB = 100
BYTES = 6
ByLength = Mapping[int, Measured]


def median(values: Sequence[float]) -> float:
    """Return the median."""
    return float(np.median(values))


def spread(values: Sequence[float]) -> str:
    """Return the median and the 95th percentile of milliseconds."""
    return f"{_ms(median(values))} ({_ms(float(np.percentile(values, 95)))})"


def _ms(value: float) -> str:
    return f"{value:,.1f}" if value < 100 else f"{value:,.0f}"


def summary(found: ByLength) -> str:
    """Return what is asked of the front end, what it does, and by how much it is faster."""
    lines = []
    strip = {length: strip_switches(measured) for length, measured in found.items()}
    for length, kinds in strip.items():
        slowest = max(kinds, key=kinds.__getitem__)
        lines.append([f"TokenStrip, slowest kind of switch at {length:,} ({slowest})", f"≤ {SWITCH_MS} ms",
                      f"{_ms(kinds[slowest])} ms"])  # fmt: skip
    short, long = min(found), max(found)
    growth = {kind: strip[long][kind] / strip[short][kind] for kind in strip[long] if kind in strip[short]}
    lines.append([f"the same, {long:,} over {short:,} tokens, by kind", "about 1",
                  ", ".join(f"{kind} {ratio:.2f}" for kind, ratio in growth.items())])  # fmt: skip
    peers = {peer.name: peer_switch(found[long], peer) for peer in PEERS if peer.name in found[long].nodes}
    ours = max(strip[long].values())
    for place, name in enumerate(sorted(peers, key=peers.__getitem__)):
        what = f"{name}, at {long:,} over TokenStrip's slowest kind"
        lines.append([what, "" if place else f"≥ {FASTER}", f"{peers[name] / ours:,.1f}"])
    return table(["what, medians of the main thread's time", "target", "measured"], lines)


def strip_switches(measured: Measured) -> dict[str, float]:
    """Return TokenStrip's median of every kind of switch."""
    return {
        label: median([work.total for work in works])
        for (name, label), works in measured.switches_cpu.items()
        if name == STRIP.name
    }


def peer_switch(measured: Measured, peer: Subject) -> float:
    """Return a peer's median switch, or its first drawing where that is quicker: a new rendering clears the old one."""
    works = [work.total for (name, _), works in measured.switches_cpu.items() if name == peer.name for work in works]
    return min(median(works), median(measured.first_paint_cpu[peer.name]))


def switches(found: ByLength) -> str:
    """Return one row a subject, length and kind of switch."""
    order = [subject.name for subject in SUBJECTS]
    rows = []
    for length, measured in found.items():
        for (name, label), cpu in sorted(measured.switches_cpu.items(), key=lambda entry: order.index(entry[0][0])):
            kind = label if name not in {peer.name for peer in PEERS} else label.removesuffix(" first")
            wall = measured.switches[name, label]
            later = measured.later.get((name, label))
            rows.append(
                [name, f"{length:,}", kind, len(cpu), spread([w.total for w in cpu]), spread([w.total for w in wall]),
                 *(_ms(median([getattr(work, part) for work in cpu])) for part in PARTS),
                 _ms(median([work.raster for work in wall])), _later(later)]
            )  # fmt: skip
    columns = ["what", "tokens", "switch", "n", "processor ms", "wall ms", *PARTS, "raster", "later"]
    return table(columns, rows)


def _later(works: Sequence[Work] | None) -> str:
    return "-" if works is None else _ms(median([work.total for work in works]))


def first_paint(found: ByLength) -> str:
    """Return one row a subject and length: drawing, memory and nodes."""
    rows = []
    for length, measured in found.items():
        for name, wall in measured.first_paint.items():
            target = "" if name in {peer.name for peer in PEERS} else f"≤ {FIRST_PAINT_MS.get(length, 0)}"
            rows.append([name, f"{length:,}", len(wall), target, spread(wall),
                         spread(measured.first_paint_cpu[name]), f"{measured.heap[name]:.1f}",
                         f"{measured.nodes[name]:,}"])  # fmt: skip
    return table(["what", "tokens", "n", "target, ms", "wall ms", "processor ms", "MB", "nodes"], rows)


def drags(found: ByLength) -> str:
    """Return one row a widget, length and way to scrub."""
    rows = [
        [name, f"{length:,}", over, f"{drag.rate:.1f}", f"{100 * drag.late:.0f}%", f"{_longest(drag)}"]
        for length, measured in found.items()
        for (name, over), drag in measured.drags.items()
    ]
    return table(
        ["what", "tokens", "drag over the", "frames a second", "over 16.7 ms", "longest: work, interval"], rows
    )


def _longest(drag: Drag) -> str:
    return f"{_ms(max(drag.work))} ms, {_ms(max(drag.intervals))} ms"


def sizes(wires: Mapping[str, Wire], bundles: Mapping[str, tuple[float, float]]) -> str:
    """Return bytes sent and kilobytes of code."""
    rows: list[list[object]] = []
    for what, wire in wires.items():
        rows.append([f"bytes a token, teacher and signal, {what}", f"≤ {BYTES}", f"{wire.per_value:.2f}"])
        whole = [f"{count / 1e6:.2f}" for count in (wire.whole, wire.signals, wire.others, wire.text)]
        measured = "{} MB: signals {}, other buffers {}, text {}".format(*whole)
        rows.append([f"the whole message, {what}", "", measured])
    rows += [
        [f"bundle {name}, minified, KB of 1,024 bytes", f"≤ {BUNDLE_KB}", f"{script:.1f}, style sheet {style:.1f}"]
        for name, (script, style) in bundles.items()
    ]
    return table(["what", "target", "measured"], rows)


NOTES = (
    """Processor ms is the time the page's main thread itself ran, from the trace's thread clock: other programs on a
    busy machine do not lengthen it, and on a quiet one it is the time on the wall. Medians, 95th percentiles in
    brackets. In: script (with garbage collection on that thread), style, layout (with hit tests), paint (pre-paint,
    paint, layerize, commit), each event's own time, from the setting of the trait to the second frame after; their
    four columns and raster are medians and need not add up. Raster (software, on threads of its own, wall clock) is
    beside, not in the sum. Not in: the compositor and the screen.""",
    f""""first": a teacher or signal not shown before; "again": shown before. "later" is the main thread's time in the
    {LATER_MS} ms after, where work put off would show. A switch of {SPANS.name} sets the colour of every span.
    {CIRCUITSVIS.name}, have no switch and are rendered anew into a new element, their script loaded before; the
    first table takes the quicker of their first and their new rendering.""",
    """First paint: from the call of `render()` in a fresh document to the end of the last paint within two frames; the
    state lies in memory as buffers. MB is what a forced collection leaves above what was there before drawing:
    JavaScript, the browser's objects for it, buffers. Nodes are elements and text nodes.""",
    f"""Scrubbing is {STEPS} pointer moves over the whole minimap, or over the visible text, one a frame; work is
    processor time between two frames, the interval is on the wall.""",
)


def paragraph(text: str) -> str:
    """Return a text in lines of at most 120 characters."""
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)


def section(found: ByLength, wires: Mapping[str, Wire], bundles: Mapping[str, tuple[float, float]], about: str) -> str:
    """Return the whole section."""
    tables = {
        "Switches": switches(found),
        "First paint, memory, nodes": first_paint(found),
        "Scrubbing": drags(found),
        "Sizes": sizes(wires, bundles),
    }
    parts = ["# Front end", paragraph(about), summary(found), *map(paragraph, NOTES)]
    for title, text in tables.items():
        parts += [f"## {title}", text]
    return "\n\n".join(parts)
