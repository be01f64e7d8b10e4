"""JSON over HTTP to an inference server: tries again where that helps, gives up in time, keeps the key to itself."""

from __future__ import annotations

import asyncio
import json
import os
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

import httpx

from opd_widgets.errors import InvalidInputError, ServerError
from opd_widgets.models.server_work import finish

if TYPE_CHECKING:
    import ssl

RETRIED = frozenset({408, 429, 500, 502, 503, 504})
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds; doubled from try to try
CONNECTS_WITHIN = 10.0  # seconds for one try: a host that is off does not answer at all
_SHOWN = 400  # characters of a server's own words in an error

_http: ContextVar[httpx.AsyncClient] = ContextVar("the connections of the work under way")

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

    Connections last as long as the work they are made for (`wait`), and no longer. The key is read from the environment
    for each request and kept nowhere.

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

    def __repr__(self) -> str:
        """Name the server."""
        return f"ServerClient({self.url!r})"

    def wait(self, work: Coroutine[Any, Any, Result], checkpoint: Callable[[], None] = lambda: None) -> Result:
        """Return what asynchronous work that asks this server comes to.

        Args:
            work: what to do.
            checkpoint: called again and again meanwhile; where it raises, requests under way are taken back and their
                connections closed.

        """
        return finish(self._connected(work), checkpoint)

    async def each(
        self, function: Callable[[Item], Awaitable[Result]], items: Sequence[Item], at_a_time: int | None = None
    ) -> list[Result]:
        """Do the same for every item, at most `concurrency` or `at_a_time` together; the first error ends it all."""
        free = asyncio.Semaphore(min(self.concurrency, at_a_time or self.concurrency))

        async def one(item: Item) -> Result:
            async with free:
                return await function(item)

        tasks = [asyncio.create_task(one(item)) for item in items]
        try:
            return list(await asyncio.gather(*tasks))
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)  # each closes its connection

    async def ask(self, path: str, body: Any = None, *, about: str = "", retries: int | None = None) -> Answer:
        """Send a request, POST where there is a body, and return the answer; within `wait` only.

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
                status, content, asked_to_wait = await self._send(path, body, deadline)
                if status not in RETRIED:
                    return self._answer(path, status, content)
                found = f"status {status}, {self._message(content)!r}"
            except (httpx.TransportError, TimeoutError) as error:
                cause = error
                found = f"{type(error).__name__}, {str(error) or f'no whole answer within {self.timeout:g} s'}"
            rest = max(pause, asked_to_wait)
            if tries > allowed or time.monotonic() + rest >= deadline:
                break
            await asyncio.sleep(rest)
        what = f" to {about}" if about else ""
        msg = (
            f"{self.url}{path} gave no answer{what} in {tries} {'try' if tries == 1 else 'tries'} and "
            f"{time.monotonic() - began:.1f} s (at most {allowed + 1} and {self.timeout:g} s); the last was "
            f"{self._clean(found)}. Look into the server's log; a larger timeout or retries waits longer"
        )
        raise ServerError(msg) from cause

    async def _connected(self, work: Coroutine[Any, Any, Result]) -> Result:
        limits = httpx.Limits(max_connections=self.concurrency, max_keepalive_connections=self.concurrency)
        timeout = httpx.Timeout(None, connect=CONNECTS_WITHIN)  # the whole of a request is limited in `_send`
        async with httpx.AsyncClient(
            base_url=self.url, auth=self._auth, limits=limits, timeout=timeout, verify=self._certificates
        ) as http:
            _http.set(http)
            return await work

    @cached_property
    def _certificates(self) -> ssl.SSLContext:
        return httpx.create_ssl_context()  # 20 ms, so once

    async def _send(self, path: str, body: Any, deadline: float) -> tuple[int, str, float]:
        method = "GET" if body is None else "POST"
        async with asyncio.timeout(max(deadline - time.monotonic(), 1e-3)):
            response = await _http.get().request(method, path, json=body)
        content = response.content.decode("utf-8", "replace")
        if not response.is_success:  # a server may repeat the key; among an answer's numbers, a short one may occur
            content = self._clean(content)
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
        """Return the server's own words, without the key, which it may repeat."""
        try:
            said = json.loads(text)
            inner = said.get("error", said)
            text = str(inner.get("message") or inner.get("detail") or text) if isinstance(inner, dict) else str(inner)
        except (ValueError, AttributeError):
            pass  # not JSON, or not an object: the text itself
        return self._clean(text.strip())[:_SHOWN]

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
