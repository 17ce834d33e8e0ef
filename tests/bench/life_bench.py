#!/usr/bin/env python3
"""How long people wait, with real processes on CPU slots of this machine.

    tests/bench/life_bench.py [--times 5]

Submit → the job's first step (with all of: inspection, placement, start, load); a rank that is
killed → its gang has ended; a worker that stands still → LOST; cancel → every device verified free.
The median and the slowest of so many times. The programs are build/bin's, or TRAINCTL_BIN_DIR's.
Exit status 1: something failed, or was seen in another order than its name says (span.py). Then no
number of it is printed.
"""

import argparse
import pathlib
import signal
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from cluster import ClusterTest, endless_job, tiny_job  # noqa: E402
from span import Span, WrongOrder  # noqa: E402

GANG_ENDS = ("FAILED", "NCCL_ERROR")  # as whose rank was killed, or as the other saw that
# A worker that speaks every two seconds is LOST once nothing came for ten.
LEAST_SILENT_SECONDS = 8


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


def first_step(site):
    jobs = []
    span = Span("submit → first step", lambda: jobs and site.job(jobs[0])["step"] >= 1)
    jobs.append(site.submit(tiny_job()))
    site.wait_for_step(jobs[0], 1)
    span.end()
    site.wait_for_end(jobs[0])
    job = site.job(jobs[0])
    step = site.points(jobs[0], "loss")[0]
    span.expect_within(
        ("submitted", job["submitted_at"]),
        ("started", job["started_at"]),
        ("the first step's loss", step["time"]),
    )
    site.wait_until_free()
    return span.seconds


def dead_rank(site):
    """From kill -9 of one of two ranks to the end of both."""
    job = site.running_gang(2)
    ranks = site.ranks()
    span = Span("dead rank → end", lambda: site.job(job)["state"] == "FINISHED")
    span.expect(len(ranks) == 2, f"{len(ranks)} ranks run before it")
    ranks[1].kill()
    site.eventually("its gang has ended", 120, span.effect)
    span.end()
    span.expect(not site.ranks(), "a rank runs on")
    ended = site.job(job)
    span.expect(ended["outcome"] in GANG_ENDS, f"it ended as {ended['outcome']}")
    span.expect_within(("ended", ended["ended_at"]))
    site.wait_until_free()
    return span.seconds


def lost_worker(site):
    """From the stop of a worker (its stream stays, nothing comes) to LOST."""
    site.wait_until_free()
    worker = site.process("trainworker", "worker-3")
    span = Span("silent worker → LOST", lambda: site.workers()["3"]["state"] == "LOST")
    worker.kill(signal.SIGSTOP)
    try:
        site.eventually("it is LOST", 120, span.effect)
        span.end()
        span.expect(site.process("trainworker", "worker-3") == worker, "it is another process")
    finally:
        worker.kill(signal.SIGCONT)
        site.wait_until_free()
    span.expect(
        span.seconds >= LEAST_SILENT_SECONDS, f"{span.seconds:.2f} s are too few to know it"
    )
    return span.seconds


def cancelled(site):
    """Until its end is told as well, which comes behind its devices."""
    job = site.running_gang(4)
    ranks = site.ranks()

    def is_over():
        return not site.ranks() and site.all_ready() and site.job(job)["state"] == "FINISHED"

    span = Span("cancel → free", is_over)
    span.expect(len(ranks) == 4, f"{len(ranks)} ranks run before it")
    result = site.trainctl("cancel", job)
    span.expect(result.returncode == 0, f"cancel failed: {result.stderr}")
    site.eventually("all are free", 90, span.effect)
    span.end()
    ended = site.job(job)
    span.expect(ended["outcome"] == "CANCELLED", f"it ended as {ended['outcome']}")
    span.expect_within(("ended", ended["ended_at"]))
    return span.seconds


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
    except (WrongOrder, AssertionError) as error:
        sys.exit(f"life_bench.py: {error}")
    finally:
        site._outcome = None
        site.doCleanups()


if __name__ == "__main__":
    main()
