"""A recommendation in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

INCORRECT = "incorrect only"
FEW = 12  # questions up to which a bootstrap over them is called rough
APART = "More budget goes on in the same folder; more questions need a run of their own, for a folder's are fixed."


def words(
    row: pd.Series,
    *,
    none: bool,
    p_best: float,
    runner_up: tuple[str, float] | None,
    correct: tuple[float, float],
    budget_share: float,
    level: float,
    asked: int,
    unlike: tuple[tuple[str, float], tuple[str, float]] | None = None,
    alone: Sequence[str] = (),
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
        asked: number of questions that were asked.
        unlike: the teachers measured on the fewest and the most rollouts with these numbers, where they are unlike.
        alone: teachers measured on one question where others have more.

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
    n_questions = int(row["n_questions"])
    said.append(_stands_on(int(row["n_nodes"]), n_questions))
    if unlike is not None:
        fewest, most = (f"{name} on {weight:,.0f}" for name, weight in unlike)
        said.append(
            "The teachers are compared on different nodes, each where it has an alignment: by passing rollouts, "
            f"{fewest} and {most}."
        )
    if alone:
        said.append(f"Measured on one question only, and so not compared: {', '.join(alone)}.")
    said.append(_more(budget_share, n_questions, asked, "Whether one of them helps" if none else "The choice"))
    said.append("A cosine says where a gradient points, not how much training on it gains.")
    return " ".join(said)


def _stands_on(n_nodes: int, n_questions: int) -> str:
    nodes, questions = (
        f"{n} {what}{'' if n == 1 else 's'}" for n, what in ((n_nodes, "node"), (n_questions, "question"))
    )
    said = f"This stands on {nodes} of {questions}"
    if 2 <= n_questions <= FEW:
        return f"{said}: with a dozen questions or fewer, an interval over questions is rough."
    return f"{said}."


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


def _more(share: float, n_questions: int, asked: int, decision: str) -> str:
    if n_questions < 2:
        one = "This is one question" if asked < 2 else f"{n_questions} of {asked} questions has a node that counts"
        return f"{one}: nothing says how others would come out. More questions come before more budget. {APART}"
    if math.isnan(share):
        return f"{decision} does not vary between questions or draws."
    budget, questions = f"{share:.0%}", f"{1 - share:.0%}"
    parts = (
        f"Of what is unsure about it, {budget} of the variance comes from success probabilities not known well enough "
        f"and {questions} from the number of questions"
    )
    helps = "more budget for these questions" if share > 0.5 else "more questions"
    return f"{decision} would be made surer first by {helps}. {parts}. {APART}"
