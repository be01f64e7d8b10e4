"""What a diagnosis is asked for, checked before anything is drawn or written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.diagnosis.policies.policy_of import Speaker, policy_of
from opd_widgets.diagnosis.run.about import about
from opd_widgets.diagnosis.run.fixed_nodes import fixed_nodes
from opd_widgets.diagnosis.run.identity import check_same, identity_of, node_keys, same
from opd_widgets.diagnosis.run.ledger import Ledger
from opd_widgets.diagnosis.run.progress import Progress
from opd_widgets.diagnosis.run.requests import Drawer
from opd_widgets.diagnosis.run.rounds import Plan, Rounds
from opd_widgets.diagnosis.settings import DiagnosisSettings
from opd_widgets.diagnosis.spending.strategies import Strategy, named, width
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.scoring.judging import Judge
from opd_widgets.scoring.sample import DEFAULT_NEW_TOKENS, checked_questions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.policies.policy import Policy
    from opd_widgets.diagnosis.tree import Prefix
    from opd_widgets.scoring.judging import Verifier


@dataclass(frozen=True, eq=False)
class Setup:
    """A diagnosis that can begin.

    Args:
        drawer: the questions with the student's policies, verifier, length limit and seed.
        student: who the student is.
        teachers: who the teachers are, by name.
        policies: by question, the teachers' policies by name.
        plan: how much is drawn.
        settings: how the result is read.
        ledger: where it is kept.
        identity: what the rollouts belong to.
        keys: by question, what its nodes depend on.
        nodes: by question, the nodes that were chosen beforehand.
        shown: whether a progress bar is.

    """

    drawer: Drawer
    student: Speaker
    teachers: Mapping[str, Speaker]
    policies: Sequence[Mapping[str, Policy]]
    plan: Plan
    settings: DiagnosisSettings
    ledger: Ledger
    identity: Mapping[str, Any]
    keys: Sequence[Mapping[str, Any]]
    nodes: Mapping[int, Sequence[Prefix]]
    shown: bool

    @contextmanager
    def begun(self, look: Callable[[Rounds], None] | None = None) -> Iterator[Rounds]:
        """Yield the rounds, with everything that the folder has; no other process writes there meanwhile.

        Args:
            look: called in place of the progress bar.

        Raises:
            InvalidInputError: another process writes there, or the folder is of another diagnosis.
            ReadError: a file there is damaged.

        """
        ledger = self.ledger
        with ledger.only_writer(), Progress(self.plan, self.settings, shown=self.shown) as bar:
            manifest = ledger.manifest
            ledger.read()
            if manifest is not None and ledger.folder is not None:
                stored = manifest["identity"]
                if not (stored and ledger.empty):
                    check_same(stored, self.identity, ledger.folder)
                elif not same(stored, self.identity):  # nothing was drawn: the folder binds nobody
                    ledger.forget_decisions()
            ledger.clean()
            yield self.rounds(look or bar)

    def rounds(self, look: Callable[[Rounds], None] = lambda _: None) -> Rounds:
        """Return the rounds with what the ledger has by now."""
        return Rounds(self.drawer, self.policies, self.plan, self.ledger, look, fixed=self.nodes, keys=self.keys)

    def carry_out(self, state: Rounds) -> None:
        """Draw what is to be drawn, and write what is to be known of it on the way."""
        self.tell(state, finished=False)
        state.prepare()
        self.tell(state, finished=False)
        state.spend()

    def told(self, state: Rounds, *, finished: bool) -> dict[str, Any]:
        """Return what the result tells of itself."""
        cost = state.cost() if state.probed else None
        return about(state, self.teachers, self.student, cost, finished=finished)

    def tell(self, state: Rounds, *, finished: bool) -> dict[str, Any]:
        """Write what is to be known of the run; return what its result tells of itself."""
        told = self.told(state, finished=finished)
        self.ledger.write_manifest(
            {
                "identity": self.identity,
                "questions": [
                    {"id": one.id, "title": one.title, "answer": one.answer} for one in self.drawer.questions
                ],
                "settings": asdict(self.settings),
                "finished": finished,
                "about": told,
            }
        )
        return told


def setup(
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
) -> Setup:
    """Check everything and ask student and teachers who they are. The arguments are those of `diagnose`.

    Raises:
        InvalidInputError: an argument that cannot be, or a teacher of another tokenizer.
        LengthLimitError: a prompt and `max_new_tokens` are more than the student or a teacher takes.

    """
    asked = checked_questions(questions)
    named = _teachers(teachers)
    plan = Plan(budget, initial, held_out, spending, rounds, batch_rows, important, max_nodes)
    _check(plan, seed, verifier, verifier_timeout)
    setting = DiagnosisSettings(seed=seed) if settings is None else settings
    if not isinstance(setting, DiagnosisSettings):
        msg = (
            f"found settings of type {type(setting).__name__}, expected opd.DiagnosisSettings(estimator=..., loss=...)"
        )
        raise InvalidInputError(msg)
    if out is not None and not isinstance(out, str | Path):
        msg = f"found out of type {type(out).__name__}, expected a folder's path, or None to keep nothing"
        raise InvalidInputError(msg)
    if not callable(checkpoint):
        msg = f"found checkpoint of type {type(checkpoint).__name__}, expected a function without arguments"
        raise InvalidInputError(msg)
    if plan.spending == "width":
        plan = replace(plan, spending=width(setting.loss, setting.beta))
    ledger = Ledger(None if out is None else Path(out).expanduser())
    policies = [policy_of(student, question) for question in asked]
    theirs = [{name: policy_of(who, question, student) for name, who in named.items()} for question in asked]
    begun = (ledger.manifest or {}).get("identity", {})
    limit = _limit(max_new_tokens, begun.get("max_new_tokens"), policies, theirs)
    _check_rooms(asked, policies, theirs, limit)
    return Setup(
        drawer=Drawer(asked, policies, Judge(verifier, timeout=verifier_timeout), limit, int(seed), checkpoint),
        student=student,
        teachers=named,
        policies=theirs,
        plan=plan,
        settings=setting,
        ledger=ledger,
        identity=identity_of(asked, policies, verifier, max_new_tokens=limit, seed=int(seed)),
        keys=node_keys(theirs, important=important, max_nodes=max_nodes),
        nodes=fixed_nodes(nodes, asked, limit),
        shown=progress,
    )


def _teachers(given: Any) -> dict[str, Speaker]:
    if not isinstance(given, Mapping) or not given:
        msg = (
            f"found teachers={given!r:.80}, expected at least one by name, such as {{'Hint': opd.Teacher(student, "
            "context=...)}"
        )
        raise InvalidInputError(msg)
    for name in given:
        if not isinstance(name, str) or not name.strip():
            msg = f"found a teacher named {name!r}, expected a name of at least one character"
            raise InvalidInputError(msg)
    return dict(given)


def _check(plan: Plan, seed: object, verifier: object, timeout: Any) -> None:
    important: Any = plan.important
    least = {"budget": 1, "rounds": 1, "batch_rows": 1, "max_nodes": 1, "held_out": 0}
    if plan.initial is not None:
        least["initial"] = 1
    for name, bound in least.items():
        value = getattr(plan, name)
        if not _whole(value) or value < bound:
            msg = f"found {name}={value!r}, expected a whole number of at least {bound}"
            raise InvalidInputError(msg)
    if not isinstance(seed, int | np.integer) or not _whole(seed) or seed < 0:
        msg = f"found seed={seed!r}, expected a whole number of at least 0"
        raise InvalidInputError(msg)
    named(plan.spending)
    if not isinstance(important, float | int) or not 0 < important < 1:
        msg = f"found important={important!r}, expected a probability between 0 and 1, such as 0.02"
        raise InvalidInputError(msg)
    if not callable(verifier):
        msg = f"found a verifier of type {type(verifier).__name__}, expected a function of (question, response text)"
        raise InvalidInputError(msg)
    if timeout is not None and (not isinstance(timeout, float | int) or not timeout > 0):
        msg = f"found verifier_timeout={timeout!r}, expected seconds above 0, or None to wait without end"
        raise InvalidInputError(msg)


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _limit(
    asked: int | None, stored: int | None, policies: Sequence[Policy], teachers: Sequence[Mapping[str, Policy]]
) -> int:
    """Return the longest response: as asked, as the run was begun, or what there is room for after every prompt."""
    if asked is not None:
        if not _whole(asked) or asked < 1:
            msg = f"found max_new_tokens={asked!r}, expected a whole number of at least 1"
            raise InvalidInputError(msg)
        return int(asked)
    if stored is not None:
        return stored
    everyone = [one for policy, others in zip(policies, teachers, strict=True) for one in (policy, *others.values())]
    rooms = [room for one in everyone if (room := _room(one)) is not None]
    return max(1, min([DEFAULT_NEW_TOKENS, *rooms]))


def _room(policy: Policy) -> int | None:
    """Return how many tokens a model takes after its prompt; None where there is no limit, or none is known."""
    limit = getattr(getattr(policy, "model", None), "limit", None)
    return None if limit is None else int(limit) - len(policy.prompt)  # type: ignore[attr-defined]  # of a model


def _check_rooms(
    questions: Sequence[Question], policies: Sequence[Policy], teachers: Sequence[Mapping[str, Policy]], new: int
) -> None:
    """Refuse a response that is longer than somebody takes; the message is about the one with the least room."""
    rooms = [
        (room, name, question, one)
        for question, policy, others in zip(questions, policies, teachers, strict=True)
        for name, one in (("student", policy), *((f"teacher {name!r}", one) for name, one in others.items()))
        if (room := _room(one)) is not None
    ]
    if not rooms:
        return
    room, name, question, one = min(rooms, key=lambda found: found[0])
    if new <= room:
        return
    prompt = len(one.prompt)  # type: ignore[attr-defined]  # a policy with room has a prompt
    way = f"Ask for max_new_tokens={room} or less" if room > 0 else "The prompt alone leaves no room: shorten it"
    msg = (
        f"the {name} takes {room + prompt} tokens and question {question.id!r} needs {prompt + new}: a prompt of "
        f"{prompt}, and max_new_tokens={new}. Nothing is cut. {way}, or choose a longer model"
    )
    raise LengthLimitError(msg)
