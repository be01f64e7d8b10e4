"""What a result tells of its making."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.plain import json_value
from opd_widgets.diagnosis.drawn import CORRECT, UNVERIFIED
from opd_widgets.models.teacher import Teacher

if TYPE_CHECKING:
    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.drawn import Drawn
    from opd_widgets.diagnosis.policies.policy_of import Speaker
    from opd_widgets.diagnosis.run.cost import Cost
    from opd_widgets.diagnosis.run.rounds import Rounds

SPENT_TOO_MUCH = 1.1  # of the budget: more is worth a note


def about(
    state: Rounds, teachers: Mapping[str, Speaker], student: Speaker, cost: Cost | None, *, finished: bool
) -> dict[str, Any]:
    """Return it as values JSON can hold."""
    everything = [drawn for its in state.rollouts for drawn in its]
    initial = [drawn for drawn in everything if not drawn.start]
    found: dict[str, Any] = {
        "student": _name(student),
        "teachers": {name: _described(who, student) for name, who in teachers.items()},
        "titles": {question.id: question.title for question in state.drawer.questions},
        "questions": {question.id: _asked(question) for question in state.drawer.questions},
        **_spelled(state),
        "budget": state.plan.budget,
        "seed": state.drawer.seed,
        "spending": state.strategy.name,
        "max_new_tokens": state.drawer.max_new_tokens,
        **counts(everything),
        "unverified_reasons": dict(state.ledger.reasons.most_common(3)),
        "cost": None if cost is None else cost.to_dict(),
        "finished": finished,
        "notes": notes(state, initial),
    }
    plain: dict[str, Any] = json_value("what a diagnosis tells of itself", found)
    return plain


def counts(rollouts: Sequence[Drawn]) -> dict[str, Any]:
    """Return how many rollouts and tokens were drawn, and how the initial ones ended."""
    initial = [drawn for drawn in rollouts if not drawn.start]
    return {
        "generated_tokens": sum(drawn.generated for drawn in rollouts),
        "initial_rollouts": len(initial),
        "targeted_rollouts": len(rollouts) - len(initial),
        "outcomes": _outcomes(initial),
    }


def unfinished(with_nodes: int, rollouts: Sequence[Sequence[Drawn]]) -> str:
    """Return the note of a run that is not at its end; `rollouts` by question."""
    drawn = sum(map(len, rollouts))
    return f"not finished: {with_nodes} of {len(rollouts)} questions have nodes, {drawn:,} rollouts are drawn"


def notes(state: Rounds, initial: Sequence[Drawn]) -> list[str]:
    """Return what a reader must be told."""
    counted = [drawn for drawn in initial if drawn.outcome != UNVERIFIED]
    right = sum(drawn.outcome == CORRECT for drawn in counted)
    made = []
    if counted and right == 0:
        made.append("no initial rollout is correct: where no targeted one is either, there is no signal")
    if counted and right == len(counted):
        made.append("every initial rollout is correct: where every targeted one is too, there is no signal")
    spent = state.spent
    if spent > SPENT_TOO_MUCH * state.plan.budget:
        made.append(
            f"{spent:,} tokens were generated and the budget is {state.plan.budget:,}: rollouts are never cut short"
        )
    if state.nodes and not any(drawn.start for its in state.rollouts for drawn in its):
        made.append("no rollout went behind a candidate: the budget was spent on the initial ones, or nothing is open")
    if state.left_out:
        made.append(
            f"{state.left_out} nodes of few rollouts are left out: max_nodes is {state.plan.max_nodes} a question. "
            "Those kept are the ones most rollouts pass, and a random sample of the others"
        )
    for index, nodes in enumerate(state.nodes):
        if not len(nodes):
            name = state.drawer.questions[index].id
            made.append(f"question {name!r} has no node with two important tokens: the student has no choice there")
    cut = sum(drawn.truncated for drawn in initial)
    if cut:
        made.append(
            f"{cut} of {len(initial)} initial rollouts are cut at {state.drawer.max_new_tokens} tokens and count as "
            "not correct"
        )
    faults = len(initial) - len(counted)
    if faults:
        made.append(f"{faults} of {len(initial)} initial rollouts are unverified and left out")
    return made


def _outcomes(initial: Sequence[Drawn]) -> dict[str, int]:
    """Return how many initial rollouts ended how; a truncated one is of no other kind."""
    words = {1: "correct", 0: "incorrect", -1: "unverified"}
    return dict(Counter("truncated" if one.truncated else words[one.outcome] for one in initial))


def _name(who: Speaker) -> str:
    return str(getattr(who, "name", None) or type(who).__name__)


def _asked(question: Question) -> dict[str, Any]:
    return {"messages": [message.to_dict() for message in question.messages], "answer": question.answer}


def _described(who: Speaker, student: Speaker) -> dict[str, Any]:
    if not isinstance(who, Teacher):
        return {"model": _name(who), "kind": "external", "is_self": who is student, "description": ""}
    context = who.context
    own = who.model is student
    seen = "sees what the student sees" if context is None else context.description
    made = f"{'the student' if own else who.model.name} {seen}"
    return {
        "model": who.model.name,
        "kind": "external" if context is None else context.kind,
        "is_self": own,
        "description": who.description or made,
    }


def _spelled(state: Rounds) -> dict[str, Any]:
    """Return the text of every id in use and which of them are special tokens, where the student has a tokenizer."""
    model = getattr(state.drawer.policies[0], "model", None)
    if model is None:
        return {"pieces": {}, "special": []}
    used = {int(one) for nodes in state.nodes for one in np.unique(nodes.tokens) if one >= 0}
    used.update(int(one) for its in state.rollouts for drawn in its for one in set(drawn.ids.tolist()))
    tokenizer = model.tokenizer
    pieces = {str(one): tokenizer.decode([one]) for one in sorted(used)}
    return {"pieces": pieces, "special": [one for one in sorted(used) if tokenizer.piece(one).special]}
