"""The lab's student with wider attention heads: the same function, in a shape that vLLM's CPU kernel has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

HEAD = 32  # the kernel takes heads of 32, 64, ...; the student's are 24 wide


def write_wide_student(source: Path, target: Path) -> Path:
    """Write a copy of a Qwen3 folder whose heads are filled up with zeros to `HEAD`, and which computes the same.

    A rotary embedding pairs a dimension with the one half a head further, so zeros go to the end of each half, and the
    base is raised so that the frequencies stay. A norm over a head now divides by `HEAD`, and so does the scaling of
    the scores: for the queries the two cancel, and the keys' norm is scaled back.
    """
    target.mkdir(parents=True, exist_ok=True)
    for file in source.iterdir():
        if file.suffix in {".json", ".jinja"}:
            shutil.copy(file, target / file.name)
    config = json.loads((source / "config.json").read_text("utf-8"))
    narrow = config["head_dim"]
    rope = config["rope_parameters"]
    wide = {**config, "head_dim": HEAD, "dtype": "float32"}
    wide["rope_parameters"] = {**rope, "rope_theta": rope["rope_theta"] ** (HEAD / narrow)}
    (target / "config.json").write_text(json.dumps(wide), "utf-8")
    tensors = load_file(source / "model.safetensors")
    widened = {name: _widened(name, tensor.astype(np.float32), narrow) for name, tensor in tensors.items()}
    save_file(widened, target / "model.safetensors", metadata={"format": "pt"})
    return target


def _widened(name: str, tensor: NDArray[np.float32], narrow: int) -> NDArray[np.float32]:
    part = name.removesuffix(".weight").rpartition(".")[2]
    if part in {"q_proj", "k_proj", "v_proj"}:
        return _rows(tensor, narrow)
    if part == "o_proj":
        return np.ascontiguousarray(_rows(tensor.T, narrow).T)
    if part == "q_norm":
        return _rows(tensor, narrow)
    if part == "k_norm":
        return _rows(tensor * np.float32(np.sqrt(narrow / HEAD)), narrow)
    return tensor


def _rows(tensor: NDArray[np.float32], narrow: int) -> NDArray[np.float32]:
    """Fill up each half of each head with zeros, along the first axis."""
    half = narrow // 2
    parts: NDArray[Any] = tensor.reshape(-1, half, *tensor.shape[1:])
    zeros = np.zeros((len(parts), (HEAD - narrow) // 2, *tensor.shape[1:]), np.float32)
    return np.concatenate([parts, zeros], axis=1).reshape(-1, *tensor.shape[1:])
