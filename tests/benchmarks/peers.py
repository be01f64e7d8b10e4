"""Other ways to the same numbers: the bare forward passes, the textbook's full tables, and TRL's own function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import opd_widgets as opd
from opd_widgets.measures.signal import SignalSettings


def ids_of(rollout: opd.Rollout) -> torch.Tensor:
    """Return prompt and response as a batch of one: int64 [1, P + R]."""
    return torch.from_numpy(rollout.token_ids.astype(np.int64))[None]


def bare(model: opd.HFModel, rollout: opd.Rollout, teachers: int) -> Callable[[], None]:
    """Return the forward passes of a student and teachers, and no signal."""
    ids = ids_of(rollout)

    @torch.no_grad()
    def run() -> None:
        for _ in range(1 + teachers):
            model._model(ids).logits  # noqa: B018 - the forward pass is the work

    return run


def plain(model: opd.HFModel, rollout: opd.Rollout, teachers: int) -> Callable[[], None]:
    """Return the textbook computation: a log-softmax of all logits, every formula by itself."""
    ids = ids_of(rollout)

    @torch.no_grad()
    def run() -> None:
        s = torch.log_softmax(model._model(ids).logits[0].float(), -1)
        for _ in range(teachers):
            plain_signals(s, torch.log_softmax(model._model(ids).logits[0].float(), -1), SignalSettings())

    return run


def plain_signals(s: Any, t: Any, settings: SignalSettings) -> list[Any]:
    """Return what scoring measures of two log-probability tables, as a textbook writes it."""
    m = torch.logaddexp(t + np.log(settings.beta), s + np.log(1 - settings.beta))
    skewed = torch.logaddexp(s + np.log(settings.skew), t + np.log(1 - settings.skew))
    return [
        (s.exp() * (s - t)).sum(-1),
        (t.exp() * (t - s)).sum(-1),
        settings.beta * (t.exp() * (t - m)).sum(-1) + (1 - settings.beta) * (s.exp() * (s - m)).sum(-1),
        (s.exp() * (s - skewed)).sum(-1),
        (t.exp() * (t - s)).clamp(max=settings.clip).sum(-1),
        -(s.exp() * s).sum(-1),
        -(t.exp() * t).sum(-1),
        *(x.topk(20, -1) for x in (s, t)),
        *((x > x[:, :1]).sum(-1) for x in (s, t)),
    ]


def trl(model: opd.HFModel, rollout: opd.Rollout, teachers: int) -> Callable[[], None]:
    """Return TRL's generalised JSD of the response's logits at beta 0, 1/2 and 1: both KLs and the JSD, a token."""
    from trl.experimental.gkd import GKDTrainer

    ids, start = ids_of(rollout), rollout.prompt_len - 1

    @torch.no_grad()
    def run() -> None:
        student = model._model(ids).logits[:, start:-1]
        for _ in range(teachers):
            teacher = model._model(ids).logits[:, start:-1]
            for beta in (0, 0.5, 1):
                GKDTrainer.generalized_jsd_loss(student, teacher, beta=beta, reduction="none").sum(-1)

    return run
