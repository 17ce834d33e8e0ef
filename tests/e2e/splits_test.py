"""Rows of their own validate: another split of a folder, or another file."""

import json
import unittest

from cluster import ALPACA, ClusterTest, tiny_job

TRAINED, VALIDATED = 12, 8
# Nothing is learned.
LOOK = {
    "train__global_batch_size": 4,
    "train__micro_batch_size": 4,
    "train__max_steps": 1,
    "optimizer": {"name": "sgd", "lr": 1e-30, "momentum": 0.0},
}


class Splits(ClusterTest):
    def setUp(self):
        super().setUp()
        rows = json.loads(ALPACA.read_text())
        self.folder = self.dir / "data"
        self.folder.mkdir()
        (self.folder / "train.json").write_text(json.dumps(rows[:TRAINED]))
        lines = [json.dumps(row) + "\n" for row in rows[TRAINED : TRAINED + VALIDATED]]
        (self.folder / "test.jsonl").write_text("".join(lines))

    def looked_at(self, data, **changes):
        code, job = self.run_job(tiny_job(**{**LOOK, **changes}, data=data))
        self.assertEqual(code, 0, job)
        return job["id"]

    def test_another_split_or_file_validates_with_the_loss_that_its_rows_have(self):
        whole = {"train__global_batch_size": VALIDATED, "train__micro_batch_size": VALIDATED}
        alone = self.looked_at({"path": str(self.folder / "test.jsonl")}, name="alone", **whole)
        [expected] = self.losses(alone)
        splits = {"path": str(self.folder), "split": "train", "val_split": "test"}
        files = {
            "path": str(self.folder / "train.json"),
            "val_path": str(self.folder / "test.jsonl"),
        }
        for data in (splits, files):
            for changes in ({}, {"devices": 2}, {"train__packing": True}):
                with self.subTest(data=data, **changes):
                    if "devices" in changes:
                        changes = {**changes, "train__micro_batch_size": 2}
                    if "train__packing" in changes:
                        changes = {**changes, "train__global_batch_size": 2}
                        changes["train__micro_batch_size"] = 2
                    job = self.looked_at(data, name="look", **changes)
                    [point] = self.points(job, "val_loss")
                    self.assertAlmostEqual(point["value"], expected, delta=2e-5)
        path = self.write_job(tiny_job(data=splits))
        told = self.trainctl("submit", path, "--dry-run").stdout
        self.assertIn(f"{VALIDATED} rows for validation", told)
        self.assertIn(f"of {TRAINED} rows", told)


if __name__ == "__main__":
    unittest.main()
