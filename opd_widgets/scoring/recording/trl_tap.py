"""Listens to a TRL trainer: what its loss is given, and when a step begins and ends.

Public and stable: the callback's events, `trainer.compute_loss(model, inputs, ...)` and the names of the tensors in
`inputs`. Where a trainer has them, three of its own methods are listened to as well, by their names in TRL 1.16:
`_get_per_token_logps_and_entropies` (log-probabilities as its loss computes them), `_calculate_rewards` (rewards, and
lengths before a mask takes a completion out of the loss) and `_generate_and_score_completions` (the data set's rows).
None of them is changed or called more often than it would be.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from opd_widgets.data.track import Provenance
from opd_widgets.errors import InvalidInputError
from opd_widgets.models.tokenizer import HFTokenizer
from opd_widgets.scoring.recording.trl_batch import Batch, Known, Source, check_inputs, row_key

if TYPE_CHECKING:
    from opd_widgets.data.rollout import Rollout

LOGPROBS = "_get_per_token_logps_and_entropies"
_REWARDS = "_calculate_rewards"
_GENERATE = "_generate_and_score_completions"
_NEEDS = ("compute_loss", "add_callback", "state", "model", "args", "processing_class", "accelerator")
_PRECISIONS = {"bf16": "bfloat16", "fp16": "float16", "fp8": "float8"}


class Tap:
    """What a trainer's steps are made of, rollout by rollout.

    Args:
        trainer: of TRL; its loss must be given `prompt_ids`, `completion_ids` and their masks.
        wanted: whether a step (counted from 1) is to be listened to, and how many more of its rollouts.
        name: what to call the student.

    Raises:
        InvalidInputError: no trainer of that kind, or one that trains on completions that are not the student's.

    """

    def __init__(self, trainer: Any, wanted: Callable[[int, int], int], name: str | None = None) -> None:
        lacking = [part for part in _NEEDS if not hasattr(trainer, part)]
        if lacking:
            msg = (
                f"found a {type(trainer).__name__} without {', '.join(lacking)}, expected a trainer of TRL such as "
                "trl.GRPOTrainer(...)"
            )
            raise InvalidInputError(msg)
        share = getattr(trainer, "lmbda", None)
        if share is not None and share < 1:
            msg = (
                f"found a {type(trainer).__name__} with lmbda={share}, expected 1: some of its completions are not the "
                "student's own, and its loss is not told which"
            )
            raise InvalidInputError(msg)
        self.trainer = trainer
        self.rollouts: list[Rollout] = []
        self.tokenizer = _tokenizer(trainer)
        self._wanted = wanted
        self._source = _source(trainer, self.tokenizer, name)
        self._in_loss = False
        self._logprobs: Any = None
        self._entropy: Any = None
        self._scored: tuple[list[int], Any] | None = None
        self._known: dict[bytes, list[Known]] = {}

    def listen(self) -> None:
        """Listen from now on."""
        methods: dict[str, Callable[..., Any]] = {
            "compute_loss": self._compute_loss,
            LOGPROBS: self._per_token,
            _REWARDS: self._rewards,
            _GENERATE: self._generate,
        }
        for method, heard in methods.items():
            if hasattr(self.trainer, method):
                _listen(self.trainer, method, heard)

    @property
    def has_logprobs(self) -> bool:
        """Whether the trainer computes the sampled tokens' log-probabilities."""
        return hasattr(self.trainer, LOGPROBS)

    @property
    def step(self) -> int:
        """The step in progress, counted from 1."""
        return int(self.trainer.state.global_step) + 1

    def take(self) -> list[Rollout]:
        """Return the rollouts heard since the last time."""
        taken, self.rollouts = self.rollouts, []
        return taken

    @contextmanager
    def evaluating(self) -> Iterator[None]:
        """Keep the trained model in eval mode for a while (no dropout), then return it to the mode it was in."""
        model = self.trainer.model
        was = bool(model.training)
        model.eval()
        try:
            yield
        finally:
            model.train(was)

    def _compute_loss(
        self, inner: Callable[..., Any], model: Any, inputs: Mapping[str, Any], *rest: Any, **kw: Any
    ) -> Any:
        room = self._wanted(self.step, len(self.rollouts)) if self.trainer.model.training else 0
        if room < 1:
            return inner(model, inputs, *rest, **kw)
        check_inputs(inputs)  # before the work of a loss
        self._in_loss, self._logprobs, self._entropy = True, None, None
        try:
            loss = inner(model, inputs, *rest, **kw)
        finally:
            self._in_loss = False
        batch = Batch(inputs, self._logprobs, self._entropy)
        self._logprobs = self._entropy = None
        for row in range(min(len(batch), room)):
            self.rollouts.append(batch.rollout(row, self.step, self._known_of(batch.key(row)), self._source))
        return loss

    def _per_token(self, inner: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        found = inner(*args, **kwargs)
        if self._in_loss and self._logprobs is None:  # the first in a loss is of the model being trained
            parts = found if isinstance(found, tuple) else (found, None)
            self._logprobs = parts[0].detach()
            self._entropy = None if len(parts) < 2 or parts[1] is None else parts[1].detach()
        return found

    def _rewards(self, inner: Callable[..., Any], inputs: Any, prompts: Any, completions: Any, ids: Any) -> Any:
        found = inner(inputs, prompts, completions, ids)
        first = self.trainer.accelerator.process_index * len(ids)  # rewards of all processes, completions of this one
        self._scored = ([len(row) for row in ids], found[first : first + len(ids)].tolist())
        return found

    def _generate(self, inner: Callable[..., Any], inputs: Sequence[Mapping[str, Any]], *rest: Any) -> Any:
        self._scored = None
        found = inner(inputs, *rest)
        if self.trainer.model.training:
            self._remember(found["prompt_ids"], found["completion_ids"], inputs)
        return found

    def _remember(self, prompts: Any, completions: Any, rows: Sequence[Mapping[str, Any]]) -> None:
        names = getattr(self.trainer, "reward_func_names", [])
        self._known = {}
        for place, (prompt, completion, row) in enumerate(zip(prompts, completions, rows, strict=True)):
            length, rewards = None, {}
            if self._scored is not None:
                length, rewards = self._scored[0][place], dict(zip(names, self._scored[1][place], strict=True))
            self._known.setdefault(row_key(prompt, completion), []).append(Known(length, rewards, dict(row)))

    def _known_of(self, key: bytes) -> Known:
        """Return what was known of a row; equal rows take turns, and a row that is used again stays known."""
        held = self._known.get(key)
        if not held:
            return Known()
        held.append(held.pop(0))
        return held[-1]


def _listen(trainer: Any, method: str, heard: Callable[..., Any]) -> None:
    inner = getattr(trainer, method)

    @functools.wraps(inner)
    def listening(*args: Any, **kwargs: Any) -> Any:
        return heard(inner, *args, **kwargs)

    setattr(trainer, method, listening)


def _tokenizer(trainer: Any) -> HFTokenizer:
    inner = trainer.processing_class
    ends = getattr(trainer.model.generation_config, "eos_token_id", None)
    return HFTokenizer(getattr(inner, "tokenizer", inner), [ends] if isinstance(ends, int) else ends or [])


def _source(trainer: Any, tokenizer: HFTokenizer, name: str | None) -> Source:
    path = str(getattr(trainer.model.config, "name_or_path", "") or type(trainer.model).__name__)
    model = name or path.rstrip("/").rpartition("/")[2]
    dtype = str(next(iter(trainer.model.parameters())).dtype).removeprefix("torch.")
    dtype = _PRECISIONS.get(str(trainer.accelerator.mixed_precision), dtype)
    temperature = float(getattr(trainer, "temperature", 1.0))
    # The loss divides the logits by the sampling temperature and cuts nothing off.
    mode = "raw" if temperature == 1.0 else "processed"
    own = Provenance(f"trl {type(trainer).__name__}", model, dtype, temperature, mode)
    sampler = "vllm" if getattr(trainer, "use_vllm", False) else "unknown"
    return Source(
        trainer=type(trainer).__name__,
        end_ids=tokenizer.end_ids,
        tokenizer=tokenizer,
        provenance={
            "student": own,
            "old": own,
            "reference": Provenance(own.engine, "reference", dtype, temperature, mode),
            # TRL asks vLLM for log-probabilities after temperature and truncation.
            "sampled": Provenance(sampler, model, "unknown", temperature, "processed"),
        },
    )
