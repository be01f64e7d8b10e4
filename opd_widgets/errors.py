"""Every error this package raises on purpose.

Each is an `OpdError` and also the standard exception a caller would reach for. A message says what was found, what was
expected, and what to do next.
"""

from __future__ import annotations


class OpdError(Exception):
    """Base of all errors raised by opd_widgets."""


class InvalidInputError(OpdError, ValueError):
    """A value handed to the package is not one it can work with."""


class RolloutError(InvalidInputError):
    """A rollout's fields contradict each other: lengths, ids, masks."""


class ReadError(InvalidInputError):
    """A file holds no rollout that could be read."""


class ModelLoadError(OpdError, OSError):
    """A path or name does not lead to a model and tokenizer that load."""


class ServerError(OpdError, ConnectionError):
    """A server could not be reached, or did not answer as its engine's documentation says."""


class TokenizerMismatchError(InvalidInputError):
    """A served model reads a text as other ids than the tokenizer given for it."""


class ContextError(InvalidInputError):
    """A teacher's context cannot be rendered for a rollout."""


class LengthLimitError(InvalidInputError):
    """A prompt and response are longer than the model takes. Nothing is cut to fit."""


class MissingSignalError(OpdError, KeyError):
    """A signal is unknown, or what it needs was not measured."""

    def __str__(self) -> str:
        """Return the message itself: KeyError would show its repr."""
        return str(self.args[0]) if self.args else ""


class MissingDependencyError(OpdError, ImportError):
    """An optional package is needed and not installed."""


class Cancelled(OpdError):  # noqa: N818 - not a fault: a job was stopped because someone asked
    """A job ended because it was cancelled or a newer one took its place."""
