#!/usr/bin/env python3
"""What becomes of a gang on this host's GPUs, under load, when its processes are killed: every
device is free again within the bar, and nothing is left.

usage: tests/gpu/kills.py [--devices N] [--model DIR] [--bin DIR] [--cpu]

A job on all devices trains; then, each in a job of its own: two ranks are killed at once, a rank is
stopped (SIGSTOP) until the step's time-out finds it, the job is cancelled, and a worker is killed
and its successor adopts the rank. Prints how long each took, and exits 1 if one took longer than
its bar, ended otherwise, or left a process or memory on a device.
"""

import argparse
import json
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from host_site import GIB, TOP, Site, exit_status, random_tokens

sys.path.insert(0, str(TOP / "tests/e2e"))
from processes import processes_of  # noqa: E402

LENGTH, STEP_TIMEOUT = 512, 20
FAILURE_GRACE, STOP_GRACE = 1, 10  # as server/core/state.h has them
POLL = 0.02
LEFT_ON_A_DEVICE = 1 * GIB


def job_of(options, folder, name):
    return {
        "version": 1,
        "name": name,
        "model": {"path": str(options.model.resolve()), "init": "random"},
        "data": {"path": str(folder / "tokens.bin"), "format": "bin"},
        "precision": "32-true" if options.cpu else "bf16-true",
        "devices": options.devices,
        "strategy": "fsdp",
        "train": {
            "micro_batch_size": 4,
            "max_steps": 1_000_000,
            "max_seq_length": LENGTH if not options.cpu else 16,
            "epochs": 1_000_000,
        },
        "resources": {"step_timeout": f"{STEP_TIMEOUT}s"},
    }


class Check:
    def __init__(self, options, folder, site):
        self.options, self.folder, self.site, self.good = options, folder, site, True

    def ranks(self):
        found = [each for each in processes_of(self.folder) if each.program == "trainrank"]
        return sorted(found, key=lambda each: each.plan()["rank"])

    def all_is_free(self):
        workers = self.site.json("workers")["workers"]
        return not self.ranks() and all(each["state"] == "READY" for each in workers)

    def job(self, name):
        return self.site.json("status", name)["jobs"][0]

    def until(self, what, seconds, condition):
        """Seconds until the condition holds; ends the script where it never does."""
        began = time.monotonic()
        while not condition():
            if time.monotonic() - began > seconds:
                raise SystemExit(f"not within {seconds} s: {what}")
            time.sleep(POLL)
        return time.monotonic() - began

    def running(self, name):
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps(job_of(self.options, self.folder, name)))
        submitted = self.site.trainctl("submit", file)
        if submitted.returncode != 0:
            raise SystemExit(submitted.stderr)
        self.until(f"{name} trains", 180, lambda: self.job(name).get("step", 0) >= 3)
        return name

    def memory_in_use(self):
        if self.options.cpu:
            return [0]
        shown = subprocess.run(
            ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return [int(line) * 2**20 for line in shown.split()]

    def expect(self, what, holds, found):
        if not holds:
            print(f"    WRONG: {what}: {found}", flush=True)
            self.good = False

    def end(self, name, began, outcome, bar):
        self.until(f"{name} ends", bar + 60, lambda: self.job(name)["state"] == "FINISHED")
        ended = time.monotonic() - began
        self.until(f"the devices of {name} are free", 60, self.all_is_free)
        free = time.monotonic() - began
        found = self.job(name)
        used = max(self.memory_in_use())
        self.expect(f"{name}'s outcome", found["outcome"] == outcome, found)
        self.expect(f"{name}'s devices are free in {bar} s", free <= bar, f"{free:.2f} s")
        self.expect("memory left on a device", used < LEFT_ON_A_DEVICE, used)
        print(
            f"{name:16} {found['outcome']:10} stored after {ended:6.2f} s, devices free after "
            f"{free:6.2f} s (bar {bar} s), {used / GIB:.2f} GiB left on a device: "
            f"{found.get('message', '')}",
            flush=True,
        )

    def two_ranks_killed(self):
        name = self.running("two-killed")
        ranks, began = self.ranks(), time.monotonic()
        for rank in (ranks[0], ranks[-1]):
            rank.kill()
        self.end(name, began, "FAILED", 2 + FAILURE_GRACE)

    def one_hangs(self):
        name = self.running("one-hangs")
        ranks, began = self.ranks(), time.monotonic()
        ranks[-1].kill(signal.SIGSTOP)
        self.end(name, began, "HANG", STEP_TIMEOUT + 2 + FAILURE_GRACE)
        self.expect(
            "the rank is named", f"rank {len(ranks) - 1}" in self.job(name)["message"], name
        )

    def cancelled(self):
        name = self.running("cancelled")
        began = time.monotonic()
        self.site.trainctl("cancel", name)
        self.end(name, began, "CANCELLED", 10 + STOP_GRACE)

    def worker_killed(self):
        """The rank is taken up by the next worker, and the gang goes on."""
        name = self.running("worker-killed")
        before = [rank.pid for rank in self.ranks()]
        [worker, *_] = [each for each in processes_of(self.folder) if each.program == "trainworker"]
        worker.kill()
        self.site.up()
        step = self.job(name)["step"]
        took = self.until("the job goes on", 60, lambda: self.job(name)["step"] > step + 5)
        self.expect("the same ranks", [rank.pid for rank in self.ranks()] == before, before)
        print(f"{name:16} went on after {took:.2f} s with the same ranks", flush=True)
        began = time.monotonic()
        self.site.trainctl("cancel", name)
        self.end(name, began, "CANCELLED", 10 + STOP_GRACE)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--devices", type=int)
    parser.add_argument("--model", type=pathlib.Path, default=TOP / "deploy/models/TinyLlama-1.1B")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--cpu", action="store_true", help="on CPU slots, with a tiny model")
    options = parser.parse_args()
    if options.cpu:
        options.model = TOP / "deploy/models/tiny"
    with tempfile.TemporaryDirectory(prefix="trainctl-kills-") as folder:
        folder = pathlib.Path(folder)
        random_tokens(folder / "tokens.bin", 1024, LENGTH, vocab=512 if options.cpu else 32000)
        slots = ("--workers", str(options.devices or 2), "--cpu") if options.cpu else ()
        site = Site(options.bin.resolve(), folder, *slots)
        try:
            there = site.devices("cpu" if options.cpu else "cuda")
            options.devices = options.devices or there
            if there < max(options.devices, 2):
                print(f"needs {max(options.devices, 2)} devices: this host has {there}")
                sys.exit(exit_status(True, False))
            check = Check(options, folder, site)
            check.two_ranks_killed()
            check.one_hangs()
            check.cancelled()
            check.worker_killed()
        finally:
            site.down()
    sys.exit(exit_status(check.good, True))


if __name__ == "__main__":
    main()
