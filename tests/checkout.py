"""The files of this checkout: what is tracked or would be, without what is built or installed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NOT_OURS = {".git", ".venv", "node_modules", "static", "__pycache__", "dist", "build"}


def project_files(root: Path = ROOT) -> list[str]:
    """Paths relative to `root`, as git sees them; in an unpacked sdist, by a walk."""
    if (root / ".git").exists():
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        names = [name for name in listed.stdout.split("\0") if name]
        return sorted(name for name in names if (root / name).is_file())
    found = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if name not in NOT_OURS]
        found += [(Path(folder) / name).relative_to(root).as_posix() for name in names]
    return sorted(found)
