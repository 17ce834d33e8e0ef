"""Two workers under one name, and a worker that can start nothing: the jobs do not suffer."""

import shutil
import socket
import subprocess
import unittest

from cluster import BIN, ClusterTest, endless_job, tiny_job
from small_disk import fill, small_disk


class SameName(ClusterTest):
    WORKERS = 1

    def start_second(self, folder):
        address = (self.dir / "coordinator.addr").read_text().strip()
        second = subprocess.Popen(
            [BIN / "trainworker", "--coordinator", address, "--dir", folder, "--device", "cpu:0"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(second.wait)
        self.addCleanup(second.kill)
        return second

    def expect_one_attempt(self, job_id):
        job = self.job(job_id)
        self.assertEqual((job["state"], job["attempt"]), ("RUNNING", 1), job)
        self.assertEqual(len(self.ranks()), 1)

    def test_a_second_worker_of_a_name_is_refused_and_ends(self):
        job_id = self.submit(endless_job())
        self.wait_for_step(job_id, 1)
        with self.resting_ranks():
            second = self.start_second(self.dir / "other")
            _, said = second.communicate(timeout=60)
        self.assertEqual(second.returncode, 3, said)
        self.assertIn(f"another trainworker is connected as '{socket.gethostname()}/0'", said)
        self.expect_one_attempt(job_id)
        self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)
        self.assertEqual(self.wait_for_end(job_id)["outcome"], "CANCELLED")
        self.assertEqual(self.run_job(tiny_job(name="next"))[0], 0)

    def test_a_second_worker_does_not_take_a_name_while_the_first_is_away(self):
        job_id = self.submit(endless_job())
        self.wait_for_step(job_id, 1)
        with self.resting_ranks():
            self.process("trainworker").kill()
            second = self.start_second(self.dir / "other")
            self.eventually("the first is LOST", 40, lambda: self.workers()["0"]["state"] == "LOST")
            self.up()
        self.wait_for_step(job_id, self.job(job_id)["step"] + 1)
        with self.resting_ranks():
            self.assertEqual(second.wait(timeout=60), 3)
        self.expect_one_attempt(job_id)

    def test_a_copied_folder_is_refused_and_its_ranks_are_left_alone(self):
        job_id = self.submit(endless_job())
        self.wait_for_step(job_id, 1)
        shutil.copytree(
            self.dir / "worker-0",
            self.dir / "copy",
            ignore=lambda folder, names: [name for name in names if name.endswith(".sock")],
        )
        with self.resting_ranks():
            second = self.start_second(self.dir / "copy")
            _, said = second.communicate(timeout=30)
        self.assertEqual(second.returncode, 1, said)
        self.assertIn("is a copy of another worker's folder", said)
        self.expect_one_attempt(job_id)


class UnfitWorker(ClusterTest):
    WORKERS = 2

    def up(self):
        folder = self.dir / "worker-0"
        if not folder.exists():
            small_disk(self, folder, mebibytes=2)
        super().up()

    def test_jobs_run_elsewhere_while_a_workers_disk_is_full(self):
        filler = fill(self.dir / "worker-0")
        job_ids = [self.submit(tiny_job(name=f"tiny-{i}")) for i in range(4)]
        for job_id in job_ids:
            job = self.wait_for_end(job_id)
            self.assertEqual(job["outcome"], "SUCCEEDED", job)
            self.assertTrue(job["placement"][0].endswith("/1"), job)
        full = self.workers()["0"]
        self.assertEqual(full["state"], "DIRTY")
        # By a launch that failed, in the system's words, or by the worker that looked first.
        self.assertRegex(full["reason"], "No space left on device|the disk of .* is full")
        filler.unlink()
        self.expect_devices_free(30)


if __name__ == "__main__":
    unittest.main()
