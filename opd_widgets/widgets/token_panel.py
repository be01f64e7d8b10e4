"""The TokenPanel: what both sides say about the selected token."""

from __future__ import annotations

from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._scores_widget import ScoresWidget


class TokenPanel(ScoresWidget):
    """See what both sides say about the selected token.

    Shares the traits of all views of scores, so that several link with `traitlets.link` or `ipywidgets.jslink`.

    Example:
        >>> panel = opd.TokenPanel(scores, rollout=2, teacher="Self-1C")
        >>> traitlets.link((panel, "token"), (other, "token"))  # doctest: +SKIP

    Limits: reading only; contexts are edited in the Explorer.

    Traits:
        scores, rollout, token, teacher, signal, live: see `ScoresWidget`.
    """

    _esm = bundle("token_panel", "js")
    _css = bundle("token_panel", "css")
