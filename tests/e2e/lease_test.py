"""A lease of real processes: nobody else has its device, and its own job is gone before its end."""

import time
import unittest

from cluster import ClusterTest, endless_job, tiny_job

LEASE_SECONDS = 120  # the shortest


class Lease(ClusterTest):
    WORKERS = 1

    def kept_job(self, name):
        """Saves when it is stopped, at no other time."""
        return endless_job(
            name=name, output__dir=str(self.dir / name), checkpoint__every_steps=1_000_000
        )

    def held(self, job_id):
        """When its only attempt had the device, by the database: from and to, in seconds."""
        (times,) = self.query_database(
            "SELECT placed_at / 1e6, ended_at / 1e6 FROM attempts WHERE job = ?", job_id[1:]
        )
        return times

    def test_its_job_saves_and_ends_with_it_and_others_come_after(self):
        made = self.trainctl("lease", "create", "lab", "--gpus", "1", "--for", f"{LEASE_SECONDS}s")
        self.assertEqual(made.returncode, 0, made.stderr)
        (lease,) = self.json("lease", "ls")["leases"]
        within = self.submit(self.kept_job("within"), "--within", "lab")
        after = self.submit(tiny_job(name="after"))
        self.wait_for_step(within, 1)
        self.assertIn("lease 'lab'", self.job(after)["reason"])

        job = self.wait_for_end(within, seconds=LEASE_SECONDS)
        self.assertEqual((job["outcome"], job["attempt"]), ("LEASE_ENDED", 1), job)
        self.assertEqual(self.wait_for_end(after, seconds=60)["outcome"], "SUCCEEDED")
        came, left = self.held(within)
        came_after, _ = self.held(after)
        self.assertLessEqual(lease["start"], came)
        self.assertLessEqual(left, lease["end"])
        self.assertLessEqual(lease["end"], came_after)
        self.assertIn("lease 'lab' of", " ".join(self.events(within)))
        saved = self.json("artifacts", "ls", within)["artifacts"]
        self.assertEqual({artifact["kind"] for artifact in saved}, {"checkpoint"})


if __name__ == "__main__":
    unittest.main()
