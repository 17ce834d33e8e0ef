"""Rows of similar length together (train.group_by_length), from the job file to its losses."""

import unittest

from cluster import SharedClusterTest, tiny_job

ROWS, GLOBAL = 64, 8
EPOCH = {
    "data__max_rows": ROWS,
    "train__max_seq_length": 256,
    "train__micro_batch_size": 4,
    "train__global_batch_size": GLOBAL,
    "train__epochs": 1,
    "train__max_steps": None,
    "deterministic": True,
}
# Nothing is learned: a row's loss is the same whenever it comes.
LOOK = {**EPOCH, "optimizer": {"name": "sgd", "lr": 1e-30, "momentum": 0.0}}


class GroupedRows(SharedClusterTest):
    def run_of(self, name, **changes):
        job = tiny_job(name=name, **{**EPOCH, "train__group_by_length": True, **changes})
        code, state = self.run_job(job)
        self.assertEqual(code, 0, state)
        return state["id"]

    def values(self, job, name):
        return [point["value"] for point in self.points(job, name)]

    def test_an_epoch_has_each_row_once_with_less_padding_the_longest_first(self):
        grouped = self.run_of("grouped", **LOOK)
        mixed = self.run_of("mixed", **LOOK, train__group_by_length=False)
        sums = []
        for job in (grouped, mixed):
            self.assertEqual(self.values(job, "samples"), [GLOBAL] * (ROWS // GLOBAL))
            trained = self.values(job, "trained_tokens")
            losses = zip(self.losses(job), trained, strict=True)
            sums.append((sum(trained), sum(loss * tokens for loss, tokens in losses)))
        self.assertEqual(sums[0][0], sums[1][0])
        self.assertAlmostEqual(sums[0][1], sums[1][1], delta=1e-4 * sums[1][1])
        positions = self.values(grouped, "tokens")
        self.assertEqual(positions[0], max(positions))
        self.assertLess(sum(positions), 0.9 * sum(self.values(mixed, "tokens")))
        said = self.trainctl("compare", mixed, grouped).stdout
        self.assertIn("train.group_by_length", said)

    def test_ranks_and_micro_steps_have_the_same_rows(self):
        one = self.losses(self.run_of("one"))
        self.assertEqual(len(set(one)), ROWS // GLOBAL)
        two = self.run_of("two", devices=2)
        self.assertEqual(self.losses(two), one)
        self.assertEqual(self.values(two, "work_seconds"), [], "rank 0 always has the longest rows")
        mixed = self.run_of("mixed", devices=2, train__group_by_length=False)
        self.assertNotEqual(self.values(mixed, "work_seconds"), [])

    def test_a_run_goes_on_where_it_stopped(self):
        constant = {"train__lr_schedule": "constant", "train__epochs": 2}
        whole = self.losses(self.run_of("whole", **constant))
        saved = {"output__dir": str(self.dir / "out"), "checkpoint__every_steps": 5}
        first = self.losses(self.run_of("first", **constant, **saved, train__max_steps=5))
        resumed = {"checkpoint__resume_from": str(self.dir / "out")}
        rest = self.losses(self.run_of("rest", **constant, **resumed))
        self.assertEqual(first + rest, whole)

    def test_steps_and_memory_are_those_predicted(self):
        job = tiny_job(name="told", **EPOCH, train__group_by_length=True)
        [told] = self.json("submit", self.write_job(job), "--dry-run")["jobs"]
        ran = self.run_of("ran", deterministic=False)
        self.assertEqual(len(self.losses(ran)), told["steps"], told)
        peak = max(self.values(ran, "memory_peak_allocated_bytes"))
        self.assertGreater(told["memory"]["peak_allocated"], 0.98 * peak)
        self.assertLess(told["memory"]["peak_allocated"], 1.05 * peak)


if __name__ == "__main__":
    unittest.main()
