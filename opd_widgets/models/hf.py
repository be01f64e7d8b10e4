"""Local models through transformers. The one file that imports torch."""

from __future__ import annotations

import math
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils import logging

from opd_widgets.data.track import Provenance
from opd_widgets.errors import InvalidInputError, LengthLimitError, ModelLoadError
from opd_widgets.models.protocol import Generation, Sampling
from opd_widgets.models.tokenizer import HFTokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from opd_widgets.models.protocol import Ids, Padding

_MODEL_NEEDS = ("config", "generation_config", "generate", "get_decoder", "get_output_embeddings", "device")
_TOKENIZER_NEEDS = ("encode", "decode", "get_vocab", "convert_ids_to_tokens", "all_special_ids")
HEAD_TOLERANCE = 1e-3  # relative; hidden-then-head and the model's own forward differ by rounding only


class HFModel:
    """A causal language model of transformers, on one device.

    Example:
        >>> student = HFModel("Qwen/Qwen3-0.6B", device="cuda", dtype="bfloat16")  # doctest: +SKIP

    Limits: decoder-only models whose logits are a linear head on the last hidden state, with or without soft capping
    or a scale; the first use checks that and says so where it does not hold.

    Args:
        source: a folder, a hub name, or a (model, tokenizer) pair. A pair's model is used itself, not a copy: it is put
            in eval mode, and moved or converted only where `device` or `dtype` say so.
        device: "cpu", "cuda", "cuda:1", "mps" or a torch.device; by default a GPU where there is one, for a pair where
            it is.
        dtype: "float32", "bfloat16", "float16" or a torch.dtype; by default the model's own on a GPU and float32 on a
            CPU, for a pair its own.
        name: what to call it; by default the last part of the folder's or hub name.
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
        trust_remote_code: bool = False,
    ) -> None:
        wanted = _dtype(dtype)
        if isinstance(source, str | Path):
            self._device = _device(device)
            if wanted is None and self._device.type == "cpu":
                wanted = torch.float32
            model, tokenizer = _load(str(source), wanted, trust_remote_code)
            model = model.to(self._device)
            called = str(source)
        else:
            model, tokenizer = _pair(source)
            self._device = model.device if device is None else _device(device)
            model = model if wanted is None else model.to(wanted)
            model = model if device is None else model.to(self._device)
            called = str(getattr(model.config, "name_or_path", "") or type(model).__name__)
        self._name = name or Path(called).name or called
        self._model = model.eval()
        ends = model.generation_config.eos_token_id if model.can_generate() else None
        self._tokenizer = HFTokenizer(tokenizer, _as_list(ends))

    def __repr__(self) -> str:
        """Name the model, its precision and place."""
        return f"HFModel({self._name!r}, {self.provenance.dtype}, {self._device})"

    @property
    def name(self) -> str:
        """What to call it."""
        return self._name

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

    @torch.no_grad()
    def hidden(
        self, sequences: Sequence[Ids], positions: Sequence[NDArray[np.integer]], *, padding: Padding = "right"
    ) -> torch.Tensor:
        """Return the last hidden states at the asked positions: [sum of positions, width], sequence by sequence."""
        longest = max(len(ids) for ids in sequences)
        tokens = torch.zeros(len(sequences), longest, dtype=torch.long)
        attended = torch.zeros_like(tokens)
        starts = [0 if padding == "right" else longest - len(ids) for ids in sequences]
        for row, (ids, start) in enumerate(zip(sequences, starts, strict=True)):
            tokens[row, start : start + len(ids)] = torch.from_numpy(np.array(ids, dtype=np.int64))
            attended[row, start : start + len(ids)] = 1
        place = (attended.cumsum(-1) - 1).clamp(min=0)
        same_length = bool(attended.all())
        states = self._backbone(
            input_ids=tokens.to(self._device),
            attention_mask=None if same_length else attended.to(self._device),
            position_ids=None if same_length else place.to(self._device),
            use_cache=False,
        ).last_hidden_state
        rows = np.concatenate([np.full(len(at), row) for row, at in enumerate(positions)])
        columns = np.concatenate([np.asarray(at) + start for at, start in zip(positions, starts, strict=True)])
        here = torch.from_numpy(rows).to(self._device), torch.from_numpy(columns).to(self._device)
        picked: torch.Tensor = states[here]
        return picked

    @torch.no_grad()
    def head(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the logits of hidden states: [n, width] -> float32 [n, V]."""
        self._check_head()
        return self._head(rows)

    def _head(self, rows: torch.Tensor) -> torch.Tensor:
        config = self._model.config.get_text_config()
        logits: torch.Tensor = self._model.get_output_embeddings()(rows).float()
        if divisor := getattr(config, "logits_scaling", None):  # Granite
            logits = logits / divisor
        if factor := getattr(config, "logit_scale", None):  # Cohere
            logits = logits * factor
        if cap := getattr(config, "final_logit_softcapping", None):  # Gemma 2 and 3
            logits = torch.tanh(logits / cap) * cap
        return logits

    @property
    def _backbone(self) -> Any:
        return self._model.get_decoder()

    def _check_head(self) -> None:
        """Compare hidden-then-head with the model's own forward once: an architecture may do more in between.

        Raises:
            ModelLoadError: they differ.

        """
        _ = self._head_difference  # computed once, then cached

    @cached_property
    def _head_difference(self) -> float:
        ids = torch.arange(min(4, self.tokenizer.size), device=self._device)[None]
        whole = self._model(input_ids=ids, use_cache=False).logits[0].float()
        apart = self._head(self._backbone(input_ids=ids, use_cache=False).last_hidden_state[0])
        scale = max(1.0, float(whole.abs().max()))
        difference = float((whole - apart).abs().max()) / scale
        if math.isnan(difference):
            raise ModelLoadError(_why_nan(self._name, self._model))
        allowed = HEAD_TOLERANCE if self._model.dtype == torch.float32 else 0.05
        if not difference <= allowed:
            msg = (
                f"{self._name!r} ({type(self._model).__name__}) computes its logits in a way unknown here:"
                f" head(hidden) is off by {difference:.3g} of their size, expected at most {allowed}. Please report it"
            )
            raise ModelLoadError(msg)
        return difference

    @torch.no_grad()
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
        tokens = torch.zeros(len(prompts), longest, dtype=torch.long)
        attended = torch.zeros_like(tokens)
        for row, ids in enumerate(prompts):
            tokens[row, longest - len(ids) :] = torch.from_numpy(np.array(ids, dtype=np.int64))
            attended[row, longest - len(ids) :] = 1
        devices = [self._device] if self._device.type == "cuda" else []
        with torch.random.fork_rng(devices), _own_settings(self._model):
            torch.manual_seed(seed)
            drawn = self._model.generate(
                input_ids=tokens.to(self._device),
                attention_mask=attended.to(self._device),
                generation_config=self._generation_config(sampling or Sampling(), n, max_new_tokens),
            )
        ends = self.tokenizer.end_ids
        cut = [_cut(row.cpu().numpy(), ends) for row in drawn[:, longest:]]
        return [cut[i * n : (i + 1) * n] for i in range(len(prompts))]

    def _generation_config(self, sampling: Sampling, n: int, max_new_tokens: int) -> GenerationConfig:
        ends = sorted(self.tokenizer.end_ids)
        return GenerationConfig(
            do_sample=sampling.temperature > 0,
            temperature=sampling.temperature or None,
            top_p=sampling.top_p,
            top_k=sampling.top_k,
            min_p=sampling.min_p or None,
            repetition_penalty=sampling.repetition_penalty,
            num_return_sequences=n,
            max_new_tokens=max_new_tokens,
            eos_token_id=ends or None,
            pad_token_id=ends[0] if ends else 0,
        )


def load_tokenizer(source: str | Path) -> HFTokenizer:
    """Return the tokenizer in a folder or of a hub name, with the ids that end a response; no weights are read.

    Raises:
        ModelLoadError: there is none.

    """
    place = str(Path(source).expanduser()) if Path(source).expanduser().exists() else str(source)
    try:
        inner = AutoTokenizer.from_pretrained(place)
    except Exception as error:
        msg = f"no tokenizer could be loaded from {place!r}; expected a folder with one, or a hub name and a connection"
        raise ModelLoadError(msg) from error
    try:
        ends = GenerationConfig.from_pretrained(place).eos_token_id
    except OSError:  # no generation_config.json beside it
        ends = None
    return HFTokenizer(inner, _as_list(ends))


class _own_settings:  # noqa: N801 - used as a with-statement, reads as one
    """Takes a model's own generation settings away for a while: transformers fills unset values from them."""

    def __init__(self, model: Any) -> None:
        self._model, self._kept = model, model.generation_config

    def __enter__(self) -> None:
        self._model.generation_config = GenerationConfig()

    def __exit__(self, *_: object) -> None:
        self._model.generation_config = self._kept


def _cut(ids: NDArray[np.int64], ends: frozenset[int]) -> Generation:
    """Return the sampled ids up to and with the first end token; what follows is padding."""
    found = np.flatnonzero(np.isin(ids, list(ends)))
    stop = int(found[0]) + 1 if found.size else len(ids)
    return Generation(ids[:stop].astype(np.int32), stopped=bool(found.size))


def _as_list(value: int | list[int] | None) -> list[int]:
    if value is None:
        return []
    return [value] if isinstance(value, int) else list(value)


def _pair(source: Any) -> tuple[Any, Any]:
    """Return a model and its tokenizer.

    Raises:
        InvalidInputError: something else.

    """
    wanted = "expected (model, tokenizer) of transformers: a causal language model and its own tokenizer"
    if not isinstance(source, tuple | list):
        msg = f"found a source of type {type(source).__name__}, expected a folder, a hub name or a pair; {wanted}"
        raise InvalidInputError(msg)
    found = f"found a pair of {' and '.join(type(part).__name__ for part in source) or 'nothing'}"
    if len(source) != 2 or not isinstance(source[0], torch.nn.Module):
        msg = f"{found}, {wanted}"
        raise InvalidInputError(msg)
    for part, needs in zip(source, (_MODEL_NEEDS, _TOKENIZER_NEEDS), strict=True):
        lacking = [name for name in needs if not hasattr(part, name)]
        if lacking:
            msg = f"{found}, and {type(part).__name__} lacks {', '.join(lacking)}; {wanted}"
            raise InvalidInputError(msg)
    model: Any = source[0]
    if model.get_output_embeddings() is None:
        msg = f"{found}, and {type(model).__name__} has no language-model head; {wanted}"
        raise InvalidInputError(msg)
    return model, source[1]


def _why_nan(name: str, model: Any) -> str:
    bad = [where for where, weight in model.named_parameters() if not weight.isfinite().all()]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        return f"the weights of {name!r} hold NaN or infinite values ({bad[0]}{more}): the file is damaged or diverged"
    return f"{name!r} gives NaN in {str(model.dtype).removeprefix('torch.')}; load it with dtype='float32'"


def _device(name: str | torch.device | None) -> torch.device:
    if name is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError) as error:
        msg = f"found device {name!r}, expected 'cpu', 'cuda', 'cuda:1' or 'mps'"
        raise InvalidInputError(msg) from error
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(device.type, True):
        msg = f"device {name!r} was asked for and PyTorch finds none here; use device='cpu', or install a build for it"
        raise InvalidInputError(msg)
    return device


def _dtype(name: str | torch.dtype | None) -> torch.dtype | None:
    if name is None:
        return None
    dtype = getattr(torch, name.removeprefix("torch."), None) if isinstance(name, str) else name
    if not isinstance(dtype, torch.dtype) or not dtype.is_floating_point:
        msg = f"found dtype {name!r}, expected 'float32', 'bfloat16' or 'float16'"
        raise InvalidInputError(msg)
    return dtype


def _load(source: str, dtype: torch.dtype | None, trust_remote_code: bool) -> tuple[Any, Any]:  # noqa: FBT001
    folder = Path(source).expanduser()
    if folder.exists() and not (folder / "config.json").exists():
        held = sorted(entry.name for entry in folder.iterdir())[:5] if folder.is_dir() else ["a file"]
        msg = (
            f"{source!r} holds no model: found {', '.join(held) or 'an empty folder'}, expected config.json, weights "
            "and a tokenizer as save_pretrained writes them"
        )
        raise ModelLoadError(msg)
    place = str(folder) if folder.exists() else source
    drawn = logging.is_progress_bar_enabled()
    if folder.exists():
        logging.disable_progress_bar()  # a bar is for downloads; a local load is over before it is read
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=trust_remote_code)
        model = AutoModelForCausalLM.from_pretrained(place, dtype=dtype or "auto", trust_remote_code=trust_remote_code)
    except Exception as error:
        what = "a folder" if folder.exists() else "neither a folder here nor a model the hub gave"
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        msg = (
            f"no model could be loaded from {source!r} ({what}): {reason}. Expected a folder with config.json, weights "
            "and a tokenizer, or a hub name and a connection"
        )
        raise ModelLoadError(msg) from error
    finally:
        if drawn:
            logging.enable_progress_bar()
    return model, tokenizer
