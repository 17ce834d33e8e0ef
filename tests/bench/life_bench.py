#!/usr/bin/env python3
"""How long people wait, with real processes on CPU slots of this machine.

    tests/bench/life_bench.py [--times 5]

Submit → the job's first step (with all of: inspection, placement, start, load); a rank that is
killed → its gang has ended; a lost worker → LOST, and the others' devices free; cancel → every
device verified free. The median and the slowest of so many times. The programs are build/bin's, or
TRAINCTL_BIN_DIR's.
"""

import argparse
import pathlib
import statistics
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from cluster import ClusterTest, endless_job, tiny_job  # noqa: E402


class Site(ClusterTest):
    """A cluster outside of a test."""

    WORKERS = 4

    def runTest(self):
        pass

    def show_logs_of_a_failure(self):
        pass

    def all_ready(self):
        return all(worker["state"] == "READY" for worker in self.workers().values())

    def wait_until_free(self):
        self.eventually("all are READY", 90, self.all_ready)

    def running_gang(self, devices):
        job = self.submit(endless_job(devices=devices, train__micro_batch_size=1))
        self.wait_for_step(job, 3)
        return job


def took(condition, site, seconds=120):
    began = time.monotonic()
    site.eventually("it happens", seconds, condition)
    return time.monotonic() - began


def first_step(site):
    began = time.monotonic()
    job = site.submit(tiny_job())
    site.wait_for_step(job, 1)
    seconds = time.monotonic() - began
    site.wait_for_end(job)
    site.wait_until_free()
    return seconds


def dead_rank(site):
    """From kill -9 of one of two ranks to the end of both and free devices."""
    job = site.running_gang(2)
    site.ranks()[1].kill()
    seconds = took(lambda: site.job(job)["state"] == "FINISHED", site)
    site.wait_until_free()
    return seconds


def lost_worker(site):
    """From the stop of a worker (its stream stays, nothing comes) to LOST."""
    worker = site.process("trainworker", "worker-3")
    worker.kill(19)
    try:
        return took(lambda: site.workers()["3"]["state"] == "LOST", site)
    finally:
        worker.kill(18)
        site.wait_until_free()


def cancelled(site):
    job = site.running_gang(4)
    began = time.monotonic()
    site.trainctl("cancel", job)
    site.eventually("all are free", 90, lambda: not site.ranks() and site.all_ready())
    return time.monotonic() - began


ROWS = {
    "submit → first step": first_step,
    "dead rank → its gang has ended": dead_rank,
    "worker that is silent → LOST": lost_worker,
    "cancel of 4 ranks → all devices verified free": cancelled,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=5)
    times = parser.parse_args().times
    site = Site()
    site.setUp()
    try:
        for name, measure in ROWS.items():
            seconds = [measure(site) for _ in range(times)]
            print(f"{name}: {statistics.median(seconds):.2f} s, slowest {max(seconds):.2f} s",
                  flush=True)  # fmt: skip
    finally:
        site._outcome = None
        site.doCleanups()


if __name__ == "__main__":
    main()
