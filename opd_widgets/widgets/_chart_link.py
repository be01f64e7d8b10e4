"""An Altair chart among linked views: its selections speak, its variable parameters listen."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from opd_widgets.widgets.selection import NOTHING

if TYPE_CHECKING:
    import altair as alt

_ALSO = {"position": "token", "depth": "token"}  # what our tables call it
_NUMBERS = ("token", "node")


class ChartLink:
    """One chart.

    Args:
        chart: an `alt.JupyterChart`.
        say: called with a place when a reader selects in the chart.

    """

    def __init__(self, chart: alt.JupyterChart, say: Callable[[Mapping[str, Any]], None]) -> None:
        self.chart, self._say = chart, say
        self._heard: Any = None
        self._parameters: Any = None
        self._place: Mapping[str, Any] = {}
        self._listen()
        chart.observe(self._listen, "chart")

    def end(self) -> None:
        """Stop listening."""
        self.chart.unobserve(self._listen, "chart")
        if self._heard is not None:
            self._heard.unobserve(self._selected)
            self._parameters.unobserve(self._reset)

    def follow(self, place: Mapping[str, Any]) -> None:
        """Set the parameters that bear names of a place."""
        self._place = place
        params = self.chart.params
        for name in params.trait_names():
            key = _ALSO.get(name, name)
            if key in place:
                nothing: Any = -1.0 if key in _NUMBERS else ""
                params.set_trait(name, nothing if place[key] is None else place[key])

    def _listen(self, change: object = None) -> None:
        """Another chart in the widget brings other selections."""
        del change
        if self._heard is not None:
            self._heard.unobserve(self._selected)
            self._parameters.unobserve(self._reset)
        self._heard, self._parameters = self.chart.selections, self.chart.params
        self._heard.observe(self._selected)
        self._parameters.observe(self._reset)

    def _reset(self, change: Mapping[str, Any]) -> None:
        """Have a chart that is shown anew follow again: its front end begins with the values of its own spec."""
        name = change["name"]
        key = _ALSO.get(name, name)
        if self._place.get(key) is not None and change["new"] in ("", -1):
            self.chart.params.set_trait(name, self._place[key])

    def _selected(self, change: Mapping[str, Any]) -> None:
        place = _place(_chosen(change["new"].value, self.chart.chart))
        if place:
            self._say(place)


def _chosen(value: Any, chart: Any) -> Mapping[str, Any]:
    """Return what was chosen, by column: the last of several points, the beginning of an interval."""
    if isinstance(value, Mapping):
        return {name: ends[0] for name, ends in value.items() if ends}
    if not value:
        return {}
    last = value[-1]
    if isinstance(last, Mapping):
        return last
    data: Any = getattr(chart, "data", None)  # a row of the chart's own table
    return dict(data.iloc[last]) if hasattr(data, "iloc") and 0 <= last < len(data) else {}


def _place(chosen: Mapping[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = {}
    for name, entry in chosen.items():
        key = _ALSO.get(name, name)
        if key not in NOTHING:
            continue
        if isinstance(entry, str):
            place[key] = entry
        elif key in _NUMBERS or key == "rollout":  # a rollout is named by its index in tables of scores
            place[key] = math.ceil(entry)
    return place
