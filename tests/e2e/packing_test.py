"""Packed rows: beside transformers row by row, on several slots, and as they are predicted."""

import unittest

from beside_transformers import BesideTransformers
from cluster import ALPACA, TINY, SharedClusterTest, tiny_job

LENGTH, ROWS = 512, 20
# Nothing is learned.
LOOK = {
    "data__max_rows": ROWS,
    "train__max_seq_length": LENGTH,
    "train__micro_batch_size": 1,
    "train__global_batch_size": 1,
    "train__epochs": 1,
    "train__max_steps": None,
    "optimizer": {"name": "sgd", "lr": 1e-30, "momentum": 0.0},
}
PACKED = {
    "train__packing": True,
    "train__max_seq_length": LENGTH,
    "train__global_batch_size": 4,
    "train__micro_batch_size": 1,
    "train__max_steps": 8,
    "deterministic": True,
}


class BesideRows(BesideTransformers):
    def looked_at(self, **changes):
        code, job = self.run_job(tiny_job(**{**LOOK, **changes}))
        self.assertEqual(code, 0, job)
        return job["id"]

    def values(self, job, name):
        return [point["value"] for point in self.points(job, name)]

    def test_an_epoch_of_sequences_has_transformers_loss_of_its_rows(self):
        packed, alone = self.looked_at(train__packing=True), self.looked_at()
        tokens = self.values(alone, "trained_tokens")
        self.assertEqual(len(tokens), ROWS)
        self.assertLess(len(self.losses(packed)), ROWS / 2)
        self.assertEqual(sum(self.values(packed, "samples")), ROWS)
        self.assertEqual(sum(self.values(packed, "trained_tokens")), sum(tokens))

        question = {"data": str(ALPACA), "rows": list(range(ROWS)), "length": LENGTH}
        theirs = sorted(self.answer(TINY, question)["losses"])
        # Ours of a row is theirs: tests/e2e/oracle_test.py. So each row's tokens are known.
        of_rows = sorted(zip(self.losses(alone), tokens, strict=True))
        expected = sum(loss * n for loss, (_, n) in zip(theirs, of_rows, strict=True))
        steps = zip(self.losses(packed), self.values(packed, "trained_tokens"), strict=True)
        self.assertAlmostEqual(sum(loss * n for loss, n in steps), expected, delta=1e-4 * expected)


class Packing(SharedClusterTest):
    WORKERS = 2

    def losses_of(self, name, **changes):
        code, job = self.run_job(tiny_job(name=name, **{**PACKED, **changes}))
        self.assertEqual(code, 0, job)
        return self.losses(job["id"])

    def test_strategies_and_checkpointed_activations_train_alike(self):
        one = self.losses_of("one")
        self.assertEqual(len(set(one)), 8)
        self.assertEqual(self.losses_of("ddp", devices=2), one)
        sharded = {"devices": 2, "strategy": "fsdp", "activation_checkpointing": True}
        self.assertEqual(self.losses_of("fsdp", **sharded), one)
        self.assertNotEqual(self.losses_of("unpacked", train__packing=False), one)

    def test_a_run_goes_on_where_it_stopped(self):
        constant = {"train__lr_schedule": "constant"}
        whole = self.losses_of("whole", **constant)
        saved = {"output__dir": str(self.dir / "out"), "checkpoint__every_steps": 3}
        half = self.losses_of("half", **constant, **saved, train__max_steps=3)
        rest = self.losses_of("rest", **constant, checkpoint__resume_from=str(self.dir / "out"))
        self.assertEqual(half + rest, whole)

    def test_steps_and_memory_are_those_predicted(self):
        for changes in (
            {},
            {"devices": 2, "strategy": "fsdp"},
            {"lora": {"r": 4}},
            {"precision": "bf16-true", "train__micro_batch_size": 2},
        ):
            job = tiny_job(
                name="job",
                **{**PACKED, "deterministic": False, "train__max_steps": None, **changes},
            )
            job["train"]["epochs"] = 1
            [told] = self.json("submit", self.write_job(job), "--dry-run")["jobs"]
            code, state = self.run_job(job)
            self.assertEqual(code, 0, state)
            self.assertEqual(len(self.losses(state["id"])), told["steps"], told)
            peak = max(
                point["value"] for point in self.points(state["id"], "memory_peak_allocated_bytes")
            )
            self.assertGreater(told["memory"]["peak_allocated"], 0.98 * peak, changes)
            self.assertLess(told["memory"]["peak_allocated"], 1.05 * peak, changes)

    def test_an_automatic_micro_batch_is_tried_with_full_sequences(self):
        job = tiny_job(name="auto", **{**PACKED, "train__micro_batch_size": "auto"})
        code, state = self.run_job(job)
        self.assertEqual(code, 0, state)
        self.assertIn("trial of micro batch", self.trainctl("describe", state["id"]).stdout)

    def test_validation_packs_too_and_has_the_same_loss(self):
        look = {"optimizer": LOOK["optimizer"], "data__val_split_fraction": 0.25}
        losses = set()
        for packing in (True, False):
            code, job = self.run_job(
                tiny_job(name="look", **{**PACKED, **look, "train__packing": packing})
            )
            self.assertEqual(code, 0, job)
            losses.add(round(self.points(job["id"], "val_loss")[-1]["value"], 4))
        self.assertEqual(len(losses), 1, losses)


if __name__ == "__main__":
    unittest.main()
