"""Text made into token ids again, and said so: which tokens the student really wrote is then a guess."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from opd_widgets.data.message import Message
from opd_widgets.data.rollout import Rollout
from opd_widgets.errors import InvalidInputError, RolloutError

Ids = NDArray[np.int32]
DIFFERS = "retokenising_differs"  # the metadata's entry that names the first place where the text does not come back
NO_PROMPT = "prompt_unknown"  # the metadata's entry of a rollout that came without what the student was asked
LEFT_OUT = (
    "tracks_left_out"  # the metadata's entry that names the tracks of a text's own tokens, which its new ids have not
)
_SHOWN = 12  # characters of each text shown where they differ


class TextTokenizer(Protocol):
    """What making ids of text needs."""

    @property
    def has_template(self) -> bool:
        """Whether it brings a chat template."""

    def encode(self, text: str) -> Ids:
        """Return the ids of a text as it stands."""

    def encode_prompt(self, text: str) -> Ids:
        """Return the ids of a plain prompt, with a beginning-of-text token."""

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of ids."""

    def render(self, messages: Sequence[Message], options: Mapping[str, Any]) -> str:
        """Return the prompt that asks for the next assistant turn."""


class PlainTokenizer:
    """Any object with `encode` and `decode`, such as a tokenizer of transformers or tokenizers, for text only.

    Args:
        inner: its `encode` gives ids, or something that has them under `ids`; no special token is asked for. Chat turns
            need its `apply_chat_template`.

    Raises:
        InvalidInputError: it has no such methods, or is set to cut or fill up what it encodes.

    """

    def __init__(self, inner: Any) -> None:
        if not all(callable(getattr(inner, name, None)) for name in ("encode", "decode")):
            msg = f"found a tokenizer of type {type(inner).__name__}, expected an object with encode and decode"
            raise InvalidInputError(msg)
        for what in ("truncation", "padding"):
            if isinstance(getattr(inner, what, None), Mapping):  # as `tokenizers` says it; a saved file brings it along
                msg = (
                    f"found a tokenizer set to {what} {dict(getattr(inner, what))}, expected one that leaves a text's "
                    f"length alone: call its no_{what}() first"
                )
                raise InvalidInputError(msg)
        self._inner = inner

    @cached_property
    def _front(self) -> list[int]:
        """What the tokenizer puts before a text by itself, mostly nothing or one beginning-of-text token."""
        plain, whole = self._ids("a", special=False).tolist(), self._ids("a", special=True).tolist()
        starts = range(len(whole) - len(plain) + 1)
        return next((whole[:start] for start in starts if whole[start : start + len(plain)] == plain), [])

    @property
    def has_template(self) -> bool:
        """Whether it brings a chat template."""
        return bool(getattr(self._inner, "chat_template", None))

    def encode(self, text: str) -> Ids:
        """Return the ids of a text as it stands."""
        return self._ids(text, special=False)

    def encode_prompt(self, text: str) -> Ids:
        """Return the ids of a plain prompt: with a beginning-of-text token, once, and no token that closes the text."""
        plain, front = self._ids(text, special=False), self._front
        return plain if plain[: len(front)].tolist() == front else np.asarray([*front, *plain], np.int32)

    def _ids(self, text: str, *, special: bool) -> Ids:
        try:
            found = self._inner.encode(text, add_special_tokens=special)
        except TypeError:  # it knows no special tokens to leave out
            found = self._inner.encode(text)
        return np.asarray(getattr(found, "ids", found), np.int32)

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of ids, special tokens included."""
        plain = [int(token) for token in ids]
        try:
            return str(self._inner.decode(plain, skip_special_tokens=False))
        except TypeError:
            return str(self._inner.decode(plain))

    def render(self, messages: Sequence[Message], options: Mapping[str, Any]) -> str:
        """Return the prompt that asks for the next assistant turn; without a template, the turns' texts."""
        if not self.has_template:
            return "\n".join(message.content for message in messages)
        turns = [message.to_dict() for message in messages]
        return str(self._inner.apply_chat_template(turns, tokenize=False, add_generation_prompt=True, **options))


def text_tokenizer(tokenizer: Any) -> TextTokenizer:
    """Return a tokenizer in the form used here; this package's own are it already, a model stands for its own.

    Raises:
        InvalidInputError: no tokenizer.

    """
    own = getattr(tokenizer, "tokenizer", tokenizer)
    if all(hasattr(own, name) for name in ("encode", "encode_prompt", "decode", "render", "has_template")):
        made: TextTokenizer = own
        return made
    return PlainTokenizer(own)


def render_ids(messages: Sequence[Message], tokenizer: TextTokenizer, options: Mapping[str, Any]) -> Ids:
    """Return the ids of a rendered conversation; a chat template writes its own beginning-of-text token."""
    text = tokenizer.render(messages, options)
    return tokenizer.encode(text) if tokenizer.has_template else tokenizer.encode_prompt(text)


def tokenised(rollout: Rollout, tokenizer: TextTokenizer) -> Rollout:
    """Return the rollout with ids. Those it came with are kept, with their mask and tracks.

    Text is tokenised and marked "retokenised"; tracks and token strings of the text's own tokens cannot follow and are
    left out: the metadata's entry `tracks_left_out` names the tracks. Where the ids do not give the text back, the
    metadata's entry `retokenising_differs` names the first place.
    A response that came without any prompt stands after an empty one, and the entry `prompt_unknown` says so.

    Raises:
        RolloutError: a conversation that the chat template does not render turn by turn.

    """
    if rollout.has_ids:
        return rollout
    if all(part is None for part in (rollout.prompt_ids, rollout.messages, rollout.turns, rollout.prompt_text)):
        rollout = replace(rollout, metadata={**rollout.metadata, NO_PROMPT: True})
    if rollout.response_ids is not None:
        return replace(rollout, prompt_ids=_prompt_ids(rollout, tokenizer))
    if rollout.turns is not None:
        return _tokenised_turns(rollout, rollout.turns, tokenizer)
    prompt = rollout.prompt_ids if rollout.prompt_ids is not None else _prompt_ids(rollout, tokenizer)
    text = rollout.response_text or ""
    response = tokenizer.encode(text)
    return replace(
        rollout,
        prompt_ids=prompt,
        response_ids=response,
        tokens=None,
        token_bytes=None,
        response_mask=None,
        tracks={},
        text_source="retokenised",
        metadata=_told(rollout, [_difference("the response", text, tokenizer.decode(response))]),
    )


def _prompt_ids(rollout: Rollout, tokenizer: TextTokenizer) -> Ids:
    if rollout.messages is not None:
        return render_ids(rollout.messages, tokenizer, {})
    return tokenizer.encode_prompt(rollout.prompt_text or "")


def _tokenised_turns(rollout: Rollout, turns: tuple[Message, ...], tokenizer: TextTokenizer) -> Rollout:
    """Tokenise a conversation: the student's turns count, what stands between them does not.

    Each stretch is tokenised by itself, so that no token crosses a role boundary. What follows the last assistant turn
    is nobody's response and is left out.
    """
    own = [index for index, turn in enumerate(turns) if turn.role == "assistant"]
    if not own:
        msg = f"rollout {rollout.id!r} has no assistant turn; expected the student's response as one"
        raise RolloutError(msg)
    written = tokenizer.render(turns[: own[0]], {})
    pieces, counted, differences = [], [], []
    for index in own:
        rendered = tokenizer.render(turns[:index], {})
        if not rendered.startswith(written):
            msg = (
                f"rollout {rollout.id!r}: the chat template rewrites earlier turns once turn {index} follows, so their "
                "tokens cannot be told from text. Give the rollout's token ids"
            )
            raise RolloutError(msg)
        between = tokenizer.encode(rendered[len(written) :])
        said = tokenizer.encode(turns[index].content)
        differences.append(_difference(f"turn {index}", turns[index].content, tokenizer.decode(said)))
        pieces += [between, said]
        counted += [np.zeros(len(between), bool), np.ones(len(said), bool)]
        written = rendered + turns[index].content
    return replace(
        rollout,
        prompt_ids=render_ids(turns[: own[0]], tokenizer, {}),
        response_ids=np.concatenate(pieces),
        response_mask=np.concatenate(counted),
        tokens=None,
        token_bytes=None,
        tracks={},
        messages=rollout.messages if rollout.messages is not None else turns[: own[0]],
        text_source="retokenised",
        metadata=_told(rollout, differences),
    )


def _difference(what: str, text: str, back: str) -> str | None:
    """Say where a text first differs from what its ids give back; None where they are the same."""
    if text == back:
        return None
    same = (index for index, (one, two) in enumerate(zip(text, back, strict=False)) if one != two)
    at = next(same, min(len(text), len(back)))
    return f"{what} from character {at}: {text[at : at + _SHOWN]!r} came back as {back[at : at + _SHOWN]!r}"


def _told(rollout: Rollout, differences: Sequence[str | None]) -> Mapping[str, Any]:
    """Return the metadata with what making ids of the text has lost."""
    first = next((difference for difference in differences if difference), None)
    lost = {} if first is None else {DIFFERS: first}
    return {**rollout.metadata, **lost, **({LEFT_OUT: sorted(rollout.tracks)} if rollout.tracks else {})}
