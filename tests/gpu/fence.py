#!/usr/bin/env python3
"""Jobs on this host's GPUs whose worker keeps them within roots (trainworker --read-root,
--write-root), beside the same jobs without roots.

usage: tests/gpu/fence.py [--devices N] [--bin DIR] [--cpu]

Each job of JOBS runs for some steps, first free, then fenced: its losses must be the same to the
bit, its outcome SUCCEEDED, and what it saved must lie below the write root. A job whose rows lie
outside must be refused. Prints time, tokens a second and peak of both. Exit status 1 where one
differs; 77 without a GPU. Needs python3.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from host_site import GIB, TOP, Site, exit_status

sys.path.insert(0, str(TOP / "tests/e2e"))
from processes import processes_of  # noqa: E402

STEPS = 12
# What each adds to the job: other libraries, caches and devices are opened.
JOBS = {
    "full": {"precision": "bf16-true", "output": {"save": "final"}},
    "mixed": {"precision": "bf16-mixed", "checkpoint": {"every_steps": 6}},
    "qlora": {"precision": "bf16-true", "lora": {"r": 8}, "quantize": "nf4"},
    "profile": {"precision": "bf16-true", "profile": {"steps": 2}},
}


def job_of(options, folder, name, changes):
    job = {
        "version": 1,
        "name": name,
        "model": {"path": str(TOP / "deploy/models" / options.model), "init": "random"},
        "data": {"path": str(folder / "data" / "rows.json")},
        "devices": options.devices,
        "train": {"micro_batch_size": 2, "max_steps": STEPS, "max_seq_length": 256},
        "optimizer": {"name": "adamw", "lr": 1e-4},
        "deterministic": True,
    }
    if options.devices > 1:
        job["strategy"] = "fsdp" if "quantize" not in changes else "ddp"
    job.update(json.loads(json.dumps(changes)))
    if "output" in job or "checkpoint" in job:
        job.setdefault("output", {})["dir"] = str(folder / "out" / name)
    return job


def run(site, options, folder, name, changes):
    file = folder / "data" / f"{name}.json"
    file.write_text(json.dumps(job_of(options, folder, name, changes)))
    done = site.trainctl("submit", file, "--wait")
    if done.returncode != 0:
        print(f"{name}: exit {done.returncode}\n{done.stderr}{site.why(name)}")
        return None
    points = site.points(name)

    def of(metric):
        return [point["value"] for point in points if point["name"] == metric]

    peak = max(of("memory_peak_allocated_bytes") or [0])
    return {"loss": of("loss"), "rate": (of("tokens_per_second") or [0])[-1], "peak": peak}


def fence(site, folder):
    """Starts the workers anew with what they were started with, and roots."""
    for worker in [each for each in processes_of(site.folder) if each.program == "trainworker"]:
        worker.kill()
        roots = ["--read-root", TOP / "deploy", "--read-root", folder / "data"]
        roots += ["--write-root", folder / "out"]
        subprocess.Popen(
            [site.bin / worker.program, *worker.arguments, *roots],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    site.up()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--cpu", action="store_true", help="CPU slots, and the smallest model")
    options = parser.parse_args()
    options.model = "tiny" if options.cpu else "TinyLlama-1.1B"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fence."))
    for part in ("data", "out", "elsewhere"):
        (folder / part).mkdir()
    for part in ("data", "elsewhere"):
        shutil.copy(TOP / "deploy/data/alpaca_2k.json", folder / part / "rows.json")
    up = ("--workers", options.devices, *(["--cpu"] if options.cpu else []))
    site = Site(options.bin.resolve(), folder / "site", *map(str, up))
    good, ran = True, False
    try:
        if not options.cpu and site.devices() < options.devices:
            return exit_status(good, ran)
        jobs = {
            name: changes
            for name, changes in JOBS.items()
            if not options.cpu or "quantize" not in changes
        }
        free = {name: run(site, options, folder, f"free-{name}", jobs[name]) for name in jobs}
        fence(site, folder)
        kept = {name: run(site, options, folder, f"kept-{name}", jobs[name]) for name in jobs}
        for name in jobs:
            ran = True
            a, b = free[name], kept[name]
            same = bool(a and b and a["loss"] and a["loss"] == b["loss"])
            good = good and same
            if a and b:
                print(
                    f"{name}: losses {'equal' if same else 'DIFFER'} ({len(a['loss'])}), tokens/s "
                    f"{a['rate']:,.0f} free, {b['rate']:,.0f} fenced, peak "
                    f"{a['peak'] / GIB:.2f} and {b['peak'] / GIB:.2f} GiB"
                )
        outside = job_of(options, folder, "outside", {"precision": "bf16-true"})
        outside["data"]["path"] = str(folder / "elsewhere" / "rows.json")
        file = folder / "data" / "outside.json"
        file.write_text(json.dumps(outside))
        refused = site.trainctl("submit", file, "--wait")
        is_refused = refused.returncode != 0 and "lies outside" in refused.stderr
        print(f"rows outside of the roots: {'refused' if is_refused else 'NOT REFUSED'}")
        good = good and is_refused
    finally:
        site.down()
        shutil.rmtree(folder, ignore_errors=True)
    return exit_status(good, ran)


if __name__ == "__main__":
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    sys.exit(main())
