"""A job whose output.dir has no room when it has trained."""

import unittest

from cluster import ClusterTest, tiny_job
from small_disk import fill, small_disk


class FullOutputDisk(ClusterTest):
    WORKERS = 2

    def setUp(self):
        super().setUp()
        self.disk = self.dir / "disk"
        small_disk(self, self.disk)
        self.filler = fill(self.disk, leave=256 << 10)  # less than the model, not nothing

    def submit_to_full_disk(self):
        job = tiny_job(devices=2, output__dir=str(self.disk / "out"), output__save="final")
        job_id = self.submit(job, "--force")
        self.eventually("it waits for room", 60, lambda: "waits for room" in self.said(job_id))
        self.assertEqual(self.job(job_id)["state"], "RUNNING")
        return job_id

    def said(self, job_id):
        return self.trainctl("describe", job_id).stdout

    def test_what_was_trained_is_saved_once_there_is_room(self):
        job_id = self.submit_to_full_disk()
        self.filler.unlink()
        self.assertEqual(self.wait_for_end(job_id)["outcome"], "SUCCEEDED", self.said(job_id))
        saved = self.disk / "out" / "model.safetensors"
        code, again = self.run_job(
            tiny_job(devices=2, output__dir=str(self.dir / "out"), output__save="final")
        )
        self.assertEqual(code, 0, again)
        self.assertEqual(saved.read_bytes(), (self.dir / "out" / "model.safetensors").read_bytes())

    def test_who_waits_for_room_can_be_cancelled(self):
        job_id = self.submit_to_full_disk()
        self.trainctl("cancel", job_id)
        self.assertEqual(self.wait_for_end(job_id)["outcome"], "CANCELLED")
        self.assertEqual([path.name for path in (self.disk / "out").iterdir()], [".trainctl"])


if __name__ == "__main__":
    unittest.main()
