"""What all widgets share: the built front end, a short repr, what a page of them holds, what they are linked by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import anywidget

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout

STATIC = Path(__file__).resolve().parent.parent / "static"

UNBUILT = """
export default {
  render({ el }) {
    const note = document.createElement("pre");
    note.textContent =
      "opd_widgets: the front end of this checkout has not been built.\\n" +
      "Run `make build-js` (Node 20 or newer) in the checkout, then restart the kernel.";
    el.append(note);
  },
};
"""


def bundle(stem: str, suffix: str) -> Path | str:
    """Return a built file of the front end; where it is missing, a note in its place and no error on import."""
    path = STATIC / f"{stem}.{suffix}"
    if path.exists():
        return path
    return UNBUILT if suffix == "js" else ""


class OpdWidget(anywidget.AnyWidget):
    """A view with a built front end.

    Traits:
        selection (Selection, None): what linked views agree on; set by `opd.link`.
    """

    page_traits: ClassVar[tuple[str, ...]] = ()  # what a page without Python holds
    selection = anywidget.WidgetTrait().tag(sync=True)

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Show the widget, with the short repr for hosts that cannot."""
        shown = super()._repr_mimebundle_(**kwargs)
        data = shown[0] if isinstance(shown, tuple) else shown
        if isinstance(data, dict):
            data["text/plain"] = repr(self)
        return shown

    def page_state(self) -> dict[str, Any]:
        """Return the state of a page without Python: no model is behind it, and nobody is linked."""
        return dict(self.get_state(list(self.page_traits)))

    def place(self) -> dict[str, Any]:
        """Return what is selected here, by the names of `Selection`; what this view has no word on is left out."""
        return {}

    def go_to(self, place: Mapping[str, Any]) -> None:
        """Select what of a place this view has; what it does not have stays as it is."""

    def complete(self, place: Mapping[str, Any]) -> dict[str, Any]:
        """Return a place with what this view knows to belong to it."""
        return dict(place)

    def rollout_id(self, index: int) -> str | None:
        """Return the id of the rollout that tables name by an index; None where this view has no such rollout."""
        del index
        return None

    def known_rollouts(self) -> Sequence[Rollout]:
        """Return the rollouts that this view selects by id."""
        return ()

    def close(self) -> None:
        """Close the view; it leaves those it was linked with."""
        if self.selection is not None:
            self.selection.leave(self)
        super().close()
