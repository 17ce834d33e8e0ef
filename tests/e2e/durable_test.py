"""Checkpoints under real faults: what is killed goes on as if nothing had happened."""

import signal
import time
import unittest

from cluster import ClusterTest, tiny_job

STEPS = 40
# Long enough to be caught in the act; a checkpoint after each step.
JOB = {
    "deterministic": True,
    "train__max_steps": STEPS,
    "train__max_seq_length": 128,
    "checkpoint__every_steps": 1,
    "resources__max_restarts": 3,
}


class Durable(ClusterTest):
    def checkpoints(self):
        return self.dir / "out" / "checkpoints"

    def job_with_checkpoints(self, **changes):
        return tiny_job(name="durable", output__dir=str(self.dir / "out"), **{**JOB, **changes})

    def uninterrupted_losses(self, **changes):
        job = tiny_job(name="uninterrupted", **{**JOB, **changes})
        del job["checkpoint"]
        code, ended = self.run_job(job)
        self.assertEqual(code, 0, ended)
        losses = self.losses(ended["id"])
        self.assertEqual(len(losses), STEPS)
        return losses

    def written(self):
        return list(self.checkpoints().glob("step-*[0-9]/manifest.json"))

    def half_written(self):
        return list(self.checkpoints().glob("*.writing"))

    def kill_in_mid_checkpoint(self, job_id):
        """Kills rank 0 while a checkpoint is half written and an older one is whole.

        Stopped first, so that it surely is.
        """
        self.wait_for_step(job_id, 3)
        rank = self.ranks()[0]
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if not self.half_written():
                continue
            rank.kill(signal.SIGSTOP)
            if self.half_written() and self.written():
                rank.kill()
                return
            rank.kill(signal.SIGCONT)
        self.fail("no checkpoint was caught in the act")

    def expect_goes_on(self, **changes):
        whole = self.uninterrupted_losses(**changes)
        job_id = self.submit(self.job_with_checkpoints(**changes))
        self.kill_in_mid_checkpoint(job_id)
        job = self.wait_for_end(job_id)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 2), job)
        self.assertEqual(self.losses(job_id), whole)
        self.assertEqual(self.half_written(), [])
        self.assertEqual(len(self.written()), 2)
        self.assertIn("goes on from", " ".join(self.events(job_id)))

    def test_a_rank_killed_in_mid_checkpoint_goes_on_bit_for_bit(self):
        self.expect_goes_on()

    def test_a_gang_killed_in_mid_checkpoint_goes_on_bit_for_bit(self):
        self.expect_goes_on(devices=2)

    def test_a_cancelled_job_is_resumed_where_it_stood(self):
        long_steps = {"train__global_batch_size": 12}  # the first ones take longer than a look
        whole = self.uninterrupted_losses(**long_steps)
        job_id = self.submit(self.job_with_checkpoints(checkpoint__every_steps=1000, **long_steps))
        self.wait_for_step(job_id, 3)
        with self.resting_ranks():
            self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)
        self.assertEqual(self.wait_for_end(job_id)["outcome"], "CANCELLED")
        self.assertEqual(len(self.written()), 1)
        resumed = self.json("resume", job_id)["id"]
        self.assertEqual(self.wait_for_end(resumed)["outcome"], "SUCCEEDED")
        points = self.points(resumed, "loss")
        first = points[0]["step"]
        self.assertGreaterEqual(first, 3)
        self.assertEqual([point["value"] for point in points], whole[first:])
        self.assertEqual(self.job(job_id)["outcome"], "CANCELLED")

    def test_a_job_without_checkpoints_is_not_resumed(self):
        code, job = self.run_job(tiny_job())
        self.assertEqual(code, 0, job)
        refused = self.trainctl("resume", job["id"])
        self.assertEqual(refused.returncode, 2)
        self.assertIn("checkpoint.every_steps", refused.stderr)


if __name__ == "__main__":
    unittest.main()
