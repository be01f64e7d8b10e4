"""Diagnose: targeted rollouts, the ideal gradient, and the alignment of every teacher with it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opd_widgets.diagnosis.policies.policy_of import Speaker
from opd_widgets.diagnosis.result import Diagnosis
from opd_widgets.diagnosis.run.setup import Setup, setup

if TYPE_CHECKING:
    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.run.cost import Cost
    from opd_widgets.diagnosis.run.rounds import Rounds
    from opd_widgets.diagnosis.settings import DiagnosisSettings
    from opd_widgets.diagnosis.spending.strategies import Strategy
    from opd_widgets.diagnosis.tree import Prefix
    from opd_widgets.scoring.judging import Verifier


def diagnose(
    questions: Sequence[Question],
    student: Speaker,
    teachers: Mapping[str, Speaker],
    *,
    verifier: Verifier,
    budget: int,
    seed: int = 0,
    out: str | Path | None = None,
    initial: int | None = None,
    max_new_tokens: int | None = None,
    spending: str | Strategy = "width",
    settings: DiagnosisSettings | None = None,
    important: float = 0.02,
    held_out: int = 0,
    verifier_timeout: float | None = None,
    max_nodes: int = 1000,
    nodes: Mapping[str, Sequence[Prefix]] | None = None,
    rounds: int = 24,
    batch_rows: int = 512,
    progress: bool = True,
    checkpoint: Callable[[], None] = lambda: None,
) -> Diagnosis:
    """Estimate where each teacher's gradient points along the one that raises the student's success, and where not.

    Rollouts from the prompt on make a generation tree; student and teachers are asked what may come next at its nodes;
    then the student is forced to a candidate and goes on by itself, again and again, where the strategy says, until the
    budget is spent. One tree serves all teachers. Nothing is trained. Source: arXiv 2605.10889.

    Example:
        >>> lab = opd.demo()  # doctest: +SKIP
        >>> result = opd.diagnose(  # doctest: +SKIP
        ...     lab.questions, lab.student, lab.teachers, verifier=lab.verifier, budget=200_000, seed=0)
        >>> result.summary(), print(result.recommend().text)  # doctest: +SKIP

    Limits: candidates are token ids, so teachers need the student's tokenizer. All nodes of a question are held in
    memory with their draws. A budget is kept to within the last round's rollouts, which are never cut short: that would
    favour short responses.

    Args:
        questions: what is asked; no two of one id.
        student: a model; or a policy (`opd.FunctionPolicy`), or a function from a question to one.
        teachers: by name, at least one: `opd.Teacher`s, models, policies or functions from a question to a policy.
        verifier: (question, response text) -> right or wrong, such as those of `opd.verifiers`. Where it raises or is
            late, the rollout is unverified: counted, left out, and never wrong.
        budget: generated tokens, of all questions together.
        seed: of all random numbers. Each rollout's are its own, keyed by seed, question, node and index.
        out: a folder for everything drawn; `opd.load_diagnosis` opens it. Called again with the same arguments, a run
            that was stopped or killed goes on there and ends as one that was not. With a larger budget, other teachers
            or other spending it goes on from what is there, and everything drawn counts. Questions, student, verifier,
            length limit and seed must be the same.
        initial: rollouts of each question from the prompt on, as far as the budget goes; by default as many as take a
            quarter of it, 8 to 200. A run that is continued keeps its number, or takes a larger one.
        max_new_tokens: the longest response; one cut there is truncated, and not correct. By default 512, or what
            student and teachers all have room for; a run that goes on keeps its own.
        spending: "width" (where intervals of the alignment with `settings.loss` shrink most), "even" or "paper"; or one
            with other parameters, or of your own: see `opd.spending`.
        settings: estimator, loss, interval level and so on; see `DiagnosisSettings`. They can be changed afterwards:
            `result.with_settings(...)`.
        important: least probability, under the student or any teacher, of a token worth weighing.
        held_out: further rollouts of each question for the Dr. GRPO row, not counted in the budget.
        verifier_timeout: seconds for one response; None waits without end.
        max_nodes: nodes of each question, at most; those most rollouts pass, then a random sample of the others.
        nodes: for some or all questions by id, the response prefixes, ids, that are to be the nodes, all of them and no
            other; by default those that the initial rollouts pass.
        rounds: into how many rounds the budget is cut, at most.
        batch_rows: rollouts drawn and stored together: what a kill can cost.
        progress: whether to show the cost beforehand, and a progress bar.
        checkpoint: called between batches; raises to stop. What was drawn stays in `out`.

    Returns:
        The result. Interrupted from the keyboard, it is of what was drawn until then, and a warning says so; before the
        first node is read there is none, and the interrupt goes on.

    Raises:
        InvalidInputError: an argument that cannot be, a folder of another diagnosis, a teacher of another tokenizer, or
            a verifier that gave no verdict on any of the first rollouts.
        LengthLimitError: a prompt and `max_new_tokens` are more than the student or a teacher takes.

    """
    begin = setup(
        questions,
        student,
        teachers,
        verifier=verifier,
        budget=budget,
        seed=seed,
        out=out,
        initial=initial,
        max_new_tokens=max_new_tokens,
        spending=spending,
        settings=settings,
        important=important,
        held_out=held_out,
        verifier_timeout=verifier_timeout,
        max_nodes=max_nodes,
        nodes=nodes,
        rounds=rounds,
        batch_rows=batch_rows,
        progress=progress,
        checkpoint=checkpoint,
    )
    return _run(begin)


def _run(begin: Setup) -> Diagnosis:
    """Draw what is to be drawn, and read it."""
    with begin.begun() as state:
        finished = True
        try:
            begin.carry_out(state)
        except KeyboardInterrupt:
            state.collect()
            if not state.nodes:  # nothing to show yet
                begin.tell(state, finished=False)
                raise
            finished = False
            kept = "" if begin.ledger.folder is None else "; the same call goes on from there"
            warnings.warn(
                f"stopped: the result is of the {state.spent:,} tokens drawn until now, and of {len(state.nodes)} of "
                f"{len(begin.drawer.questions)} questions{kept}",
                stacklevel=3,
            )
        told = begin.tell(state, finished=finished)
    return result_of(begin, state, told)


def result_of(begin: Setup, state: Rounds, told: Mapping[str, Any]) -> Diagnosis:
    """Return what is drawn by now as a result, of the questions whose nodes are read.

    Args:
        begin: how it is read.
        state: what is drawn.
        told: what it tells of itself.

    """
    evidence = tuple(state.evidence(index) for index in range(len(state.nodes)))
    apart = {one.question: tuple(state.held_out[index]) for index, one in enumerate(evidence)}
    return Diagnosis(evidence, begin.settings, told, apart)


def diagnosis_cost(
    questions: Sequence[Question],
    student: Speaker,
    teachers: Mapping[str, Speaker],
    *,
    verifier: Verifier,
    budget: int,
    **more: Any,
) -> Cost:
    """Estimate what a diagnosis would cost, from a short probe: some rollouts of each question.

    With `out`, the probe is kept there and is the beginning of the diagnosis.

    Example:
        >>> print(opd.diagnosis_cost(questions, student, teachers, verifier=opd.verifiers.number, budget=200_000))

    Args:
        questions: as for `diagnose`, like all arguments.
        student: likewise.
        teachers: likewise.
        verifier: likewise.
        budget: likewise.
        more: the other arguments of `diagnose`.

    Raises:
        InvalidInputError: as `diagnose` does.
        LengthLimitError: likewise.

    """
    begin = setup(questions, student, teachers, verifier=verifier, budget=budget, **{**more, "progress": False})
    with begin.begun() as state:
        begin.tell(state, finished=False)
        state.begin()
        begin.tell(state, finished=False)
        return state.cost()
