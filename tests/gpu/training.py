#!/usr/bin/env python3
"""Full fine-tuning on this host's GPUs through the real coordinator and workers, beside the peers: time, memory, and memory by kind.

usage: tests/gpu/training.py [--peers DIR] [--rows NAME,…] [--steps N] [--bin DIR] [--json FILE]

Each row trains a shape with random weights on random tokens (T 512, bf16-true AdamW unless its name says otherwise) as a job: submitted,
waited for, read back with `trainctl metrics`. With --peers DIR (the folder of lightning_llama.py and fsdp2_llama.py; PYTHONPATH must hold
litgpt) each row's peers run right after it, equally long, and the ratio is printed: only such ratios count, since an H200 in a long run
lowers its clock. --rows takes the names below, or a comma-separated part. Rows that need more GPUs than there are say so. Needs python3
and, for the peers, torch and lightning. Exit status 1 where a job fails or memory by kind is not within 5 % of the arithmetic.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from host_site import GIB, TOP, Site, random_tokens

LENGTH = 512

# name: model, devices, micro batch, precision, peers as (label, script, arguments)
ROWS = {
    "tiny-1gpu": ("TinyLlama-1.1B", 1, 8, "bf16-true",
                  [("lightning", "lightning_llama.py", ["--model", "tiny-llama-1.1b", "--mbs", "8"])]),
    "tiny-1gpu-32": ("TinyLlama-1.1B", 1, 8, "32-true",
                     [("lightning", "lightning_llama.py", ["--model", "tiny-llama-1.1b", "--mbs", "8", "--precision", "32-true"])]),
    "tiny-1gpu-mixed": ("TinyLlama-1.1B", 1, 8, "bf16-mixed",
                        [("lightning", "lightning_llama.py", ["--model", "tiny-llama-1.1b", "--mbs", "8", "--precision", "bf16-mixed"])]),
    "7b-1gpu": ("open_llama_7b", 1, 4, "bf16-true",
                [("lightning", "lightning_llama.py", ["--mbs", "4"]), ("torch best", "fsdp2_llama.py", ["--compile", "--mbs", "4"])]),
    "3b-1gpu": ("open_llama_3b", 1, 8, "bf16-true", [("lightning", "lightning_llama.py", ["--model", "open_llama_3b", "--mbs", "8"])]),
    "tiny-4gpu-ddp": ("TinyLlama-1.1B", 4, 8, "bf16-true",
                      [("lightning", "lightning_llama.py", ["--model", "tiny-llama-1.1b", "--mbs", "8", "--strategy", "ddp"])]),
    "7b-4gpu-ddp": ("open_llama_7b", 4, 4, "bf16-true",
                    [("lightning", "lightning_llama.py", ["--mbs", "4", "--strategy", "ddp"]),
                     ("torch best", "fsdp2_llama.py", ["--compile", "--ddp", "--mbs", "4"])]),
}

BYTES = {"bf16-true": (2, 2), "32-true": (4, 4), "bf16-mixed": (6, 4)}  # parameters with copies, and each of AdamW's two moments


def parameters(model):
    c = json.loads((TOP / "deploy/models" / model / "config.json").read_text())
    h, f, heads = c["hidden_size"], c["intermediate_size"], c["num_attention_heads"]
    kv, d = c.get("num_key_value_heads", heads), c.get("head_dim", h // heads)
    block = h * d * (2 * heads + 2 * kv) + 3 * h * f + 2 * h
    return c["num_hidden_layers"] * block + c["vocab_size"] * h * (1 if c.get("tie_word_embeddings") else 2) + h


def ours(site, name, steps):
    model, devices, micro, precision, _ = ROWS[name]
    data = site.folder / f"{name}.bin"
    random_tokens(data, micro * devices * steps, LENGTH)
    job = {"version": 1, "name": name, "model": {"path": str(TOP / "deploy/models" / model), "init": "random"},
           "data": {"path": str(data), "format": "bin"}, "precision": precision, "devices": devices,
           "train": {"micro_batch_size": micro, "max_steps": steps, "max_seq_length": LENGTH},
           "optimizer": {"name": "adamw", "lr": 2e-4}, "resources": {"step_timeout": "2min"}}
    job_file = site.folder / f"{name}.json"
    job_file.write_text(json.dumps(job))
    submitted = site.trainctl("submit", job_file, "--wait", "-o", "json")
    if submitted.returncode != 0:
        described = site.trainctl("describe", name).stdout
        log = site.trainctl("logs", name, "--tail", "30").stdout
        return {"row": name, "error": (submitted.stderr + described + log)[-3000:]}
    points = site.points(name)
    rates = [p["value"] for p in points if p["name"] == "tokens_per_second"]
    losses = [p["value"] for p in points if p["name"] == "loss"]
    bytes_of = lambda kind: max((p["value"] for p in points if p["name"] == f"memory_{kind}_bytes"), default=0)
    power = [p["value"] for p in points if p["name"] == "gpu_power_watts"]
    result = {"row": name, "tokens_per_second": statistics.median(rates[len(rates) // 2:]),
              "first_loss": losses[0], "last_loss": losses[-1], "steps": len(losses), "power_watts": max(power, default=0)}
    for kind in ("params", "grads", "optimizer", "other", "peak_allocated", "reserved"):
        result[kind] = bytes_of(kind)
    count = parameters(model)
    weight, moment = BYTES[precision]
    result["params_ratio"] = result["params"] / (count * weight)
    result["optimizer_ratio"] = result["optimizer"] / (count * 2 * moment)
    result["described"] = site.json("describe", name)
    return result


def peer(folder, name, label, script, arguments, devices, steps):
    command = [sys.executable]
    if script == "fsdp2_llama.py":
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(devices)]
        arguments = arguments if devices > 1 else arguments + ["--single"]
    elif devices > 1:
        arguments = arguments + ["--devices", str(devices)]
    done = subprocess.run([*command, str(folder / script), *arguments, "--iters", str(steps)], capture_output=True, text=True)
    found = re.search(r"tok/s=(\d+).*?peak=([\d.]+)GiB", done.stdout)
    if not found:
        return {"row": name, "peer": label, "error": (done.stdout + done.stderr)[-600:]}
    return {"row": name, "peer": label, "tokens_per_second": float(found[1]), "peak_allocated": float(found[2]) * GIB}


def print_row(result, peers):
    if "error" in result:
        print(f"{result['row']:16} FAILED\n{result['error']}")
        return False
    good = abs(result["params_ratio"] - 1) < 0.05 and abs(result["optimizer_ratio"] - 1) < 0.05
    print(f"{result['row']:16} {result['tokens_per_second']:9,.0f} tok/s  peak {result['peak_allocated'] / GIB:6.2f} GiB  reserved "
          f"{result['reserved'] / GIB:6.2f}  params {result['params'] / GIB:.2f}  grads {result['grads'] / GIB:.2f}  optimizer "
          f"{result['optimizer'] / GIB:.2f}  (of the arithmetic: {result['params_ratio']:.3f}, {result['optimizer_ratio']:.3f})  loss "
          f"{result['first_loss']:.3f} → {result['last_loss']:.3f}  {result['power_watts']:.0f} W", flush=True)
    for other in peers:
        if "error" in other:
            print(f"    {other['peer']:12} FAILED: {other['error']}", flush=True)
        else:
            print(f"    {other['peer']:12} {other['tokens_per_second']:9,.0f} tok/s  peak {other['peak_allocated'] / GIB:6.2f} GiB   "
                  f"ours is {result['tokens_per_second'] / other['tokens_per_second']:.2f}x as fast, "
                  f"{result['peak_allocated'] / other['peak_allocated']:.2f}x the memory", flush=True)
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
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
                peers = [peer(options.peers, name, *spec, devices, options.steps) for spec in ROWS[name][4]] if options.peers else []
                good = print_row(result, peers) and good
                figures.append({"ours": result, "peers": peers})
        finally:
            site.down()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
