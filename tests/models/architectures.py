"""Architectures of many kinds, tiny and of random weights, for tests that a way of reading suits them all."""

from __future__ import annotations

import torch

import opd_widgets as opd
from tests import tiny

SIZES = {
    "vocab_size": 64, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 512, "initializer_range": 0.3,
    "tie_word_embeddings": False,
}  # fmt: skip


def qwen():
    return tiny.qwen(0, limit=512)


def llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    return LlamaForCausalLM(LlamaConfig(**SIZES))


def sliding():
    """A window of 6 in two layers of three: far shorter than the prefix, so that a cache cut to it would show."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    return Gemma3ForCausalLM(Gemma3TextConfig(**SIZES, sliding_window=6, layer_types=kinds))


def capped():
    """Logits are squashed between -3 and 3, and the window is 6 everywhere."""
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    kinds = ["sliding_attention"] * 3
    config = Gemma3TextConfig(**SIZES, sliding_window=6, layer_types=kinds, final_logit_softcapping=3.0)
    return Gemma3ForCausalLM(config)


def learned(dropout: float = 0.0):
    """A learned vector for each position, so that a position off by one is another model."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return GPT2LMHeadModel(
        GPT2Config(
            vocab_size=64, n_embd=32, n_layer=2, n_head=2, n_positions=512, initializer_range=0.3,
            attn_pdrop=dropout, embd_pdrop=dropout, resid_pdrop=dropout,
        )
    )  # fmt: skip


def alibi():
    """Distances in place of positions: it takes no position ids."""
    from transformers import BloomConfig, BloomForCausalLM

    return BloomForCausalLM(BloomConfig(vocab_size=64, hidden_size=32, n_layer=2, n_head=4, initializer_range=0.3))


def hybrid():
    """Recurrent and attending layers in turns."""
    from transformers import Qwen3NextConfig, Qwen3NextForCausalLM

    return Qwen3NextForCausalLM(
        Qwen3NextConfig(
            **SIZES, layer_types=["linear_attention", "full_attention", "linear_attention"], num_experts=4,
            num_experts_per_tok=2, moe_intermediate_size=16, shared_expert_intermediate_size=16,
            linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=8, linear_value_head_dim=8,
        )
    )  # fmt: skip


def mixture():
    from transformers import Qwen3MoeConfig, Qwen3MoeForCausalLM

    return Qwen3MoeForCausalLM(
        Qwen3MoeConfig(**SIZES, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=16, decoder_sparse_step=1)
    )


def recurrent():
    from transformers import MambaConfig, MambaForCausalLM

    return MambaForCausalLM(
        MambaConfig(vocab_size=64, hidden_size=32, state_size=4, num_hidden_layers=2, initializer_range=0.3)
    )


def longrope():
    """Rotary factors are chosen by the longest position of a forward pass: beyond 64 the long ones."""
    from transformers import Phi3Config, Phi3ForCausalLM

    rope = {
        "rope_type": "longrope", "short_factor": [1.0] * 4, "long_factor": [4.0] * 4, "rope_theta": 10000.0,
        "original_max_position_embeddings": 64,
    }  # fmt: skip
    return Phi3ForCausalLM(
        Phi3Config(**{**SIZES, "pad_token_id": 0}, rope_parameters=rope, original_max_position_embeddings=64)
    )


ATTENDING = [qwen, llama, sliding, mixture]


def loaded(make, **options):
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return opd.HFModel((make().eval(), tiny.tokenizer()), device="cpu", **options)
