"""RESULTS.md in parts: each benchmark writes its own section and leaves the others as they are."""

from __future__ import annotations

import re
from pathlib import Path

HEADING = re.compile(r"^# (.+)$", re.MULTILINE)


def write_section(path: Path, text: str) -> None:
    """Write a section, `# Heading` and what follows, in the place of the one with that heading, else at the end."""
    text = text.strip() + "\n"
    title = _titles(text)[0]
    parts = _parts(path.read_text(encoding="utf-8")) if path.exists() else []
    places = [number for number, part in enumerate(parts) if _titles(part)[:1] == [title]]
    if places:
        parts[places[0]] = text
    else:
        parts.append(text)
    path.write_text("\n".join(part.strip() + "\n" for part in parts), encoding="utf-8")


def _titles(text: str) -> list[str]:
    return [found[1] for found in HEADING.finditer(text)]


def _parts(text: str) -> list[str]:
    starts = [found.start() for found in HEADING.finditer(text)]
    return [text[one:other] for one, other in zip(starts, [*starts[1:], len(text)], strict=True)]
