#!/usr/bin/env python3
"""What packing gains on this host's GPU: the shipped Alpaca rows, padded and packed, side by side.

usage: deploy/build trainctl traincoordinator trainworker trainshim trainrank
       tests/gpu/packing.py [--models TinyLlama-1.1B,open_llama_7b] [--steps N] [--bin DIR]
                            [--json FILE] [--changes '{"devices": 2, "strategy": "fsdp"}']

Each model trains with random weights on deploy/data/alpaca_2k.json (bf16-true AdamW, T 512) in
three jobs, an epoch each: padded, padded with group_by_length, and packed. A micro batch is 8 rows
or sequences. What counts is trained tokens a second, over all steps but the first five; the peak is
beside what was predicted.
Correctness is gpu_packing_check's (packing_check.cc). Needs python3 alone. Exit status 1 if a job
fails, or packed rows train less than twice the tokens a second of padded ones; 77 without a GPU.
"""

import argparse
import json
import pathlib
import sys
import tempfile

from host_site import GIB, TOP, Site, exit_status, with_changes

MICRO = 8
WAYS = {
    "padded": {},
    "grouped": {"train.group_by_length": True},
    "packed": {"train.packing": True},
}
LEAST_GAIN = 2
COUNTED = ("trained_tokens", "tokens", "samples")
WARM_UP = 5  # steps


def job_of(model, way, options):
    job = {
        "version": 1,
        "name": f"{model}-{way}".replace("_", "-").replace(".", "-").lower(),
        "model": {"path": str(TOP / "deploy/models" / model), "init": "random"},
        "data": {"path": str(TOP / "deploy/data/alpaca_2k.json"), "format": "alpaca"},
        "precision": "bf16-true",
        "train": {
            "micro_batch_size": MICRO,
            "epochs": 1,
            "max_steps": options.steps,
            "max_seq_length": 512,
        },
        "optimizer": {"name": "adamw", "lr": 1e-5},
    }
    return with_changes(with_changes(job, WAYS[way]), options.changes)


def measured(site, job):
    """Rates and means over the steps behind the warm-up."""
    path = site.folder / f"{job['name']}.json"
    path.write_text(json.dumps(job))
    name = job["name"]
    done = site.trainctl("submit", path, "--wait")
    if done.returncode != 0:
        return {"error": f"exit {done.returncode}\n{done.stderr}{site.why(name)}"}
    points = site.points(name)

    def values(metric):
        found = sorted((p["step"], p["value"]) for p in points if p["name"] == metric)
        return [value for _, value in found]

    seconds = values("step_seconds")[WARM_UP:]
    result = {metric: sum(values(metric)[WARM_UP:]) / sum(seconds) for metric in COUNTED}
    result["steps"] = len(values("loss"))
    result["step_seconds"] = sum(seconds) / len(seconds)
    result["share_trained"] = result["trained_tokens"] / result["tokens"]
    result["last_loss"] = values("loss")[-1]
    [result["described"]] = site.json("describe", name)["jobs"]
    result["predicted"] = result["described"]["prediction"]["peak_allocated"]
    result["peak"] = max(values("memory_peak_allocated_bytes"))
    return result


def print_way(way, result, padded):
    if "error" in result:
        print(f"  {way:8} FAILED\n{result['error']}", flush=True)
        return
    print(
        f"  {way:8} {result['trained_tokens']:9,.0f} trained tok/s "
        f"({result['trained_tokens'] / padded:.2f}x)  {result['tokens']:9,.0f} positions/s, "
        f"{100 * result['share_trained']:.1f} % of them trained  {result['samples']:7.1f} rows/s  "
        f"{result['steps']} steps of {1000 * result['step_seconds']:.1f} ms  "
        f"peak {result['peak'] / GIB:.2f} GiB ({result['predicted'] / GIB:.2f} predicted)  "
        f"loss {result['last_loss']:.3f}",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="TinyLlama-1.1B,open_llama_7b")
    parser.add_argument("--steps", type=int, help="at most; else an epoch")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--json", type=pathlib.Path, help="all figures")
    parser.add_argument("--changes", type=json.loads, default={}, help="of the jobs, as JSON")
    options = parser.parse_args()
    good, figures = True, {}
    with tempfile.TemporaryDirectory(prefix="trainctl-gpu-") as folder:
        site = Site(options.bin.resolve(), pathlib.Path(folder))
        try:
            for model in options.models.split(",") if site.devices() > 0 else []:
                print(model, flush=True)
                results = figures[model] = {}
                for way in WAYS:
                    results[way] = measured(site, job_of(model, way, options))
                    padded = results["padded"].get("trained_tokens", float("inf"))
                    print_way(way, results[way], padded)
                packed = results["packed"].get("trained_tokens", 0)
                good = good and packed >= LEAST_GAIN * padded
        finally:
            site.down()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1))
    sys.exit(exit_status(good, ran=bool(figures)))


if __name__ == "__main__":
    main()
