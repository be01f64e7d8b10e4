"""What each of the lab's models is and how it is trained: every number that decides the weights."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from opd_widgets.demo.arithmetic import Style


@dataclass(frozen=True, slots=True)
class Recipe:
    """Shape and training of one model.

    ``context_share`` is the share of batches that carry a context line, spread evenly over the
    kinds trained on. Steps, not minutes, decide when training ends, so that a run can be repeated.
    """

    name: str
    style: Style
    hidden_size: int
    num_layers: int
    steps: int
    context_share: float
    seed: int
    num_heads: int = 4
    num_kv_heads: int = 2
    batch_size: int = 128
    learning_rate: float = 3e-3
    warmup_steps: int = 50
    final_rate_share: float = 0.05
    weight_decay: float = 0.01
    betas: tuple[float, float] = (0.9, 0.98)
    max_grad_norm: float = 1.0

    def shortened(self, steps: int) -> Recipe:
        """The same recipe over another number of steps; warm-up and decay shrink with it."""
        return replace(self, steps=steps, warmup_steps=min(self.warmup_steps, steps))


RECIPES: Final[dict[str, Recipe]] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "student",
            "left_to_right",
            hidden_size=96,
            num_layers=3,
            steps=960,
            context_share=0.45,
            seed=1,
        ),
        Recipe(
            "teacher",
            "left_to_right",
            hidden_size=128,
            num_layers=3,
            steps=1650,
            context_share=0.2,
            seed=2,
        ),
        Recipe(
            "other_style",
            "right_pair_first",
            hidden_size=128,
            num_layers=3,
            steps=2300,
            context_share=0.2,
            seed=3,
        ),
    )
}
