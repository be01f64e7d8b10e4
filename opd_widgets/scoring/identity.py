"""What two scorings must have in common to be one run: who scores, what, under which settings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
from array_api_compat import to_device

from opd_widgets.data.plain import json_value
from opd_widgets.data.store_rollouts import hash_of, prompt_hash
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.protocol import is_scorer
from opd_widgets.models.teacher import plain_arguments

if TYPE_CHECKING:
    from opd_widgets.models.contexts import Context
    from opd_widgets.models.protocol import LanguageModel
    from opd_widgets.scoring.panel import Panel
    from opd_widgets.scoring.prepare import Task

PROBED = 8  # ids a model is asked about, and logits kept of each answer
ANSWERS = "answers"
_SHOWN = 3
# Largest difference of a logit between two answers of the same weights: another machine rounds otherwise.
_ROUNDING = {"float32": 1e-3, "float64": 1e-3}
_ROUNDING_HALF = 0.1


def identity_of(panel: Panel, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return it as values JSON can hold.

    A model is known by its name, sizes and provenance, and by its logits for a few ids: two checkpoints in folders of
    the same name are told apart. Models without `hidden` and `head` are known by name alone.
    """
    probed: dict[int, dict[str, Any]] = {}
    for model in (panel.student, *(teacher.model for teacher in panel.teachers.values())):
        if id(model) not in probed:
            probed[id(model)] = model_identity(model)
    questions = {task.rollout.question for task in tasks}
    teachers = {
        name: {
            "model": probed[id(teacher.model)],
            "context": _context(teacher.context, questions),
            "chat_template_kwargs": plain_arguments(teacher.chat_template_kwargs),
            "prompts": prompt_hash([task.prompts[name].ids for task in tasks]),
            **_respelled(tasks, name),
        }
        for name, teacher in panel.teachers.items()
    }
    rollouts = [task.rollout for task in tasks]
    identity = {
        "student": probed[id(panel.student)],
        "teachers": teachers,
        "options": asdict(panel.options),
        "rollouts": {"count": len(rollouts), "ids": [rollout.id for rollout in rollouts], "hash": hash_of(rollouts)},
    }
    plain: dict[str, Any] = json_value("what scores", identity)
    return plain


def _respelled(tasks: Sequence[Task], teacher: str) -> dict[str, str]:
    """Return the responses' name in a tokenizer that is not the student's; nothing for one that is."""
    read = [task.respelled[teacher].ids for task in tasks if teacher in task.respelled]
    return {"responses": prompt_hash(read)} if read else {}


def model_identity(model: LanguageModel) -> dict[str, Any]:
    """Return what a model is known by: name, sizes, provenance, and its logits for a few ids where it gives them."""
    return {
        "name": model.name,
        "vocab_size": model.vocab_size,
        "limit": model.limit,
        "provenance": asdict(model.provenance),
        ANSWERS: _answers(model),
        **({"full_vocabulary": model.full_vocabulary} if is_scorer(model) else {}),
    }


def _answers(model: LanguageModel) -> list[list[float]] | None:
    if not hasattr(model, "hidden") or not hasattr(model, "head"):
        return None
    ids = np.arange(min(PROBED, model.tokenizer.size), dtype=np.int32)
    logits = model.head(model.hidden([ids], [np.arange(len(ids))]))
    found: list[list[float]] = np.asarray(to_device(logits[:, :PROBED], "cpu"), np.float64).tolist()
    return found


def _context(context: Context | None, questions: set[str]) -> dict[str, Any] | None:
    """Return a context with the texts of the questions asked; of a function, its name: the prompts' hash tells more."""
    if context is None:
        return None
    parts: dict[str, Any] = {}
    for name, source in context.parts:
        if isinstance(source, Mapping):
            parts[name] = {question: text for question, text in source.items() if question in questions}
        else:
            parts[name] = source if isinstance(source, str) else f"function {getattr(source, '__name__', '?')}"
    return {"kind": context.kind, "placement": context.placement, "template": context.template, "texts": parts}


def check_same(run: Mapping[str, Any], now: Mapping[str, Any], where: str) -> None:
    """Refuse to continue a run that was begun with something else.

    Raises:
        InvalidInputError: they differ; the message names both sides of the first differences.

    """
    if not run:
        msg = f"the run at {where!r} was saved from memory, which nothing continues; choose another place"
        raise InvalidInputError(msg)
    found = first_of(differences("", run, now))
    if not found:
        return
    msg = (
        f"the run at {where!r} is another one: {found}. Expected what it was begun with; "
        "score into another folder, or the same again"
    )
    raise InvalidInputError(msg)


def first_of(found: Iterable[str]) -> str:
    """Return the first few differences in one text, and how many more there are; empty where there is none."""
    every = list(found)
    more = f"; and {len(every) - _SHOWN} more differences" if len(every) > _SHOWN else ""
    return "; ".join(every[:_SHOWN]) + more


def differences(name: str, run: Any, now: Any) -> Iterator[str]:
    """Yield in words where two identities differ; logits differ by more than another machine's rounding.

    Args:
        name: of the part that is compared; empty for the whole.
        run: what was.
        now: what is.

    """
    if isinstance(run, Mapping) and isinstance(now, Mapping):
        dtype = str((run.get("provenance") or {}).get("dtype"))
        for key in dict.fromkeys((*run, *now)):
            inner = f"{name}.{key}" if name else key
            if key == ANSWERS:
                yield from _other_weights(inner, run.get(key), now.get(key), _ROUNDING.get(dtype, _ROUNDING_HALF))
            else:
                yield from differences(inner, run.get(key), now.get(key))
    elif isinstance(run, list) and isinstance(now, list) and len(run) == len(now):
        for index, (one, other) in enumerate(zip(run, now, strict=True)):
            yield from differences(f"{name}[{index}]", one, other)
    elif run != now:
        yield f"{name} was {_short(run)} and is {_short(now)}"


def _other_weights(name: str, run: Any, now: Any, allowed: float) -> Iterator[str]:
    if run is None or now is None:
        return
    one, other = np.asarray(run, np.float64), np.asarray(now, np.float64)
    if one.shape != other.shape or not np.allclose(one, other, rtol=0, atol=allowed, equal_nan=True):
        who = name.removesuffix("." + ANSWERS)
        yield f"{who} has other weights: its first logit was {one.flat[0]:.6g} and is {other.flat[0]:.6g}"


def _short(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, Mapping):
        named = value.get("name") or (value.get("model") or {}).get("name")
        return repr(named) if named else f"a mapping of {', '.join(map(repr, value))}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
