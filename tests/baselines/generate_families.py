#!/usr/bin/env python3
"""Baselines of the families beside LLaMA, made by Hugging Face transformers and peft on tiny models
with random weights.

Run it where torch, transformers, peft and safetensors are installed; it takes seconds:

    python3 tests/baselines/generate_families.py [--out tests/baselines/families]

It writes one folder a case of CASES, deterministically from SEED, as generate.py and
generate_lora.py do, but without courses of an optimizer:

    <case>/config.json, model.safetensors   as a hub's folder
    <case>/baseline.safetensors             input_ids, targets, logits, loss, grad.<name> and
                                            bf16-mixed.* of generate.py
    <case>/lora/adapter_model.safetensors, baseline.safetensors   as generate_lora.py's, of
                                            every matrix of the blocks; biases stay frozen
"""

import generate
import generate_lora
import torch
import transformers

SEED = 20261122
STEPS = 1
SIZES = dict(
    vocab_size=150,
    hidden_size=48,
    intermediate_size=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    rms_norm_eps=1e-6,
    max_position_embeddings=64,
)

# In the dialect of a family that knows other keys.
OPT_SIZES = dict(
    vocab_size=150,
    hidden_size=48,
    ffn_dim=64,
    num_hidden_layers=2,
    num_attention_heads=4,
    max_position_embeddings=64,
    word_embed_proj_dim=48,
    dropout=0.0,
)
OPT_BLOCK = ["q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2"]

# name: architecture, its configuration, whether it is written in the dialect of transformers 4
CASES = {
    # Rows of 16 reach into all three ranges of the scaling, whose pretraining had rows of 32.
    "llama3": (
        transformers.LlamaForCausalLM,
        dict(
            tie_word_embeddings=True,
            eos_token_id=[2, 4, 5],
            rope_parameters=dict(
                rope_type="llama3",
                rope_theta=500.0,
                factor=8.0,
                low_freq_factor=1.0,
                high_freq_factor=4.0,
                original_max_position_embeddings=32,
            ),
        ),
        True,
    ),
    # A bias wherever a LLaMA may have one.
    "llama_biases": (
        transformers.LlamaForCausalLM,
        dict(
            attention_bias=True,
            mlp_bias=True,
            tie_word_embeddings=False,
            rope_parameters=dict(rope_type="linear", rope_theta=1e4, factor=4.0),
        ),
        True,
    ),
    "mistral": (
        transformers.MistralForCausalLM,
        dict(
            head_dim=20,
            sliding_window=32,
            tie_word_embeddings=False,
            rope_parameters=dict(rope_type="dynamic", rope_theta=1e4, factor=2.0),
        ),
        False,
    ),
    # Rows of 16 reach beyond the window.
    "mistral_window": (
        transformers.MistralForCausalLM,
        dict(
            sliding_window=5,
            tie_word_embeddings=False,
            rope_parameters=dict(rope_type="default", rope_theta=1e4),
        ),
        False,
    ),
    # Layers with a window and without it take turns.
    "ministral": (
        transformers.MinistralForCausalLM,
        dict(
            num_hidden_layers=3,
            head_dim=20,
            sliding_window=5,
            layer_types=["full_attention", "sliding_attention", "full_attention"],
            tie_word_embeddings=False,
            rope_parameters=dict(rope_type="default", rope_theta=1e6),
        ),
        False,
    ),
    # Of three layers the first has no window.
    "qwen2_window": (
        transformers.Qwen2ForCausalLM,
        dict(
            num_hidden_layers=3,
            use_sliding_window=True,
            sliding_window=4,
            max_window_layers=1,
            tie_word_embeddings=True,
            rope_parameters=dict(rope_type="default", rope_theta=1e6),
        ),
        True,
    ),
    # Its layers are named one by one, and rows reach beyond max_position_embeddings.
    "qwen3_dynamic": (
        transformers.Qwen3ForCausalLM,
        dict(
            head_dim=16,
            max_position_embeddings=12,
            use_sliding_window=True,
            sliding_window=7,
            layer_types=["sliding_attention", "full_attention"],
            tie_word_embeddings=False,
            rope_parameters=dict(rope_type="dynamic", rope_theta=1e4, factor=4.0),
        ),
        False,
    ),
    "qwen2": (
        transformers.Qwen2ForCausalLM,
        dict(
            tie_word_embeddings=True,
            rope_parameters=dict(rope_type="default", rope_theta=1e6),
        ),
        True,
    ),
    # Heads wider than hidden / heads.
    "qwen3": (
        transformers.Qwen3ForCausalLM,
        dict(
            head_dim=16,
            tie_word_embeddings=False,
            rope_parameters=dict(
                rope_type="yarn",
                rope_theta=1e4,
                factor=4.0,
                original_max_position_embeddings=16,
            ),
        ),
        False,
    ),
    # Nothing is dropped: where transformers drops, its generator decides what.
    "opt": (transformers.OPTForCausalLM, dict(tie_word_embeddings=True), False),
    "opt_untied": (transformers.OPTForCausalLM, dict(tie_word_embeddings=False), False),
}


def sizes_of(architecture):
    return OPT_SIZES if architecture is transformers.OPTForCausalLM else SIZES


def targets_of(architecture):
    return OPT_BLOCK if architecture is transformers.OPTForCausalLM else generate_lora.BLOCK


def config_in_dialect(model, old_dialect):
    config = generate.config_of(model)
    if old_dialect:
        rope = config.pop("rope_parameters")
        config["rope_theta"] = rope.pop("rope_theta")
        config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
        config["torch_dtype"] = config.pop("dtype")
    return config


def write_case(folder, architecture, changes, old_dialect):
    generator = torch.Generator().manual_seed(SEED)
    sizes = sizes_of(architecture)
    config = architecture.config_class(**{**sizes, "bos_token_id": 1, "eos_token_id": 2, **changes})
    config.dtype = "float32"
    model = architecture._from_config(config, attn_implementation="eager").train()
    generate.randomize(model, generator)
    inputs, targets = generate.make_batches(sizes["vocab_size"], generator)
    inputs, targets = inputs[:STEPS], targets[:STEPS]
    tensors = generate.step_of(model, inputs, targets)
    origin = f"torch {torch.__version__}, transformers {transformers.__version__}, seed {SEED}"
    generate.write_folder(folder, model, config_in_dialect(model, old_dialect), tensors, origin)
    print(f"{folder}: loss {tensors['loss']:.4f}")
    generate_lora.write_case(folder, folder / "lora", targets_of(architecture))


def main():
    out = generate.begin(__doc__, "families")
    for name, (architecture, changes, old_dialect) in CASES.items():
        write_case(out / name, architecture, changes, old_dialect)


if __name__ == "__main__":
    main()
