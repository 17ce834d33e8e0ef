"""Rows of Arrow and Parquet train as the same rows of JSON lines do. How long a step waits for them
is measured of each."""

import json
import shutil
import unittest

from cluster import TOP, SharedClusterTest, tiny_job

TABLES = TOP / "tests" / "baselines" / "tables"
IMAGES = TABLES.parent / "images"
PICTURES = ("rgb.jpg", "gray.jpg", "rgba.png")
TRAINED = {
    "deterministic": True,
    "train__global_batch_size": 1,
    "train__micro_batch_size": 1,
    "train__max_seq_length": 128,
}


class Tables(SharedClusterTest):
    def losses_of(self, path, data, **changes):
        job = tiny_job(data={"path": str(path), **data}, **{**TRAINED, **changes})
        code, job = self.run_job(job)
        self.assertEqual(code, 0, job)
        self.expect_waits_within_steps(job["id"])
        return self.losses(job["id"])

    def expect_waits_within_steps(self, job_id):
        waits, steps = self.points(job_id, "data_wait_seconds"), self.points(job_id, "step_seconds")
        self.assertEqual(len(waits), len(steps))
        for wait, step in zip(waits, steps, strict=True):
            self.assertGreater(wait["value"], 0)
            self.assertLess(wait["value"], step["value"])

    def test_texts_have_the_losses_of_json_lines(self):
        for data in (
            {"format": "alpaca"},
            {"format": "text", "columns": {"text": "completion"}},
            {"format": "chat", "template": "alpaca"},
        ):
            expected = self.losses_of(TABLES / "rows.jsonl", data=data, train__max_steps=6)
            self.assertEqual(len(set(expected)), 6)
            for name in ("saved", "rows.parquet", "words.arrow"):
                with self.subTest(name, data=data):
                    losses = self.losses_of(TABLES / name, data=data, train__max_steps=6)
                    self.assertEqual(losses, expected)

    def test_pictures_have_the_losses_of_an_imagefolder(self):
        folder = self.dir / "pictures"
        folder.mkdir()
        rows = []
        for name in PICTURES:
            shutil.copy(IMAGES / name, folder)
            rows.append({"file_name": name, "caption": f"as {name.split('.')[0]}"})
        (folder / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
        settings = {
            "data": {"format": "captions", "columns": {"text": "caption"}},
            "model__path": str(TOP / "deploy/models/tiny-blip2"),
            "train__max_steps": 5,
        }
        expected = self.losses_of(folder, **settings)
        self.assertEqual(len(set(expected)), 5)
        for name in ("pictures", "pictures.parquet", "pictures.arrow"):
            with self.subTest(name):
                self.assertEqual(self.losses_of(TABLES / name, **settings), expected)

    def test_a_column_that_is_not_there_refuses_the_job(self):
        data = {"format": "text", "columns": {"text": "caption"}}
        job = self.write_job(tiny_job(data={"path": str(TABLES / "rows.parquet"), **data}))
        for options in ((), ("--dry-run",)):
            result = self.trainctl("submit", job, *options)
            self.assertNotEqual(result.returncode, 0, result.stdout)
            self.assertIn("no column 'caption', its columns: ", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
