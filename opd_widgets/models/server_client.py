"""JSON over HTTP to an inference server: tries again where that helps, gives up in time, keeps the key to itself."""

from __future__ import annotations

import json
import os
import random
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from opd_widgets.errors import InvalidInputError, ServerError

RETRIED = frozenset({408, 429, 500, 502, 503, 504})
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds; doubled from try to try
_SHOWN = 400  # characters of a server's own words in an error

_mapping = threading.local()  # .ended: set once the `map` that this thread works for has failed

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Answer:
    """What came back.

    Args:
        status: HTTP status; none of `RETRIED`.
        body: the parsed JSON; None where it was none.
        message: the server's own words where it refused.

    """

    status: int
    body: Any
    message: str

    @property
    def ok(self) -> bool:
        """Whether the server did what was asked."""
        return 200 <= self.status < 300


class ServerClient:
    """Asks one server.

    The key is read from the environment for each request and kept nowhere.

    Args:
        url: of the server, with or without `/v1`.
        api_key_env: the environment variable that holds the key; None sends none.
        timeout: seconds for one request, all its tries together.
        retries: how often a request is sent again after a 429, a 5xx or a lost connection.
        concurrency: how many requests are under way at a time.

    Raises:
        InvalidInputError: a URL or size that cannot be, or a variable without a key.

    """

    def __init__(self, url: str, *, api_key_env: str | None, timeout: float, retries: int, concurrency: int) -> None:
        self.url = _root(url)
        self.retries, self.timeout, self.concurrency = retries, timeout, concurrency
        _check_sizes(timeout=timeout, retries=retries, concurrency=concurrency)
        self._auth = _EnvironmentKey(api_key_env)
        limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
        self._http = httpx.Client(base_url=self.url, auth=self._auth, limits=limits, follow_redirects=False)
        weakref.finalize(self, self._http.close)

    def __repr__(self) -> str:
        """Name the server."""
        return f"ServerClient({self.url!r})"

    def ask(self, path: str, body: Any = None, *, about: str = "", retries: int | None = None) -> Answer:
        """Send a request, POST where there is a body, and return the answer.

        Args:
            path: below the server's address.
            body: sent as JSON.
            about: what the request is, for an error.
            retries: other than the client's own.

        Raises:
            ServerError: no answer, or none but refusals that pass, in the time and tries there are; or no JSON.

        """
        allowed = self.retries if retries is None else retries
        began = time.monotonic()
        deadline = began + self.timeout
        for tries, pause in enumerate(_pauses(), 1):
            asked_to_wait, cause = 0.0, None
            try:
                status, content, asked_to_wait = self._send(path, body, deadline)
                if status not in RETRIED:
                    return self._answer(path, status, content)
                found = f"status {status}, {self._message(content)!r}"
            except httpx.TransportError as error:
                cause = error
                found = f"{type(error).__name__}{f', {error}' if str(error) else ''}"
            rest = max(pause, asked_to_wait)
            if tries > allowed or time.monotonic() + rest >= deadline or _sleep(rest):
                break
        what = f" to {about}" if about else ""
        msg = (
            f"{self.url}{path} gave no answer{what} in {tries} {'try' if tries == 1 else 'tries'} and "
            f"{time.monotonic() - began:.1f} s (at most {allowed + 1} and {self.timeout:g} s); the last was "
            f"{self._clean(found)}. Look into the server's log; a larger timeout or retries waits longer"
        )
        raise ServerError(msg) from cause

    def map(self, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Call a function of every item, at most `concurrency` at a time; the first error ends it all."""
        ended = threading.Event()

        def one(item: Item) -> Result:
            _mapping.ended = ended
            return function(item)

        pool = ThreadPoolExecutor(max_workers=max(1, min(self.concurrency, len(items))))
        try:
            futures = [pool.submit(one, item) for item in items]
            wait(futures, return_when=FIRST_EXCEPTION)
            failed = [future for future in futures if future.done() and future.exception() is not None]
            return [future.result() for future in failed or futures]
        finally:
            ended.set()  # nobody waits for what is still being tried again
            pool.shutdown(wait=False, cancel_futures=True)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _send(self, path: str, body: Any, deadline: float) -> tuple[int, str, float]:
        left = max(deadline - time.monotonic(), 1e-3)
        method, parts = ("GET" if body is None else "POST"), []
        with self._http.stream(method, path, json=body, timeout=left) as response:
            for part in response.iter_bytes():
                parts.append(part)
                if time.monotonic() > deadline:  # httpx's own limit is for each part
                    msg = f"no whole answer within {self.timeout:g} s"
                    raise httpx.ReadTimeout(msg)
            content = self._clean(b"".join(parts).decode("utf-8", "replace"))  # a server may repeat the key
            return response.status_code, content, _seconds(response.headers.get("retry-after"))

    def _answer(self, path: str, status: int, content: str) -> Answer:
        try:
            body = json.loads(content)
        except ValueError as error:
            if 200 <= status < 300:
                msg = f"{self.url}{path} answered {self._message(content)!r}, expected JSON. Check the URL"
                raise ServerError(msg) from error
            body = None
        return Answer(status, body, self._message(content))

    def _message(self, text: str) -> str:
        """Return the server's own words."""
        try:
            said = json.loads(text)
            inner = said.get("error", said)
            text = str(inner.get("message") or inner.get("detail") or text) if isinstance(inner, dict) else str(inner)
        except (ValueError, AttributeError):
            pass  # not JSON, or not an object: the text itself
        return text.strip()[:_SHOWN]

    def _clean(self, text: str) -> str:
        return text.replace(self._auth.key(), "[key]") if self._auth.variable else text


class _EnvironmentKey(httpx.Auth):
    """Adds the key to a request when it is sent."""

    def __init__(self, variable: str | None) -> None:
        self.variable = variable
        self.key()

    def auth_flow(self, request: httpx.Request) -> Iterator[httpx.Request]:  # type: ignore[override]
        key = self.key()
        if key:
            request.headers["Authorization"] = f"Bearer {key}"
        yield request

    def key(self) -> str:
        """Return the key, empty where none is sent.

        Raises:
            InvalidInputError: the variable holds none, or something that no header takes; its value is not shown.

        """
        if self.variable is None:
            return ""
        key = os.environ.get(self.variable, "").strip()
        if not key:
            msg = f"the environment variable {self.variable!r} is empty or missing, expected an API key; set it first"
            raise InvalidInputError(msg)
        if not (key.isascii() and key.isprintable()):
            msg = f"the environment variable {self.variable!r} holds line breaks or other signs that no API key has"
            raise InvalidInputError(msg)
        return key


def _check_sizes(**sizes: Any) -> None:
    for name, value in sizes.items():
        least = {"timeout": 0.001, "retries": 0, "concurrency": 1}[name]
        if not isinstance(value, int if name != "timeout" else int | float) or not value >= least:
            kind = "number of seconds" if name == "timeout" else "whole number"
            msg = f"found {name}={value!r}, expected a {kind} of at least {least:g}"
            raise InvalidInputError(msg)


def _root(url: str) -> str:
    """Return the address of the server itself.

    Raises:
        InvalidInputError: no http address, or one that carries a password or a query.

    """
    parts = urlsplit(str(url))
    if parts.username or parts.password or parts.query or parts.fragment:
        msg = (
            "found a server's URL with a user, password or query, which repr and errors would show. Expected "
            "http://host:port/v1; name the variable that holds the key with api_key_env="
        )
        raise InvalidInputError(msg)
    if parts.scheme not in {"http", "https"} or not parts.netloc:
        msg = f"found {url!r}, expected a server's URL such as http://127.0.0.1:8000/v1"
        raise InvalidInputError(msg)
    return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/').removesuffix('/v1')}"


def _sleep(seconds: float) -> bool:
    """Wait; return whether to give up, since nobody waits for this request any more."""
    ended: threading.Event = getattr(_mapping, "ended", None) or threading.Event()
    return ended.wait(seconds)


def _pauses() -> Iterator[float]:
    """Yield seconds to wait between tries: doubled each time, spread so that many clients do not return at once."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(2 * pause, LONGEST_PAUSE)


def _seconds(header: str | None) -> float:
    """Return what a Retry-After header asks for; 0 where it is a date or missing."""
    try:
        return max(0.0, float(header or ""))
    except ValueError:
        return 0.0
