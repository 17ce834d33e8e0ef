"""Models of the Hugging Face cache, as it lies on a worker's host."""

import os
import unittest
import unittest.mock

from cluster import TINY, ClusterTest, tiny_job

REVISION = "0123456789abcdef0123456789abcdef01234567"


class Hub(ClusterTest):
    def up(self):
        """Its programs are told of a cache of their own."""
        home = self.dir / "huggingface"
        model = home / "hub" / "models--acme--tiny"
        snapshot, blobs = model / "snapshots" / REVISION, model / "blobs"
        for folder in (snapshot, blobs, model / "refs"):
            folder.mkdir(parents=True)
        (model / "refs" / "main").write_text(REVISION)
        for number, file in enumerate(sorted(TINY.iterdir())):
            (blobs / str(number)).write_bytes(file.read_bytes())
            (snapshot / file.name).symlink_to(f"../../blobs/{number}")
        told = {"HF_HOME": str(home)}
        with unittest.mock.patch.dict(os.environ, told):
            os.environ.pop("HF_HUB_CACHE", None)
            super().up()

    def test_a_job_names_its_model_by_id_and_keeps_the_revision(self):
        code, by_id = self.run_job(tiny_job(name="by-id", model__path="acme/tiny"))
        self.assertEqual(code, 0, by_id)
        code, by_folder = self.run_job(tiny_job(name="by-folder", model__path=str(TINY)))
        self.assertEqual(code, 0, by_folder)
        self.assertEqual(self.losses(by_id["id"]), self.losses(by_folder["id"]))
        self.assertIn(f"Model revision: {REVISION}", self.trainctl("describe", "by-id").stdout)

    def test_what_is_not_there_is_said_with_the_command_that_fetches_it(self):
        job = self.write_job(tiny_job(model__path="acme/large"))
        refused = self.trainctl("submit", job)
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("hf download acme/large", refused.stderr)


if __name__ == "__main__":
    unittest.main()
