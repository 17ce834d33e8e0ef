#!/usr/bin/env python3
"""Seeds for the fuzz targets: what the checkout ships, and small inputs of other formats.

usage: tests/fuzz/seeds.py FOLDER    fills FOLDER/TARGET for each target
       tests/fuzz/seeds.py --list    prints the targets
"""

import base64
import json
import pathlib
import struct
import sys

import messages

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
BASELINES = TOP / "tests/baselines"
LONGEST = 64 << 10  # bytes of a seed

JOB = {
    "version": 1,
    "name": "tiny",
    "model": {"path": "/m"},
    "data": {"path": "/d", "format": "alpaca"},
    "train": {"micro_batch_size": 4, "global_batch_size": 16, "epochs": 1},
}
MODEL = {
    "family": "llama",
    "layers": 2,
    "hidden": 64,
    "intermediate": 128,
    "heads": 4,
    "kv_heads": 2,
    "head_dim": 16,
    "vocab": 512,
    "max_positions": 2048,
    "tied_head": True,
    "rope_theta": 1e4,
    "norm_eps": 1e-5,
    "bos_token": 0,
    "eos_token": 1,
}
INSPECTION = {
    "model": MODEL,
    "rows": 1000,
    "longest_row": 400,
    "total_tokens": 90000,
    "data_digest": "00ff",
}
POINT = {"name": "loss", "step": 3, "value": 1.5, "time": 1}
RANK_MESSAGES = [
    {"type": "started", "pid": 7, "commit": "c", "libtorch": "2", "nccl": "", "driver": "5"}
    | {"device_name": "NVIDIA H200"},
    {"type": "progress", "step": 3, "steps": 9, "stage": "compute", "loss": 2.5}
    | {"peak_allocated_bytes": 1024},
    {"type": "metrics", "points": [POINT, POINT | {"value": "NaN", "rank": 1}]},
    {"type": "saved", "kind": "final", "path": "/out/final", "bytes": 9, "removed": ["/out/a"]},
    {"type": "notice", "text": "a\nb"},
    {"type": "rendezvous", "blob": "00ff"},
    {"type": "peers", "blob": "00ff"},
    {"type": "stop"},
    {"type": "dropped", "messages": 3},
    {"type": "outcome", "outcome": "SUCCEEDED", "message": ""},
    {"type": "continuation", "step": 5, "place": 0, "prompt": "a", "text": "b"},
]
SLICE = {"tensor": "w", "kind": "master", "dtype": "F32", "elements_per_value": 1}
FILE = {
    "name": "rank-0-of-1.safetensors",
    "size_bytes": 64,
    "slices": [SLICE | {"begin": 0, "count": 4, "total": 4, "digest": "00ff"}],
}
MANIFEST = {
    "version": 1,
    "step": 5,
    "total_steps": 9,
    "written_at": 1,
    "world_size": 1,
    "runs": ["j1"],
    "val_loss": 2.5,
    "job": JOB,
    "data": {"digest": "00ff", "epoch": 0, "step_in_epoch": 5},
    "files": [FILE],
}
EXIT = {
    "exit_code": 1,
    "oom_killed": False,
    "note": "left by pid 7",
    "leftover_pids": [7, 8],
    "lost_log_bytes": 9,
    "boot_id": "00ff",
    "ended_at": 5,
}
LITGPT = ["finetune_lora", "CKPT", "--config", "a.yaml", "--train.epochs=3", "--lora_r", "8"]
TOKEN = "1 " + "0f" * 32 + " anna user 1000000 2000000000\n"
CHAT = {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}
SHARE_GPT = {"messages": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}]}
CSV = 'csv\nfile_name,text\na.png,"one, ""two""\nthree"\nb.png,four\n'
WORDS = """80GiB|1.5TB|1d 12h|0-3,8,10-11|127.0.0.1:7070|[::1]:0|0.0.0.0:7443|anna=operator|>=40GiB
>=8.0|=NVIDIA H200|/api/series?job=j12&name=loss%20a&points=9"""
TOKENIZER_CONFIG = {
    "add_bos_token": True,
    "bos_token": "<s>",
    "eos_token": {"content": "</s>", "lstrip": False, "special": True},
    "unk_token": None,
    "added_tokens_decoder": {"3": {"content": "<x>", "special": True, "normalized": False}},
    "chat_template": [{"name": "default", "template": "{{ bos_token }}"}],
    "eos_token_id": [1, 2],
    "weight_map": {"w": "model.safetensors"},
    "tokenizer_class": "LlamaTokenizer",
}
VOCAB = ["\u2581", "a", "x", "\u2581x", "<unk>", "<0xC3>", "<s>", "1", "2", "12"]
# With a component of each kind.
TOKENIZER = {
    "added_tokens": [
        {"id": 6, "content": "<s>", "special": True},
        {"id": 20, "content": "<|user|>", "lstrip": True, "rstrip": True},
        {"id": 21, "content": "keyword", "single_word": True},
    ],
    "normalizer": {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFC"},
            {"type": "Prepend", "prepend": "\u2581"},
            {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"},
        ],
    },
    "pre_tokenizer": {
        "type": "Sequence",
        "pretokenizers": [
            {"type": "Digits", "individual_digits": False},
            {"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)|x"}}
            | {"behavior": "MergedWithNext", "invert": False},
            {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first"}
            | {"split": True},
        ],
    },
    "decoder": {
        "type": "Sequence",
        "decoders": [
            {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            {"type": "Strip", "content": " ", "start": 1, "stop": 0},
        ],
    },
    "model": {
        "type": "BPE",
        "vocab": {text: i for i, text in enumerate(VOCAB)},
        "merges": [["\u2581", "x"], "1 2"],
        "unk_token": "<unk>",
        "fuse_unk": True,
        "byte_fallback": True,
    },
}
# The messages of kDecoders in rpc_target.cc, in its order.
SEEDS_OF_RPC = [
    "SubmitRequest",
    "ListRequest",
    "EarlierRunsRequest",
    "InspectRequest",
    "ReadArtifactRequest",
    "AuditRequest",
    "Hello",
    "RankReport",
    "LogReport",
    "InspectResult",
    "ReadArtifactResponse",
    "Device",
    "DeviceSample",
    "HostSample",
    "ShapeRuns",
    "MetricSummary",
    "ArtifactAsk",
    "OutputsAsk",
    "HostOutputs",
]
# What the strings of messages are, by their fields' names; all others are "j1", and numbers 1.
STRINGS = {
    "job_json": json.dumps(JOB),
    "inspection_json": json.dumps(INSPECTION),
    "prediction_json": "",
    "line": json.dumps(RANK_MESSAGES[1]),
    "kind": "cuda",
    "states": "RUNNING",
    "outcomes": "SUCCEEDED",
    "group_name": "lab",
    "error": "",
}
# The requests of kRequests in leases_target.cc, in its order; the last one sets the clock.
LEASE_REQUESTS = [
    "CreateLeaseRequest",
    "FindLeaseRequest",
    "ExtendLeaseRequest",
    "DeleteLeaseRequest",
    None,
]
LEASE = {
    "name": "lab",
    "host": "a",
    "gpu_model": "h200",
    "start": 0,
    "seconds": 3600,
    "end_was": 0,
}


def shipped(*patterns):
    """The small files of the checkout that match."""
    paths = [path for pattern in patterns for path in sorted(TOP.glob(pattern))]
    return [path.read_bytes() for path in paths if path.stat().st_size <= LONGEST]


def texts(values):
    return [json.dumps(value).encode() for value in values]


def safetensors(header):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(10)


def sentencepiece():
    """A ModelProto of VOCAB, with a map of characters: a trie of 16 words, and a text."""

    def number(field, value):
        return messages.varint(field << 3) + messages.varint(value)

    def piece(text, kind):
        score = messages.varint(2 << 3 | 5) + struct.pack("<f", -1)
        return messages.delimited(1, messages.delimited(1, text.encode()) + score + number(3, kind))

    kinds = {"<unk>": 2, "<0xC3>": 6, "<s>": 3}
    charsmap = struct.pack("<17I", 64, *range(0, 16 << 9, 1 << 9)) + b"a\0b\0"
    trainer = number(3, 2) + number(35, 1)
    pieces = b"".join(piece(text, kinds.get(text, 1)) for text in VOCAB)
    return [
        pieces + messages.delimited(2, trainer) + messages.delimited(3, normalizer)
        for normalizer in (number(3, 1), messages.delimited(2, charsmap))
    ]


def der(path):
    """The bytes in a PEM file."""
    return base64.b64decode("".join(path.read_text(encoding="ascii").splitlines()[1:-1]))


def greetings():
    """What ranks say until they are a group: blobs, endpoints, hellos."""

    def endpoint(address, port):
        return struct.pack("<62sH", address, port)

    def hello(rank, world_size, listens_at):
        return struct.pack("<8s32sii", b"TCTLMSH2", bytes(32), rank, world_size) + listens_at

    here = endpoint(b"127.0.0.1", 7070)
    secret = b":7070:" + b"00112233445566778899aabbccddeeff"
    said = [hello(2, 4, here), hello(0, 4, here), hello(-1, 2, bytes(64)), hello(3, 4, here)[:99]]
    return [
        *(b"\0" + address + secret for address in (b"127.0.0.1", b"::1", b"fe80::1%eth0", b"")),
        b"\1" + here + endpoint(b"::1", 1) + endpoint(b"a" * 62, 1) + endpoint(b"a", 0),
        *(b"\2" + pieces + text for pieces in (b"\0\0", b"\xff\1") for text in said),
        b"\2\0\0" + said[0] + bytes(32),
    ]


def leases():
    """Requests alone, then some of each user, one after another."""

    def request(user, kind, text):
        number = LEASE_REQUESTS.index(kind) + user * len(LEASE_REQUESTS)
        return bytes([number, len(text)]) + text

    def ask(user, kind, **changes):
        return request(user, kind, messages.whole(kind, LEASE | changes))

    def wait(seconds):
        return request(0, None, struct.pack("<i", seconds))

    create, find, extend, delete, _ = LEASE_REQUESTS
    week = 7 * 86_400
    begun = 1_000_000_000_000_000  # the site's clock at first, in microseconds
    longer = ask(0, extend, end_was=begun + 3600 * 1_000_000)
    return [
        *(
            request(0, kind, text)
            for kind in (create, find, extend)
            for text in messages.examples(kind, LEASE)
        ),
        ask(0, create) + ask(0, extend) + wait(3600) + wait(3540) + wait(60),
        ask(0, create) + longer + longer + ask(0, extend, end_was=begun),
        ask(0, create) + ask(1, find, host="") + ask(1, create, name="", host="", devices=2),
        ask(2, create, seconds=week) + wait(600) + ask(2, delete) + ask(1, create),
        ask(2, create, start=begun + week * 1_000_000) + ask(0, find, devices=4, host=""),
        ask(1, create, gpu_model="h100", host="c") + wait(-60) + wait(week) + ask(0, find),
        ask(2, create, seconds=400 * 86_400) + ask(2, create, seconds=366 * 86_400),
        ask(0, create, seconds=1 << 62) + ask(0, extend, seconds=1 << 62),
    ]


def seeds():
    """{target: its seeds}."""
    tensor = {"dtype": "BF16", "shape": [1, 3], "data_offsets": [0, 6]}
    header = {"a": tensor, "b": {"dtype": "F32", "shape": [1], "data_offsets": [6, 10]}}
    archives = shipped("tests/baselines/pickled/*/*.bin", "tests/baselines/pickled/*/*.pth")
    jobs = shipped("deploy/recipes/*.json")
    spool = "".join(json.dumps(message) + "\n" for message in RANK_MESSAGES).encode()
    gpt2 = BASELINES / "tokenizers/gpt2"
    merges = b"#version: 0.2\na b\nab c\n"
    vocab = json.dumps({text: i for i, text in enumerate(["a", "b", "c", "ab", "abc", "<|e|>"])})
    annexes = [INSPECTION, INSPECTION | {"model": MODEL | {"family": "opt"}}]
    chats = json.loads((BASELINES / "chat.json").read_text(encoding="utf-8"))
    return {
        "certificate": shipped("tests/fuzz/seeds/*.pem")
        + [der(path) for path in sorted((HERE / "seeds").glob("*.pem"))],
        "chat_template": sorted({chat["jinja"].encode() for chat in chats}),
        "estimate": [text + b"\0" + annex for text in texts([JOB]) for annex in texts(annexes)],
        "exit_record": texts([EXIT, {"signal": 9}, {"launch_error": "no", "worker_fault": True}]),
        "greetings": greetings(),
        "job": jobs + [jobs[0] + b"\0train.epochs=2\nprecision=bf16-true\n", *texts([JOB])],
        "leases": leases(),
        "litgpt": [
            text + b"\0" + "\n".join(LITGPT).encode() for text in shipped("tests/fuzz/seeds/*.yaml")
        ],
        "manifest": texts([MANIFEST, FILE]),
        "model_config": shipped(
            "deploy/models/*/config.json",
            "tests/baselines/families/*/config.json",
            "tests/baselines/litgpt/*.yaml",
        ),
        "model_folder": texts([TOKENIZER_CONFIG])
        + shipped("deploy/models/tiny-blip2/*_config.json"),
        "picture": shipped(*(f"tests/baselines/images/*.{end}" for end in ("jpg", "png", "webp"))),
        "policy": shipped("deploy/policy.example.json"),
        "rank_folder": [spool, spool + b"\0one\ntwo\nthree"],
        "rank_messages": texts(RANK_MESSAGES) + [b"folder 1 2 boot\nsaved 9 3 4 final/a b\n"],
        "rows": [
            *texts([[CHAT, SHARE_GPT], {"text": "a"}]),
            b"".join(text + b"\n" for text in texts([CHAT, SHARE_GPT])),
            CSV.encode(),
        ],
        "rpc": [
            bytes([kind]) + text
            for kind, name in enumerate(SEEDS_OF_RPC)
            for text in messages.examples(name, STRINGS)
        ],
        "safetensors": [
            safetensors(header),
            *texts([header | {"__metadata__": {"format": "pt"}}]),
            *shipped("tests/baselines/pickled/*.safetensors"),
        ],
        "sentencepiece": sentencepiece() + shipped("tests/baselines/tokenizers/*/tokenizer.model"),
        "tables": shipped(
            *(f"tests/baselines/tables/*.{end}" for end in ("arrow", "feather", "parquet")),
            "tests/baselines/tables/saved/*.arrow",
            "tests/baselines/tables/shards/data/*.parquet",
            "tests/baselines/tables/bombs/claims_*.parquet",
        ),
        "tokenizer_json": texts([TOKENIZER])
        + shipped(
            "deploy/models/tiny*/tokenizer.json", "tests/baselines/tokenizers/*/tokenizer.json"
        ),
        "tokens": [("next 2\n" + TOKEN).encode(), b"next 1\n", b""],
        "torch_file": archives + [archive[archive.find(b"\x80\x02") :] for archive in archives],
        "vocab_merges": [
            vocab.encode() + b"\0" + merges,
            (gpt2 / "vocab.json").read_bytes() + b"\0" + (gpt2 / "merges.txt").read_bytes(),
        ],
        "words": [word.encode() for word in WORDS.replace("\n", "|").split("|")],
    }


def write(folder):
    for target, inputs in seeds().items():
        (folder / target).mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(inputs):
            (folder / target / f"{number:03}").write_bytes(text)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--list":
        print(*seeds(), sep="\n")
    else:
        write(pathlib.Path(sys.argv[1]))
