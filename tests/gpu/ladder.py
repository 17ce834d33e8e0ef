#!/usr/bin/env python3
"""The ladder of trust on this host's devices: each rung trains the same rows in two ways, through
the real coordinator and workers, and compares the loss of every step. DDP proves itself against one
device, FSDP against DDP, a run that goes on from a checkpoint against the one that saved it, and
everything else against one of these.

usage: tests/gpu/ladder.py [--rungs NAME,…] [--steps N] [--bin DIR] [--cpu SLOTS] [--length T]
[--model DIR] [--family NAME]

A rung that needs more devices than there are says so. Exit status 1 where a rung's two runs differ
by more than its tolerance (0: bit for bit, under "deterministic") or a run fails; 77 where no rung
was climbed.
"""

import argparse
import fnmatch
import json
import pathlib
import shutil
import sys
import tempfile

from host_site import TOP, Site, exit_status, with_changes

EXACT = {"deterministic": True}
ONE = {"devices": 1, "train.global_batch_size": 8, "train.micro_batch_size": 2}
WIDE = {**ONE, "devices": 4}  # on a host of two devices: 2
FSDP = {**WIDE, "strategy": "fsdp"}
HELD = {
    **FSDP,
    "train.micro_batch_size": 1,
}  # accumulates, on four devices twice, and holds whole gradients
LORA = {"lora": {"r": 8, "alpha": 16, "dropout": 0.1}}
MIXED = {"precision": "bf16-mixed"}
BF16 = {"precision": "bf16-true"}

# What config.json says beside the model's own.
FAMILIES = {
    "llama3": {
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
    # A window that the rows leave, of several blocks of the attention kernels.
    "mistral": {"architectures": ["MistralForCausalLM"], "sliding_window": 136},
    "qwen2": {"architectures": ["Qwen2ForCausalLM"]},
    "qwen3": {"architectures": ["Qwen3ForCausalLM"], "head_dim": 64},
    "opt": {"architectures": ["OPTForCausalLM"], "ffn_dim": 1536, "dropout": 0.1},
}
# Models that are no variant of the tiny one, and the rows that they need.
FOLDERS = {"blip2": TOP / "deploy/models/tiny-blip2"}
TEXTS = {"path": str(TOP / "deploy/data/chess.jsonl"), "format": "text"}
PICTURES = {"path": str(TOP / "deploy/data/captions_512.jsonl"), "format": "captions"}

# name: one way, another way, the largest difference of a loss
RUNGS = {
    "ddp": ({**WIDE, **EXACT}, {**ONE, **EXACT}, 0),
    "ddp-mixed": ({**WIDE, **EXACT, **MIXED}, {**ONE, **EXACT, **MIXED}, 0),
    "ddp-bf16": ({**WIDE, **EXACT, **BF16}, {**ONE, **EXACT, **BF16}, 0),
    "fsdp": ({**FSDP, **EXACT}, {**WIDE, **EXACT}, 0),
    "fsdp-mixed": ({**FSDP, **EXACT, **MIXED}, {**WIDE, **EXACT, **MIXED}, 0),
    "fsdp-bf16": ({**FSDP, **EXACT, **BF16}, {**WIDE, **EXACT, **BF16}, 0),
    "fsdp-grad-op": ({**FSDP, **EXACT, "sharding": "grad_op"}, {**WIDE, **EXACT}, 0),
    "fsdp-unwrapped": ({**FSDP, **EXACT, "fsdp_unit": "model"}, {**WIDE, **EXACT}, 0),
    "fsdp-checkpointed": (
        {**FSDP, **EXACT, "activation_checkpointing": True},
        {**WIDE, **EXACT},
        0,
    ),
    "fsdp-fast": ({**FSDP}, {**WIDE}, 2e-4),
    "fsdp-fast-mixed": ({**FSDP, **MIXED}, {**WIDE, **MIXED}, 2e-2),
    "fsdp-clipped": ({**FSDP, "train.max_norm": 0.5}, {**WIDE, "train.max_norm": 0.5}, 2e-4),
    "fsdp-held": ({**HELD}, {**WIDE, "train.micro_batch_size": 1}, 2e-4),
    "fsdp-held-mixed": ({**HELD, **MIXED}, {**WIDE, **MIXED, "train.micro_batch_size": 1}, 2e-2),
    "fsdp-held-bf16": ({**HELD, **BF16}, {**WIDE, **BF16, "train.micro_batch_size": 1}, 2e-2),
    "fsdp-held-grad-op": (
        {**HELD, "sharding": "grad_op"},
        {**WIDE, "train.micro_batch_size": 1},
        2e-4,
    ),
    "fsdp-held-unwrapped": (
        {**HELD, "fsdp_unit": "model"},
        {**WIDE, "train.micro_batch_size": 1},
        2e-4,
    ),
    "fsdp-held-clipped": ({**HELD, "train.max_norm": 0.5}, {**WIDE, "train.max_norm": 0.5}, 2e-4),
    "fsdp-held-offload": ({**HELD, "offload_optimizer": True}, {**HELD}, 2e-4),
    "fsdp-held-once": ({**HELD}, {**FSDP}, 2e-4),
    "checkpointing": ({**ONE, **EXACT, "activation_checkpointing": True}, {**ONE, **EXACT}, 0),
    "checkpointing-2nd": (
        {**ONE, **EXACT, "activation_checkpointing": 2, **MIXED},
        {**ONE, **EXACT, **MIXED},
        0,
    ),
    "accumulation": ({**ONE}, {**ONE, "train.micro_batch_size": 8}, 2e-4),
    "engine": ({**ONE, "engine": "reference"}, {**ONE}, 2e-4),
    "engine-mixed": ({**ONE, **MIXED, "engine": "reference"}, {**ONE, **MIXED}, 2e-2),
    "offload": ({**ONE, "offload_optimizer": True}, {**ONE}, 2e-4),
    "offload-mixed": ({**ONE, **MIXED, "offload_optimizer": True}, {**ONE, **MIXED}, 2e-2),
    "offload-fsdp": ({**FSDP, "offload_optimizer": True}, {**FSDP}, 2e-4),
    "offload-fsdp-mixed": (
        {**FSDP, **MIXED, "offload_optimizer": True},
        {**FSDP, **MIXED},
        2e-2,
    ),
    "sgd": (
        {**FSDP, **EXACT, "optimizer.name": "sgd"},
        {**ONE, **EXACT, "optimizer.name": "sgd"},
        0,
    ),
    "adamw-8bit-fsdp": (
        {**FSDP, **EXACT, "optimizer.name": "adamw_8bit"},
        {**ONE, **EXACT, "optimizer.name": "adamw_8bit"},
        0,
    ),
    "lora-ddp": ({**WIDE, **EXACT, **LORA}, {**ONE, **EXACT, **LORA}, 0),
    "lora-fsdp": ({**FSDP, **EXACT, **LORA, **BF16}, {**WIDE, **EXACT, **LORA, **BF16}, 0),
    "lora-checkpointed": (
        {**ONE, **EXACT, **LORA, "activation_checkpointing": True},
        {**ONE, **EXACT, **LORA},
        0,
    ),
    "qlora-ddp": (
        {**WIDE, **EXACT, **LORA, **BF16, "quantize": "nf4"},
        {**ONE, **EXACT, **LORA, **BF16, "quantize": "nf4"},
        0,
    ),
    "qlora-ddp-nf4-dq": (
        {**WIDE, **EXACT, **LORA, **BF16, "quantize": "nf4-dq"},
        {**ONE, **EXACT, **LORA, **BF16, "quantize": "nf4-dq"},
        0,
    ),
}


# The same, by a run that saved a checkpoint in its middle and another that went on from it.
RESUMED = {
    "resume": {**ONE, **EXACT, **MIXED},
    "resume-ddp-lora": {**WIDE, **EXACT, **LORA},
    "resume-fsdp": {**FSDP, **EXACT, **BF16},
    "resume-fsdp-8bit": {**FSDP, **EXACT, "optimizer.name": "adamw_8bit"},
    "resume-offload": {**ONE, **EXACT, "offload_optimizer": True},
    "resume-fsdp-on-fewer": {**FSDP, **EXACT},
    "resume-fsdp-on-one": {**FSDP, **EXACT, **MIXED},
}
# Goes on with this many devices instead of the saving run's.
OTHER_SIZE = {"resume-fsdp-on-fewer": 2, "resume-fsdp-on-one": 1}
SAVED_STEP = 3


def resumed_rungs(folder):
    """{name: (the run that goes on, the run that saved, 0)}"""
    rungs = {}
    for name, way in RESUMED.items():
        saved = {
            **way,
            "output.dir": str(folder / name),
            "checkpoint.every_steps": SAVED_STEP,
            "checkpoint.keep_last": 100,
        }
        rungs[name] = (
            {
                **way,
                "devices": OTHER_SIZE.get(name, way["devices"]),
                "checkpoint.resume_from": f"{saved['output.dir']}/checkpoints/step-{SAVED_STEP}",
            },
            saved,
            0,
        )
    return rungs


def model_of_family(model, family, folder):
    """A copy of the model's folder whose config.json is of the family."""
    copy = folder / family
    shutil.copytree(model, copy, ignore=shutil.ignore_patterns("*.safetensors"))
    config = json.loads((copy / "config.json").read_text()) | FAMILIES[family]
    (copy / "config.json").write_text(json.dumps(config))
    return copy


def longest(options):
    config = json.loads((options.model / "config.json").read_text())
    positions = config.get("text_config", config)["max_position_embeddings"]
    return min(options.length, positions)


def job_of(changes, options, name):
    return with_changes(
        {
            "version": 1,
            "name": name,
            "model": {"path": str(options.model.resolve()), "init": "random"},
            "data": {
                **(PICTURES if options.family in FOLDERS else TEXTS),
                "max_rows": 8 * options.steps,
            },
            "precision": "32-true",
            "train": {"max_steps": options.steps, "max_seq_length": longest(options)},
            "optimizer": {"lr": 2e-3},
            "resources": {"step_timeout": "2min", "time_limit": "5min"},
        },
        changes,
    )


class Runs:
    """Every different job once, however many rungs compare it."""

    def __init__(self, site, options):
        self.site, self.options, self.names = site, options, {}

    def submit(self, changes):
        key = json.dumps(changes, sort_keys=True)
        if key not in self.names:
            name = f"run-{len(self.names)}"
            file = self.site.folder / f"{name}.json"
            file.write_text(json.dumps(job_of(changes, self.options, name)))
            submitted = self.site.trainctl("submit", file)
            self.names[key] = (name, "" if submitted.returncode == 0 else submitted.stderr)
        return self.names[key]

    def holds_gradients(self, changes):
        [detail] = self.site.json("describe", self.submit(changes)[0])["jobs"]
        return detail["prediction"]["holds_gradients"]

    def losses(self, changes):
        """({step: loss}, why there are none)"""
        name, refused = self.submit(changes)
        if refused:
            return {}, refused.strip()
        if self.site.trainctl("wait", name).returncode != 0:
            return {}, self.site.why(name)
        return {
            point["step"]: point["value"]
            for point in self.site.points(name)
            if point["name"] == "loss"
        }, ""


def climb(runs, name, rung):
    one, other, tolerance = rung
    (b, why_b), (a, why_a) = runs.losses(other), runs.losses(one)
    if why_a or why_b:
        print(f"{name:20} FAILED\n{why_a or why_b}", flush=True)
        return False
    if name.startswith("fsdp-held") and not runs.holds_gradients(one):
        print(f"{name:20} FAILED\nits gradients were not held whole", flush=True)
        return False
    steps = range(SAVED_STEP if name in RESUMED else 0, runs.options.steps)
    furthest = max(
        abs(a[step] - b[step]) if step in a and step in b else float("inf") for step in steps
    )
    good = furthest <= tolerance and set(a) == set(steps) and len(set(a.values())) > 1
    print(
        f"{name:20} {'ok' if good else 'DIFFERS':8} "
        f"{len(a)} losses {a[steps[0]]:.6f} → {a[steps[-1]]:.6f}, "
        f"furthest apart {furthest:.3g} (allowed {tolerance:g})",
        flush=True,
    )
    return good


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rungs", default="*", help="names or patterns, comma-separated")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--cpu", type=int, help="climb on so many CPU slots")
    parser.add_argument(
        "--length",
        type=int,
        default=320,
        help="of the rows: several blocks of the attention kernels",
    )
    parser.add_argument("--model", type=pathlib.Path, default=TOP / "deploy/models/tiny")
    parser.add_argument(
        "--family", choices=sorted([*FAMILIES, *FOLDERS]), help="that the model is made of"
    )
    options = parser.parse_args()
    good, ran = True, False
    with tempfile.TemporaryDirectory(prefix="trainctl-ladder-") as folder:
        if options.family in FOLDERS:
            options.model = FOLDERS[options.family]
        elif options.family:
            options.model = model_of_family(options.model, options.family, pathlib.Path(folder))
        site = Site(
            options.bin.resolve(),
            pathlib.Path(folder),
            *(("--workers", str(options.cpu), "--cpu") if options.cpu else ()),
        )
        try:
            devices, runs = site.devices("cpu" if options.cpu else "cuda"), Runs(site, options)
            chosen = {
                name: rung
                for name, rung in {**RUNGS, **resumed_rungs(site.folder)}.items()
                if any(fnmatch.fnmatch(name, pattern) for pattern in options.rungs.split(","))
            }
            ways = [way for rung in chosen.values() for way in rung[:2]]
            for way in ways:
                way["devices"] = min(way["devices"], 4 if devices >= 4 else 2)
            for way in ways:
                if way["devices"] <= devices and "checkpoint.resume_from" not in way:
                    runs.submit(way)
            for name, rung in chosen.items():
                if max(way["devices"] for way in rung[:2]) <= devices:
                    good, ran = climb(runs, name, rung) and good, True
                else:
                    print(f"{name:20} needs more than the {devices} device here", flush=True)
            if not chosen:
                print(f"no rung is named {options.rungs}", flush=True)
        finally:
            site.down()
    sys.exit(exit_status(good, ran))


if __name__ == "__main__":
    main()
