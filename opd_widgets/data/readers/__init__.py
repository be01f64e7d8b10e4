"""Rollouts from files: the format is told from the content, one source format a file."""

from __future__ import annotations

from opd_widgets.data.readers.read import read_rollouts

__all__ = ["read_rollouts"]
