"""Local models through transformers. Torch is imported here and in the files beside this one named `hf_...`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from opd_widgets.data.track import Provenance
from opd_widgets.errors import InvalidInputError, LengthLimitError
from opd_widgets.models.continuation import check_continuations
from opd_widgets.models.hf_continue import Continuer, Row
from opd_widgets.models.hf_generate import draw
from opd_widgets.models.hf_head import Head
from opd_widgets.models.hf_load import as_list, check_pair, find_device, find_dtype, load_pair
from opd_widgets.models.hf_read import Reader
from opd_widgets.models.hf_weights import fingerprint
from opd_widgets.models.protocol import Generation, Sampling
from opd_widgets.models.tokenizer import HFTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids, Padding

PREFIX_BYTES = 512 * 2**20


class HFModel:
    """A causal language model of transformers, on one device.

    Example:
        >>> student = HFModel("Qwen/Qwen3-0.6B", device="cuda", dtype="bfloat16")  # doctest: +SKIP

    Limits: decoder-only models whose logits are a linear head on the last hidden state, with or without soft capping
    or a scale; the first use checks that and says so where it does not hold.

    Args:
        source: a folder, a hub name, or a (model, tokenizer) pair. A pair's model is used itself, not a copy: it is put
            in eval mode, and moved or converted only where `device` or `dtype` say so. It may be trained meanwhile:
            each use takes its weights as they are then, without dropout.
        device: "cpu", "cuda", "cuda:1", "mps" or a torch.device; by default a GPU where there is one, for a pair where
            it is.
        dtype: "float32", "bfloat16", "float16" or a torch.dtype; by default the model's own on a GPU and float32 on a
            CPU, for a pair its own.
        name: what to call it; by default the last part of the folder's or hub name.
        prefix_bytes: memory for keys and values of prompts that come again: rollouts of one question, and edits.
        trust_remote_code: run code that comes with the model. Off unless you say so.

    Raises:
        ModelLoadError: no model or tokenizer there.
        InvalidInputError: an unknown dtype, a device that is not here, or a pair that is not of transformers.

    """

    def __init__(
        self,
        source: str | Path | tuple[Any, Any],
        *,
        device: str | torch.device | None = None,
        dtype: str | torch.dtype | None = None,
        name: str | None = None,
        prefix_bytes: int = PREFIX_BYTES,
        trust_remote_code: bool = False,
    ) -> None:
        wanted = find_dtype(dtype)
        if isinstance(source, str | Path):
            self._device = find_device(device)
            if wanted is None and self._device.type == "cpu":
                wanted = torch.float32
            model, tokenizer = load_pair(str(source), wanted, trust_remote_code)
            model = model.to(self._device)
            called = str(source)
        else:
            model, tokenizer = check_pair(source)
            self._device = model.device if device is None else find_device(device)
            model = model if wanted is None else model.to(wanted)
            model = model if device is None else model.to(self._device)
            called = str(getattr(model.config, "name_or_path", "") or type(model).__name__)
        self._name = name or Path(called).name or called
        self._model = model.eval()
        ends = model.generation_config.eos_token_id if model.can_generate() else None
        self._tokenizer = HFTokenizer(tokenizer, as_list(ends))
        self._head = Head(self._model, self._name, self._tokenizer.size)
        self._reader = Reader(self._model.get_decoder(), prefix_bytes)
        self._continuer = Continuer(self._reader, self._head, self.vocab_size, self._name)

    def __repr__(self) -> str:
        """Name the model, its precision and place."""
        return f"HFModel({self._name!r}, {self.provenance.dtype}, {self._device})"

    @property
    def name(self) -> str:
        """What to call it."""
        return self._name

    @property
    def pair(self) -> tuple[Any, Any]:
        """The model and tokenizer of transformers that it asks: the objects themselves, not copies."""
        return self._model, self._tokenizer.inner

    @property
    def tokenizer(self) -> HFTokenizer:
        """Its tokenizer."""
        return self._tokenizer

    @property
    def vocab_size(self) -> int:
        """Rows of its head: every id it can give a probability, padding rows without a token among them."""
        return int(self._model.get_output_embeddings().weight.shape[0])

    @property
    def limit(self) -> int | None:
        """Longest prompt and response together, in tokens; None where the model's config does not say."""
        config = self._model.config.get_text_config()
        value = getattr(config, "max_position_embeddings", None)
        return None if value is None else int(value)

    @property
    def provenance(self) -> Provenance:
        """Engine, dtype, temperature and mode of its log-probabilities."""
        dtype = str(self._model.dtype).removeprefix("torch.")
        return Provenance("transformers", self._name, dtype, temperature=1.0, logprob_mode="raw")

    def hidden(
        self,
        sequences: Sequence[Ids],
        positions: Sequence[NDArray[np.integer]],
        *,
        padding: Padding = "right",
        extend: bool = False,
    ) -> torch.Tensor:
        """Return the last hidden states at the asked positions: [sum of positions, width], sequence by sequence."""
        return self._reader.read(sequences, positions, padding, extend=extend)

    def release(self) -> None:
        """Give up the keys and values kept of prompts, but for those being edited."""
        self._reader.release()

    @property
    def version(self) -> tuple[float, ...]:
        """Numbers that change when the weights do."""
        return fingerprint(self._model)

    @torch.no_grad()
    def head(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the logits of hidden states: [n, width] -> float32 [n, V]."""
        return self._head(rows)

    def generate(
        self,
        prompts: Sequence[Ids],
        *,
        n: int = 1,
        max_new_tokens: int,
        seed: int,
        sampling: Sampling | None = None,
    ) -> list[list[Generation]]:
        """Return n continuations of every prompt, drawn with exactly these settings.

        Temperature 1, top_p 1, no top_k, no min_p, no penalty unless `sampling` says otherwise: the model's
        generation_config decides nothing but which ids end a response.

        Raises:
            InvalidInputError: nothing to draw, or an empty prompt.
            LengthLimitError: a prompt and `max_new_tokens` are more than the model takes.

        """
        if not len(prompts) or n < 1 or max_new_tokens < 1:
            msg = f"found {len(prompts)} prompts, n={n}, max_new_tokens={max_new_tokens}; expected at least 1 of each"
            raise InvalidInputError(msg)
        longest = max(len(ids) for ids in prompts)
        if not min(len(ids) for ids in prompts):
            msg = "found an empty prompt, expected at least one token to go on from"
            raise InvalidInputError(msg)
        if self.limit is not None and longest + max_new_tokens > self.limit:
            msg = (
                f"{self._name!r} takes {self.limit} tokens, and a prompt of {longest} with max_new_tokens="
                f"{max_new_tokens} needs {longest + max_new_tokens}. Nothing is cut. Ask for fewer new tokens"
            )
            raise LengthLimitError(msg)
        ends = self.tokenizer.end_ids
        return draw(self._model, prompts, ends, n=n, new=max_new_tokens, seed=seed, sampling=sampling or Sampling())

    def continuations(
        self, prompts: Sequence[Ids], *, seeds: Sequence[int], max_new_tokens: Sequence[int]
    ) -> list[Generation]:
        """Return one continuation of each prompt, at temperature 1 from the whole distribution, with log-probabilities.

        Row i is drawn with `numpy.random.default_rng(seeds[i])`, one number a token, and depends on its prompt, its
        seed and its `max_new_tokens` alone. What else is in the call changes a row's numbers by rounding only: in
        float32 by some 1e-6 nats, so that another token is drawn about once in a million; in half precision by
        hundredths of a nat, so that a token here and there is another. Give equal prompts unlike seeds: a row asked for
        twice is the same row.

        Each distinct prompt is read once, and what all of a batch begin with once for all. Memory for keys and values
        is bounded, and halved where it runs out. Architectures whose keys and values cannot be carried over (recurrent
        ones, and rotary positions scaled by the length) are read anew for every token, which is slow.

        Args:
            prompts: int [P] each, none empty; no prompt at all gives no continuation.
            seeds: a whole number from 0 to 2**63 - 1 for each prompt.
            max_new_tokens: most tokens of each continuation, at least 1.

        Raises:
            InvalidInputError: not as many seeds or numbers of tokens as prompts, an empty prompt, an id beyond the
                vocabulary, or fewer than one new token.
            LengthLimitError: a prompt and its `max_new_tokens` are more than the model takes.
            ModelLoadError: the model gives NaN.

        """
        given = check_continuations(self._name, self.limit, prompts, seeds, max_new_tokens, vocab_size=self.vocab_size)
        rows = [
            Row(place, np.asarray(ids, np.int32), seed, most)
            for place, (ids, seed, most) in enumerate(zip(prompts, *given, strict=True))
        ]
        return self._continuer.draw(rows, self.tokenizer.end_ids)
