#!/usr/bin/env python3
"""Full fine-tuning on this host's GPUs through the real coordinator and workers, beside the peers:
time, memory, and memory by kind.

usage: tests/gpu/training.py [--peers DIR] [--rows NAME,…] [--steps N] [--bin DIR] [--json FILE]

Each row trains a shape with random weights on random tokens (T 512, bf16-true AdamW unless its name
says otherwise) as a job: submitted, waited for, read back with `trainctl metrics`. With --peers DIR
(the folder of lightning_llama.py and fsdp2_llama.py; PYTHONPATH must hold litgpt) each row's peers
run right after it, equally long, and the ratio is printed: only such ratios count, since an H200 in
a long run lowers its clock. --rows takes the names below, or a comma-separated part. Rows that need
more GPUs than there are say so. Needs python3 and, for the peers, torch and lightning. Exit status
1 if a job or a peer fails, a peer is faster, or memory by kind is not within 5 % of the arithmetic;
77 if no row ran.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from host_site import GIB, KINDS, TOP, Site, exit_status, random_tokens, with_changes
from row_arithmetic import arithmetic, has_pictures, random_captions

LENGTH = 512

LIGHTNING, TORCH, LITGPT = "lightning_llama.py", "fsdp2_llama.py", "lora_llama.py"
DEEPSPEED = "deepspeed_llama.py"
TINY = ["--model", "tiny-llama-1.1b", "--mbs", "8"]
SHARDED = {"strategy": "fsdp"}
CHECKPOINTED = {"precision": "bf16-mixed", "strategy": "fsdp", "activation_checkpointing": True}
LORA = {"lora": {"r": 32, "alpha": 16, "dropout": 0.05}}
OFFLOADED = {"strategy": "fsdp", "offload_optimizer": True, "train.accumulate_grad_batches": 4}
PICTURES = {
    "data.format": "captions",
    "train.accumulate_grad_batches": 4,
    "train.max_seq_length": 82,  # 32 places of the picture and 50 tokens, as the peer has them
}
BLIP2 = "lightning_blip2.py"

# name: model, devices, micro batch, what the job sets beside bf16-true, peers as (label, script,
# arguments)
ROWS = {
    "tiny-1gpu": ("TinyLlama-1.1B", 1, 8, {}, [("lightning", LIGHTNING, TINY)]),
    "tiny-1gpu-32": (
        "TinyLlama-1.1B",
        1,
        8,
        {"precision": "32-true"},
        [("lightning", LIGHTNING, [*TINY, "--precision", "32-true"])],
    ),
    "tiny-1gpu-mixed": (
        "TinyLlama-1.1B",
        1,
        8,
        {"precision": "bf16-mixed"},
        [("lightning", LIGHTNING, [*TINY, "--precision", "bf16-mixed"])],
    ),
    "7b-1gpu": (
        "open_llama_7b",
        1,
        4,
        {},
        [
            ("lightning", LIGHTNING, ["--mbs", "4"]),
            ("torch best", TORCH, ["--compile", "--mbs", "4"]),
        ],
    ),
    "3b-1gpu": (
        "open_llama_3b",
        1,
        8,
        {},
        [("lightning", LIGHTNING, ["--model", "open_llama_3b", "--mbs", "8"])],
    ),
    "13b-1gpu-sgd": (
        "open_llama_13b",
        1,
        1,
        {"optimizer.name": "sgd"},
        [
            (
                "litgpt",
                LITGPT,
                ["--model", "open_llama_13b", "--full", "--optim", "sgd", "--mbs", "1"],
            )
        ],
    ),
    "tiny-1gpu-8bit": ("TinyLlama-1.1B", 1, 8, {"optimizer.name": "adamw_8bit"}, []),
    "tiny-4gpu-ddp": (
        "TinyLlama-1.1B",
        4,
        8,
        {},
        [("lightning", LIGHTNING, [*TINY, "--strategy", "ddp"])],
    ),
    "7b-4gpu-ddp": (
        "open_llama_7b",
        4,
        4,
        {},
        [
            ("lightning", LIGHTNING, ["--mbs", "4", "--strategy", "ddp"]),
            ("torch best", TORCH, ["--compile", "--ddp", "--mbs", "4"]),
        ],
    ),
    "7b-4gpu-fsdp": (
        "open_llama_7b",
        4,
        4,
        SHARDED,
        [
            ("lightning", LIGHTNING, ["--mbs", "4", "--strategy", "fsdp_wrap"]),
            ("torch best", TORCH, ["--compile", "--mbs", "4"]),
        ],
    ),
    "7b-4gpu-fsdp-unwrapped": (
        "open_llama_7b",
        4,
        4,
        {**SHARDED, "fsdp_unit": "model"},
        [("lightning", LIGHTNING, ["--mbs", "4", "--strategy", "fsdp"])],
    ),
    "7b-4gpu-fsdp-micro8": (
        "open_llama_7b",
        4,
        8,
        SHARDED,
        [("torch best", TORCH, ["--compile", "--mbs", "8"])],
    ),
    "7b-4gpu-fsdp-micro16": (
        "open_llama_7b",
        4,
        16,
        SHARDED,
        [("torch best", TORCH, ["--compile", "--mbs", "16"])],
    ),
    "7b-4gpu-fsdp-2048": (
        "open_llama_7b",
        4,
        4,
        {**SHARDED, "train.max_seq_length": 2048},
        [("torch best", TORCH, ["--compile", "--mbs", "4", "--seq", "2048"])],
    ),
    "13b-4gpu-fsdp-micro8": (
        "open_llama_13b",
        4,
        8,
        SHARDED,
        [("torch best", TORCH, ["--model", "open_llama_13b", "--compile", "--mbs", "8"])],
    ),
    "7b-4gpu-chess4": (
        "CodeLlama-7b",
        4,
        16,
        CHECKPOINTED,
        [("torch best", TORCH, ["--compile", "--ckpt", "--mixed", "--mbs", "16"])],
    ),
    "13b-4gpu-offload": (
        "open_llama_13b",
        4,
        4,
        OFFLOADED,
        [("deepspeed", DEEPSPEED, ["--model", "open_llama_13b", "--mbs", "4", "--accum", "4"])],
    ),
    "tiny-2gpu-ddp": (
        "TinyLlama-1.1B",
        2,
        8,
        {},
        [("lightning", LIGHTNING, [*TINY, "--strategy", "ddp"])],
    ),
    "7b-2gpu-ddp": (
        "open_llama_7b",
        2,
        4,
        {},
        [("torch best", TORCH, ["--compile", "--ddp", "--mbs", "4"])],
    ),
    "7b-2gpu-fsdp": (
        "open_llama_7b",
        2,
        4,
        SHARDED,
        [("torch best", TORCH, ["--compile", "--mbs", "4"])],
    ),
    "7b-2gpu-fsdp-micro8": (
        "open_llama_7b",
        2,
        8,
        SHARDED,
        [("torch best", TORCH, ["--compile", "--mbs", "8"])],
    ),
    # Many small collectives: what issuing one costs shows here first.
    "tiny-2gpu-fsdp-micro1": (
        "TinyLlama-1.1B",
        2,
        1,
        {**SHARDED, "train.accumulate_grad_batches": 4},
        [],
    ),
    "7b-2gpu-fsdp-micro1": (
        "open_llama_7b",
        2,
        1,
        {**SHARDED, "train.accumulate_grad_batches": 8},
        [],
    ),
    "7b-2gpu-offload": ("open_llama_7b", 2, 4, OFFLOADED, []),
    "13b-2gpu-offload": ("open_llama_13b", 2, 4, OFFLOADED, []),
    "blip-1gpu": ("blip2-opt-2.7b", 1, 16, PICTURES, [("lightning", BLIP2, [])]),
    # What is left to gain in memory is what backward keeps: this is its price in time.
    "blip-1gpu-every2": (
        "blip2-opt-2.7b",
        1,
        16,
        {**PICTURES, "activation_checkpointing": 2},
        [("lightning", BLIP2, [])],
    ),
    "blip-2gpu-ddp": (
        "blip2-opt-2.7b",
        2,
        16,
        PICTURES,
        [("lightning", BLIP2, ["--strategy", "ddp"])],
    ),
    "blip-2gpu-fsdp": (
        "blip2-opt-2.7b",
        2,
        16,
        {**PICTURES, **SHARDED},
        [("lightning", BLIP2, ["--strategy", "fsdp"])],
    ),
    # Held to what the peer holds: gradients are reduced in each micro step, as the peer's are.
    "blip-2gpu-fsdp-reduced": (
        "blip2-opt-2.7b",
        2,
        16,
        {**PICTURES, **SHARDED, "resources.gpu_memory_limit": "23GiB"},
        [("lightning", BLIP2, ["--strategy", "fsdp"])],
    ),
    "blip-4gpu-ddp": (
        "blip2-opt-2.7b",
        4,
        16,
        PICTURES,
        [("lightning", BLIP2, ["--strategy", "ddp"])],
    ),
    "blip-4gpu-fsdp": (
        "blip2-opt-2.7b",
        4,
        16,
        {**PICTURES, **SHARDED},
        [("lightning", BLIP2, ["--strategy", "fsdp"])],
    ),
    "tiny-1gpu-lora": (
        "TinyLlama-1.1B",
        1,
        4,
        LORA,
        [("litgpt", LITGPT, ["--model", "tiny-llama-1.1b", "--mbs", "4"])],
    ),
    "7b-1gpu-lora": (
        "open_llama_7b",
        1,
        4,
        LORA,
        [
            ("litgpt", LITGPT, ["--model", "open_llama_7b", "--mbs", "4"]),
            ("torch best", LITGPT, ["--model", "open_llama_7b", "--mbs", "4", "--compile"]),
        ],
    ),
    "13b-1gpu-lora": (
        "open_llama_13b",
        1,
        4,
        LORA,
        [("litgpt", LITGPT, ["--model", "open_llama_13b", "--mbs", "4"])],
    ),
    "7b-1gpu-qlora": (
        "open_llama_7b",
        1,
        4,
        {**LORA, "quantize": "nf4"},
        [("litgpt", "qlora_llama.py", ["--model", "open_llama_7b", "--mbs", "4"])],
    ),
    "13b-1gpu-qlora": (
        "open_llama_13b",
        1,
        4,
        {**LORA, "quantize": "nf4-dq"},
        [
            (
                "litgpt",
                "qlora_llama.py",
                ["--model", "open_llama_13b", "--mbs", "4", "--quantize", "nf4-dq"],
            )
        ],
    ),
}


def rate_of(job):
    """What is counted: (its name, its metric, how a peer prints it)."""
    if has_pictures(job):
        return "samples/s", "samples_per_second", r"samples/s=([\d.]+).*?peak=([\d.]+)GiB"
    return "tok/s", "tokens_per_second", r"tok/s=(\d+).*?peak=([\d.]+)GiB"


def write_data(path, job, rows):
    if has_pictures(job):
        random_captions(path, rows)
    else:
        random_tokens(path, rows, job["train"]["max_seq_length"])


def ours(site, name, steps):
    model, devices, micro, changes, _ = ROWS[name]
    job = with_changes(
        {
            "version": 1,
            "name": name,
            "model": {"path": str(TOP / "deploy/models" / model), "init": "random"},
            "data": {"path": str(site.folder / f"{name}.data"), "format": "bin"},
            "precision": "bf16-true",
            "devices": devices,
            "train": {"micro_batch_size": micro, "max_steps": steps, "max_seq_length": LENGTH},
            "optimizer": {"name": "adamw", "lr": 2e-4},
            "resources": {"step_timeout": "2min"},
        },
        changes,
    )
    write_data(
        site.folder / f"{name}.data",
        job,
        micro * devices * steps * job["train"].get("accumulate_grad_batches", 1),
    )
    job_file = site.folder / f"{name}.json"
    job_file.write_text(json.dumps(job))
    submitted = site.trainctl("submit", job_file, "--wait", "-o", "json")
    if submitted.returncode != 0:
        return {"row": name, "error": submitted.stderr + site.why(name)}
    points = site.points(name)
    unit, metric, _ = rate_of(job)
    rates = [p["value"] for p in points if p["name"] == metric]
    losses = [p["value"] for p in points if p["name"] == "loss"]
    most = lambda metric: max((p["value"] for p in points if p["name"] == metric), default=0)
    result = {
        "row": name,
        "unit": unit,
        "rate": statistics.median(rates[len(rates) // 2 :]),
        "data_wait_seconds": most("data_wait_seconds"),
        "first_loss": losses[0],
        "last_loss": losses[-1],
        "steps": len(losses),
        "power_watts": most("gpu_power_watts"),
    }
    for kind in (*KINDS, "peak_allocated", "reserved"):
        result[kind] = most(f"memory_{kind}_bytes")
    if expected := arithmetic(model, devices, job):
        # After a step a rank holds what is its own, no unit that is whole for its use.
        own = max(
            p["value"]
            for p in points
            if p["name"] == "memory_params_bytes" and p["phase"] == "after_optimizer_step"
        )
        result["ratios"] = [own / expected[0], result["optimizer"] / expected[1]]
    result["described"] = site.json("describe", name)
    return result


def peer(folder, name, label, script, arguments, devices, steps):
    changes = ROWS[name][3]
    pattern = rate_of(with_changes({"data": {"format": "bin"}}, changes))[2]
    if script == BLIP2:  # counts micro steps
        steps *= changes["train.accumulate_grad_batches"]
    command = [sys.executable]
    threads = {}
    if script in (TORCH, DEEPSPEED):
        command = [
            sys.executable,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            str(devices),
        ]
        arguments = arguments if devices > 1 else arguments + ["--single"]
        # torchrun's default of one thread a rank would slow an optimizer on the CPU.
        threads = {"OMP_NUM_THREADS": str(os.cpu_count() // devices)}
    elif devices > 1:
        arguments = arguments + ["--devices", str(devices)]
    steps_option = "--steps" if script == DEEPSPEED else "--iters"
    done = subprocess.run(
        [*command, str(folder / script), *arguments, steps_option, str(steps)],
        capture_output=True,
        text=True,
        env={**os.environ, **threads},
    )
    found = re.search(pattern, done.stdout)
    if not found:
        return {"row": name, "peer": label, "error": (done.stdout + done.stderr)[-600:]}
    return {
        "row": name,
        "peer": label,
        "rate": float(found[1]),
        "peak_allocated": float(found[2]) * GIB,
    }


def print_row(result, peers):
    if "error" in result:
        print(f"{result['row']:16} FAILED\n{result['error']}")
        return False
    ratios = result.get("ratios", [])
    good = all(abs(ratio - 1) < 0.05 for ratio in ratios)
    print(
        f"{result['row']:16} {result['rate']:9,.0f} {result['unit']}  "
        f"peak {result['peak_allocated'] / GIB:6.2f} GiB  "
        f"reserved {result['reserved'] / GIB:6.2f}  "
        f"params {result['params'] / GIB:.2f}  grads {result['grads'] / GIB:.2f}  "
        f"optimizer {result['optimizer'] / GIB:.2f}, "
        f"on the host {result['optimizer_cpu'] / GIB:.2f}  "
        f"(of the arithmetic: "
        f"{', '.join(f'{ratio:.3f}' for ratio in ratios) or 'not compared'})  "
        f"loss {result['first_loss']:.3f} → {result['last_loss']:.3f}  "
        f"{result['power_watts']:.0f} W  "
        f"waited for data at most {result['data_wait_seconds'] * 1e3:.1f} ms a step",
        flush=True,
    )
    for other in peers:
        if "error" in other:
            print(f"    {other['peer']:12} FAILED: {other['error']}", flush=True)
            good = False
        else:
            good = good and result["rate"] >= other["rate"]
            print(
                f"    {other['peer']:12} {other['rate']:9,.0f} {result['unit']}  "
                f"peak {other['peak_allocated'] / GIB:6.2f} GiB   "
                f"ours is {result['rate'] / other['rate']:.2f}x as fast, "
                f"{result['peak_allocated'] / other['peak_allocated']:.2f}x the memory",
                flush=True,
            )
    return good


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--rows", default="tiny-1gpu,7b-1gpu,tiny-4gpu-ddp,7b-4gpu-ddp")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--json", type=pathlib.Path, help="all figures")
    options = parser.parse_args()
    good, figures = True, []
    with tempfile.TemporaryDirectory(prefix="trainctl-gpu-") as folder:
        site = Site(options.bin.resolve(), pathlib.Path(folder))
        try:
            gpus = site.devices()
            for name in options.rows.split(","):
                devices = ROWS[name][1]
                if devices > gpus:
                    print(f"{name:16} needs {devices} GPUs: this host has {gpus}", flush=True)
                    continue
                result = ours(site, name, options.steps)
                peers = (
                    [
                        peer(options.peers, name, *spec, devices, options.steps)
                        for spec in ROWS[name][4]
                    ]
                    if options.peers
                    else []
                )
                good = print_row(result, peers) and good
                figures.append({"ours": result, "peers": peers})
        finally:
            site.down()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    sys.exit(exit_status(good, ran=bool(figures)))


if __name__ == "__main__":
    main()
