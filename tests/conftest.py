"""What holds for every test: no network, and random tests that can be repeated."""

from __future__ import annotations

import os

from hypothesis import settings

# Set before any test imports a model library; kernels and commands started by tests inherit it.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # workers share the cores already

# No deadline: a first call may load a library. In CI the examples are the same in every run.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")
