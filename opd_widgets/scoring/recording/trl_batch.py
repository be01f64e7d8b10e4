"""One micro-batch of a TRL trainer, made into rollouts: padding taken off by length, never by id."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from opd_widgets.data.message import Message, parse_messages
from opd_widgets.data.rollout import Rollout, Status
from opd_widgets.data.track import LogprobTrack, Provenance
from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Tokenizer

_IDS = ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask")
_LABELLED = ("prompts", "prompt_attention_mask", "input_ids", "labels")
_NO_LABEL = -100  # in a trainer's labels: not in the loss
# A trainer's own name of log-probabilities of the completion's tokens -> the name of our track.
_TRACKS = {"old_per_token_logps": "old", "ref_per_token_logps": "reference", "sampling_per_token_logps": "sampled"}
_PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True)
class Known:
    """What a trainer knew of a completion when it was sampled, and does not hand to its loss.

    Args:
        length: tokens of the completion; None where only the mask says it.
        rewards: by reward function.
        row: the row of the data set it was asked from.

    """

    length: int | None = None
    rewards: Mapping[str, float | None] = field(default_factory=dict)
    row: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """What is the same for all batches of a training.

    Args:
        trainer: its class's name.
        end_ids: ids that end a completion.
        tokenizer: of the student.
        provenance: by track; a track that is not named here has an unknown one.

    """

    trainer: str
    end_ids: frozenset[int]
    tokenizer: Tokenizer
    provenance: Mapping[str, Provenance]


def check_inputs(inputs: Mapping[str, Any]) -> None:
    """Refuse what the loss of another kind of trainer is given.

    Raises:
        InvalidInputError: it lacks ids or masks; the message says what it holds.

    """
    if not any(all(name in inputs for name in names) for names in (_IDS, _LABELLED)):
        msg = (
            f"found a trainer whose loss gets {', '.join(sorted(map(str, inputs)))}, expected {', '.join(_IDS)} as "
            "TRL's GRPO, RLOO, distillation, SDFT and SDPO trainers name them, or "
            f"{', '.join(_LABELLED)} as its GKD trainer does. Record another trainer by recorder.record(step, rollouts)"
        )
        raise InvalidInputError(msg)


def _by_completion(inputs: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
    """Return prompts and completions with their masks; of labelled rows, those tokens are it that have a label."""
    if all(name in inputs for name in _IDS):
        return {name: _array(inputs[name]) for name in _IDS}
    ids, labels = (_array(inputs[name]) for name in ("input_ids", "labels"))
    labelled = labels != _NO_LABEL
    lengths = labelled.sum(axis=1)
    mask = np.arange(max(1, int(lengths.max(initial=0)))) < lengths[:, None]
    completions = np.zeros(mask.shape, np.int64)
    completions[mask] = ids[labelled]  # row by row, in order, on both sides
    return {
        "prompt_ids": _array(inputs["prompts"]),
        "prompt_mask": _array(inputs["prompt_attention_mask"]),
        "completion_ids": completions,
        "completion_mask": mask,
    }


class Batch:
    """A micro-batch as its loss was given it.

    Args:
        inputs: the trainer's tensors: `prompt_ids` and `prompt_mask` [B, P], `completion_ids` and `completion_mask`
            [B, C]; optional: `tool_mask` and log-probabilities [B, C], `advantages` [B] or [B, C]. Or `prompts` and
            `prompt_attention_mask` [B, P], `input_ids` and `labels` [B, P + C].
        logprobs: float [B, C], of the model being trained, as its loss computed them; None where it computes none.
        entropy: float [B, C], of its next-token distributions; None where it computes none.

    Raises:
        InvalidInputError: the trainer calls its tensors otherwise.

    """

    def __init__(self, inputs: Mapping[str, Any], logprobs: Any = None, entropy: Any = None) -> None:
        check_inputs(inputs)
        self._arrays = _by_completion(inputs)
        self._arrays.update({name: _array(inputs[name]) for name in (*_TRACKS, "tool_mask") if name in inputs})
        if logprobs is not None:
            self._arrays["student"] = _array(logprobs)
        self._entropy = None if entropy is None else _array(entropy)
        self._advantages = _array(inputs["advantages"]) if inputs.get("advantages") is not None else None

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self._arrays["completion_ids"])

    def key(self, row: int) -> bytes:
        """Return what tells one row from another: its ids, padding included."""
        return row_key(self._arrays["prompt_ids"][row], self._arrays["completion_ids"][row])

    def rollout(self, row: int, step: int, known: Known, source: Source) -> Rollout:
        """Return one row as a rollout of a training step."""
        prompt = self._arrays["prompt_ids"][row][self._arrays["prompt_mask"][row] > 0]
        in_loss = self._arrays["completion_mask"][row] > 0
        # A completion taken out of the loss has a mask of zeros and still its length.
        length = int(in_loss.sum()) or known.length or 0
        response = self._arrays["completion_ids"][row][:length]
        mask = self._arrays["tool_mask"][row][:length] > 0 if "tool_mask" in self._arrays else np.ones(length, bool)
        if not in_loss.any():
            mask = np.ones(length, bool)  # its tool mask is zeros too
        messages, metadata = _asked(known.row)
        text = source.tokenizer.decode(response)
        return Rollout(
            id=_name(prompt, response),
            question=_name(prompt),
            prompt_ids=prompt,
            response_ids=response,
            prompt_text=source.tokenizer.decode(prompt),
            response_text=text,
            messages=messages,
            response_mask=mask,
            reward=dict(known.rewards) or None,
            status=_status(response, source.end_ids),
            step=step,
            tracks=self._tracks(row, in_loss[:length], mask, source),
            metadata={
                **metadata,
                **self._advantage(row, length),
                "trainer": source.trainer,
                "in_loss": bool(in_loss.any()),
            },
        )

    def _tracks(
        self, row: int, in_loss: NDArray[np.bool_], own: NDArray[np.bool_], source: Source
    ) -> dict[str, LogprobTrack]:
        """Return the row's tracks; a trainer fills what a forward pass or the sampler left out with a number."""
        found = {}
        for name, track in {"student": "student", **_TRACKS}.items():
            if name in self._arrays:
                there = own if track == "sampled" else in_loss
                entropy = None if self._entropy is None or track != "student" else self._entropy[row]
                found[track] = LogprobTrack(
                    _where(there, self._arrays[name][row]),
                    entropy=None if entropy is None else _where(there, entropy),
                    provenance=source.provenance.get(track, Provenance()),
                )
        return found

    def _advantage(self, row: int, length: int) -> dict[str, Any]:
        if self._advantages is None:
            return {}
        value = self._advantages[row]
        return {"trainer_advantage": float(value) if value.ndim == 0 else value[:length].astype(float).tolist()}


def _where(there: NDArray[np.bool_], values: NDArray[Any]) -> NDArray[np.float32]:
    return np.where(there, values[: len(there)], np.nan).astype(np.float32)


def row_key(prompt_ids: Any, completion_ids: Any) -> bytes:
    """Return a name for padded ids of a row."""
    parts = [np.ascontiguousarray(_array(ids), np.int64).tobytes() for ids in (prompt_ids, completion_ids)]
    return hashlib.blake2b(len(parts[0]).to_bytes(8, "little") + b"".join(parts), digest_size=16).digest()


def _array(value: Any) -> NDArray[Any]:
    """Return a tensor's values; bfloat16 has no form in numpy and becomes float32."""
    if not hasattr(value, "detach"):
        return np.asarray(value)
    here = value.detach()
    here = here.float() if here.is_floating_point() else here
    return np.asarray(here.cpu().numpy())


def _name(*ids: NDArray[Any]) -> str:
    """Return a short name for token ids: the same prompt and response have the same name at every step."""
    found = hashlib.blake2b(digest_size=6)
    for part in ids:
        found.update(len(part).to_bytes(8, "little") + np.ascontiguousarray(part, np.int64).tobytes())
    return found.hexdigest()


def _status(response: NDArray[Any], end_ids: frozenset[int]) -> Status:
    if not len(response):
        return "unknown"
    return "stop" if int(response[-1]) in end_ids else "truncated"


def _asked(row: Mapping[str, Any]) -> tuple[tuple[Message, ...] | None, dict[str, Any]]:
    """Return a data row's turns, where its prompt is made of turns, and its other columns that are plain values."""
    plain = {name: value for name, value in row.items() if name != "prompt" and isinstance(value, _PLAIN)}
    prompt = row.get("prompt")
    if not isinstance(prompt, list):
        return None, plain
    try:
        return parse_messages(prompt), plain
    except InvalidInputError:  # turns with pictures: the ids stay
        return None, plain
