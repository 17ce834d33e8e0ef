"""A job's curves in the real TensorBoard while it trains: "track": ["tensorboard"]."""

import subprocess
import unittest

from beside_transformers import oracle_python
from cluster import TOP, ClusterTest, endless_job, tiny_job

SECONDS = 60
READER = TOP / "tests" / "client" / "read_events.py"


@unittest.skipIf(
    oracle_python("trackers") is None, "no TensorBoard: tests/oracles trackers makes it ready"
)
class TrackTest(ClusterTest):
    WORKERS = 1

    def scalars(self, folder):
        """{(tag, step): value} of what TensorBoard reads in the folder now."""
        words = [oracle_python("trackers"), "-B", READER, folder]
        done = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()]
        self.assertLessEqual({run for run, *_ in rows}, {"tensorboard"})
        return {(tag, int(step)): float(value) for _, tag, step, value, _ in rows}

    def test_tensorboard_follows_a_job_that_trains(self):
        out = self.dir / "out"
        job = self.submit(endless_job(output__dir=str(out), track=["tensorboard"]))
        self.wait_for_step(job, 3)
        first = self.scalars(out)
        self.wait_for_step(job, max(step for _, step in first) + 2)
        later = self.scalars(out)
        self.assertEqual(self.job(job)["state"], "RUNNING")
        self.assertGreater(max(later)[1], max(first)[1])
        self.assertLessEqual(first.items(), later.items())
        for tag in ("loss", "lr", "tokens_per_second", "memory_params_bytes/rank_0/after_forward"):
            self.assertIn((tag, 1), later)
        known = {point["step"]: point["value"] for point in self.points(job, "loss")}
        for (tag, step), value in later.items():
            if tag == "loss" and step in known:
                self.assertAlmostEqual(value, known[step], delta=1e-5 * known[step])
        self.trainctl("cancel", job)
        self.wait_for_end(job)

    def test_a_restart_goes_on_in_the_curves_from_its_checkpoint(self):
        out = self.dir / "out"
        job = self.submit(
            endless_job(
                output__dir=str(out),
                track=["tensorboard"],
                checkpoint__every_steps=2,
                resources__max_restarts=1,
            )
        )
        self.wait_for_step(job, 5)
        self.ranks()[0].kill()
        self.eventually("a second attempt", SECONDS, lambda: self.job(job)["attempt"] == 2)
        begun = self.eventually("its step", SECONDS, lambda: self.job(job)["step"])
        self.wait_for_step(job, begun + 6)
        self.trainctl("cancel", job)
        self.wait_for_end(job)
        self.assertEqual(len(list((out / "tensorboard").iterdir())), 2, "a file an attempt")
        points = self.points(job, "loss")
        read = {step: value for (tag, step), value in self.scalars(out).items() if tag == "loss"}
        self.assertEqual(sorted(read), [point["step"] for point in points], "each step once")

    def test_a_folder_with_curves_is_taken_for_another_job(self):
        out = self.dir / "out"
        status, _ = self.run_job(tiny_job(output__dir=str(out), track=["tensorboard"]))
        self.assertEqual(status, 0)
        refused = self.trainctl(
            "submit", self.write_job(tiny_job(output__dir=str(out), track=["tensorboard"]))
        )
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("it belongs to j1", refused.stderr)


if __name__ == "__main__":
    unittest.main()
