"""A lease of real processes: nobody else has its device, and its own job is gone before its end."""

import contextlib
import datetime
import unittest

from cluster import ClusterTest, endless_job, tiny_job

LEASE_SECONDS = 120  # the shortest


class LeaseCase(ClusterTest):
    def held(self, job_id):
        """When its attempts had their devices, by the database: from and to, in seconds."""
        return self.query_database(
            "SELECT placed_at / 1e6, ended_at / 1e6 FROM attempts WHERE job = ? ORDER BY attempt",
            job_id[1:],
        )

    def told(self, job_id):
        return " ".join(self.events(job_id))


class Lease(LeaseCase):
    WORKERS = 1

    def kept_job(self, name):
        """Saves when it is stopped, at no other time."""
        return endless_job(
            name=name, output__dir=str(self.dir / name), checkpoint__every_steps=1_000_000
        )

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
        ((came, left),) = self.held(within)
        ((came_after, _),) = self.held(after)
        self.assertLessEqual(lease["start"], came)
        self.assertLessEqual(left, lease["end"])
        self.assertLessEqual(lease["end"], came_after)
        self.assertIn("lease 'lab' of", self.told(within))
        saved = self.json("artifacts", "ls", within)["artifacts"]
        self.assertEqual({artifact["kind"] for artifact in saved}, {"checkpoint"})


class Displacement(LeaseCase):
    """Whoever was predicted to be gone by the start of a lease, and is not."""

    WORKERS = 2
    # Predicted for less than a minute; its first steps take longer than a look at it.
    JOB = {"train__max_steps": 40, "train__global_batch_size": 16}
    AHEAD_SECONDS = 120  # so that two that last a minute may begin, half a minute before it

    def make_lease(self):
        """Of all devices; the record of it."""
        start = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
        start += datetime.timedelta(seconds=self.AHEAD_SECONDS)
        made = self.trainctl(
            *("lease", "create", "lab", "--gpus", "2", "--for", f"{LEASE_SECONDS}s"),
            *("--start", f"{start:%Y-%m-%d %H:%M:%S} UTC"),
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        (lease,) = self.json("lease", "ls")["leases"]
        return lease

    def submit_to_be_late(self, stack, **changes):
        """The id of a job that stands in its midst until the stack is left."""
        job_id = self.submit(tiny_job(**self.JOB, **changes))
        self.wait_for_step(job_id, 3)
        stack.enter_context(self.resting_ranks())
        return job_id

    def test_who_is_late_is_told_stopped_before_the_start_and_goes_on_after_the_lease(self):
        lease = self.make_lease()
        with contextlib.ExitStack() as resting:
            saves = self.submit_to_be_late(
                resting,
                name="saves",
                output__dir=str(self.dir / "saves"),
                checkpoint__every_steps=1_000_000,
            )
            loses = self.submit_to_be_late(resting, name="loses")
            within = self.submit(tiny_job(name="within", devices=2), "--within", "lab")
            ranks = self.ranks()
            self.assertIn("has its devices from", self.job(saves)["reason"])
            for late in (saves, loses):
                self.eventually(
                    f"{late} is stopped",
                    self.AHEAD_SECONDS,
                    lambda late=late: self.job(late)["state"] == "STOPPING",
                )
            self.assertEqual(self.job(within)["state"], "QUEUED")
        self.eventually(
            "its own job begins",
            self.AHEAD_SECONDS,
            lambda: self.job(within)["state"] not in ("QUEUED", "STARTING"),
        )
        self.assertFalse({rank.pid for rank in ranks} & {rank.pid for rank in self.ranks()})
        self.assertEqual(self.wait_for_end(within)["outcome"], "SUCCEEDED")
        for late in (saves, loses):
            self.assertEqual(self.job(late)["state"], "QUEUED")
        self.assertEqual(self.trainctl("lease", "delete", "lab").returncode, 0)

        ((came, left),) = self.held(within)
        self.assertLessEqual(lease["start"], came)
        for late in (saves, loses):
            job = self.wait_for_end(late)
            self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 2), job)
            (_, gone), (back, _) = self.held(late)
            self.assertLessEqual(gone, lease["start"])
            self.assertLessEqual(left, back)
            self.assertIn("lease 'lab' of", self.told(late))
        self.assertIn("it saves and is stopped", self.told(saves))
        self.assertIn("goes on from", self.told(saves))
        self.assertIn("what it did is lost, since it keeps no checkpoints", self.told(loses))
        self.assertNotIn("goes on from", self.told(loses))


if __name__ == "__main__":
    unittest.main()
