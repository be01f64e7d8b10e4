"""Edited contexts on the wire: what changes often travels in a small trait, so that the rest is not sent again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LIVE_TRAITS = ("live_new", "live_older", "live_oldest")
# Bytes that the first two may hold beside what has just changed. A step of progress sends the first, at most ten times
# a second; what no longer fits there moves on, so that each edit is sent again a few times and not at every step.
HELD = (256 << 10, 4 << 20)


def size(entry: Mapping[str, Any]) -> int:
    """Return an entry's bytes, the text of its prompt aside."""
    return len(entry["values"]) + sum(map(len, (entry["top"] or {}).values()))


class LiveLevels:
    """Spreads the `live` trait over LIVE_TRAITS so that what has not changed is not sent again.

    An entry that changes moves to the first; the one it had before may stand behind for a while and is told by its
    lower version.
    """

    def __init__(self) -> None:
        self._levels: list[dict[tuple[str, int], Any]] = [{} for _ in LIVE_TRAITS]  # entries by place
        self._names: list[dict[str, list[str]]] = [{} for _ in LIVE_TRAITS]
        self._generation: int | None = None

    def traits(self, live: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """Return the traits to be set, by name: those whose content is another."""
        given = {_place(entry): entry for entry in live.get("entries", [])}
        touched = self._forget(given, live.get("generation"))
        names = {token: look for token, look in live.get("vocab", {}).items() if not self._named(token)}
        new = {place: entry for place, entry in given.items() if self._newest(place) is not entry}
        if new or names:
            self._levels[0].update(new)
            self._names[0].update(names)
            touched |= {0} | self._settle(new)
        return {LIVE_TRAITS[level]: self._trait(level) for level in sorted(touched)}

    def _forget(self, given: Mapping[tuple[str, int], Any], generation: int | None) -> set[int]:
        """Drop what is not given any more, and everything where the scores are others."""
        fresh = generation != self._generation
        self._generation = generation
        touched = set()
        for number, level in enumerate(self._levels):
            kept = {} if fresh else {place: entry for place, entry in level.items() if place in given}
            if fresh or len(kept) < len(level):
                touched.add(number)
            self._levels[number] = kept
            if fresh:
                self._names[number] = {}
        return touched

    def _settle(self, new: Iterable[tuple[str, int]]) -> set[int]:
        """Move on what is too much for a level; what has just changed may change again and stays in the first."""
        touched = set()
        staying = set(new)
        for level, held in enumerate(HELD):
            moving = {place: entry for place, entry in self._levels[level].items() if place not in staying}
            if sum(map(size, moving.values())) <= held:
                break
            self._levels[level + 1].update(moving)
            self._names[level + 1].update(self._names[level])
            self._levels[level] = {place: self._levels[level][place] for place in staying}
            self._names[level] = {}
            staying = set()
            touched.add(level + 1)
        return touched

    def _newest(self, place: tuple[str, int]) -> Any:
        return next((level[place] for level in self._levels if place in level), None)

    def _named(self, token: str) -> bool:
        return any(token in names for names in self._names)

    def _trait(self, level: int) -> dict[str, Any]:
        return {
            "entries": list(self._levels[level].values()),
            "vocab": dict(self._names[level]),
            "generation": self._generation,
        }


def _place(entry: Mapping[str, Any]) -> tuple[str, int]:
    return entry["teacher"], entry["rollout"]
