"""Student and teachers as a command line names them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from opd_widgets.errors import ContextError, InvalidInputError, TokenizerMismatchError
from opd_widgets.models import contexts
from opd_widgets.models.server import ServerModel
from opd_widgets.models.teacher import Teacher

if TYPE_CHECKING:
    from opd_widgets.models.protocol import Model, TokenScorer

FORM = "NAME=MODEL[,context=FILE]"
SERVED = "NAME=URL#MODEL[,context=FILE][,tokenizer=FOLDER][,key-env=VARIABLE]"
_OPTION = re.compile(r",(context|tokenizer|key-env)=")


@dataclass(frozen=True)
class TeacherSpec:
    """A teacher before its model is loaded.

    Args:
        name: what to call it.
        model: a folder or a hub name; or a server's URL, `#`, and the name it serves the model by.
        context: a file of privileged text; None where the teacher sees what the student sees.
        key_env: the environment variable that holds the server's key; None sends none.
        tokenizer: the folder or hub name of a served model's tokenizer; None where it is the student's.

    """

    name: str
    model: str
    context: Path | None = None
    key_env: str | None = None
    tokenizer: str | None = None

    @property
    def served(self) -> tuple[str, str] | None:
        """The server's URL and the model's name there; None for a model to be loaded here."""
        if not is_url(self.model):
            return None
        url, _, model = self.model.partition("#")
        return url, model

    @property
    def place(self) -> tuple[str | None, ...]:
        """One name for the ways to write where its model is, its key and its tokenizer."""
        return (self.model if self.served else _place(self.model)), self.key_env, self.tokenizer

    @classmethod
    def parse(cls, text: str) -> TeacherSpec:
        """Read `NAME=MODEL[,context=FILE]` or `NAME=URL#MODEL[,context=FILE][,tokenizer=FOLDER][,key-env=VARIABLE]`.

        Raises:
            InvalidInputError: of another form.

        """
        name, sign, rest = text.partition("=")
        model, *pairs = _OPTION.split(rest)
        options = dict(zip(pairs[::2], pairs[1::2], strict=True))
        if not (sign and name.strip() and model and all(options.values())) or len(pairs) != 2 * len(options):
            msg = f"found the teacher {text!r}, expected {FORM}, such as 'Hint=Qwen/Qwen3-0.6B,context=hint.txt'"
            raise InvalidInputError(msg)
        context = Path(options["context"]).expanduser() if "context" in options else None
        spec = cls(name.strip(), model, context, options.get("key-env"), options.get("tokenizer"))
        if spec.served and not all(spec.served):
            example = f"{spec.name}=http://127.0.0.1:8000/v1#Qwen3-32B"
            msg = f"found the teacher {text!r}, expected {SERVED}, such as {example!r}: a server may serve many models"
            raise InvalidInputError(msg)
        if not spec.served and (spec.key_env or spec.tokenizer):
            which = "key-env" if spec.key_env else "tokenizer"
            msg = f"found {which}= for the teacher {text!r}, which is loaded here; only one at a server's URL takes it"
            raise InvalidInputError(msg)
        return spec


def is_url(text: str) -> bool:
    """Return whether a model is named by a server's URL: no folder or hub name begins like one."""
    return text.lower().startswith(("http://", "https://"))


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

    A server is asked with the student's tokenizer or the one its teacher names, and shows before a teacher is loaded
    that its own is the same.

    Args:
        student: a folder or a hub name.
        specs: the teachers.
        device: for all that are loaded here.
        dtype: for all that are loaded here.

    Raises:
        InvalidInputError: two teachers of one name, a student behind a server, or an unknown device or dtype.
        ContextError: a context file that cannot be used; said before a model is loaded.
        ModelLoadError: no model there.
        ServerError: a server cannot be reached, or gives no prompt log-probabilities.
        TokenizerMismatchError: a server's tokenizer is not the one it is asked with.

    """
    if is_url(student):
        msg = (
            f"found the student {student!r}, expected a folder or a hub name: a student is scored here, for its whole "
            "distributions. Only a teacher can be on a server"
        )
        raise InvalidInputError(msg)
    own, teachers = load_speakers(TeacherSpec("student", student), specs, device=device, dtype=dtype)
    return cast("Model", own), teachers


def load_speakers(
    student: TeacherSpec, specs: Sequence[TeacherSpec], *, device: str | None = None, dtype: str | None = None
) -> tuple[Model | ServerModel, dict[str, Teacher]]:
    """Load the student, who may be on a server here, and the teachers; otherwise as `load_models`.

    Args:
        student: where the student is; on a server, with its tokenizer.
        specs: the teachers.
        device: for all that are loaded here.
        dtype: for all that are loaded here.

    Raises:
        InvalidInputError: as for `load_models`, or a student on a server without a tokenizer.
        ContextError: likewise.
        ModelLoadError: likewise.
        ServerError: likewise.
        TokenizerMismatchError: likewise.

    """
    names = [spec.name for spec in specs]
    for name in names:
        if names.count(name) > 1:
            msg = f"found {names.count(name)} teachers named {name!r}, expected one; give each a name of its own"
            raise InvalidInputError(msg)
    given = {spec.name: None if spec.context is None else read_context(spec.context) for spec in specs}
    if student.served and not student.tokenizer:
        msg = (
            f"found the student {student.model!r} on a server, expected URL#MODEL,tokenizer=FOLDER: texts are read here"
        )
        raise InvalidInputError(msg)
    from opd_widgets.models.hf import HFModel  # loads torch, which a slip above need not wait for

    own = _served(student, None) or HFModel(student.model, device=device, dtype=dtype)
    found: dict[tuple[str | None, ...], Model | TokenScorer] = {student.place: own}
    if student.served:  # as a teacher it need not name its tokenizer again
        found[student.model, student.key_env, None] = own
    for spec in sorted(specs, key=lambda spec: spec.served is None):  # a server that is down is found out first
        if spec.place not in found:
            found[spec.place] = _served(spec, own) or HFModel(spec.model, device=device, dtype=dtype)
    return own, {spec.name: Teacher(found[spec.place], context=given[spec.name]) for spec in specs}


def _served(spec: TeacherSpec, student: Model | ServerModel | None) -> ServerModel | None:
    """Return the model behind a server, which has shown that it can be asked; None where it is to be loaded here."""
    if spec.served is None:
        return None
    url, name = spec.served
    model = ServerModel(url, name, tokenizer=spec.tokenizer or student, api_key_env=spec.key_env)
    try:
        _ = model.limit  # asks it for the first time
    except TokenizerMismatchError as error:
        msg = (
            f"teacher {spec.name!r}: {error}. Without ,tokenizer=FOLDER the command asks a server with the student's "
            "tokenizer; name the folder or hub name of the served model's own"
        )
        raise TokenizerMismatchError(msg) from error
    return model


def _place(source: str) -> str:
    """Return one name for the ways to write a folder; a hub name as it is."""
    path = Path(source).expanduser()
    return str(path.resolve()) if path.exists() else source
