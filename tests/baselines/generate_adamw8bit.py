#!/usr/bin/env python3
"""Baselines of AdamW with 8-bit states, made by bitsandbytes' AdamW8bit on the CPU.

Run it in an environment that has torch 2.11 and bitsandbytes 0.50; it takes seconds:

    python3 tests/baselines/generate_adamw8bit.py [--out tests/baselines/adamw8bit]

It writes <out>/baseline.safetensors:

    map.signed, map.unsigned          [256] fp32   bitsandbytes' dynamic maps
    <dtype>.<step>.<tensor>.<what>    after that many steps; dtype fp32 or bf16 (of parameters and
                                      gradients), step one of STEPS, tensor one of SIZES: large (17
                                      blocks of 256), tail (its last block has 4 elements), small
                                      (fp32 states)
        what = param                                  fp32 (exact where bf16)
               exp_avg, exp_avg_sq                    uint8 codes; fp32 of small
               exp_avg_absmax, exp_avg_sq_absmax      fp32, one for each block

Parameters and gradients are numbers(size, seed) below, in integer arithmetic, so that any language
makes the same bits; element i of the gradient of step s is that of seed s, of the parameters that
of seed 0.

One thing is changed: states are encoded by bitsandbytes' "default" backend, and not by its CPU
library. That library searches the map by a coarse table, and misses the nearest code near zero (a
second moment of 0 becomes 1.6e-5 of the block's largest); bitsandbytes' CUDA kernels and its
default backend take the nearest.

How near an implementation must come: codes equal; absmax 1e-6 and parameters 5e-6 relative.
"""

import argparse
import pathlib

import bitsandbytes as bnb
import bitsandbytes.backends.cpu.ops as cpu_ops
import bitsandbytes.functional as F
import safetensors.torch
import torch

SIZES = {"large": 4352, "tail": 4100, "small": 300}
STEPS = (1, 10, 100)
STATES = {
    "state1": "exp_avg",
    "state2": "exp_avg_sq",
    "absmax1": "exp_avg_absmax",
    "absmax2": "exp_avg_sq_absmax",
}
OPTIONS = {"lr": 1e-2, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1}
MASK = 0xFFFFFFFF


def numbers(size, seed):
    h = (torch.arange(size, dtype=torch.int64) * 2654435761 + seed * 2246822519 + 374761393) & MASK
    h ^= h >> 15
    h = ((h & 0xFFFF) * 40503 + (h >> 16) * 30011) & MASK
    h ^= h >> 13
    return ((h & 0xFFFF) - 32768).float() * torch.pow(2.0, -15 - ((h >> 16) & 7).float())


def encode(values, code, absmax_out, out, blocksize):
    kernel = torch.ops.bitsandbytes.quantize_blockwise.default
    codes, absmax = kernel._op_dk(
        torch._C.DispatchKey.CompositeExplicitAutograd, values, code, blocksize
    )
    out.copy_(codes)
    absmax_out.copy_(absmax)


def run(dtype):
    parameters = {
        name: torch.nn.Parameter(numbers(size, 0).to(dtype)) for name, size in SIZES.items()
    }
    optimizer = bnb.optim.AdamW8bit(parameters.values(), **OPTIONS)
    tensors = {}
    for step in range(1, max(STEPS) + 1):
        for name, parameter in parameters.items():
            parameter.grad = numbers(SIZES[name], step).to(dtype)
        optimizer.step()
        if step not in STEPS:
            continue
        for name, parameter in parameters.items():
            state = optimizer.state[parameter]
            prefix = f"{step}.{name}."
            tensors[prefix + "param"] = parameter.detach().float().clone()
            for key, what in STATES.items():
                if key in state:
                    tensors[prefix + what] = state[key].clone()
    return tensors


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "adamw8bit"
    )
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    cpu_ops._quant_blockwise_fp32_direct = encode
    tensors = {
        "map.signed": F.create_dynamic_map(signed=True),
        "map.unsigned": F.create_dynamic_map(signed=False),
    }
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        tensors |= {f"{name}.{key}": value for key, value in run(dtype).items()}
    arguments.out.mkdir(parents=True, exist_ok=True)
    made_by = f"generate_adamw8bit.py, torch {torch.__version__}, bitsandbytes {bnb.__version__}"
    safetensors.torch.save_file(
        tensors, arguments.out / "baseline.safetensors", {"made_by": made_by}
    )
    used = {
        name: len(tensors[f"fp32.100.large.{name}"].unique()) for name in ("exp_avg", "exp_avg_sq")
    }
    print(f"{len(tensors)} tensors; codes in use after 100 steps: {used}")


if __name__ == "__main__":
    main()
