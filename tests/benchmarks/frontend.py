"""The front end against its budgets and its peers, in headless Chromium: `make bench-frontend`.

python -m tests.benchmarks.frontend [ROUNDS [LOADS]]    # writes the section "Front end" of RESULTS.md

Nothing else should run on the machine. Where something does, the processor times and the ratios still hold.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import sync_playwright

import opd_widgets as opd
from tests.benchmarks import frontend_data, made
from tests.benchmarks.frontend_measure import Measured, measure, signals_of
from tests.benchmarks.frontend_report import section
from tests.benchmarks.frontend_subjects import SUBJECTS, bundle_sizes, chromium_version, circuitsvis_script, write_pages
from tests.benchmarks.frontend_wire import SIGNALS, wire, with_signals
from tests.benchmarks.sections import write_section
from tests.browser.jupyter import CHROMIUM_ARGUMENTS, chromium_path

RESULTS = Path(__file__).with_name("RESULTS.md")


def say(text: str) -> None:
    """Say what goes on."""
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", flush=True)  # noqa: T201 - minutes pass


def run(lengths: Sequence[int], rounds: int, loads: int) -> tuple[dict[int, Measured], opd.Scores, str]:
    """Measure at every length; return what was found, the last scores, and the browser's name."""
    found: dict[int, Measured] = {}
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), headless=True, args=CHROMIUM_ARGUMENTS)
        for length in lengths:
            say(f"scoring {length:,} tokens")
            scores = frontend_data.scored(length)
            say("writing pages")
            pages = write_pages(scores, Path(scratch))
            say("measuring")
            found[length] = measure(browser, SUBJECTS, scores, pages, loads=loads, rounds=rounds)
        name = chromium_version(browser)
        browser.close()
    return found, scores, name


def main(rounds: int = 4, loads: int = 5) -> None:
    """Run all and write the section."""
    if circuitsvis_script() is None:
        sys.exit("circuitsvis is not installed; run `make bench-frontend`, which installs it")
    before = os.getloadavg()[0]
    found, scores, browser = run([frontend_data.SHORT, frontend_data.LONG], rounds, loads)
    wires = {
        f"{len(scores.teachers)} teachers, {SIGNALS} signals": wire(with_signals(scores)),
        f"{len(scores.teachers)} teachers, all {len(signals_of(scores))} signals": wire(scores),
    }
    about = (
        f"`make bench-frontend`, {datetime.now(UTC):%Y-%m-%d}, {made.machine().partition(', PyTorch')[0]}, {browser} "
        f"headless, load before and after {before:.1f} and {os.getloadavg()[0]:.1f}. Data: {frontend_data.SHORT:,} and "
        f"{frontend_data.LONG:,} tokens of English prose in a byte-level BPE of {frontend_data.PIECES:,} pieces, "
        f"scored under {len(scores.teachers)} teachers by small random models, all {len(signals_of(scores))} signals; "
        f"two rollouts of {frontend_data.BESIDE} tokens beside. {rounds} rounds of switches, {loads} first drawings; "
        "subjects in turns, the order reversed each round."
    )
    write_section(RESULTS, section(found, wires, bundle_sizes(), about))
    say(f"written to {RESULTS.name}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
