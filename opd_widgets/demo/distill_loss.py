"""The loss of on-policy distillation: reverse KL over the whole vocabulary, at the student's own tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from opd_widgets.models.hf_fill import filled_right

if TYPE_CHECKING:
    from collections.abc import Sequence

    from opd_widgets.models.protocol import Ids


def next_token_logprobs(model: Any, sequences: Sequence[Ids], counts: Sequence[int]) -> torch.Tensor:
    """Return the log-probabilities among which each sequence's last tokens were chosen: float32 [sum of R, V], nats.

    V is every row of the head, rows without a token included: those that tokens are drawn from.

    Args:
        model: a causal language model of transformers with a plain linear head.
        sequences: int [P + R] each, a prompt and a response.
        counts: R of each, the tokens asked for; P is at least 1.

    """
    # Padding stands on the right of a causal model, so nothing that counts ever sees it: no mask is needed.
    tokens = filled_right(sequences)
    hidden = model.get_decoder()(input_ids=tokens, use_cache=False).last_hidden_state
    at = torch.zeros(tokens.shape, dtype=torch.bool)
    for row, (ids, count) in enumerate(zip(sequences, counts, strict=True)):
        at[row, len(ids) - count - 1 : len(ids) - 1] = True  # a token is chosen where the one before it stands
    logits: torch.Tensor = model.get_output_embeddings()(hidden[at])
    return logits.float().log_softmax(-1)


def reverse_kl(student_logp: torch.Tensor, teacher_logp: torch.Tensor) -> torch.Tensor:
    """Return KL(p_S || p_T) at every node: [N, V], [N, V] -> [N], nats, differentiable in the student.

    Its gradient in the student's logits is ``p_S (d - KL)`` with ``d = log p_S - log p_T``, the negative of
    ``p_S (f - mean f)`` with ``f = log p_T - log p_S`` (arXiv 2605.10889). `d` is detached: the term this leaves out,
    ``sum p_S grad log p_S``, is zero, and computed it would be rounding, which Adam blows up to steps of full size
    where teacher and student are one.
    """
    difference = (student_logp - teacher_logp).detach()
    return (student_logp.exp() * difference).sum(-1)
