#!/usr/bin/env python3
"""Baselines of LoRA, made by peft on the tiny models of tests/baselines/llama.

Run it where torch, transformers, peft and safetensors are installed; it takes seconds:

    python3 tests/baselines/generate_lora.py [--out tests/baselines/lora]

It writes one folder a case of CASES, deterministically from SEED (to the last bit on the same CPU
and versions):

    <case>/adapter_model.safetensors   as peft's save_pretrained writes it: random A and B (not
                                       zero), fp32
    <case>/baseline.safetensors
        logits, loss     of the first batch of llama/<case>/baseline.safetensors, adapters at work,
                         no dropout
        grad.<key>       of that loss, every adapter, by its key in adapter_model.safetensors
        merged           the same logits by merge_and_unload's weights

gqa adapts everything, the head too (A of q, k, v can be packed); tied all but the head (A of 192
elements each cannot).
"""

import argparse
import pathlib

import peft
import safetensors.torch
import torch
import transformers

SEED = 20251117
LLAMA = pathlib.Path(__file__).parent / "llama"
BLOCK = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
CASES = {"gqa": BLOCK + ["lm_head"], "tied": BLOCK}
R, ALPHA = 4, 6
IGNORED = -100


def adapted(base, targets):
    model = transformers.AutoModelForCausalLM.from_pretrained(
        base, attn_implementation="eager", dtype=torch.float32
    )
    config = peft.LoraConfig(
        r=R, lora_alpha=ALPHA, lora_dropout=0.0, target_modules=targets, task_type="CAUSAL_LM"
    )
    model = peft.get_peft_model(model, config)
    generator = torch.Generator().manual_seed(SEED)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_" in name:
                parameter.copy_(0.2 * torch.randn(parameter.shape, generator=generator))
    return model


def write_case(base, folder, targets):
    """Of the model in the folder base."""
    model = adapted(base, targets)
    batch = safetensors.torch.load_file(base / "baseline.safetensors")
    inputs, targets = batch["input_ids"][0], batch["targets"][0]
    logits = model(input_ids=inputs, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED
    )
    loss.backward()
    tensors = {"logits": logits.detach(), "loss": loss.detach()}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            tensors["grad." + name.replace(".default", "")] = parameter.grad
    model.save_pretrained(folder, save_embedding_layers=False)
    for name in ("README.md", "adapter_config.json"):
        (folder / name).unlink(missing_ok=True)
    with torch.no_grad():
        tensors["merged"] = model.merge_and_unload()(input_ids=inputs, use_cache=False).logits
    keys = set(safetensors.torch.load_file(folder / "adapter_model.safetensors"))
    assert keys == {name[5:] for name in tensors if name.startswith("grad.")}
    tensors = {key: tensor.clone().contiguous() for key, tensor in tensors.items()}
    safetensors.torch.save_file(
        tensors,
        folder / "baseline.safetensors",
        {"made_by": f"peft {peft.__version__}, seed {SEED}"},
    )
    print(f"{folder}: loss {loss:.4f}, {len(keys)} adapters")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "lora")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    for case, targets in CASES.items():
        write_case(LLAMA / case, arguments.out / case, targets)


if __name__ == "__main__":
    main()
