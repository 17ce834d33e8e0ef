#!/usr/bin/env python3
"""Makes what lies beside this file: a tiny LLaMA and a tiny BLIP-2 with weights, and the shapes of
the labs' models with a small tokenizer.

usage: deploy/models/generate.py

  tiny/                     4 layers of 64, vocabulary 512: config.json, tokenizer.json (byte-level
                            BPE), model.safetensors (random weights)
  tiny-blip2/               a BLIP-2 as small (tiny_blip2.py), with the files of its processor
  tokenizer.json            a LLaMA-style BPE with byte fallback, 2,000 pieces, trained on
                            ../data/alpaca.json
  TinyLlama-1.1B/ …         config.json of the real model, for "init": "random"; tokenizer.json is a
                            link to the one above

Needs only Python. The same input gives the same bytes.
"""

import array
import collections
import json
import math
import pathlib
import random
import re
import struct
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import tiny_blip2  # noqa: E402
from shapes import LLAMA, SHAPES  # noqa: E402

WORD_START = "▁"  # stands for the space before a word, as in SentencePiece

TINY = {
    "num_hidden_layers": 4,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "vocab_size": 512,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "tie_word_embeddings": True,
    "torch_dtype": "float32",
}


# ---- byte pair encoding ----


def most_frequent_pair(counts, words):
    pairs = collections.Counter()
    for word, symbols in words.items():
        for pair in zip(symbols, symbols[1:]):
            pairs[pair] += counts[word]
    return max(pairs, key=lambda pair: (pairs[pair], pair)) if pairs else None


def merged(symbols, pair):
    out, i = [], 0
    while i < len(symbols):
        if tuple(symbols[i : i + 2]) == pair:
            out.append(symbols[i] + symbols[i + 1])
            i += 2
        else:
            out.append(symbols[i])
            i += 1
    return out


def train_merges(counts, count):
    """The first `count` merges of the words (text → how often)."""
    words, merges = {word: list(word) for word in counts}, []
    while len(merges) < count:
        pair = most_frequent_pair(counts, words)
        if pair is None:
            break
        merges.append(pair)
        words = {
            word: merged(symbols, pair) if pair[0] in symbols else symbols
            for word, symbols in words.items()
        }
    return merges


def vocabulary(first, merges):
    tokens = list(dict.fromkeys([*first, *(a + b for a, b in merges)]))
    return {token: i for i, token in enumerate(tokens)}


def special_token(identity, content):
    return {
        "id": identity,
        "content": content,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }


# ---- the two kinds of tokenizer ----


def byte_alphabet():
    """GPT-2's printable stand-in for each byte."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {
        **{byte: chr(byte) for byte in printable},
        **{byte: chr(256 + i) for i, byte in enumerate(others)},
    }


def byte_level_tokenizer(text, size):
    specials, alphabet = ["<|begin|>", "<|end|>"], byte_alphabet()
    words = re.findall(r" ?[^\W\d_]+| ?\d+| ?[^\s\w]+|\s+", text)
    counts = collections.Counter(
        "".join(alphabet[byte] for byte in word.encode()) for word in words
    )
    first = [*specials, *(alphabet[byte] for byte in range(256))]
    merges = train_merges(counts, size - len(first))
    byte_level = {
        "type": "ByteLevel",
        "add_prefix_space": False,
        "trim_offsets": True,
        "use_regex": True,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special_token(i, token) for i, token in enumerate(specials)],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": vocabulary(first, merges),
            "merges": [f"{a} {b}" for a, b in merges],
        },
    }


def llama_tokenizer(text, size):
    specials, pieces = ["<unk>", "<s>", "</s>"], [f"<0x{byte:02X}>" for byte in range(256)]
    words = collections.Counter(
        re.findall(f"{WORD_START}?[^{WORD_START}\n]+", WORD_START + text.replace(" ", WORD_START))
    )
    letters = sorted(set("".join(words)))
    first = [*specials, *pieces, *letters]
    merges = train_merges(words, size - len(first))
    sequence = {"id": "A", "type_id": 0}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [special_token(i, token) for i, token in enumerate(specials)],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Prepend", "prepend": WORD_START},
                {"type": "Replace", "pattern": {"String": " "}, "content": WORD_START},
            ],
        },
        "pre_tokenizer": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": sequence}],
            "pair": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": sequence},
                {"Sequence": {"id": "B", "type_id": 0}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [
                {"type": "Replace", "pattern": {"String": WORD_START}, "content": " "},
                {"type": "ByteFallback"},
                {"type": "Fuse"},
                {"type": "Strip", "content": " ", "start": 1, "stop": 0},
            ],
        },
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": "<unk>",
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": True,
            "byte_fallback": True,
            "vocab": vocabulary(first, merges),
            "merges": [f"{a} {b}" for a, b in merges],
        },
    }


# ---- weights ----


def tensor_shapes(config):
    hidden, ffn = config["hidden_size"], config["intermediate_size"]
    q, kv = (
        config["num_attention_heads"] * config["head_dim"],
        config["num_key_value_heads"] * config["head_dim"],
    )
    shapes = {"model.embed_tokens.weight": (config["vocab_size"], hidden)}
    for layer in range(config["num_hidden_layers"]):
        block = {
            "input_layernorm": (hidden,),
            "self_attn.q_proj": (q, hidden),
            "self_attn.k_proj": (kv, hidden),
            "self_attn.v_proj": (kv, hidden),
            "self_attn.o_proj": (hidden, q),
            "post_attention_layernorm": (hidden,),
            "mlp.gate_proj": (ffn, hidden),
            "mlp.up_proj": (ffn, hidden),
            "mlp.down_proj": (hidden, ffn),
        }
        shapes |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in block.items()}
    return {**shapes, "model.norm.weight": (hidden,)}


def random_values(name, shape, deviation, rng):
    """Biases are zeros, norms ones, what has more dimensions normally distributed."""
    if len(shape) == 1:
        return array.array("f", [0.0 if name.endswith(".bias") else 1.0]) * shape[0]
    return array.array("f", (rng.gauss(0, deviation) for _ in range(math.prod(shape))))


def safetensors(shapes, deviation, seed):
    rng, header, data = random.Random(seed), {"__metadata__": {"format": "pt"}}, b""
    for name, shape in shapes.items():
        values = random_values(name, shape, deviation, rng)
        if sys.byteorder == "big":
            values.byteswap()
        header[name] = {
            "dtype": "F32",
            "shape": shape,
            "data_offsets": [len(data), len(data) + 4 * len(values)],
        }
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data


# ---- the folders ----


def write_json(path, value, indent=None):
    path.write_text(json.dumps(value, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")


def make_tiny(where, text):
    folder, config = where / "tiny", {**LLAMA, **TINY}
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", config, indent=1)
    write_json(
        folder / "tokenizer.json", byte_level_tokenizer(text, config["vocab_size"]), indent=0
    )
    weights = safetensors(tensor_shapes(config), config["initializer_range"], seed=1)
    (folder / "model.safetensors").write_bytes(weights)


def picture_tokenizer(text):
    """Has a token of the picture, and puts its own begin before a text."""
    tokenizer = byte_level_tokenizer(text, tiny_blip2.PICTURE)
    tokenizer["added_tokens"].append(special_token(tiny_blip2.PICTURE, "<image>"))
    begin, sequence = {"SpecialToken": {"id": "<|begin|>", "type_id": 0}}, {"id": "A", "type_id": 0}
    tokenizer["post_processor"] = {
        "type": "TemplateProcessing",
        "single": [begin, {"Sequence": sequence}],
        "pair": [begin, {"Sequence": sequence}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {
            "<|begin|>": {
                "id": "<|begin|>",
                "ids": [tiny_blip2.BEGIN],
                "tokens": ["<|begin|>"],
            }
        },
    }
    return tokenizer


def make_tiny_blip2(where, text):
    folder = where / "tiny-blip2"
    folder.mkdir(exist_ok=True)
    for name, value in tiny_blip2.FILES.items():
        write_json(folder / name, value, indent=1)
    write_json(folder / "tokenizer.json", picture_tokenizer(text), indent=0)
    deviation = tiny_blip2.CONFIG["initializer_range"]
    weights = safetensors(tiny_blip2.tensor_shapes(), deviation, seed=2)
    (folder / "model.safetensors").write_bytes(weights)


def make_shape(where, name, config):
    folder = where / name
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", config, indent=1)
    link = folder / "tokenizer.json"
    link.unlink(missing_ok=True)
    link.symlink_to("../tokenizer.json")


def make_all(where):
    rows = json.loads((HERE.parent / "data" / "alpaca.json").read_text(encoding="utf-8"))
    text = "\n".join(f"{row['instruction']}\n{row['input']}\n{row['output']}" for row in rows)
    make_tiny(where, text)
    make_tiny_blip2(where, text)
    write_json(where / "tokenizer.json", llama_tokenizer(text, size=2000), indent=0)
    for name, config in SHAPES.items():
        make_shape(where, name, config)


if __name__ == "__main__":
    make_all(HERE)
