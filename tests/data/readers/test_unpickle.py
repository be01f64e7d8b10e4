"""Pickles: read only when trusted, and then only plain values, arrays and tensors."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.data.readers.unpickle import load_pickle, load_torch_zip
from opd_widgets.errors import ReadError

SLIME = json.loads((Path(__file__).parents[2] / "cases" / "readers" / "slime_samples.json").read_text("utf-8"))
DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8,
    torch.uint8, torch.bool,
]  # fmt: skip


def saved(value):
    file = io.BytesIO()
    torch.save(value, file)
    return load_torch_zip(zipfile.ZipFile(file))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_tensor_of_each_dtype(dtype):
    tensor = torch.tensor([[0, 1, 2], [3, 4, 5]]).to(dtype)
    expected = tensor.float().numpy() if dtype == torch.bfloat16 else tensor.numpy()
    found = saved({"t": tensor})["t"]
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == expected.dtype


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6).reshape(2, 3).T, torch.arange(10)[2:9:3], torch.tensor(5), torch.zeros(0, 3),
        torch.arange(3).expand(2, 3), torch.nn.Parameter(torch.ones(2)).detach(),
    ],
)  # fmt: skip
def test_windows_into_a_storage(tensor):
    np.testing.assert_array_equal(saved([tensor])[0], tensor.numpy())


def test_a_parameter():
    np.testing.assert_array_equal(saved(torch.nn.Parameter(torch.ones(2))), np.ones(2))


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_plain_values_and_arrays(protocol):
    shared = [1]
    value: dict[str, Any] = {
        "list": [1, 2.5, None, True, "é", b"x"], "tuple": (1, (2,)), "set": {1}, "frozen": frozenset({2}),
        "ordered": OrderedDict(a=1), "default": defaultdict(list, b=[1]), "scalar": np.float32(0.5), "n": np.int64(3),
        "array": np.arange(6.0).reshape(2, 3), "fortran": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "big": np.arange(3, dtype=">i4"), "text": np.array(["ab", "c"]), "empty": np.zeros((0, 2)),
        "objects": np.array([{"a": 1}, None], object), "shared": [shared, shared],
    }  # fmt: skip
    back: Any = load_pickle(io.BytesIO(pickle.dumps(value, protocol=protocol)))
    for name in ("array", "fortran", "big", "text", "empty", "objects"):
        np.testing.assert_array_equal(back.pop(name), value.pop(name))
    assert back == value
    assert back["shared"][0] is back["shared"][1]


def test_a_slime_dump_as_torch_writes_it(tmp_path):
    sample = SLIME["samples"][0]
    sample = {**sample, "teacher_log_probs": torch.tensor(sample["teacher_log_probs"])}
    torch.save({**SLIME, "samples": [sample]}, tmp_path / "3.pt")
    (rollout,) = opd.read_rollouts(tmp_path / "3.pt", trust_pickle=True)
    np.testing.assert_array_equal(rollout.tracks["teacher"].logprobs, np.float32([-0.1, np.nan, np.nan, -2.4, -0.02]))


@pytest.mark.parametrize("write", [torch.save, lambda value, path: path.write_bytes(pickle.dumps(value))])
def test_without_trust_nothing_is_opened(tmp_path, write):
    write(SLIME, tmp_path / "3.pt")
    with pytest.raises(ReadError, match=r"'3\.pt' is a pickle.*trust_pickle=True"):
        opd.read_rollouts(tmp_path / "3.pt")


class Runs:
    def __reduce__(self):
        return os.system, ("exit 1",)


class Calls:
    def __init__(self, function, *arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return self.function, self.arguments


@pytest.mark.parametrize(
    "value",
    [Runs(), Calls(eval, "1"), Calls(getattr, 1, "real"), Calls(np.load, "x"), Path(), Calls(bytearray, 10**15)],
    ids=["system", "eval", "getattr", "load", "class", "bytearray"],
)
def test_anything_else_is_refused_by_name(value):
    with pytest.raises(ReadError, match=r"found \w+[\w.]* in a pickle, expected plain values"):
        load_pickle(io.BytesIO(pickle.dumps({"x": [value]})))


def test_a_dtype_whose_bytes_are_pointers_is_no_array():
    made = pickle.dumps(np.zeros(2, [("a", "O")]))
    with pytest.raises(ReadError):
        load_pickle(io.BytesIO(made))


@pytest.mark.parametrize("cut", [5, 40, -3])
def test_a_damaged_pickle_says_so(cut):
    with pytest.raises(ReadError, match="cannot be read"):
        load_pickle(io.BytesIO(pickle.dumps({"a": np.arange(9)})[:cut]))


@pytest.mark.parametrize(("size", "stride"), [((9,), (1,)), ((2, 2), (1, 7)), ((10**12,), (0,)), ((-1,), (1,))])
def test_a_tensor_beyond_its_storage_is_refused(size, stride):
    file = io.BytesIO()
    torch.save(torch.zeros(4), file)
    source = zipfile.ZipFile(file)
    pid = ("storage", torch.FloatStorage, "0", "cpu", 4)

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return pid if obj == "here" else None

    forged, payload = io.BytesIO(), io.BytesIO()
    Pickler(payload, 2).dump(Calls(torch._utils._rebuild_tensor_v2, "here", 0, size, stride, False, OrderedDict()))
    with zipfile.ZipFile(forged, "w") as out:
        for name in source.namelist():
            out.writestr(name, payload.getvalue() if name.endswith("data.pkl") else source.read(name))
    with pytest.raises(ReadError, match="tensor"):
        load_torch_zip(zipfile.ZipFile(forged))
