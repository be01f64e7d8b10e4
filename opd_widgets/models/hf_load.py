"""Local models found, opened and checked: folders, hub names, and (model, tokenizer) pairs of transformers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils import logging

from opd_widgets.errors import InvalidInputError, ModelLoadError
from opd_widgets.models.tokenizer import HFTokenizer

_MODEL_NEEDS = ("config", "generation_config", "generate", "get_decoder", "get_output_embeddings", "device")
_TOKENIZER_NEEDS = ("encode", "decode", "get_vocab", "convert_ids_to_tokens", "all_special_ids")


def load_tokenizer(source: str | Path) -> HFTokenizer:
    """Return the tokenizer in a folder or of a hub name, with the ids that end a response; no weights are read.

    Raises:
        ModelLoadError: there is none.

    """
    place = str(Path(source).expanduser()) if Path(source).expanduser().exists() else str(source)
    try:
        inner = AutoTokenizer.from_pretrained(place)
    except Exception as error:
        msg = f"no tokenizer could be loaded from {place!r}; expected a folder with one, or a hub name and a connection"
        raise ModelLoadError(msg) from error
    try:
        ends = GenerationConfig.from_pretrained(place).eos_token_id
    except OSError:  # no generation_config.json beside it
        ends = None
    return HFTokenizer(inner, as_list(ends))


def as_list(value: int | list[int] | None) -> list[int]:
    """Return the end ids of a generation_config, which may be none, one or several."""
    if value is None:
        return []
    return [value] if isinstance(value, int) else list(value)


def check_pair(source: Any) -> tuple[Any, Any]:
    """Return a model and its tokenizer.

    Raises:
        InvalidInputError: something else.

    """
    wanted = "expected (model, tokenizer) of transformers: a causal language model and its own tokenizer"
    if not isinstance(source, tuple | list):
        msg = f"found a source of type {type(source).__name__}, expected a folder, a hub name or a pair; {wanted}"
        raise InvalidInputError(msg)
    found = f"found a pair of {' and '.join(type(part).__name__ for part in source) or 'nothing'}"
    if len(source) != 2 or not isinstance(source[0], torch.nn.Module):
        msg = f"{found}, {wanted}"
        raise InvalidInputError(msg)
    for part, needs in zip(source, (_MODEL_NEEDS, _TOKENIZER_NEEDS), strict=True):
        lacking = [name for name in needs if not hasattr(part, name)]
        if lacking:
            msg = f"{found}, and {type(part).__name__} lacks {', '.join(lacking)}; {wanted}"
            raise InvalidInputError(msg)
    model: Any = source[0]
    if model.get_output_embeddings() is None:
        msg = f"{found}, and {type(model).__name__} has no language-model head; {wanted}"
        raise InvalidInputError(msg)
    return model, source[1]


def find_device(name: str | torch.device | None) -> torch.device:
    """Return a device that is here; by default a GPU where there is one.

    Raises:
        InvalidInputError: an unknown device, or one that is not here.

    """
    if name is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        msg = f"found device {name!r}, expected 'cpu', 'cuda', 'cuda:1' or 'mps'"
        raise InvalidInputError(msg) from error
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device.type, True):
        msg = f"device {name!r} was asked for and PyTorch finds none here; use device='cpu', or install a build for it"
        raise InvalidInputError(msg)
    return device


def find_dtype(name: str | torch.dtype | None) -> torch.dtype | None:
    """Return a floating-point dtype; None where none is named.

    Raises:
        InvalidInputError: something else.

    """
    if name is None:
        return None
    dtype = getattr(torch, name.removeprefix("torch."), None) if isinstance(name, str) else name
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        msg = f"found dtype {name!r}, expected 'float32', 'bfloat16' or 'float16'"
        raise InvalidInputError(msg)
    return dtype


def load_pair(source: str, dtype: torch.dtype | None, trust_remote_code: bool) -> tuple[Any, Any]:  # noqa: FBT001
    """Return the model in a folder or of a hub name, and its tokenizer.

    Raises:
        ModelLoadError: no model or tokenizer there.

    """
    folder = Path(source).expanduser()
    if folder.exists() and not (folder / "config.json").exists():
        held = sorted(entry.name for entry in folder.iterdir())[:5] if folder.is_dir() else ["a file"]
        msg = (
            f"{source!r} holds no model: found {', '.join(held) or 'an empty folder'}, expected config.json, weights "
            "and a tokenizer as save_pretrained writes them"
        )
        raise ModelLoadError(msg)
    place = str(folder) if folder.exists() else source
    drawn = logging.is_progress_bar_enabled()
    if folder.exists():
        logging.disable_progress_bar()  # a bar is for downloads; a local load is over before it is read
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=trust_remote_code)
        model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype or "auto", trust_remote_code=trust_remote_code)
    except Exception as error:
        what = "a folder" if folder.exists() else "neither a folder here nor a model the hub gave"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        msg = (
            f"no model could be loaded from {source!r} ({what}): {reason}. Expected a folder with config.json, weights "
            "and a tokenizer, or a hub name and a connection"
        )
        raise ModelLoadError(msg) from error
    finally:
        if drawn:
            logging.enable_progress_bar()
    return model, tokenizer
