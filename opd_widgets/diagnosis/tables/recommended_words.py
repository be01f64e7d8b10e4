"""A recommendation in plain words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

INCORRECT = "incorrect only"


def words(
    row: pd.Series,
    *,
    none: bool,
    p_best: float,
    runner_up: tuple[str, float] | None,
    correct: tuple[float, float],
    budget_share: float,
    level: float,
    n_questions: int,
) -> str:
    """Return a recommendation as sentences.

    Args:
        row: of the recommendation's table: what is recommended, or where nothing is, what is surest to help.
        none: whether nothing is recommended.
        p_best: probability that the teacher, or "none", has the largest gain.
        runner_up: name of the best other teacher, and its probability.
        correct: mean cosine of the teacher over correct rollouts, and the probability that it is below 0.
        budget_share: share of the decision's variance that comes from P_succ.
        level: probability that the interval is to hold.
        n_questions: number of questions.

    """
    on = "incorrect rollouts only" if row["on"] == INCORRECT else "all rollouts"
    which = f"{row['teacher']} on {on}"
    measured = (
        f"mean cosine {row['mean_cosine']:.3f} with the ideal gradient, {level:.0%} interval {row['low']:.3f} to "
        f"{row['high']:.3f}, above 0 with probability {chance(row['p_positive'])}"
    )
    if none:
        said = ["No teacher is recommended: none helps with a probability of 0.9 or more."]
        said.append(f"The surest is {which}: {measured}.")
    else:
        said = [f"Distil from {which}: {measured}."]
        if runner_up is not None:
            said.append(
                f"It is the best of these teachers with probability {chance(p_best)}; next comes {runner_up[0]} "
                f"({chance(runner_up[1])})."
            )
        said += _on_correct(*correct, only_incorrect=row["on"] == INCORRECT)
    said.append(_more(budget_share, n_questions, "Whether one of them helps" if none else "The choice"))
    said.append("A cosine says where a gradient points, not how much training on it gains.")
    return " ".join(said)


def chance(p: float) -> str:
    """Return a probability from draws, which are too few to tell 1 from almost 1."""
    if math.isnan(p):
        return "unknown"
    if p > 0.99:
        return "over 0.99"
    return "under 0.01" if p < 0.01 else f"{p:.2f}"


def _on_correct(mean: float, p_hurts: float, *, only_incorrect: bool) -> list[str]:
    if math.isnan(mean):
        return ["No correct rollout passes a node that counts, so nothing is known of those."]
    found = f"Over correct rollouts its mean cosine is {mean:.3f}, below 0 with probability {chance(p_hurts)}"
    return [f"{found}: these are left out." if only_incorrect else f"{found}."]


def _more(share: float, n_questions: int, decision: str) -> str:
    if n_questions < 2:
        return "This is one question: nothing says how others would come out. More questions come before more budget."
    if math.isnan(share):
        return f"{decision} does not vary between questions or draws."
    budget, questions = f"{share:.0%}", f"{1 - share:.0%}"
    parts = (
        f"Of what is unsure about it, {budget} of the variance comes from success probabilities not known well enough "
        f"and {questions} from the number of questions"
    )
    helps = "more budget for these questions" if share > 0.5 else "more questions"
    return f"{decision} would be made surer first by {helps}. {parts}."
