"""The front end's benchmark on a small rollout: its pieces work, and a switch is one."""

from __future__ import annotations

import itertools

import pytest

from tests.benchmarks import frontend_data
from tests.benchmarks.frontend_measure import changes_of_widget, measure, parts, signals_of
from tests.benchmarks.frontend_report import section
from tests.benchmarks.frontend_subjects import HOMES, SPANS, START, STRIP, WIDGETS, Shown, bundle_sizes, write_pages
from tests.benchmarks.frontend_trace import Trace, own_time
from tests.benchmarks.frontend_wire import SIGNALS, wire, with_signals
from tests.benchmarks.sections import write_section

TOKENS = 96


@pytest.fixture(scope="module")
def scores():
    return frontend_data.scored(TOKENS, beside=16)


def event(name, start, length, **more):
    return {"ph": "X", "name": name, "ts": start, "dur": length, "tts": start / 2, "tdur": length / 2,
            "pid": 1, "tid": 1, "cat": "devtools.timeline", **more}  # fmt: skip


def mark(label, at):
    return {
        "ph": "I",
        "name": f"bench:{label}",
        "cat": "blink.user_timing",
        "ts": at,
        "tts": at / 2,
        "pid": 1,
        "tid": 1,
    }


NESTED = [
    mark("a", 1000),
    event("FunctionCall", 1000, 6000),
    event("UpdateLayoutTree", 2000, 1000),
    event("Layout", 3000, 2000),
    event("Unknown", 3500, 500),
    event("Paint", 9000, 4000),
    event("Paint", 9000, 4000, tid=2),
    event("RasterTask", 9500, 700, tid=3),
    mark("a:end", 12000),
]


def test_nested_events_are_counted_once_and_cut_at_the_marks():
    ((label, work),) = Trace(NESTED).stretches()
    assert label == "a"
    assert (work.script, work.style, work.layout, work.paint, work.raster) == (3.0, 1.0, 2.0, 3.0, 0.7)
    assert work.total == 9.0


def test_the_other_clock_has_its_own_lengths_and_no_raster():
    ((_, work),) = Trace(NESTED, "tts").stretches()
    assert (work.total, work.raster) == (4.5, 0.0)


def test_own_times_of_a_thread_never_overlap():
    slices = list(own_time([(e["name"], e["ts"], e["dur"]) for e in NESTED if e["ph"] == "X" and e["tid"] == 1]))
    assert all(one.end <= other.start for one, other in itertools.pairwise(slices))


def test_every_teacher_and_signal_is_switched_to(scores):
    dealt = parts(scores, 4)
    planned = [change for part in dealt for change in changes_of_widget(part, list(scores.teachers))]
    assert {value for trait, value, _ in planned if trait == "teacher"} == set(scores.teachers)
    assert {value for trait, value, _ in planned if trait == "signal"} == {*signals_of(scores)} - {START}
    assert [part[-1] for part in dealt] == list(HOMES)
    firsts = [value for trait, value, label in planned if label == "signal first"]
    assert len(firsts) == len(set(firsts))


def test_the_wire_is_counted(scores):
    ten = wire(with_signals(scores))
    tokens = sum(len(rollout) for rollout in scores.rollouts)
    assert ten.signals == round(ten.per_value * tokens * len(scores.teachers) * SIGNALS)
    assert 0 < ten.per_value <= 6
    assert wire(scores).whole > ten.whole


@pytest.mark.browser
def test_a_switch_changes_colours_and_is_measured(browser, scores, tmp_path):
    pages = write_pages(scores, tmp_path)
    colours = """() => [...document.querySelectorAll("#opd-mount .opd-strip .opd-cell, #opd-mount div > span[style]")]
      .map((cell) => `${cell.className} ${cell.style.backgroundColor}`).join()"""
    for subject in (STRIP, SPANS):
        shown = Shown(browser, subject, pages)
        shown.draw()
        before = shown.page.evaluate(colours)
        shown.switch([("signal", HOMES[0], "s"), ("teacher", "model-2", "t")], 0)
        assert before
        assert shown.page.evaluate(colours) != before
        shown.close()


@pytest.mark.browser
def test_everything_is_measured_and_written(browser, scores, tmp_path):
    pages = write_pages(scores, tmp_path)
    found = measure(browser, [*WIDGETS, SPANS], scores, pages, loads=1, rounds=2)
    for subject in (*WIDGETS, SPANS):
        works = [work for (name, _), works in found.switches_cpu.items() if name == subject.name for work in works]
        assert all(work.total > 0 for work in works)
        assert found.first_paint[subject.name][0] > 0
        assert found.nodes[subject.name] > TOKENS
    assert {over for _, over in found.drags} == {"text", "minimap"}
    assert all(len(drag.work) > 10 for drag in found.drags.values())
    assert all(script > 0 for script, _ in bundle_sizes().values())
    results = tmp_path / "RESULTS.md"
    results.write_text("# Other\n\nkept\n\n# Front end\n\nold\n\n# Last\n\nkept too\n", encoding="utf-8")
    write_section(results, section({TOKENS: found}, {"ten": wire(scores)}, bundle_sizes(), "about"))
    text = results.read_text(encoding="utf-8")
    assert text.index("kept") < text.index("| TokenStrip") < text.index("kept too")
    assert "old" not in text
