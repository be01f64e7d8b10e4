"""Build hook: makes the front end (js/ -> opd_widgets/static/) before files are packed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_NEEDED = 20
SKIP_VARIABLE = "OPD_WIDGETS_SKIP_JS"
NOTEBOOK = "notebooks/01_quickstart.ipynb"


class FrontEndHook(BuildHookInterface):  # type: ignore[type-arg]  # its parameter is hatchling's own
    """Runs ``npm ci`` and ``npm run build``, and puts the quickstart into the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before a wheel, an sdist or an editable install is made."""
        root = Path(self.root)
        if not _is_built(root):
            build_front_end(root)
        # An editable install reads the notebook where it lies.
        if self.target_name == "wheel" and version != "editable":
            build_data["force_include"][NOTEBOOK] = "opd_widgets/demo/01_quickstart.ipynb"


def build_front_end(root: Path) -> None:
    """Install the Node packages where they are missing or old, then build every bundle."""
    npm = _npm()
    js = root / "js"
    if not _is_newer(js / "node_modules" / ".package-lock.json", js / "package-lock.json"):
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=js, check=True)
    subprocess.run([npm, "run", "build"], cwd=js, check=True)


def _is_built(root: Path) -> bool:
    """Whether nothing is to be built: by the user's word, or in an unpacked sdist with bundles."""
    if os.environ.get(SKIP_VARIABLE, "0") not in {"", "0"}:
        return True
    return (root / "PKG-INFO").is_file() and any((root / "opd_widgets/static").glob("*.js"))


def _npm() -> str:
    """The path of npm, or an error that says what is missing and what to do."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        missing = " and ".join(name for name, path in [("node", node), ("npm", npm)] if path is None)
        found = f"found no {missing} on PATH"
    else:
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if int(version.lstrip("v").split(".")[0]) >= NODE_NEEDED:
            return npm
        found = f"found Node {version} at {node}"
    message = (
        f"The front end cannot be built: {found}; Node {NODE_NEEDED} or newer with npm is needed. "
        f"Install Node {NODE_NEEDED} and run the command again, or set {SKIP_VARIABLE}=1 to go on "
        "without the front end: scoring and figures work, widgets show a note instead."
    )
    raise SystemExit(message)


def _is_newer(made: Path, source: Path) -> bool:
    return made.is_file() and made.stat().st_mtime >= source.stat().st_mtime
