"""Logits from hidden states, as the model itself makes them."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import torch

from opd_widgets.errors import ModelLoadError
from opd_widgets.models.hf_weights import evaluating, rounding


class Head:
    """The head of a causal language model of transformers.

    Args:
        model: the whole model.
        name: what messages call it.
        size: number of real ids of its tokenizer.

    """

    def __init__(self, model: Any, name: str, size: int) -> None:
        self._model, self._name, self._size = model, name, size

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """Return logits: [n, width] -> float32 [n, V].

        Raises:
            ModelLoadError: the model does more between its last hidden state and its logits than is known here.

        """
        with evaluating(self._model):
            _ = self._difference  # computed once, then cached
            return self._logits(rows)

    def _logits(self, rows: torch.Tensor) -> torch.Tensor:
        config = self._model.config.get_text_config()
        logits: torch.Tensor = self._model.get_output_embeddings()(rows).float()
        if divisor := getattr(config, "logits_scaling", None):  # Granite
            logits = logits / divisor
        if factor := getattr(config, "logit_scale", None):  # Cohere
            logits = logits * factor
        if cap := getattr(config, "final_logit_softcapping", None):  # Gemma 2 and 3
            logits = torch.tanh(logits / cap) * cap
        return logits

    @cached_property
    def _difference(self) -> float:
        """How far hidden-then-head is from the model's own forward: an architecture may do more in between."""
        ids = torch.arange(min(4, self._size), device=self._model.device)[None]
        # a trainer may have wrapped the whole model's forward in mixed precision, and no part of it
        forward = getattr(self._model, "_original_forward", self._model)
        whole = forward(input_ids=ids, use_cache=False).logits[0].float()
        states = self._model.get_decoder()(input_ids=ids, use_cache=False).last_hidden_state[0]
        scale = max(1.0, float(whole.abs().max()))
        difference = float((whole - self._logits(states)).abs().max()) / scale
        if math.isnan(difference):
            raise ModelLoadError(self._why_nan())
        allowed = rounding(self._model)
        if not difference <= allowed:
            msg = (
                f"{self._name!r} ({type(self._model).__name__}) computes its logits in a way unknown here:"
                f" head(hidden) is off by {difference:.3g} of their size, expected at most {allowed}. Please report it"
            )
            raise ModelLoadError(msg)
        return difference

    def _why_nan(self) -> str:
        bad = [where for where, weight in self._model.named_parameters() if not weight.isfinite().all()]
        if bad:
            more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
            where = f"{bad[0]}{more}"
            return (
                f"the weights of {self._name!r} hold NaN or infinite values ({where}): the file is damaged or diverged"
            )
        dtype = str(self._model.dtype).removeprefix("torch.")
        return f"{self._name!r} gives NaN in {dtype}; load it with dtype='float32'"
