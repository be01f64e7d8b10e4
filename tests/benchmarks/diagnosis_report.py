"""What the benchmark of the diagnosis found, as Markdown."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from tests.benchmarks.diagnosis import Record

LEAST = 1e-3  # an error below it counts as so much: a ratio of two errors that hardly exist says nothing
RESAMPLED: Final = 4000
LEVEL = 0.9
AT_MOST: Final = {"paper": (0.3, 0.3, 0.3, 0.3), "even": (0.85, None, 0.5, 0.5)}  # by budget, smallest first


def ratios(records: Sequence[Record], way: str, rival: str, multiple: int) -> dict[str, float]:
    """Return by policy the error of a way over that of a rival, each a mean over seeds."""
    found: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in records:
        if one.multiple == multiple:
            found[one.policy].append((one.error[way], one.error[rival]))
    means = {policy: np.maximum(np.mean(pairs, axis=0), LEAST) for policy, pairs in found.items()}
    return {policy: float(mine / theirs) for policy, (mine, theirs) in means.items()}


def geometric(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the geometric mean, and its 90% interval by a bootstrap over policies."""
    logs = np.log(values)
    drawn = np.random.default_rng(0).choice(logs, (RESAMPLED, len(logs))).mean(axis=1)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(np.exp(logs.mean())), float(np.exp(low)), float(np.exp(high))


def targets(by_kind: Mapping[str, Sequence[Record]], way: str, paper: str, even: str) -> Iterator[str]:
    """Yield the geometric mean of the error ratio by budget, and what it should be at most."""
    everything = [record for records in by_kind.values() for record in records]
    groups = {"all": everything, **by_kind} if len(by_kind) > 1 else dict(by_kind)
    yield from ("", f"Error of the alignment, {way}, over that of:", "")
    yield "| rival | policies | " + " | ".join(f"x{multiple}" for multiple in _multiples(everything)) + " |"
    yield "|---" * (2 + len(_multiples(everything))) + "|"
    for rival, name in ((paper, "paper"), (even, "even")):
        for group, records in groups.items():
            cells, count = [], 0
            for multiple in _multiples(everything):
                found = ratios(records, way, rival, multiple)
                middle, low, high = geometric([*found.values()])
                cells.append(f"{middle:.2f} ({low:.2f} to {high:.2f})")
                count = len(found)
            yield f"| {rival} | {group}, {count} | " + " | ".join(cells) + " |"
        aims = [f"≤ {aim}" if aim is not None else "" for aim in AT_MOST[name]][: len(cells)]
        if len(_multiples(everything)) == len(AT_MOST[name]):
            yield f"| | target | {' | '.join(aims)} |"


def errors(kind: str, records: Sequence[Record]) -> Iterator[str]:
    """Yield the mean error of every way by budget, and how many nodes had a score."""
    yield from ("", f"Mean absolute error of the alignment, {kind}; in brackets the share of nodes scored:", "")
    yield "| way | " + " | ".join(f"x{multiple}" for multiple in _multiples(records)) + " |"
    yield "|---" * (1 + len(_multiples(records))) + "|"
    for way in records[0].error:
        cells = []
        for multiple in _multiples(records):
            some = [one for one in records if one.multiple == multiple]
            off, scored = np.mean([one.error[way] for one in some]), np.mean([one.scored[way] for one in some])
            cells.append(f"{off:.3f} ({scored:.2f})")
        yield f"| {way} | " + " | ".join(cells) + " |"


def by_policy(by_kind: Mapping[str, Sequence[Record]], way: str, paper: str, even: str) -> Iterator[str]:
    """Yield each policy's error ratios by budget."""
    everything = [record for records in by_kind.values() for record in records]
    heads = [f"x{multiple}" for multiple in _multiples(everything)]
    yield from ("", f"By policy: error of the default over that of {paper} / of {even}:", "")
    yield f"| policy | {' | '.join(heads)} |"
    yield "|---" * (1 + len(heads)) + "|"
    of_both = {
        multiple: (ratios(everything, way, paper, multiple), ratios(everything, way, even, multiple))
        for multiple in _multiples(everything)
    }
    for policy in dict.fromkeys(one.policy for one in everything):
        yield f"| {policy} | " + " | ".join(f"{a[policy]:.2f} / {b[policy]:.2f}" for a, b in of_both.values()) + " |"


def costs(known: Mapping[str, tuple[int, int, int]]) -> Iterator[str]:
    """Yield what is read, beside what is generated: by policy its nodes, tokens read for them, and base budget."""
    yield from ("", "Tokens read by student and teachers at the nodes, the same for every way, beside those generated:")
    yield from ("", "| policy | nodes | tokens read | generated at x1 |", "|---|---|---|---|")
    for policy, (nodes, read, budget) in known.items():
        yield f"| {policy} | {nodes} | {read} | {budget} |"


def _multiples(records: Sequence[Record]) -> list[int]:
    return sorted({one.multiple for one in records})
