"""A job takes the device of one that allows it, which goes on where it stood."""

import time
import unittest

from cluster import ClusterTest, tiny_job

# Its first steps take longer than a look at it.
JOB = {"deterministic": True, "train__max_steps": 40, "train__global_batch_size": 16}
MIN_RUN_SECONDS = 1


class Preemption(ClusterTest):
    WORKERS = 1

    def up(self):
        policy = self.dir / "policy.json"
        policy.write_text('{"preemption": {"min_run_time": "%ds"}}' % MIN_RUN_SECONDS)
        self.UP_OPTIONS = ("--policy", str(policy))
        super().up()

    def told(self, job_id):
        return " ".join(self.events(job_id))

    def submit_urgent_beside(self, low):
        """Its id; the low one stands in its midst until its device is taken, or might be."""
        self.wait_for_step(low, 3)
        allowed_from = time.monotonic() + 2 * MIN_RUN_SECONDS
        with self.resting_ranks():
            urgent = self.submit(tiny_job(name="urgent", resources__priority=90))
            self.eventually(
                "its device is or might be taken",
                30,
                lambda: self.job(low)["state"] != "RUNNING" or time.monotonic() > allowed_from,
            )
        return urgent

    def test_who_gives_way_goes_on_where_it_stood_though_the_coordinator_dies_meanwhile(self):
        code, ended = self.run_job(tiny_job(name="uninterrupted", **JOB))
        self.assertEqual(code, 0, ended)
        whole = self.losses(ended["id"])
        low = self.submit(
            tiny_job(
                name="low",
                output__dir=str(self.dir / "out"),
                checkpoint__every_steps=1000,
                resources__preemptible=True,
                resources__priority=10,
                **JOB,
            )
        )
        urgent = self.submit_urgent_beside(low)
        self.assertNotEqual(self.job(low)["state"], "RUNNING")
        self.process("traincoordinator").kill()
        self.up()
        self.assertEqual(self.wait_for_end(urgent)["outcome"], "SUCCEEDED")
        job = self.wait_for_end(low)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 2), job)
        self.assertEqual(self.losses(low), whole)
        self.assertIn(f"gives way to {urgent}", self.told(low))
        self.assertIn("goes on from", self.told(low))
        self.assertIn(f"takes the devices of {low}", self.told(urgent))

    def test_who_does_not_allow_it_is_let_be(self):
        low = self.submit(tiny_job(name="low", resources__priority=10, **JOB))
        urgent = self.submit_urgent_beside(low)
        self.assertEqual(self.wait_for_end(urgent)["outcome"], "SUCCEEDED")
        job = self.job(low)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 1), job)


if __name__ == "__main__":
    unittest.main()
