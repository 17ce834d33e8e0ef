#!/usr/bin/env python3
"""What checkpoints cost: the same training without and with one, and the run that goes on from it.

usage: tests/gpu/checkpointing.py [--model DIR] [--strategy single|ddp|fsdp] [--devices N] [--set
KEY=VALUE …]
                                 [--bin DIR] [--folder DIR] [--cpu SLOTS]

Prints the seconds that training waited for the checkpoint (the copy out of the devices), the pace
of the steps while it was written behind them, its size, and how long the resumed run took to be
ready (process and gang included). Needs the checkpoint's size of free disk under --folder and,
pinned, its size of host memory.
"""

import argparse
import json
import pathlib
import statistics
import tempfile

from host_site import TOP, Site, with_changes

STEPS, SAVED_STEP, RESUMED_STEPS = 60, 20, 4


def of(site, name, metric):
    """{step: value} of a metric that the whole job has"""
    return {point["step"]: point["value"] for point in site.points(name) if point["name"] == metric}


def succeed(site, name, *arguments):
    done = site.trainctl(*arguments, "--wait")
    if done.returncode != 0:
        raise SystemExit(done.stderr + site.why(name))


def submit(site, name, job):
    file = site.folder / f"{name}.json"
    file.write_text(json.dumps(job))
    succeed(site, name, "submit", file)


def measure(site, options, folder):
    job = {
        "version": 1,
        "model": {"path": str(options.model.resolve()), "init": "random"},
        "data": {"path": str(TOP / "deploy/data/alpaca.json"), "max_rows": 512},
        "precision": "bf16-true",
        "devices": options.devices,
        "strategy": options.strategy,
        "train": {
            "micro_batch_size": 4,
            "max_steps": STEPS,
            "max_seq_length": 512,
            "accumulate_grad_batches": 1,
            "epochs": 100,
        },
        "optimizer": {"name": "adamw", "lr": 1e-4},
        "resources": {"step_timeout": "5min"},
    }
    for change in options.set:
        key, value = change.split("=", 1)
        try:
            value = json.loads(value)
        except ValueError:
            pass  # a bare word is a string
        with_changes(job, {key: value})
    submit(site, "without", job)
    out = folder / "out"
    # The next one would be due at twice as many steps, when the run has ended.
    saved = {"output": {"dir": str(out)}, "checkpoint": {"every_steps": SAVED_STEP, "keep_last": 1}}
    submit(
        site, "with", {**job, **saved, "train": {**job["train"], "max_steps": 2 * SAVED_STEP - 1}}
    )
    size = sum(file.stat().st_size for file in (out / "checkpoints").rglob("*") if file.is_file())
    waited = sum(of(site, "with", "checkpoint_seconds").values())
    behind = [
        seconds for step, seconds in of(site, "with", "step_seconds").items() if step > SAVED_STEP
    ]
    usual = [
        seconds
        for step, seconds in of(site, "without", "step_seconds").items()
        if step > SAVED_STEP
    ]
    succeed(
        site,
        "resumed",
        "resume",
        "with",
        "--name",
        "resumed",
        "--train.max_steps",
        str(2 * SAVED_STEP - 1 + RESUMED_STEPS),
    )
    ready = sum(of(site, "resumed", "load_seconds").values())
    print(
        f"{size / 1e9:.2f} GB; training waited {waited:.2f} s "
        f"({size / waited / 1e9:.1f} GB/s over all devices); "
        f"a step took {statistics.median(behind):.3f} s while it was written, "
        f"{statistics.median(usual):.3f} s without; "
        f"the resumed run was ready after {ready:.1f} s ({size / ready / 1e9:.1f} GB/s)"
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=pathlib.Path, default=TOP / "deploy/models/open_llama_7b")
    parser.add_argument("--strategy", default="auto")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--set", action="append", default=[], help="KEY=VALUE of the job")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--folder", type=pathlib.Path, help="where the checkpoint is written")
    parser.add_argument("--cpu", type=int, help="on so many CPU slots")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(
        prefix="trainctl-checkpointing-", dir=options.folder
    ) as folder:
        folder = pathlib.Path(folder)
        site = Site(
            options.bin.resolve(),
            folder,
            *(("--workers", str(options.cpu), "--cpu") if options.cpu else ()),
        )
        try:
            measure(site, options, folder)
        finally:
            site.down()


if __name__ == "__main__":
    main()
