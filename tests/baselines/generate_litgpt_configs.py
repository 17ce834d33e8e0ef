#!/usr/bin/env python3
"""model_config.yaml of some models as LitGPT writes them, for worker/rank/files/litgpt_config.h.
Run by people; the result is checked in.

    pip download litgpt==0.5.11 --no-deps && unzip litgpt-*.whl -d litgpt
    pip install pyyaml typing_extensions
    tests/baselines/generate_litgpt_configs.py litgpt/litgpt/config.py

The last rewrites tests/baselines/litgpt/.

config.py alone is run, with stand-ins for its two imports that need PyTorch.
"""

import dataclasses
import pathlib
import runpy
import sys
import types

import yaml

FOLDER = pathlib.Path(__file__).resolve().parent / "litgpt"
MODELS = [
    "tiny-llama-1.1b",
    "open_llama_7b",
    "CodeLlama-7b-hf",
    "Llama-3-8B",
    "Llama-3.2-1B",
    "Mistral-7B-v0.1",
    "pythia-14m",
    "Gemma-2b",
    "Qwen2.5-0.5B",
    "phi-2",
    "Mixtral-8x7B-v0.1",
    "OLMo-2-1124-7B",
    "Llama-2-7b-chat-hf",
]
# The shape of generate_pickled.py's weights.
TINY = {
    "name": "tiny",
    "block_size": 64,
    "n_layer": 2,
    "n_embd": 8,
    "n_head": 4,
    "n_query_groups": 2,
    "head_size": 2,
    "vocab_size": 10,
    "padded_vocab_size": 10,
    "rotary_percentage": 1.0,
    "parallel_residual": False,
    "bias": False,
    "norm_class_name": "RMSNorm",
    "mlp_class_name": "LLaMAMLP",
    "intermediate_size": 12,
    "norm_eps": 1e-5,
}


def main():
    utils = types.ModuleType("litgpt.utils")
    utils.find_multiple = lambda n, k: n if n % k == 0 else n + k - n % k
    sys.modules |= {
        "torch": types.ModuleType("torch"),
        "litgpt": types.ModuleType("litgpt"),
        "litgpt.utils": utils,
    }
    Config = runpy.run_path(sys.argv[1])["Config"]
    FOLDER.mkdir(exist_ok=True)
    for name, config in [(name, Config.from_name(name)) for name in MODELS] + [
        ("tiny", Config(**TINY))
    ]:
        (FOLDER / f"{name}.yaml").write_text(
            yaml.dump(dataclasses.asdict(config))
        )  # as litgpt.utils.save_config


if __name__ == "__main__":
    main()
