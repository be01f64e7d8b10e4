"""What linked views agree on: one place, in one trait, so that it is never half old and half new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import anywidget
import traitlets

from opd_widgets.errors import InvalidInputError

NOTHING: Mapping[str, Any] = {
    "question": None,
    "rollout": None,
    "token": None,
    "node": None,
    "teacher": None,
    "signal": None,
}
_KINDS: Mapping[str, type] = {"question": str, "rollout": str, "token": int, "node": int, "teacher": str, "signal": str}


class Group(Protocol):
    """Those who share a selection."""

    @property
    def members(self) -> tuple[Any, ...]:
        """Views and charts."""

    def say(self, place: Mapping[str, Any]) -> None:
        """Select a place in all of them."""

    def leave(self, view: Any) -> None:
        """Take one out."""


class Selection(anywidget.AnyWidget):
    """What linked views have selected, by names that mean the same in each; made by `opd.link`.

    It has no view of its own. In the browser the linked views write it and read it without Python, so they follow each
    other also while a cell runs.

    Example:
        >>> selection = opd.link(explorer, alignment)
        >>> selection.place["rollout"], selection.place["token"]
        >>> selection.select(teacher="Self-1C")

    Traits:
        value (dict): the place: "question" (id), "rollout" (id), "token" (index of a response token), "node" (index in
            its question's nodes), "teacher" and "signal" (names); None where nobody has said. Replaced as a whole.
    """

    _esm = "export default {}"
    group: Group | None = None  # who is linked; set by `opd.link`

    value: traitlets.Dict[str, Any] = traitlets.Dict(dict(NOTHING)).tag(sync=True, echo_update=False)

    @property
    def place(self) -> dict[str, Any]:
        """What is selected, as a dict of your own."""
        return dict(self.value)

    def select(self, **place: Any) -> None:
        """Change some of the place; what is not named stays.

        Raises:
            InvalidInputError: a name that a place does not have, or a value of another kind.

        """
        unknown = [name for name in place if name not in NOTHING]
        if unknown:
            msg = f"found {unknown[0]!r} in a selection, expected some of {list(NOTHING)}"
            raise InvalidInputError(msg)
        if self.group is None:
            self.value = {**self.value, **place}
        else:
            self.group.say(place)

    @property
    def views(self) -> tuple[Any, ...]:
        """The views and charts that are linked."""
        return () if self.group is None else self.group.members

    def leave(self, view: Any) -> None:
        """Let one view go its own way, from where it is."""
        if self.group is not None:
            self.group.leave(view)

    @traitlets.validate("value")
    def _check_value(self, proposal: Any) -> dict[str, Any]:
        value = dict(proposal["value"])
        for name, entry in value.items():
            kind = _KINDS.get(name)
            if kind is None:
                msg = f"found {name!r} in a selection, expected some of {list(NOTHING)}"
                raise InvalidInputError(msg)
            if entry is not None and (not isinstance(entry, kind) or isinstance(entry, bool)):
                msg = f"found {name}={entry!r}, expected {kind.__name__} or None"
                raise InvalidInputError(msg)
        return {**NOTHING, **value}
