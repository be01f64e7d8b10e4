"""The lab's models on disk: float16 safetensors, the tokenizer, and a record of the training."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

    from opd_widgets.demo.recipes import Recipe

MODELS: Final = Path(__file__).parent / "models"
RECORD: Final = "training.json"


def save(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    recipe: Recipe,
    seconds: float,
    folder: Path,
) -> None:
    """Write a trained model under ``folder / recipe.name``, over what stood there before.

    The model's own weights become float16, which is what is stored (float16 moves a log-probability
    by at most about 0.01 here; bfloat16 by ten times that).
    """
    target = folder / recipe.name
    target.mkdir(parents=True, exist_ok=True)
    model.half().save_pretrained(target)
    # safetensors writes for the owner alone; the package's files are for everyone to read.
    (target / "model.safetensors").chmod(0o644)
    tokenizer.save_pretrained(target)
    # transformers 4 knows the class under its older name only, and version 5 takes both.
    _edit_json(target / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    record = {
        "recipe": asdict(recipe),
        "seconds": math.ceil(seconds),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }
    (target / RECORD).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


def load(folder: Path) -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast]:
    """A stored model in float32 on the CPU, and its tokenizer, without any network.

    Raises:
        FileNotFoundError: no model stands in the folder.
    """
    if not (folder / "config.json").is_file():
        msg = f"no model in {folder}: expected a config.json there; train it with python -m opd_widgets.demo.train"
        raise FileNotFoundError(msg)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    return model.eval(), cast("PreTrainedTokenizerFast", tokenizer)


def training_record(folder: Path) -> dict[str, Any]:
    """What ``save`` noted about a model's training."""
    record: dict[str, Any] = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    return record


def _edit_json(path: Path, **changes: Any) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**content, **changes}, indent=2) + "\n", encoding="utf-8")
