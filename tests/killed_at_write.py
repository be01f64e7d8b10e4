"""A kill in the middle of writing a run: its file flushed and renamed, or half of it left behind."""

from __future__ import annotations

from opd_widgets.data import store_files
from opd_widgets.data.store_files import PART


class Killed(BaseException):
    """Stands for a kill: no handler of this package may swallow it."""


def kill_at_write(monkeypatch, stop, *, after_rename):
    """Let the write of this number, from 1, be the last: after its file is in place, or before."""
    flush, left = store_files._flush, [stop]

    def die(beside):
        left[0] -= 1
        if left[0] == 0:
            if after_rename:
                beside.rename(beside.with_name(beside.name.removesuffix(PART)))
            else:
                beside.with_name("junk" + PART).write_text("half")
            raise Killed
        flush(beside)

    monkeypatch.setattr(store_files, "_flush", die)
