#!/usr/bin/env python3
"""Baselines of 4-bit weights, made by bitsandbytes (0.50 or later, its CPU implementation):
tests/baselines/nf4.safetensors.

    python3 tests/baselines/generate_nf4.py

For each case (random matrices; one with a block of zeros, one of bf16 values; elements are a
multiple of 64, scales of 256 or not):

    <case>.values          fp32
    <case>.codes           uint8 [numel / 2]
    <case>.scales          fp32 [numel / 64]
    <case>.dequantized     fp32; <case>.dequantized_bf16: bf16
    <case>.dq.scale_codes, .scale_scales, .offset, .dequantized       the same under double
                                                                      quantization
and map: the signed dynamic map of its 8-bit codes.

Two of bitsandbytes' CPU kernels are passed by, since they are not what its CUDA kernels compute:
dequantizing restarts the blocks of 64 at each row, and 8-bit codes are not always the nearest. What
it has for any device takes their place.
"""

import pathlib

import bitsandbytes
import bitsandbytes.functional as bnb
import safetensors.torch
import torch
from bitsandbytes.backends.default.ops import _dequantize_4bit_compute

SEED = 20251117


def cases():
    generator = torch.Generator().manual_seed(SEED)
    normal = torch.randn((96, 80), generator=generator)
    heavy = torch.randn((300, 64), generator=generator) ** 3
    heavy[7] = 0
    return {
        "normal": normal * 0.02,
        "heavy": heavy,
        "bf16": (torch.randn((16, 64), generator=generator) * 0.05).bfloat16().float(),
    }


def dequantized(codes, scales, values, dtype):
    return _dequantize_4bit_compute(
        codes.flatten(), scales, bnb.get_4bit_type("nf4", device="cpu"), 64, values.shape, dtype
    )


def main():
    tensors = {"map": bnb.create_dynamic_map(signed=True)}
    for name, values in cases().items():
        codes, state = bnb.quantize_4bit(
            values, blocksize=64, quant_type="nf4", compress_statistics=False
        )
        tensors[f"{name}.values"] = values
        tensors[f"{name}.codes"] = codes.flatten()
        tensors[f"{name}.scales"] = state.absmax
        tensors[f"{name}.dequantized"] = dequantized(codes, state.absmax, values, torch.float32)
        tensors[f"{name}.dequantized_bf16"] = dequantized(
            codes, state.absmax, values, torch.bfloat16
        )
        offset = state.absmax.mean()
        # float64 takes the general implementation; it computes in fp32.
        wide = (state.absmax - offset).double()
        scale_codes, scale_scales = torch.ops.bitsandbytes.quantize_blockwise.default(
            wide, tensors["map"], 256
        )
        tensors[f"{name}.dq.scale_codes"] = scale_codes
        tensors[f"{name}.dq.scale_scales"] = scale_scales
        tensors[f"{name}.dq.offset"] = offset
        scales = (
            bnb.dequantize_blockwise(
                scale_codes, absmax=scale_scales, code=tensors["map"], blocksize=256
            )
            + offset
        )
        tensors[f"{name}.dq.dequantized"] = dequantized(codes, scales, values, torch.float32)
    tensors = {key: tensor.clone().contiguous() for key, tensor in tensors.items()}
    origin = {"made_by": f"bitsandbytes {bitsandbytes.__version__}, seed {SEED}"}
    safetensors.torch.save_file(tensors, pathlib.Path(__file__).parent / "nf4.safetensors", origin)


if __name__ == "__main__":
    main()
