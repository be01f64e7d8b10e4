"""Peak memory of scoring above weights, in a process of its own: `python -m tests.benchmarks.memory`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

VOCAB, LENGTH, TEACHERS = 151_936, 32_768, 3


def peak_above_weights(length: int = LENGTH, vocab: int = VOCAB, noise: int = 0) -> float:
    """Return megabytes above what the loaded models take, measured in a fresh process.

    Args:
        length: response tokens of the one rollout that is scored.
        vocab: entries of the vocabulary.
        noise: how many rollouts are scored a second time for the noise band.

    """
    root = Path(__file__).resolve().parents[2]
    command = [sys.executable, "-m", "tests.benchmarks.memory", str(length), str(vocab), str(noise)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    return float(json.loads(done.stdout.splitlines()[-1])["above"])


def main(length: int, vocab: int, noise: int) -> None:
    """Score one rollout of this length and print what it took."""
    import numpy as np
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    import opd_widgets as opd
    from tests import tiny

    def model(seed: int) -> opd.HFModel:
        torch.manual_seed(seed)
        config = Qwen3Config(
            vocab_size=vocab, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
            num_key_value_heads=2, head_dim=16, max_position_embeddings=2 * LENGTH, tie_word_embeddings=True,
        )  # fmt: skip
        return opd.HFModel((Qwen3ForCausalLM(config), tiny.tokenizer()), device="cpu", name=f"model-{seed}")

    student = model(0)
    teachers = {f"teacher-{i}": opd.Teacher(model(i)) for i in range(1, 1 + TEACHERS)}
    rng = np.random.default_rng(0)
    short, long = (
        opd.Rollout(id=str(n), prompt_ids=rng.integers(6, vocab, 8), response_ids=rng.integers(6, vocab, n))
        for n in (4, length)
    )
    opd.score([short], student, teachers, noise_rollouts=0, progress=False)  # what every first call loads
    before = resident()
    opd.score([long], student, teachers, noise_rollouts=noise, progress=False)
    above = high_water() - before
    print(json.dumps({"length": length, "before": before, "above": above}))  # noqa: T201 - read by the caller


def resident() -> float:
    """Return the megabytes this process holds."""
    import resource

    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * resource.getpagesize() / 2**20


def high_water() -> float:
    """Return the most megabytes this process has held.

    Not what getrusage says: its peak includes the parent's memory at the moment this process was made of it.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM:")).split()[1]) / 2**10


if __name__ == "__main__":
    main(*map(int, sys.argv[1:])) if len(sys.argv) > 1 else main(LENGTH, VOCAB, 0)
