"""A notebook host in a process of its own, on a free port, with its own configuration."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

START_SECONDS = 60.0
STOP_SECONDS = 15.0


class Served:
    """A server for tests; a context manager.

    Args:
        folder: An empty folder: the notebooks' folder, the configuration and the log lie in it.

    """

    NAME = "the server"

    def __init__(self, folder: Path) -> None:
        self.notebooks = folder / "notebooks"
        self.log = folder / "server.log"
        self.token = secrets.token_hex(16)
        self.port = _free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._home = folder / "home"
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.notebooks.mkdir(parents=True, exist_ok=True)
        self._home.mkdir(parents=True, exist_ok=True)
        self._configure()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(),
                cwd=self.notebooks,
                env={**os.environ, **self._environment()},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            self._wait_until_up(self._process)
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Ask the server to end its kernels and itself; end what is left after a while."""
        process, self._process = self._process, None
        if process is None:
            return
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(STOP_SECONDS)

    def _configure(self) -> None:
        """Write what the server reads at its start."""

    def _command(self) -> list[str]:
        """What starts the server."""
        raise AssertionError(type(self))

    def _environment(self) -> dict[str, str]:
        """What keeps the reader's own configuration out."""
        return {}

    def _answers(self) -> None:
        """Raise an error of urllib while the server is not up."""
        with urllib.request.urlopen(self.url, timeout=10):
            pass

    def _wait_until_up(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if process.poll() is not None:
                break
            try:
                self._answers()
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                time.sleep(0.1)
            else:
                return
        state = "still starting" if process.poll() is None else f"ended with {process.returncode}"
        tail = self.log.read_text("utf-8", errors="replace")[-3000:]
        message = f"{self.NAME} is {state} after at most {START_SECONDS:g} s. Its log ends:\n{tail}"
        raise RuntimeError(message)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
