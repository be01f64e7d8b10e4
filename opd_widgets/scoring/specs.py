"""Student and teachers as a command line names them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from opd_widgets.errors import ContextError, InvalidInputError
from opd_widgets.models import contexts
from opd_widgets.models.teacher import Teacher

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Model

FORM = "NAME=MODEL[,context=FILE]"
_CONTEXT = ",context="


@dataclass(frozen=True)
class TeacherSpec:
    """A teacher before its model is loaded.

    Args:
        name: what to call it.
        model: a folder or a hub name.
        context: a file of privileged text; None where the teacher sees what the student sees.

    """

    name: str
    model: str
    context: Path | None = None

    @classmethod
    def parse(cls, text: str) -> TeacherSpec:
        """Read `NAME=MODEL[,context=FILE]`.

        Raises:
            InvalidInputError: of another form.

        """
        name, sign, rest = text.partition("=")
        model, _, file = rest.partition(_CONTEXT)
        if not (sign and name.strip() and model) or (_CONTEXT in rest and not file):
            msg = f"found the teacher {text!r}, expected {FORM}, such as 'Hint=Qwen/Qwen3-0.6B,context=hint.txt'"
            raise InvalidInputError(msg)
        return cls(name.strip(), model, Path(file).expanduser() if file else None)


def read_context(path: Path) -> contexts.Context:
    """Return the context a file holds: a `.txt` is one text for all questions, a `.json` maps question ids to texts.

    Raises:
        ContextError: no such file, one of another kind, or without text.

    """
    if path.suffix not in {".txt", ".json"}:
        msg = f"found the context file {str(path)!r}, expected a .txt (one text) or a .json (question id to text)"
        raise ContextError(msg)
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or error
        msg = f"the context file {str(path)!r} cannot be read: {why}; expected a text file in UTF-8"
        raise ContextError(msg) from error
    if path.suffix == ".txt":
        if not text.strip():
            msg = f"the context file {str(path)!r} is empty, expected a text; leave context= out where there is none"
            raise ContextError(msg)
        return contexts.free_text(text.strip())
    try:
        by_question = json.loads(text)
    except ValueError as error:
        msg = f"the context file {str(path)!r} is no JSON: {error}; expected an object from question id to text"
        raise ContextError(msg) from error
    if not isinstance(by_question, dict) or not all(isinstance(value, str) for value in by_question.values()):
        msg = f"the context file {str(path)!r} holds more than texts, expected an object from question id to text"
        raise ContextError(msg)
    return contexts.free_text(by_question)


def load_models(
    student: str, specs: Sequence[TeacherSpec], *, device: str | None = None, dtype: str | None = None
) -> tuple[Model, dict[str, Teacher]]:
    """Load the student and the teachers; a model named twice is loaded once, so the student's own teaches itself.

    Args:
        student: a folder or a hub name.
        specs: the teachers.
        device: for all of them.
        dtype: for all of them.

    Raises:
        InvalidInputError: two teachers of one name, or an unknown device or dtype.
        ContextError: a context file that cannot be used; said before a model is loaded.
        ModelLoadError: no model there.

    """
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            msg = f"found {names.count(name)} teachers named {name!r}, expected one; give each a name of its own"
            raise InvalidInputError(msg)
    given = {spec.name: None if spec.context is None else read_context(spec.context) for spec in specs}
    from opd_widgets.models.hf import HFModel  # loads torch, which a slip above need not wait for

    loaded: dict[str, Model] = {}
    for source in (student, *(spec.model for spec in specs)):
        if _place(source) not in loaded:
            loaded[_place(source)] = HFModel(source, device=device, dtype=dtype)
    teachers = {spec.name: Teacher(loaded[_place(spec.model)], context=given[spec.name]) for spec in specs}
    return loaded[_place(student)], teachers


def _place(source: str) -> str:
    """Return one name for the ways to write a folder; a hub name as it is."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source
