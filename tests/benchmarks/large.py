"""8,192 tokens: scoring and the textbook, each in a fresh process: `python -m tests.benchmarks.large score`."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

LENGTH, TEACHERS = 8192, 1


def run(how: str) -> dict[str, float]:
    """Return seconds and megabytes above the loaded models of one way, "score" or "plain"."""
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "tests.benchmarks.large", how]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(how: str) -> None:
    """Do it one way and print what it took."""
    from tests.benchmarks import made, peers
    from tests.benchmarks.memory import high_water, resident

    model = made.smollm()
    student, teachers = made.panel(model, TEACHERS)
    short, long = (made.random_rollout(n, 16, n, model.tokenizer.size) for n in (8, LENGTH - 16))
    made.score(short, student, teachers)  # what every first call loads
    peers.plain(model, short, TEACHERS)()
    work = (lambda: made.score(long, student, teachers)) if how == "score" else peers.plain(model, long, TEACHERS)
    before, started = resident(), time.perf_counter()
    work()
    took = time.perf_counter() - started
    print(json.dumps({"seconds": took, "above": high_water() - before}))  # noqa: T201 - read by the caller


if __name__ == "__main__":
    main(sys.argv[1])
