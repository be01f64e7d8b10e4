"""The TokenStrip: one rollout's tokens in colour."""

from __future__ import annotations

from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._scores_widget import ScoresWidget


class TokenStrip(ScoresWidget):
    """See one rollout's tokens in colour.

    Shares the traits of all views of scores, so that several link with `traitlets.link` or `ipywidgets.jslink`.

    Example:
        >>> strip = opd.TokenStrip(scores, rollout=2, teacher="Self-1C")
        >>> traitlets.link((strip, "token"), (other, "token"))  # doctest: +SKIP

    Limits: reading only; contexts are edited in the Explorer.

    Traits:
        scores, rollout, token, teacher, signal, live: see `ScoresWidget`.
    """

    _esm = bundle("token_strip", "js")
    _css = bundle("token_strip", "css")
