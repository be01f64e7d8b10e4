"""A Hugging Face tokenizer, asked only for what scoring and display need."""

from __future__ import annotations

import json
import re
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.byte_alphabet import decode_byte_level
from opd_widgets.data.piece import Piece
from opd_widgets.errors import ContextError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from opd_widgets.data.message import Message
    from opd_widgets.models.protocol import Ids, Tokenizer

_SPACE_MARK = "\u2581"  # SentencePiece writes a space so ...
_BYTE_TOKEN = re.compile("<0x[0-9A-F]{2}>")  # ... and a byte outside its vocabulary so


class HFTokenizer:
    """Wraps a transformers tokenizer (the object is handed in; nothing is imported here).

    Args:
        inner: a `PreTrainedTokenizerBase`.
        end_ids: further ids that end a response, from the model's generation settings.

    """

    def __init__(self, inner: Any, end_ids: Iterable[int] = ()) -> None:
        self.inner = inner
        own = [] if inner.eos_token_id is None else [int(inner.eos_token_id)]
        self._end_ids = frozenset([*own, *map(int, end_ids)])

    @cached_property
    def size(self) -> int:
        """Number of real token ids: one more than the largest."""
        return max(self.vocabulary().values()) + 1

    @property
    def template(self) -> str | None:
        """Source of its chat template; None where it brings none."""
        source = getattr(self.inner, "chat_template", None)
        return str(source) if source else None

    @property
    def has_template(self) -> bool:
        """Whether it brings a chat template."""
        return self.template is not None

    @property
    def end_ids(self) -> frozenset[int]:
        """Ids that end a response."""
        return self._end_ids

    @property
    def end_id(self) -> int | None:
        """The one of them that closes a text of its own; None where it has none."""
        found = self.inner.eos_token_id
        return None if found is None else int(found)

    @property
    def begin_id(self) -> int | None:
        """Id of its beginning-of-text token; None where it has none."""
        found = self.inner.bos_token_id
        return None if found is None else int(found)

    @property
    def pad_id(self) -> int | None:
        """Id of its padding token; None where it has none."""
        found = self.inner.pad_token_id
        return None if found is None else int(found)

    def encode(self, text: str) -> Ids:
        """Return the ids of a text as it stands: no special token is added.

        Raises:
            InvalidInputError: the text holds half a surrogate pair.

        """
        _check_unicode(text)
        return np.asarray(self.inner.encode(text, add_special_tokens=False), dtype=np.int32)

    def encode_prompt(self, text: str) -> Ids:
        """Return the ids of a plain prompt; a beginning-of-text token is added once, not twice.

        Raises:
            InvalidInputError: the text holds half a surrogate pair.

        """
        _check_unicode(text)
        bos = self.inner.bos_token
        starts_with_bos = bool(bos) and text.startswith(bos)
        ids = self.inner.encode(text, add_special_tokens=not starts_with_bos)
        if ids and ids[-1] == self.inner.eos_token_id and not text.endswith(self.inner.eos_token or "\0"):
            ids = ids[:-1]  # some tokenizers close every text; a prompt goes on
        return np.asarray(ids, dtype=np.int32)

    def decode(self, ids: Sequence[int] | Ids) -> str:
        """Return the text of ids, special tokens included."""
        return str(
            self.inner.decode(
                [int(token) for token in ids], skip_special_tokens=False, clean_up_tokenization_spaces=False
            )
        )

    def vocabulary(self) -> Mapping[str, int]:
        """Return all token strings with their ids."""
        return self._vocabulary

    @cached_property
    def _vocabulary(self) -> dict[str, int]:
        return dict(self.inner.get_vocab())

    @cached_property
    def _special(self) -> dict[int, str]:
        added = getattr(self.inner, "added_tokens_decoder", {})
        special = {int(token): str(entry.content) for token, entry in added.items() if entry.special}
        special.update(dict(zip(self.inner.all_special_ids, self.inner.all_special_tokens, strict=True)))
        return special

    @cached_property
    def _added(self) -> dict[int, str]:
        added = getattr(self.inner, "added_tokens_decoder", {})
        return {int(token): str(entry.content) for token, entry in added.items()}

    @cached_property
    def _decoder(self) -> str:
        backend = getattr(self.inner, "backend_tokenizer", None)
        return (
            json.dumps(json.loads(backend.to_str()).get("decoder") or {}, ensure_ascii=False)
            if backend is not None
            else ""
        )

    def piece(self, token: int) -> Piece:
        """Return what one id stands for: its bytes, or its name where it is special."""
        if token in self._special:
            return Piece.from_text(self._special[token], special=True)
        if token in self._added:  # added beside the vocabulary: never in the model's own alphabet
            name = self._added[token]
            return Piece.from_text(name, special=name.startswith("<") and name.endswith(">"))
        if token >= self.size:
            return Piece.from_text(f"<unused {token}>", special=True)
        return Piece(self._bytes(str(self.inner.convert_ids_to_tokens(token))))

    def _bytes(self, text: str) -> bytes:
        """Return the bytes of a token string, by the alphabet its tokenizer writes in."""
        if "ByteLevel" in self._decoder:
            data = decode_byte_level(text)
            return text.encode() if data is None else data
        if _BYTE_TOKEN.fullmatch(text):
            return bytes([int(text[3:5], 16)])
        spaced = _SPACE_MARK in self._decoder or "Metaspace" in self._decoder
        return (text.replace(_SPACE_MARK, " ") if spaced else text).encode("utf-8", "surrogatepass")

    def render(self, messages: Sequence[Message], options: Mapping[str, Any]) -> str:
        """Return the prompt that asks for the next assistant turn, by the tokenizer's own template.

        Without a template the turns' texts stand one after another.

        Raises:
            ContextError: the template refuses these turns.

        """
        if not self.has_template:
            return "\n".join(message.content for message in messages)
        try:
            return str(
                self.inner.apply_chat_template(
                    [message.to_dict() for message in messages],
                    tokenize=False,
                    add_generation_prompt=True,
                    **options,
                )
            )
        except Exception as error:
            roles = [message.role for message in messages]
            msg = f"the chat template of {self.inner.name_or_path!r} refused turns of roles {roles}: {error}"
            raise ContextError(msg) from error


def _check_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        msg = (
            f"found the lone surrogate U+{ord(text[error.start]):04X} at character {error.start} of {len(text)}, which "
            "no tokenizer can read; expected Unicode text. Give the token ids, or mend the text: "
            "text.encode('utf-16', 'surrogatepass').decode('utf-16', 'replace')"
        )
        raise InvalidInputError(msg) from error


def shared_tokens(student: Tokenizer, teacher: Tokenizer) -> int | None:
    """Return how many ids two tokenizers share, counting from 0; None where an id means two things: they are others."""
    if first_unlike(student, teacher) is not None:
        return None
    return min(student.size, teacher.size)


def first_unlike(student: Tokenizer, teacher: Tokenizer) -> tuple[int, str, str] | None:
    """Return the lowest id that means one token to the student and another to the teacher, with both; None if none."""
    if student is teacher or student.vocabulary() == teacher.vocabulary():
        return None
    theirs = {token: text for text, token in teacher.vocabulary().items()}
    unlike = ((token, text) for text, token in student.vocabulary().items() if theirs.get(token, text) != text)
    found = min(unlike, default=None)
    return None if found is None else (*found, theirs[found[0]])
