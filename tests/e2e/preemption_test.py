"""A job takes the device of one that allows it, which goes on where it stood."""

import unittest

from cluster import ClusterTest, tiny_job

STEPS = 40
# Steps of several calls of trainctl each.
JOB = {
    "deterministic": True,
    "train__max_steps": STEPS,
    "train__max_seq_length": 128,
    "train__global_batch_size": 32,
}


class Preemption(ClusterTest):
    WORKERS = 1

    def up(self):
        policy = self.dir / "policy.json"
        policy.write_text('{"preemption": {"min_run_time": "1s"}}')
        self.UP_OPTIONS = ("--policy", str(policy))
        super().up()

    def events(self, job_id):
        events = self.json("describe", job_id)["jobs"][0]["events"]
        return " ".join(event["text"] for event in events)

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
        self.wait_for_step(low, 3)
        urgent = self.submit(tiny_job(name="urgent", resources__priority=90))
        self.eventually("its device is taken", 30, lambda: self.job(low)["state"] != "RUNNING")
        self.process("traincoordinator").kill()
        self.up()
        self.assertEqual(self.wait_for_end(urgent)["outcome"], "SUCCEEDED")
        job = self.wait_for_end(low)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 2), job)
        self.assertEqual(self.losses(low), whole)
        self.assertIn(f"gives way to {urgent}", self.events(low))
        self.assertIn("goes on from", self.events(low))
        self.assertIn(f"takes the devices of {low}", self.events(urgent))

    def test_who_does_not_allow_it_is_let_be(self):
        low = self.submit(tiny_job(name="low", resources__priority=10, **JOB))
        self.wait_for_step(low, 3)
        urgent = self.submit(tiny_job(name="urgent", resources__priority=90))
        self.assertEqual(self.wait_for_end(urgent)["outcome"], "SUCCEEDED")
        job = self.job(low)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 1), job)


if __name__ == "__main__":
    unittest.main()
