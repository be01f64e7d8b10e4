"""The formats that are read, in the order in which they are tried: the more a format's record says, the earlier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from opd_widgets.data.readers import (
    chat,
    inspect_ai,
    lm_eval,
    messages,
    ms_swift,
    nemo_rl,
    open_instruct,
    openai,
    openai_responses,
    opsd,
    own,
    prime_rl,
    rlloggingboard,
    sglang,
    skyrl,
    slime,
    trl,
    verifiers,
    verl,
    vllm,
)
from opd_widgets.data.rollout import Rollout


class Reader(Protocol):
    """One format's module.

    Beside these it may have `parts(record)`, which yields the samples of a record that holds many, so that a broken one
    costs that one; and `merge(rollouts)`, which joins the rollouts of one file that are one.
    """

    NAME: str

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Return whether a record is in this format."""

    def from_record(self, record: Mapping[str, Any]) -> list[Rollout]:
        """Return the rollouts a record holds."""


READERS: tuple[Reader, ...] = (
    own,
    rlloggingboard,
    open_instruct,
    slime,
    nemo_rl,
    prime_rl,
    verifiers,
    lm_eval,
    inspect_ai,
    sglang,
    vllm,
    openai_responses,
    openai,
    ms_swift,
    opsd,
    skyrl,
    verl,
    trl,
    messages,
    chat,
)
FORMATS: dict[str, Reader] = {reader.NAME: reader for reader in READERS}


def sniff(record: Mapping[str, Any]) -> Reader | None:
    """Return the first reader whose format a record is in."""
    return next((reader for reader in READERS if reader.matches(record)), None)
