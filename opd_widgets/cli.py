"""The command `opd-widgets`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from opd_widgets.diagnosis import command
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
    demo.add_argument("--json", action="store_true", help="print JSON and write the page, no JupyterLab")
    demo.set_defaults(run=_demo)
    _add_score(commands)
    command.add_to(commands).set_defaults(run=_diagnose)
    return parser


def _add_score(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    score = commands.add_parser(
        "score",
        help="score rollouts under teachers into a run folder",
        description=(
            "Score rollouts under teachers into a run folder, and print each teacher's mean advantage. Stopped or "
            "killed, the same command continues where it was. Open the run with opd.load(RUN); no model is needed."
        ),
    )
    score.add_argument(
        "rollouts",
        metavar="ROLLOUTS",
        help="a file of rollouts, a folder of such files, or a glob in quotes ('runs/*.jsonl'); the format is told "
        "from the content of each",
    )
    score.add_argument("--format", metavar="NAME", help="read ROLLOUTS as this format (verl, trl, openai, ...)")
    score.add_argument(
        "--outcome",
        metavar="NAME",
        help='the reward in ROLLOUTS that says whether a rollout is correct (from 0.5 up, or true), "reward" '
        "for one without a name; without this, outcomes are as ROLLOUTS says, mostly unknown",
    )
    score.add_argument(
        "--trust-pickle",
        action="store_true",
        help="read .pt and pickle files, which can be made to run code: only plain values and tensors are made of them",
    )
    score.add_argument("--student", metavar="MODEL", required=True, help="who wrote them: a folder or a hub name")
    score.add_argument(
        "--teacher",
        metavar="NAME=MODEL[,context=FILE]",
        action="append",
        default=[],
        help="may be given several times; the student's own MODEL makes a self-distillation teacher; FILE is a .txt "
        "with one text for all questions, or a .json from question id to text. NAME=URL#MODEL[,context=FILE]"
        "[,tokenizer=FOLDER][,key-env=VARIABLE] is a model on a vLLM or SGLang server, such as "
        "32B=http://127.0.0.1:8000/v1#Qwen3-32B; FOLDER, or a hub name, has its tokenizer where that is not the "
        "student's; VARIABLE is the environment variable that holds its key",
    )
    score.add_argument("--out", metavar="RUN", type=Path, required=True, help="the run's folder: new, or to continue")
    score.add_argument("--step", type=int, metavar="N", help="the student's training step, for opd.load_steps")
    score.add_argument("--device", help="cpu, cuda, cuda:1 or mps (a GPU where there is one)")
    score.add_argument("--dtype", help="float32, bfloat16 or float16 (the model's own on a GPU, float32 on a CPU)")
    score.add_argument("--batch-tokens", type=int, metavar="N", help="padded tokens of a batch (8192)")
    score.add_argument("--fuse", action="store_true", help="let PyTorch's compiler fuse the measures: for large runs")
    score.add_argument("--json", action="store_true", help="print JSON")
    score.set_defaults(run=_score)


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


def _score(given: argparse.Namespace) -> int:
    import time

    from opd_widgets.data.readers import read_rollouts
    from opd_widgets.data.store import load
    from opd_widgets.scoring.panel import Options
    from opd_widgets.scoring.report import SIGNAL, Report
    from opd_widgets.scoring.run import score_to
    from opd_widgets.scoring.specs import TeacherSpec, load_models

    started = time.perf_counter()
    sizes = {} if given.batch_tokens is None else {"batch_tokens": given.batch_tokens}
    options = Options(fuse=given.fuse, **sizes)
    specs = [TeacherSpec.parse(text) for text in given.teacher]
    rollouts = read_rollouts(
        given.rollouts, format=given.format, outcome=given.outcome, trust_pickle=given.trust_pickle
    )
    student, teachers = load_models(given.student, specs, device=given.device, dtype=given.dtype)
    run = score_to(rollouts, student, teachers, given.out, options=options, step=given.step)
    seconds = time.perf_counter() - started
    report = Report.of(load(run, signals=[SIGNAL]), run, seconds)
    print(json.dumps(report.to_dict(), ensure_ascii=False) if given.json else report.to_text())
    return 0


def _diagnose(given: argparse.Namespace) -> int:
    said, code = command.run(given)
    print(said)
    return code


if __name__ == "__main__":
    sys.exit(main())
