"""What P_succ belongs to: a stored tree is continued only where student, prompts, verifier and length limit are its."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.plain import json_value
from opd_widgets.diagnosis.policies.model_policy import ModelPolicy
from opd_widgets.diagnosis.policies.policy import checked_logprobs
from opd_widgets.diagnosis.policies.served_policy import ServedPolicy
from opd_widgets.errors import InvalidInputError
from opd_widgets.scoring.identity import ANSWERS, differences, first_of, model_identity

if TYPE_CHECKING:
    from collections.abc import Callable

    from opd_widgets.data.question import Question
    from opd_widgets.diagnosis.policies.policy import Policy

KEPT = 8  # log-probabilities of the first token by which a policy that is no model is known


def identity_of(
    questions: Sequence[Question], policies: Sequence[Policy], verifier: Callable[..., Any], **numbers: Any
) -> dict[str, Any]:
    """Return it as values JSON can hold.

    Args:
        questions: what is asked.
        policies: the student's on each.
        verifier: who judges; known by its name and source.
        numbers: what else the rollouts depend on, such as the length limit and the seed.

    """
    asked = {
        question.id: {"answer": question.answer, **_prompt(policy)}
        for question, policy in zip(questions, policies, strict=True)
    }
    student = {**_speaker(policies[0], {}), **_tokenizer(policies[0])}
    found = {"student": student, "questions": asked, "verifier": _source(verifier), **numbers}
    plain: dict[str, Any] = json_value("what a diagnosis is of", found)
    return plain


def node_keys(teachers: Sequence[Mapping[str, Policy]], **numbers: Any) -> list[dict[str, Any]]:
    """Return by question what its nodes depend on, as values JSON can hold.

    Args:
        teachers: by question, the teachers' policies by name.
        numbers: what else they depend on, such as the least probability of a candidate.

    """
    asked: dict[int, dict[str, Any]] = {}
    keys = []
    for its in teachers:
        who = {name: {**_speaker(policy, asked), **_prompt(policy)} for name, policy in its.items()}
        keys.append(json_value("what nodes depend on", {"teachers": who, "order": list(its), **numbers}))
    return keys


def same(stored: Any, now: Any) -> bool:
    """Return whether two identities are one but for rounding."""
    return next(differences("", stored, now), None) is None


def check_same(stored: Mapping[str, Any], now: Mapping[str, Any], folder: Path) -> None:
    """Refuse to go on with the tree of another student, prompt, verifier, limit or seed.

    Raises:
        InvalidInputError: they differ; the message names both sides of the first differences.

    """
    if not stored:
        msg = f"the diagnosis at {str(folder)!r} was saved from memory, which nothing continues; choose another folder"
        raise InvalidInputError(msg)
    found = first_of(_unlike(stored, now))
    if found:
        msg = (
            f"the diagnosis at {str(folder)!r} is of something else: {found}. Success "
            "probabilities belong to one student, prompt, verifier and length limit. Give the same, or another folder"
        )
        raise InvalidInputError(msg)


def _unlike(stored: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Yield what differs in words, the questions and the verifier first: people change those most."""
    before, after = stored.get("questions", {}), now.get("questions", {})
    yield from (f"question {name!r} is not one of its questions" for name in after if name not in before)
    yield from (f"its question {name!r} is not asked" for name in before if name not in after)
    one, other = stored.get("verifier"), now.get("verifier")
    if one != other:
        names = [(part or {}).get("name", "?") for part in (one, other)]
        yield f"the verifier was {names[0]} and is {names[1]}" + (", of another source" if names[0] == names[1] else "")
    both = {name: (before[name], after[name]) for name in after if name in before}
    for name, (was, is_) in both.items():
        yield from differences(f"question {name!r}", was, is_)
    kept = [{key: part[key] for key in part if key not in {"questions", "verifier"}} for part in (stored, now)]
    yield from differences("", *kept)


def _prompt(policy: Policy) -> dict[str, Any]:
    if isinstance(policy, ModelPolicy | ServedPolicy):
        ids = np.asarray(policy.prompt, np.int32)
        return {"prompt": hashlib.blake2b(ids.tobytes(), digest_size=16).hexdigest()}
    first = checked_logprobs(policy.next_logprobs([np.zeros(0, np.int32)]), (1, policy.vocab_size))[0]
    return {"vocab_size": policy.vocab_size, "ends": sorted(policy.end_ids), ANSWERS: [first[:KEPT].tolist()]}


def _speaker(policy: Policy, asked: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Return what a policy's model is known by; a model is asked once."""
    if not isinstance(policy, ModelPolicy | ServedPolicy):
        return {"kind": type(policy).__name__}
    if id(policy.model) not in asked:
        asked[id(policy.model)] = model_identity(policy.model)
    return asked[id(policy.model)]


def _tokenizer(policy: Policy) -> dict[str, Any]:
    """Return what the student's tokenizer is known by: other ids or texts would give other verdicts."""
    if not isinstance(policy, ModelPolicy | ServedPolicy):
        return {}
    tokenizer = policy.model.tokenizer
    entries = json.dumps(sorted(tokenizer.vocabulary().items()))
    digest = hashlib.blake2b(entries.encode(), digest_size=8).hexdigest()
    return {"tokenizer": {"size": tokenizer.size, "ends": sorted(tokenizer.end_ids), "entries": digest}}


def _source(verifier: Callable[..., Any]) -> dict[str, Any]:
    """Return a function's name, bound arguments and a hash of its source, of an object those of its class."""
    inner, bound = verifier, []
    while isinstance(inner, partial):
        if inner.args or inner.keywords:
            bound.append(f"{inner.args!r} {sorted(inner.keywords.items())!r}")
        inner = inner.func
    named = inner if hasattr(inner, "__qualname__") else type(inner)
    name = f"{getattr(named, '__module__', '?')}.{getattr(named, '__qualname__', '?')}"
    known: dict[str, Any] = {"name": name, **({"bound": bound} if bound else {})}
    try:
        text = inspect.getsource(named)
    except (OSError, TypeError):
        return known
    return {**known, "source": hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}
