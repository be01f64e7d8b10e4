"""Who scores, and how: the student, the teachers and the sizes of the work."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from opd_widgets.errors import InvalidInputError
from opd_widgets.measures.signal import SignalSettings
from opd_widgets.models.protocol import LanguageModel, Model, TokenScorer, is_scorer
from opd_widgets.models.teacher import Teacher
from opd_widgets.models.tokenizer import shared_tokens
from opd_widgets.scoring.served_answers import Answers

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout
    from opd_widgets.models.protocol import Kept, Padding

STUDENT = ""  # stands for the student where teachers stand by name; no teacher may be called so


@dataclass(frozen=True)
class Options:
    """How scoring goes about it.

    Args:
        top_k: how many of the likeliest tokens to keep of either side.
        chunk_tokens: response tokens whose vocabulary rows exist at one time, at most; fewer for a large vocabulary.
        batch_tokens: padded tokens of one forward pass.
        batch_rows: rollouts of one forward pass; None leaves it to `batch_tokens`.
        fuse: whether PyTorch's compiler puts the measures into few passes. Its first use takes tens of seconds, and it
            needs Triton on a GPU or a C++ compiler on a CPU: worth it where much is scored, of a large vocabulary.
        padding: the side on which shorter rollouts are filled up; the scores do not depend on it.
        settings: parameters of the signals.

    Raises:
        InvalidInputError: a size below 1.

    """

    top_k: int = 20
    chunk_tokens: int = 4096
    batch_tokens: int = 8192
    batch_rows: int | None = None
    fuse: bool = False
    padding: Padding = "right"
    settings: SignalSettings = field(default_factory=SignalSettings)

    def __post_init__(self) -> None:
        """Refuse sizes that would score nothing, and settings that contradict each other."""
        for name in ("top_k", "chunk_tokens", "batch_tokens", "batch_rows"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                msg = f"found {name}={value!r}, expected a whole number of at least 1"
                raise InvalidInputError(msg)
        if self.padding not in {"left", "right"}:
            msg = f"found padding={self.padding!r}, expected 'left' or 'right'"
            raise InvalidInputError(msg)
        if self.settings.overlap_k > self.top_k:
            found = f"overlap_k={self.settings.overlap_k} and top_k={self.top_k}"
            msg = f"found {found}; expected top_k to be at least as large"
            raise InvalidInputError(msg)

    def to_dict(self) -> dict[str, Any]:
        """Return what the numbers depend on, as plain values: what a run carries along."""
        return {**self.settings.to_dict(), "top_k": self.top_k}

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Options:
        """Return the options under which scores with these `settings` were made."""
        rest = dict(settings)
        top_k = int(rest.pop("top_k", cls.top_k))
        return cls(top_k=top_k, settings=SignalSettings(**rest))


@dataclass(frozen=True, eq=False)
class Panel:
    """A student and teachers that fit each other.

    Args:
        student: who wrote the rollouts.
        teachers: by name.
        options: sizes and signal parameters.
        shared: by teacher, how many token ids it has in common with the student; a teacher of another tokenizer is not
            among them, and compared in groups of equal text.
        answers: where answers of servers are kept while the work goes on; None asks anew each time.

    """

    student: Model
    teachers: Mapping[str, Teacher]
    options: Options
    shared: Mapping[str, int]
    answers: Answers | None = field(default_factory=Answers)

    @classmethod
    def of(cls, student: Model, teachers: Mapping[str, Teacher], options: Options | None = None) -> Panel:
        """Return a panel, checked.

        Raises:
            InvalidInputError: something that is not a teacher.

        """
        if not isinstance(teachers, Mapping):
            msg = f"found teachers of type {type(teachers).__name__}, expected a mapping from name to opd.Teacher"
            raise InvalidInputError(msg)
        if is_scorer(student):
            msg = (
                f"found a student of type {type(student).__name__}, whose hidden states are not here; expected a local "
                "Model such as opd.HFModel(path). A server's model can be a teacher"
            )
            raise InvalidInputError(msg)
        if not isinstance(student, Model):
            msg = f"found a student of type {type(student).__name__}, expected a Model such as opd.HFModel(path)"
            raise InvalidInputError(msg)
        for name, teacher in teachers.items():
            if not name or type(name) is not str:
                msg = f"found {name!r} as a teacher's name, expected a string that is not empty"
                raise InvalidInputError(msg)
            if not isinstance(teacher, Teacher):
                msg = f"teacher {name!r} is of type {type(teacher).__name__}, expected opd.Teacher(model, context=...)"
                raise InvalidInputError(msg)
        shared = {}
        for name, teacher in teachers.items():
            count = shared_tokens(student.tokenizer, teacher.model.tokenizer)
            if count is not None:
                shared[name] = count
        return cls(student, dict(teachers), options or Options(), shared)

    def reading(self, rollouts: Iterable[Rollout]) -> Panel:
        """Return the panel for these rollouts: a teacher whose tokenizer lacks one of their tokens is of another.

        Such a teacher has no row for the token, or one that was never trained; the text it can read.
        """
        real = self.student.tokenizer.size
        responses = [rollout.response_ids for rollout in rollouts if rollout.response_ids is not None]
        used = max((int(ids[ids < real].max()) for ids in responses if (ids < real).any()), default=-1)
        return replace(self, shared={name: n for name, n in self.shared.items() if n > used})

    def only(self, teacher: str) -> Panel:
        """Return the panel with one of its teachers.

        Raises:
            InvalidInputError: there is no such teacher.

        """
        if teacher not in self.teachers:
            msg = f"no teacher {teacher!r}; there are {list(self.teachers)}"
            raise InvalidInputError(msg)
        one = {teacher: self.teachers[teacher]}
        shared = {who: n for who, n in self.shared.items() if who == teacher}
        return Panel(self.student, one, self.options, shared, self.answers)

    def model(self, who: str) -> LanguageModel:
        """Return the model of a teacher, or the student's for `STUDENT`."""
        return self.student if who == STUDENT else self.teachers[who].model

    @property
    def local(self) -> dict[str, Model]:
        """Those of the student's tokenizer whose hidden states are here, the student first under `STUDENT`, by name."""
        models = {STUDENT: self.student, **{name: self.teachers[name].model for name in self.shared}}
        return {name: model for name, model in models.items() if not is_scorer(model) and isinstance(model, Model)}

    @property
    def scorers(self) -> dict[str, TokenScorer]:
        """Teachers of the student's tokenizer that are behind servers, by name."""
        models = {name: self.teachers[name].model for name in self.shared}
        return {name: model for name, model in models.items() if is_scorer(model)}

    def kept(self, teacher: str) -> Kept | None:
        """Return what a teacher behind a server has answered so far in this work; None where nothing is kept."""
        model = self.teachers[teacher].model
        return self.answers.of(teacher, model) if self.answers is not None and is_scorer(model) else None

    def forget(self) -> None:
        """Drop what servers have answered and models have kept: the work is done."""
        self.forget_answers()
        for model in (self.student, *(teacher.model for teacher in self.teachers.values())):
            if isinstance(model, Model):
                model.release()

    def forget_answers(self) -> None:
        """Drop what servers have answered: it is in the scores."""
        if self.answers is not None:
            models = [teacher.model for teacher in self.teachers.values()]
            self.answers.forget([model for model in models if is_scorer(model)])

    @property
    def foreign(self) -> dict[str, Teacher]:
        """Teachers of another tokenizer, by name."""
        return {name: teacher for name, teacher in self.teachers.items() if name not in self.shared}
