"""A callback for the trainers of transformers, and so of TRL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from transformers import TrainerCallback

if TYPE_CHECKING:
    from collections.abc import Callable


class StepCallback(TrainerCallback):
    """Calls three functions at the moments of training that matter to a recorder.

    Args:
        on_begin: before the first step, with the number of steps already done: 0, or a resumed checkpoint's.
        before_update: gradients are there and the weights are still those of the forward passes.
        after_update: the optimizer has stepped; called with the step's number, counted from 1.

    """

    def __init__(
        self,
        *,
        on_begin: Callable[[int], None],
        before_update: Callable[[], None],
        after_update: Callable[[int], None],
    ) -> None:
        self._on_begin, self._before, self._after = on_begin, before_update, after_update

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002 - its signature
        """Pass on how many steps are done."""
        self._on_begin(int(state.global_step))

    def on_pre_optimizer_step(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Pass it on."""
        self._before()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Pass on the step's number."""
        self._after(int(state.global_step))
