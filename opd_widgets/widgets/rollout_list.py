"""The RolloutList: the rollouts with their outcomes and profiles."""

from __future__ import annotations

from opd_widgets.widgets._base import bundle
from opd_widgets.widgets._scores_widget import ScoresWidget


class RolloutList(ScoresWidget):
    """See the rollouts with their outcomes and profiles.

    Shares the traits of all views of scores, so that several link with `traitlets.link` or `ipywidgets.jslink`.

    Example:
        >>> rollouts = opd.RolloutList(scores, rollout=2, teacher="Self-1C")
        >>> traitlets.link((rollouts, "token"), (other, "token"))  # doctest: +SKIP

    Limits: reading only; contexts are edited in the Explorer.

    Traits:
        scores, rollout, token, teacher, signal, live: see `ScoresWidget`.
    """

    _esm = bundle("rollout_list", "js")
    _css = bundle("rollout_list", "css")
