"""The command `opd-widgets`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from opd_widgets.errors import OpdError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code. A known error, or the system's, is one line on standard error and code 2."""
    parser = _parser()
    given = parser.parse_args(arguments)
    try:
        return int(given.run(given))
    except (OpdError, OSError) as error:
        print(f"opd-widgets: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("opd-widgets: stopped", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="opd-widgets", description="On-policy distillation, token by token.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="score the bundled lab and open it in JupyterLab, or write one offline page",
        description="Score the bundled lab, print each teacher's mean advantage, write a page, open JupyterLab.",
    )
    demo.add_argument("--html", metavar="PAGE", type=Path, help="only write this self-contained page")
    demo.add_argument("--lab", choices=("arithmetic", "smollm2"), default="arithmetic", help="which lab (arithmetic)")
    demo.add_argument("--no-lab", action="store_true", help="stop before JupyterLab")
    demo.add_argument("--no-browser", action="store_true", help="start JupyterLab and open no browser")
    demo.add_argument("--json", action="store_true", help="print JSON and stop before JupyterLab")
    demo.set_defaults(run=_demo)
    return parser


def _demo(given: argparse.Namespace) -> int:
    from opd_widgets.demo.show import FOLDER, open_lab, place_notebook, show

    folder = Path(FOLDER)
    shown = show(given.lab, given.html or folder / "demo.html")
    if given.json:
        print(json.dumps(shown.to_dict(), ensure_ascii=False))
        return 0
    print(shown.to_text(), flush=True)
    if given.html or given.no_lab:
        return 0
    return open_lab(place_notebook(folder), browser=not given.no_browser)


if __name__ == "__main__":
    sys.exit(main())
