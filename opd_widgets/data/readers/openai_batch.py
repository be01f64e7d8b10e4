"""Lines of a batch's output around OpenAI-compatible responses, and requests that failed.

A line holds `custom_id` and `response` with `status_code` and `body`, or an `error`. A real dump has been tried: no,
written from the published shape.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opd_widgets.errors import ReadError

_ANSWERS = frozenset({"choices", "output"})
_BESIDE = frozenset({"error", "object", "id", "model", "created", "status", "status_code", "request_id"})
_FAILED = 400  # HTTP status from which on a request has failed


def body_of(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the response itself: a batch's output wraps it."""
    response = record.get("response")
    body = response.get("body", response) if isinstance(response, Mapping) else None
    return body if isinstance(body, Mapping) and _ANSWERS & body.keys() else record


def is_failed(record: Mapping[str, Any]) -> bool:
    """Return whether a record is a request that failed: a batch's line, or an error in place of a response."""
    if record.get("object") == "error" and isinstance(record.get("message"), str):
        return True
    if "custom_id" not in record and not (isinstance(record.get("error"), Mapping) and record.keys() <= _BESIDE):
        return False
    code, error = _failure(record)
    return code is not None or error is not None


def check_answered(record: Mapping[str, Any]) -> None:
    """Refuse a request that failed.

    Raises:
        ReadError: it did; the message has its custom_id, its status and what the server said.

    """
    if not is_failed(record):
        return
    code, error = _failure(record)
    said = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
    which = f" {record['custom_id']!r}" if record.get("custom_id") is not None else ""
    status = f" with status {code}" if code is not None else ""
    msg = f"found a failed request{which}{status}: {said or 'no message'!s:.300}. Expected a response; send it again"
    raise ReadError(msg)


def _failure(record: Mapping[str, Any]) -> tuple[int | None, Any]:
    """Return a failed request's HTTP status and error; None for what is not said, or not wrong."""
    response = record.get("response")
    parts = [part for part in (response, record) if isinstance(part, Mapping)]
    if isinstance(response, Mapping) and isinstance(response.get("body"), Mapping):
        parts.insert(0, response["body"])
    errors = [part["error"] for part in parts if part.get("error")]
    errors += [part for part in parts if part.get("object") == "error"]
    codes = [part["status_code"] for part in parts if isinstance(part.get("status_code"), int)]
    failed = [code for code in codes if code >= _FAILED]
    return (failed[0] if failed else None), (errors[0] if errors else None)


def name_of(record: Mapping[str, Any], body: Mapping[str, Any]) -> str | None:
    """Return what a response is named after: the batch's own name for its request, or the response's id."""
    name = record.get("custom_id")
    name = body.get("id") if name is None else name
    return None if name is None else str(name)


def known_of(record: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a batch's line says beside the response: metadata."""
    if record.get("custom_id") is None:
        return {}
    return {"custom_id": record["custom_id"], **({"response_id": body["id"]} if body.get("id") else {})}
