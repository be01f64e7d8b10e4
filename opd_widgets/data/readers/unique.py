"""Ids that name one rollout of a reading each, whatever files it is of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from opd_widgets.data.readers.sources import Source
from opd_widgets.data.rollout import Rollout

_SHOWN = 3  # renamed ids named in a warning


@dataclass(frozen=True)
class Part:
    """The rollouts of one file.

    Args:
        name: what the file is called in ids; no other file of the reading is called so.
        rollouts: in their order.

    """

    name: str
    rollouts: Sequence[Rollout]


def names_of(files: Sequence[Source]) -> list[str]:
    """Return what each file is called in ids: its name without endings, or with them where two would be alike."""
    count = Counter(file.stem for file in files)
    return [file.stem if count[file.stem] == 1 else file.label for file in files]


def unique(parts: Sequence[Part]) -> tuple[list[Rollout], str]:
    """Return all rollouts under ids of their own, and a note on those that were renamed; empty where none was.

    An id that stands in several files gets the file's name before it, one that is repeated within a file a number
    after it, from `#2` on. An id that stands once is left as it is.
    """
    files = Counter(name for part in parts for name in {rollout.id for rollout in part.rollouts})
    taken = set(files)
    made: list[Rollout] = []
    renamed: list[str] = []
    for part in parts:
        repeats: Counter[str] = Counter()
        for rollout in part.rollouts:
            repeats[rollout.id] += 1
            own = rollout.id if files[rollout.id] == 1 else f"{part.name}:{rollout.id}"
            if own == rollout.id and repeats[own] == 1:
                made.append(rollout)
                continue
            name = _free(own, repeats[rollout.id], taken)
            taken.add(name)
            renamed.append(f"{name!r} for {rollout.id!r}")
            made.append(replace(rollout, id=name))
    if not renamed:
        return made, ""
    shown = ", ".join(renamed[:_SHOWN]) + (f" and {len(renamed) - _SHOWN} more" if len(renamed) > _SHOWN else "")
    ids = len(renamed)
    return made, f"{ids} rollouts had an id that others have too, and are named by file and number instead: {shown}"


def _free(name: str, number: int, taken: set[str]) -> str:
    """Return a name that is not taken: itself for the first of its kind, else with a number from `#2` on."""
    if number == 1 and name not in taken:
        return name
    number = max(number, 2)
    while f"{name}#{number}" in taken:
        number += 1
    return f"{name}#{number}"
