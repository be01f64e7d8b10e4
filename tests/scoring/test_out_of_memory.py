"""Memory that runs out: half as much at a time, the same numbers, nothing lost. The limit is the system's own."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from opd_widgets.models.memory import is_out_of_memory
from opd_widgets.scoring.panel import Options, Panel
from opd_widgets.scoring.session import Session
from tests import tiny
from tests.checkout import ROOT

SCRIPT = """
import json, resource, sys
from pathlib import Path
import numpy as np, torch
import opd_widgets as opd
from opd_widgets.scoring import batch, session
from opd_widgets.scoring.panel import Panel
from opd_widgets.scoring.prepare import check_rollouts, make_task
from tests import tiny
from transformers import Qwen3Config, Qwen3ForCausalLM

torch.set_num_threads(1)
case, room = sys.argv[1], int(sys.argv[2]) * 2**20
vocab, width, inner = (60_000, 32, 64) if case == "head" else (64, 64, 16_384)
def model(seed):
    torch.manual_seed(seed)
    config = Qwen3Config(vocab_size=vocab, hidden_size=width, intermediate_size=inner, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16, max_position_embeddings=8192)
    return opd.HFModel((Qwen3ForCausalLM(config), tiny.tokenizer()), device="cpu", name=str(seed))
student, teachers = model(0), {"t": opd.Teacher(model(1))}
rng = np.random.default_rng(0)
lengths = [300] if case == "head" else ([2000] if case == "piece" else [250] * 8)
rollouts = [opd.Rollout(id=str(i), prompt_ids=rng.integers(0, 50, 8), response_ids=rng.integers(0, 50, n))
            for i, n in enumerate(lengths)]
panel = Panel.of(student, teachers)
tasks = [make_task(rollout, panel) for rollout in check_rollouts(rollouts, student)]
expected = batch.score_batch(tasks, panel)
for m in (student, teachers["t"].model):
    m._reader.prefixes.clear()
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + room, resource.getrlimit(resource.RLIMIT_AS)[1]))
memory = session.Session()
found = batch.score_batch(tasks, panel, session=memory)
again = batch.score_batch(tasks, panel, session=memory)
worst = max(
    float(np.nanmax(np.abs(one.teachers["t"].signals[name] - other.teachers["t"].signals[name])))
    for done in (found, again) for one, other in zip(expected, done) for name in ("advantage", "reverse_kl", "jsd")
)
print(json.dumps({"worst": worst, "rows": memory.most, "tokens": min(student._reader._most, 1e9)}))
"""


def scored(case: str, room: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, case, str(room)],
        cwd=ROOT, capture_output=True, text=True, env={"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="limits a process by RLIMIT_AS and reads /proc")
@pytest.mark.parametrize(("case", "room"), [("head", 30), ("rows", 80), ("piece", 80)])
def test_where_memory_runs_out_less_is_done_at_a_time(case, room):
    """`head`: vocabulary rows; `rows`: many rollouts through the backbone; `piece`: one that is long."""
    found = scored(case, room)
    assert found["worst"] < 1e-4
    if case == "head":
        assert found["rows"] < 279  # what 128 MiB hold of this vocabulary under two models
    else:
        assert found["tokens"] < 2000


def test_the_rest_goes_on_with_half_and_nothing_twice():
    session, panel = Session(), Panel.of(tiny.model(0), {}, Options(chunk_tokens=40))
    done: list[int] = []

    def work(here: slice) -> None:
        rows = range(100)[here]
        if len(rows) > 13:
            msg = "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: can't allocate memory"
            raise RuntimeError(msg)
        done.extend(rows)

    session.in_chunks(100, 64, panel, work)
    assert done == list(range(100))
    assert session.most == 10


def test_where_one_row_is_too_much_the_error_stands():
    panel = Panel.of(tiny.model(0), {})
    with pytest.raises(MemoryError):
        Session().in_chunks(4, 64, panel, lambda _: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(ValueError, match="else"):
        Session().in_chunks(4, 64, panel, lambda _: (_ for _ in ()).throw(ValueError("something else")))


def test_what_says_that_memory_ran_out():
    with pytest.raises(MemoryError) as numpys:
        np.empty((2**40, 2**10))
    assert is_out_of_memory(numpys.value)
    named = type("OutOfMemoryError", (RuntimeError,), {})
    assert is_out_of_memory(named("CUDA out of memory. Tried to allocate 20.00 GiB"))
    assert is_out_of_memory(RuntimeError("MPS backend out of memory"))
    assert not is_out_of_memory(RuntimeError("shapes do not match"))
    assert not is_out_of_memory(ValueError("out of memory"))
