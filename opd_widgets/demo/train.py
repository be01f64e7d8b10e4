"""Train, measure and describe the lab's models.

Run it as ``python -m opd_widgets.demo.train [--only NAME] [--out DIR]``.

Each model is trained for a fixed number of steps from a fixed seed, so a run can be repeated; on
the same machine and versions the weights come out equal. When all models stand in the folder they
are measured, and the model card and ``measured.json`` are written from what was found.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from transformers.utils import logging

from opd_widgets.demo.card import model_card
from opd_widgets.demo.measure import measure
from opd_widgets.demo.recipes import RECIPES
from opd_widgets.demo.storage import MODELS, RECORD, save
from opd_widgets.demo.tokenizer import build_tokenizer
from opd_widgets.demo.training import train

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.demo.recipes import Recipe

# Sums come out in another order with another number of threads, and the weights with them.
THREADS = 2


def report(line: str) -> None:
    """Print a line of progress at once, also into a pipe."""
    print(line, flush=True)


def train_and_save(recipe: Recipe, folder: Path) -> None:
    """Train one model and store it under ``folder``."""
    tokenizer = build_tokenizer()
    started = time.perf_counter()
    model = train(recipe, tokenizer, report)
    save(model, tokenizer, recipe, time.perf_counter() - started, folder)
    report(f"{recipe.name}: saved in {folder / recipe.name}")


def write_results(folder: Path) -> None:
    """Measure the stored models and write ``measured.json`` and ``MODEL_CARD.md`` beside them."""
    measured = measure(folder, report)
    (folder / "measured.json").write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")
    (folder / "MODEL_CARD.md").write_text(model_card(folder, measured), encoding="utf-8")
    report(f"measured: {folder / 'MODEL_CARD.md'}")


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m opd_widgets.demo.train", description="Train the lab's models.")
    parser.add_argument("--only", choices=sorted(RECIPES), help="train this model and keep the others as they are")
    parser.add_argument("--out", type=Path, default=MODELS, help="folder for the models (default: in the package)")
    parser.add_argument("--steps", type=int, help="train for this many steps instead, as a trial")
    parser.add_argument("--measure", action="store_true", help="train nothing, measure what is stored")
    options = parser.parse_args(arguments)
    if options.steps is not None and options.steps < 1:
        parser.error(f"--steps is {options.steps}, expected 1 or more")
    torch.set_num_threads(THREADS)
    logging.disable_progress_bar()
    names = [] if options.measure else [options.only] if options.only else list(RECIPES)
    for name in names:
        recipe = RECIPES[name]
        train_and_save(recipe if options.steps is None else recipe.shortened(options.steps), options.out)
    missing = [name for name in RECIPES if not (options.out / name / RECORD).is_file()]
    if missing:
        report(f"not measured: {', '.join(missing)} not trained yet in {options.out}")
    else:
        write_results(options.out)


if __name__ == "__main__":
    main()
