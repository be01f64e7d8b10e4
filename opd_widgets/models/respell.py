"""The student's response in the tokens of a teacher that has another tokenizer.

The teacher reads the same text. Each turn (a run of tokens with one `response_mask`) is encoded by itself, and within
it each stretch between special tokens, so that no token of the teacher crosses such an edge and a misfit stays where it
is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.crosstok import NO_GROUP, Alignment, Span, meet_spans
from opd_widgets.data.scored import OwnTokens
from opd_widgets.errors import ContextError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.data.message import Message
    from opd_widgets.data.piece import Piece
    from opd_widgets.models.protocol import Ids, Tokenizer


@dataclass(frozen=True, eq=False)
class Respelled:
    """A response as a teacher of another tokenizer reads it.

    Args:
        ids: int32 [T], in the teacher's vocabulary.
        alignment: the groups in which they are compared with the student's R tokens.
        tokenizer: the teacher's.

    """

    ids: Ids
    alignment: Alignment
    tokenizer: Tokenizer

    def own_tokens(self, prompt: Ids) -> OwnTokens:
        """Return the record of what the teacher read, its prompt's ids among what is spelled out."""
        used = np.unique(np.concatenate([prompt, self.ids])).tolist()
        pieces = {token: self.tokenizer.piece(token) for token in used}
        return OwnTokens(self.ids, self.alignment.teacher, pieces)


def respell(
    response: Ids,
    counted: NDArray[np.bool_],
    student: Tokenizer,
    teacher: Tokenizer,
    between: Sequence[str] | None = None,
) -> Respelled:
    """Return a response in the teacher's tokens, and how they lie along the student's.

    - Text is compared in groups of equal bytes. What the teacher's tokenizer does not give back (an unknown character,
      half a character) is not comparable; neither is a student's token that reaches into it.
    - A special token is compared with a special token of the same name. Where the teacher has none, it reads the name
      as text, and that is not comparable.
    - A token that ends the student's turn corresponds to the one that ends the teacher's.
    - What stands between the student's turns is what the teacher's own template writes there, where that is known: it
      is nobody's response, and not comparable.

    Args:
        response: int32 [R], the student's tokens.
        counted: bool [R], the `response_mask`; its runs are the turns.
        student: the tokenizer it was written with.
        teacher: the one it is read with.
        between: what its template writes between the student's turns, in order, as `between_turns` finds it.

    """
    writer = _Writer(student, teacher)
    edges = np.flatnonzero(np.diff(counted)) + 1
    turns = [turn.tolist() for turn in np.split(np.asarray(response, np.int32), edges)]
    known = between is not None and len(turns) == 2 * len(between) + 1 and bool(np.any(counted[:1]))
    for place, turn in enumerate(turns):
        if between is not None and known and place % 2:
            writer.template(len(turn), between[place // 2])
        else:
            writer.turn(turn)
    return Respelled(
        np.asarray(writer.ids, np.int32),
        Alignment(np.asarray(writer.student_groups, np.int32), np.asarray(writer.teacher_groups, np.int32)),
        teacher,
    )


def between_turns(turns: Sequence[Message], tokenizer: Tokenizer, options: Mapping[str, Any]) -> list[str] | None:
    """Return what a chat template writes between one assistant turn and the next, in order.

    None where it does not say: without a template, where it refuses the turns, or where it writes earlier turns anew
    once later ones follow.

    Args:
        turns: the whole conversation.
        tokenizer: whose template.
        options: its arguments.

    """
    own = [index for index, turn in enumerate(turns) if turn.role == "assistant"]
    if not tokenizer.has_template or not own:
        return None
    found = []
    try:
        for before, index in pairwise(own):
            said = tokenizer.render(turns[:before], options) + turns[before].content
            rendered = tokenizer.render(turns[:index], options)
            if not rendered.startswith(said):
                return None
            found.append(rendered[len(said) :])
    except ContextError:
        return None
    return found


@dataclass
class _Writer:
    student: Tokenizer
    teacher: Tokenizer
    ids: list[int] = field(default_factory=list)
    student_groups: list[int] = field(default_factory=list)
    teacher_groups: list[int] = field(default_factory=list)
    groups: int = 0
    _known: dict[str, bool] = field(default_factory=dict)

    def turn(self, tokens: Sequence[int]) -> None:
        stretch: list[Piece] = []
        for place, token in enumerate(tokens):
            piece = self.student.piece(token)
            if not piece.special:
                stretch.append(piece)
                continue
            self._text([one.data for one in stretch])
            stretch = []
            ends = place == len(tokens) - 1 and token in self.student.end_ids
            self._special(piece.data.decode("utf-8", "replace"), ends=ends)
        self._text([one.data for one in stretch])

    def template(self, tokens: int, text: str) -> None:
        """Write what the teacher's template puts in the place of some of the student's tokens."""
        end = None if self.teacher.end_id is None else self.teacher.piece(self.teacher.end_id).data.decode()
        if end and self.ids and self.ids[-1] == self.teacher.end_id:
            text = text.removeprefix(end)  # the student's turn came with its end
        written = self.teacher.encode(text).tolist() if text else []
        self._put(written, [NO_GROUP] * tokens, [NO_GROUP] * len(written))

    def _special(self, name: str, *, ends: bool) -> None:
        """Write a special token: the teacher's own of that name, its end for an end, or the name as text."""
        same = self.teacher.vocabulary().get(name)
        if same is not None and not self.teacher.piece(same).special:
            same = None
        if ends and same not in self.teacher.end_ids and self.teacher.end_id is not None:
            same = self.teacher.end_id
        if same is not None:
            self._put([same], [0], [0])
        elif name in self.student.vocabulary():  # an id that names no token says nothing
            spelled = self.teacher.encode(name).tolist()
            self._put(spelled, [NO_GROUP], [NO_GROUP] * len(spelled))
        else:
            self._put([], [NO_GROUP], [])

    def _text(self, data: Sequence[bytes]) -> None:
        """Write a stretch of text."""
        ids: list[int] = []
        spans: list[Span | None] = []
        for start, text in _texts(b"".join(data)):
            for token, span in self._read(start, text):
                ids.append(token)
                spans.append(span)
        met = meet_spans(data, spans)
        self._put(ids, met.student.tolist(), met.teacher.tolist())

    def _put(self, ids: Sequence[int], student: Sequence[int], teacher: Sequence[int]) -> None:
        def number(group: int) -> int:
            return group if group == NO_GROUP else group + self.groups

        self.ids += ids
        self.student_groups += map(number, student)
        self.teacher_groups += map(number, teacher)
        self.groups += max(student, default=NO_GROUP) + 1

    def _read(self, start: int, text: str | None) -> Iterator[tuple[int, Span | None]]:
        """Yield the teacher's tokens of a text, each with the bytes it stands for, counted from `start` on.

        Where the text does not come back whole, it is cut round the characters that do not come back by themselves.
        """
        if text is None:  # bytes that are no text: the teacher reads what a decoder makes of them
            yield from ((token, None) for token in self.teacher.encode("\ufffd").tolist())
            return
        found = self._encode(start, text)
        if found is not None:
            yield from found
            return
        for run in _runs(text, self._comes_back):
            cut = self._encode(start, run) if self._comes_back(run[0]) else None
            yield from cut or ((token, None) for token in self.teacher.encode(run).tolist())
            start += len(run.encode())

    def _comes_back(self, character: str) -> bool:
        if character not in self._known:
            found = self._encode(0, character)
            self._known[character] = bool(found) and all(span is not None for _, span in found or ())
        return self._known[character]

    def _encode(self, start: int, text: str) -> list[tuple[int, Span | None]] | None:
        """Return the teacher's tokens with the bytes they stand for; None where they do not give the text back.

        A special token that the text happens to spell is not compared with the text. Some tokenizers put a space before
        any text, which their decoders take away again; so does this.
        """
        wanted = text.encode()
        ids = self.teacher.encode(text).tolist()
        pieces = [self.teacher.piece(token) for token in ids]
        data = [piece.data for piece in pieces]
        if b"".join(data) == b" " + wanted:
            first = next(place for place, one in enumerate(data) if one)
            data[first] = data[first][1:]
        if b"".join(data) != wanted:
            return None
        ends = start + np.cumsum([0, *map(len, data)])
        spans = [(int(ends[i]), int(ends[i + 1])) for i in range(len(data))]
        return [(token, None if piece.special else span) for token, piece, span in zip(ids, pieces, spans, strict=True)]


def _texts(data: bytes) -> Iterator[tuple[int, str | None]]:
    """Yield stretches of bytes with where they start: their text, or None where they are no UTF-8."""
    start = 0
    while start < len(data):
        try:
            yield start, data[start:].decode("utf-8")
        except UnicodeDecodeError as error:
            if error.start:
                yield start, data[start : start + error.start].decode("utf-8")
            yield start + error.start, None
            start += error.end
        else:
            return


def _runs(text: str, known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the text in runs of characters that are all known, or all not."""
    for _, run in groupby(text, known):
        yield "".join(run)
