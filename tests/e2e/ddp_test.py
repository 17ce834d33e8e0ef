"""Data parallel and sharded on CPU slots against one slot; what ranks of one host share."""

import contextlib
import os
import pathlib
import re
import unittest

from cluster import ClusterTest, SharedClusterTest, endless_job, tiny_job

# The smallest micro batch, so that one, two and four devices share it: rank r's micro batch k is
# the one device's micro batch.
SAME_BATCH = {
    "deterministic": True,
    "train__global_batch_size": 4,
    "train__micro_batch_size": 1,
    "train__max_steps": 12,
}


class Ddp(SharedClusterTest):
    WORKERS = 4

    def losses_on(self, devices, **changes):
        code, job = self.run_job(
            tiny_job(name=f"on-{devices}", devices=devices, **{**SAME_BATCH, **changes})
        )
        self.assertEqual(code, 0, job)
        return self.losses(job["id"])

    def test_two_and_four_devices_equal_one_bit_for_bit(self):
        one = self.once("one", lambda: self.losses_on(1))
        self.assertEqual(len(one), 12)
        self.assertGreater(len(set(one)), 10)
        self.assertEqual(self.losses_on(2), one)
        self.assertEqual(self.losses_on(4), one)

    def test_sharded_over_two_devices_equals_one_bit_for_bit(self):
        one = self.once("one", lambda: self.losses_on(1))
        for sharding in ("full", "grad_op"):
            self.assertEqual(
                self.losses_on(
                    2, strategy="fsdp", sharding=sharding, activation_checkpointing=True
                ),
                one,
            )

    def test_without_determinism_they_agree_within_rounding(self):
        one, two = self.losses_on(1, deterministic=False), self.losses_on(2, deterministic=False)
        for a, b in zip(one, two, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-4)


def allowed_cpus(process):
    """Each thread's CPUs, as the system has them; threads may end while they are looked at."""
    lists = set()
    for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            status = (task / "status").read_text()
            lists.add(re.search(r"\nCpus_allowed_list:\s*(\S+)", status)[1])
    return lists


def numbers(cpu_list):
    """The CPUs of a list as the system writes it, "0-2,5"."""
    ranges = [part.split("-") for part in cpu_list.split(",")]
    return {cpu for part in ranges for cpu in range(int(part[0]), int(part[-1]) + 1)}


@unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU can't be shared out")
class HostCpus(ClusterTest):
    WORKERS = 2

    def cpus_of_ranks(self, **changes):
        """A list of CPUs for each rank, the same of all its threads."""
        job = self.submit(endless_job(**changes))
        self.wait_for_step(job, 1)
        allowed = [allowed_cpus(rank) for rank in self.ranks()]
        self.assertEqual([len(lists) for lists in allowed], [1] * len(allowed), allowed)
        self.trainctl("cancel", job)
        self.wait_for_end(job)
        return sorted(cpu_list for lists in allowed for cpu_list in lists)

    def test_ranks_of_one_host_run_on_cpus_of_their_own(self):
        for changes in ({}, {"exclusive": True}, {"strategy": "fsdp", "offload_optimizer": True}):
            first, second = self.cpus_of_ranks(devices=2, **changes)
            self.assertEqual(numbers(first) & numbers(second), set(), (first, second))

    def test_an_exclusive_job_runs_on_all_cpus(self):
        (cpus,) = self.cpus_of_ranks(exclusive=True)
        shares = self.cpus_of_ranks(devices=2)
        self.assertNotIn(cpus, shares)


if __name__ == "__main__":
    unittest.main()
