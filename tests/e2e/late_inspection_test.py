"""Jobs that nobody could look at when they were submitted: they are inspected before they start."""

import shutil
import unittest

from cluster import ALPACA, ClusterTest, endless_job, tiny_job


class LateInspection(ClusterTest):
    WORKERS = 1

    def expect_a_job_like_others(self, job_id, rows):
        [detail] = self.json("describe", job_id)["jobs"]
        self.assertEqual(detail["inspection"]["rows"], rows)
        self.assertEqual(detail["steps"], 6)
        self.assertIn(
            "memory_peak_allocated_bytes", {row["key"] for row in detail["prediction_errors"]}
        )
        compared = {row["key"]: row["values"] for row in self.json("compare", job_id)["rows"]}
        self.assertGreater(compared["predicted_peak_bytes"][0], 0)

    def test_no_worker_was_there(self):
        self.process("trainworker").kill()
        self.eventually(
            "its stream is gone",
            60,
            lambda: "worker_left" in (self.dir / "log" / "coordinator.log").read_text(),
        )
        submitted = self.trainctl("submit", self.write_job(tiny_job()), "-o", "name")
        self.assertIn("it is tried again before the job starts", submitted.stderr)
        job_id = submitted.stdout.strip()
        self.up()
        self.assertEqual(self.trainctl("wait", job_id).returncode, 0)
        self.expect_a_job_like_others(job_id, 64)

    def submit_behind_another(self, data):
        """The ids of a running job that has the only device, and of one that waits for it."""
        running = self.submit(endless_job())
        self.wait_for_step(running, 1)
        return running, self.submit(tiny_job(name="waits", data__path=str(data)), "--force")

    def test_the_data_were_not_there_yet(self):
        data = self.dir / "rows.json"
        running, waiting = self.submit_behind_another(data)
        shutil.copy(ALPACA, data)
        self.assertEqual(self.trainctl("cancel", running).returncode, 0)
        self.assertEqual(self.trainctl("wait", waiting).returncode, 0)
        self.expect_a_job_like_others(waiting, 64)

    def test_the_data_are_still_not_there(self):
        data = self.dir / "rows.json"
        running, waiting = self.submit_behind_another(data)
        self.assertEqual(self.trainctl("cancel", running).returncode, 0)
        job = self.wait_for_end(waiting)
        self.assertEqual((job["outcome"], job["attempt"]), ("LAUNCH_FAILED", 0), job)
        self.assertIn(str(data), job["message"])
        self.assertIn(self.json("workers")["workers"][0]["host"], job["message"])


if __name__ == "__main__":
    unittest.main()
