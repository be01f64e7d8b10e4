"""Telling that memory ran out, whoever says it."""

from __future__ import annotations

# what PyTorch says on a CPU and on MPS, where it has no exception of its own for it
_WORDS = ("can't allocate memory", "out of memory", "failed to allocate")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error means that memory ran out: numpy's, PyTorch's for a GPU, or its words for a CPU."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _WORDS)
