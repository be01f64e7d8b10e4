"""Requests from the front end: an id, an answer or an error with its class and text.

The front end's half is `js/src/model/rpc.ts`. A handler runs in whatever thread the host delivers messages on, so it
only validates and enqueues, or cuts out what is there; heavy work belongs to the worker in `scoring.jobs`.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Answer:
    """An answer with binary parts.

    Args:
        result: what JSON can hold.
        buffers: beside it, in the order the method documents.

    """

    result: Mapping[str, Any]
    buffers: Sequence[bytes] = ()


Handler = Callable[..., Mapping[str, Any] | Answer]
SUPERSEDED = {"superseded": True}  # nobody waits for the answer any more
_REMEMBERED = 256  # requests given up before they came, and what may still be given up


def remember(table: OrderedDict[str, Any], request_id: str, value: Any) -> None:
    """Keep something of a request; of too many the oldest goes."""
    table[request_id] = value
    while len(table) > _REMEMBERED:
        table.popitem(last=False)


class Rpc:
    """Answers a widget's custom messages.

    Args:
        widget: an ipywidgets widget.
        methods: what may be asked, by name; called with the request's params as keywords.
        cancel: called with the id of a request that the front end gave up; one still to come is not begun.

    """

    def __init__(self, widget: Any, methods: Mapping[str, Handler], cancel: Callable[[str], None]) -> None:
        self._widget, self._methods, self._cancel = widget, dict(methods), cancel
        self._given_up: OrderedDict[str, None] = OrderedDict()
        widget.on_msg(self._receive)

    def _receive(self, _: object, content: object, __: object) -> None:
        if not isinstance(content, Mapping):
            return
        if content.get("kind") == "cancel":
            self._give_up(str(content.get("id")))
        elif content.get("kind") == "request":
            answer, buffers = self._answer(content)
            self._widget.send(answer, list(buffers)) if buffers else self._widget.send(answer)

    def _give_up(self, request_id: str) -> None:
        remember(self._given_up, request_id, None)
        self._cancel(request_id)

    def _answer(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[bytes]]:
        head = {"kind": "response", "id": request.get("id")}
        if str(request.get("id")) in self._given_up:
            return {**head, "ok": True, "result": SUPERSEDED}, ()
        try:
            method = self._methods[str(request.get("method"))]
            found = method(request_id=str(request.get("id")), **request.get("params", {}))
        except Exception as error:  # noqa: BLE001 - whatever went wrong is said where the request came from
            text = str(error) or type(error).__name__
            return {**head, "ok": False, "error": {"type": type(error).__name__, "message": text}}, ()
        answer = found if isinstance(found, Answer) else Answer(found)
        return {**head, "ok": True, "result": dict(answer.result)}, answer.buffers
