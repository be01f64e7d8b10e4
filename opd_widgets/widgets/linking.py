"""Views that follow each other: a place selected in one is selected in all, and in Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from opd_widgets.errors import InvalidInputError
from opd_widgets.widgets._base import OpdWidget
from opd_widgets.widgets._chart_link import ChartLink
from opd_widgets.widgets.selection import NOTHING, Selection

if TYPE_CHECKING:
    import altair as alt

_BY_ITSELF = ("teacher", "signal")  # the other names of a place make sense together only
_PLACE = tuple(name for name in NOTHING if name not in _BY_ITSELF)


def link(*views: OpdWidget | alt.JupyterChart) -> Selection:
    """Have views follow each other: what is selected in one is selected in all.

    Rollouts, questions, teachers and signals are matched by id and name, so views of different scores and of a
    diagnosis can be linked: each selects what it has and keeps its own where it has not. In the browser this needs no
    Python, and goes on while a cell runs.

    An `alt.JupyterChart` takes part through its parameters. Its selections select in the other views, by those of their
    fields, or columns of the chosen row, that are called as in `Selection`, or "position" or "depth" for a token; of
    several points the last one counts, of an interval its beginning. A variable parameter with such a name,
    `alt.param(name="teacher", value="")`, follows the other views: "" and -1 stand for nothing. Charts go through
    Python.

    Example:
        >>> explorer, alignment = opd.Explorer(scores), opd.AlignmentView(result)
        >>> selection = opd.link(explorer, alignment)
        >>> selection.observe(lambda change: print(change.new), "value")

    Args:
        views: two or more, or one with a chart. Those that are linked already join the first one's group.

    Returns:
        What they share; `selection.leave(view)` takes one out, `selection.views` are those in it.

    Raises:
        InvalidInputError: none, or something that is no view, or views in which one id names different rollouts.

    """
    from altair import JupyterChart

    given: tuple[object, ...] = views
    wrong = [view for view in given if not isinstance(view, OpdWidget | JupyterChart)]
    if wrong or not any(isinstance(view, OpdWidget) for view in views):
        found = type(wrong[0]).__name__ if wrong else f"{len(views)} charts"
        msg = f"found {found}, expected views such as opd.Explorer(scores), and beside them charts as alt.JupyterChart"
        raise InvalidInputError(msg)
    known = [view.selection for view in views if isinstance(view, OpdWidget) and view.selection is not None]
    selection = known[0] if known else Selection()
    group = selection.group if isinstance(selection.group, LinkedViews) else LinkedViews(selection)
    selection.group = group
    for view in views:
        group.join(view)
    return selection


@dataclass(eq=False)
class LinkedViews:
    """Keeps the traits of linked views, and charts, equal to what they share."""

    selection: Selection
    views: list[OpdWidget] = field(default_factory=list)
    charts: list[ChartLink] = field(default_factory=list)
    # A host may deliver messages of two views in two threads.
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _moving: bool = False

    def __post_init__(self) -> None:
        """Listen to what the browser and Python say."""
        self.selection.observe(self._selected, "value")

    @property
    def members(self) -> tuple[OpdWidget | alt.JupyterChart, ...]:
        """Views and charts."""
        return (*self.views, *(link.chart for link in self.charts))

    def join(self, view: OpdWidget | alt.JupyterChart) -> None:
        """Take a view in: it goes where the others are; the first one says where that is."""
        if not isinstance(view, OpdWidget):
            if all(chart.chart is not view for chart in self.charts):
                self.charts.append(ChartLink(view, self._chart_says))
                self.charts[-1].follow(self.selection.place)
            return
        if view in self.views:
            return
        if view.selection is not None and view.selection is not self.selection:
            view.selection.leave(view)
        self._check_same(view)
        place = self.selection.place
        own = {name: entry for name, entry in view.place().items() if place[name] is None and entry is not None}
        if any(place[name] is not None for name in _PLACE):
            own = {name: entry for name, entry in own.items() if name not in _PLACE}
        self.views.append(view)
        view.observe(self._view_says, [name for name in NOTHING if view.has_trait(name)])
        self.selection.select(**own)
        with self._quietly():
            view.go_to(self.selection.place)
        view.selection = self.selection

    def _check_same(self, view: OpdWidget) -> None:
        """Refuse views that call different rollouts by one id: they would show one beside the other as the same."""
        mine = _responses(view)
        for other in self.views:
            theirs = _responses(other)
            shared = mine.keys() & theirs.keys()
            unlike = sorted(name for name in shared if mine[name] != theirs[name])
            if unlike:
                kinds = f"{type(other).__name__} and {type(view).__name__}"
                msg = (
                    f"found {len(unlike)} of {len(shared)} shared ids, such as {unlike[0]!r}, that name different "
                    f"rollouts in {kinds}; views are linked by ids. To read a diagnosis beside its own rollouts, score "
                    "those: opd.Explorer(opd.score(result.rollouts(), student, teachers), diagnosis=result)"
                )
                raise InvalidInputError(msg)

    def leave(self, view: OpdWidget | alt.JupyterChart) -> None:
        """Let a view go its own way, from where it is."""
        if isinstance(view, OpdWidget):
            if view in self.views:
                self.views.remove(view)
                view.unobserve(self._view_says, [name for name in NOTHING if view.has_trait(name)])
                view.selection = None
            return
        for chart in [chart for chart in self.charts if chart.chart is view]:
            chart.end()
            self.charts.remove(chart)

    @contextmanager
    def _quietly(self) -> Iterator[None]:
        """Views move because they are told to: what they say meanwhile is no news."""
        with self._lock:
            before, self._moving = self._moving, True
            try:
                yield
            finally:
                self._moving = before

    def _selected(self, change: Mapping[str, Any]) -> None:
        """Bring everyone where the browser, a view or Python has gone.

        The place itself is left as it was said: what the browser sent is older than what it shows by now. Of two
        threads the later one may come here first, so it is read anew.
        """
        del change
        with self._quietly():
            said = self.selection.place
            place = self._completed(said)
            if said["rollout"] is None and place["rollout"] is not None:
                self.selection.value = place  # a view that knows nodes only: in the browser the others wait for it
            for view in self.views:
                with view.hold_sync():
                    view.go_to(place)
            for chart in self.charts:
                chart.follow(place)

    def _view_says(self, change: Mapping[str, Any]) -> None:
        with self._lock:
            if self._moving:
                return
            name, place = change["name"], change["owner"].place()
            self.say({name: place.get(name)} if name in _BY_ITSELF else {key: place.get(key) for key in _PLACE})

    def _chart_says(self, place: Mapping[str, Any]) -> None:
        with self._lock:
            if not self._moving:
                self.say(place)

    def say(self, place: Mapping[str, Any]) -> None:
        """Select a place that Python or a chart names, with what the views know to belong to it."""
        spoken = dict(place)
        if isinstance(spoken.get("rollout"), int):
            spoken["rollout"] = self._rollout_id(spoken["rollout"])
        if any(name in spoken for name in _PLACE):
            # a token alone is one of the rollout in view, a node alone one of the question in view
            within = {"token": ("question", "rollout"), "node": ("question",)}
            kept = next((names for name, names in within.items() if name in spoken and "rollout" not in spoken), ())
            now = self.selection.value
            spoken = {**dict.fromkeys(_PLACE), **{name: now[name] for name in kept}, **spoken}
        self.selection.value = {**self.selection.value, **self._completed(spoken)}

    def _completed(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """Return a place with what the views know to belong to it."""
        whole = dict(place)
        for view in self.views:
            whole = view.complete(whole)
        return whole

    def _rollout_id(self, index: int) -> str | None:
        """Return the id of a rollout named by its index, as in tables: that of the first view of scores."""
        for view in self.views:
            found = view.rollout_id(index)
            if found is not None:
                return found
        return None


def _responses(view: OpdWidget) -> dict[str, bytes]:
    """Return what tells rollouts of one id apart: their token ids, by id, where they are known."""
    known = {rollout.id: rollout.response_ids for rollout in view.known_rollouts()}
    return {name: ids.tobytes() for name, ids in known.items() if ids is not None}
