"""`import opd_widgets` is quick and leaves the heavy packages alone."""

from __future__ import annotations

import json
import subprocess
import sys

PROBE = """
import json, sys, time
start = time.perf_counter()
import opd_widgets
seconds = time.perf_counter() - start
modules = sorted({name.split(".")[0] for name in sys.modules})
print(json.dumps({"seconds": seconds, "modules": modules}))
"""
HEAVY = {"torch", "transformers"}
LIMIT_SECONDS = 0.5


def _import_once(folder):
    run = subprocess.run([sys.executable, "-c", PROBE], cwd=folder, capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_import_is_quick_and_loads_no_model_library(tmp_path):
    probes = [_import_once(tmp_path) for _ in range(3)]
    assert "opd_widgets" in probes[0]["modules"]
    assert HEAVY.isdisjoint(probes[0]["modules"])
    assert min(probe["seconds"] for probe in probes) < LIMIT_SECONDS
