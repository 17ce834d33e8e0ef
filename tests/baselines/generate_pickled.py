#!/usr/bin/env python3
"""Files of torch.save for the reader of worker/rank/files/torch_file.h: the same tiny LLaMA in
every form in which people have weights.

Run it in an environment that has torch 2.11 and safetensors (CPU is enough):

    python3 tests/baselines/generate_pickled.py [--out tests/baselines/pickled]

It writes, deterministically:

    expected.safetensors    the weights by Hugging Face name; value i of a tensor is a number that
                            bf16 holds exactly
    sharded/                pytorch_model.bin.index.json and two shards: a state_dict with its
                            _metadata, a torch.nn.Parameter, a storage that two tensors share,
                            protocol 2
    litgpt/                 lit_model.pth as LitGPT 0.5 writes it: attn.qkv, protocol 5, {"model":
                            state_dict}; config.json
    litgpt_by_group/        the older packing: attn.attn, q … q k v of one query group after another
    refused/                code.bin, a pickle that would run a program; strided.bin, a transposed
                            view; compressed.bin, deflated entries
"""

import argparse
import collections
import json
import os
import pathlib
import zipfile

import safetensors.torch
import torch

HIDDEN, INTERMEDIATE, HEADS, KV_HEADS, HEAD_DIM, VOCAB, LAYERS = 8, 12, 4, 2, 2, 10, 2
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": INTERMEDIATE,
    "num_attention_heads": HEADS,
    "num_key_value_heads": KV_HEADS,
    "num_hidden_layers": LAYERS,
    "vocab_size": VOCAB,
    "max_position_embeddings": 64,
    "rms_norm_eps": 1e-5,
    "tie_word_embeddings": False,
}
LITGPT_NAMES = {
    "input_layernorm": "norm_1",
    "post_attention_layernorm": "norm_2",
    "self_attn.o_proj": "attn.proj",
    "mlp.gate_proj": "mlp.fc_1",
    "mlp.up_proj": "mlp.fc_2",
    "mlp.down_proj": "mlp.proj",
}


def weights():
    shapes = {
        "model.embed_tokens": [VOCAB, HIDDEN],
        "model.norm": [HIDDEN],
        "lm_head": [VOCAB, HIDDEN],
    }
    for layer in range(LAYERS):
        block = f"model.layers.{layer}."
        shapes |= {
            block + "input_layernorm": [HIDDEN],
            block + "post_attention_layernorm": [HIDDEN],
            block + "self_attn.q_proj": [HEADS * HEAD_DIM, HIDDEN],
            block + "self_attn.k_proj": [KV_HEADS * HEAD_DIM, HIDDEN],
            block + "self_attn.v_proj": [KV_HEADS * HEAD_DIM, HIDDEN],
            block + "self_attn.o_proj": [HIDDEN, HEADS * HEAD_DIM],
            block + "mlp.gate_proj": [INTERMEDIATE, HIDDEN],
            block + "mlp.up_proj": [INTERMEDIATE, HIDDEN],
            block + "mlp.down_proj": [HIDDEN, INTERMEDIATE],
        }
    made = collections.OrderedDict()
    for place, (name, shape) in enumerate(shapes.items()):
        values = (torch.arange(torch.Size(shape).numel()) * 7 + place * 13) % 256 - 128
        made[name + ".weight"] = (values.reshape(shape) / 64).to(torch.bfloat16)
    return made


def packed(state, layer, by_group):
    block = f"model.layers.{layer}.self_attn."
    q, k, v = (state[f"{block}{name}_proj.weight"] for name in "qkv")
    if not by_group:
        return torch.cat([q, k, v])
    rows = []
    for group in range(KV_HEADS):
        queries = HEADS // KV_HEADS * HEAD_DIM
        rows += [
            q[group * queries : (group + 1) * queries],
            k[group * HEAD_DIM : (group + 1) * HEAD_DIM],
            v[group * HEAD_DIM : (group + 1) * HEAD_DIM],
        ]
    return torch.cat(rows)


def litgpt(state, by_group):
    made = collections.OrderedDict()
    made["lm_head.weight"] = state["lm_head.weight"]
    made["transformer.wte.weight"] = state["model.embed_tokens.weight"]
    made["transformer.ln_f.weight"] = state["model.norm.weight"]
    for layer in range(LAYERS):
        for ours, theirs in LITGPT_NAMES.items():
            made[f"transformer.h.{layer}.{theirs}.weight"] = state[
                f"model.layers.{layer}.{ours}.weight"
            ]
        made[f"transformer.h.{layer}.attn.{'attn' if by_group else 'qkv'}.weight"] = packed(
            state, layer, by_group
        )
    return made


class Program:
    def __reduce__(self):
        return os.system, ("true",)


def save_sharded(state, folder):
    names = list(state)
    halves = {
        "pytorch_model-00001-of-00002.bin": names[:9],
        "pytorch_model-00002-of-00002.bin": names[9:],
    }
    for file, part in halves.items():
        shard = collections.OrderedDict((name, state[name].clone()) for name in part)
        shard._metadata = collections.OrderedDict({"": {"version": 1}})
        shard[part[0]] = torch.nn.Parameter(shard[part[0]])
        both = torch.cat([shard[part[-2]].flatten(), shard[part[-1]].flatten()])
        cut = shard[part[-2]].numel()
        shard[part[-1]] = both[cut:].reshape(shard[part[-1]].shape)
        shard[part[-2]] = both[:cut].reshape(shard[part[-2]].shape)
        torch.save(shard, folder / file)
    index = {
        "metadata": {},
        "weight_map": {name: file for file, part in halves.items() for name in part},
    }
    (folder / "pytorch_model.bin.index.json").write_text(json.dumps(index))


def save_refused(state, folder):
    torch.save({"w": Program()}, folder / "code.bin")
    torch.save({"w": state["model.embed_tokens.weight"].t()}, folder / "strided.bin")
    whole = folder / "whole.bin"
    torch.save({"w": state["model.norm.weight"]}, whole)
    with (
        zipfile.ZipFile(whole) as stored,
        zipfile.ZipFile(folder / "compressed.bin", "w", zipfile.ZIP_DEFLATED) as compressed,
    ):
        for name in stored.namelist():
            compressed.writestr(zipfile.ZipInfo(name), stored.read(name), zipfile.ZIP_DEFLATED)
    whole.unlink()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--out", type=pathlib.Path, default=pathlib.Path(__file__).parent / "pickled"
    )
    out = parser.parse_args().out
    folders = {name: out / name for name in ("sharded", "litgpt", "litgpt_by_group", "refused")}
    for folder in folders.values():
        folder.mkdir(parents=True, exist_ok=True)
    state = weights()
    safetensors.torch.save_file(
        dict(state), out / "expected.safetensors", metadata={"format": "pt"}
    )
    save_sharded(state, folders["sharded"])
    for name, by_group in (("litgpt", False), ("litgpt_by_group", True)):
        torch.save(
            {"model": litgpt(state, by_group)}, folders[name] / "lit_model.pth", pickle_protocol=5
        )
        (folders[name] / "config.json").write_text(json.dumps(CONFIG, indent=2) + "\n")
    save_refused(state, folders["refused"])


if __name__ == "__main__":
    main()
