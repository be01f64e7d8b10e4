"""A local model: what is handed in, what is done to it, and what it says when it cannot work."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

import opd_widgets as opd
from opd_widgets.errors import InvalidInputError, ModelLoadError
from tests import tiny


def inner():
    return copy.deepcopy(tiny.qwen(0))


@pytest.fixture
def folder(tmp_path):
    inner().save_pretrained(tmp_path / "weights")
    tiny.tokenizer().save_pretrained(tmp_path / "weights")
    return tmp_path / "weights"


def test_a_dtype_or_device_of_torch_is_as_good_as_its_name(folder):
    assert opd.HFModel(folder, device=torch.device("cpu"), dtype=torch.bfloat16).provenance.dtype == "bfloat16"
    assert opd.HFModel(folder, device="cpu", dtype="torch.float32").provenance.dtype == "float32"


@pytest.mark.parametrize("dtype", [torch.int8, 32, "int32", "Tensor"])
def test_what_is_no_floating_dtype(dtype):
    with pytest.raises(InvalidInputError, match="expected 'float32', 'bfloat16' or 'float16'"):
        opd.HFModel((tiny.qwen(), tiny.tokenizer()), dtype=dtype)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ((torch.nn.Linear(2, 2), None), "Linear lacks config"),
        ((torch.nn.Linear(2, 2),), "found a pair of Linear, expected"),
        ((), "found a pair of nothing"),
        (5, "found a source of type int"),
        (None, "found a source of type NoneType"),
    ],
)
def test_what_is_no_model_of_transformers(source, said):
    with pytest.raises(InvalidInputError, match=said):
        opd.HFModel(source)


def test_a_tokenizer_that_is_none_and_a_model_without_a_head():
    with pytest.raises(InvalidInputError, match="str lacks"):
        opd.HFModel((tiny.qwen(), "gpt2"))
    with pytest.raises(InvalidInputError, match="Qwen3Model lacks generation_config, generate"):
        opd.HFModel((tiny.qwen().model, tiny.tokenizer()))


def test_a_pairs_name_is_no_path_of_this_machine(folder):
    from transformers import AutoModelForCausalLM

    loaded = AutoModelForCausalLM.from_pretrained(folder)
    assert opd.HFModel((loaded, tiny.tokenizer())).name == "weights" == opd.HFModel(folder, device="cpu").name
    assert opd.HFModel((inner(), tiny.tokenizer())).name == "Qwen3ForCausalLM"
    assert opd.HFModel((loaded, tiny.tokenizer()), name="mine").name == "mine"


def test_a_pairs_model_keeps_its_dtype_unless_another_is_asked_for():
    mine = inner().to(torch.bfloat16).train()
    made = opd.HFModel((mine, tiny.tokenizer()))
    assert mine.dtype == torch.bfloat16
    assert made.provenance.dtype == "bfloat16"
    assert not mine.training
    assert opd.HFModel((mine, tiny.tokenizer()), dtype="float32").provenance.dtype == "float32"


def test_weights_that_hold_nan_are_named():
    broken = inner()
    with torch.no_grad():
        broken.model.layers[1].mlp.up_proj.weight[0, 0] = float("nan")
    model = opd.HFModel((broken, tiny.tokenizer()), name="broken")
    with pytest.raises(ModelLoadError, match=r"weights of 'broken' hold NaN.*layers\.1\.mlp\.up_proj"):
        model.head(model.hidden([np.array([3, 9])], [np.array([0])]))
