"""Data parallel and sharded on CPU slots against one slot."""

import unittest

from cluster import ClusterTest, tiny_job

# The smallest micro batch, so that one, two and four devices share it: rank r's micro batch k is the one device's micro batch.
SAME_BATCH = {
    "deterministic": True,
    "train__global_batch_size": 4,
    "train__micro_batch_size": 1,
    "train__max_steps": 12,
}


class Ddp(ClusterTest):
    WORKERS = 4

    def losses_on(self, devices, **changes):
        code, job = self.run_job(
            tiny_job(name=f"on-{devices}", devices=devices, **{**SAME_BATCH, **changes})
        )
        self.assertEqual(code, 0, job)
        return self.losses(job["id"])

    def test_two_and_four_devices_equal_one_bit_for_bit(self):
        one = self.losses_on(1)
        self.assertEqual(len(one), 12)
        self.assertGreater(len(set(one)), 10)
        self.assertEqual(self.losses_on(2), one)
        self.assertEqual(self.losses_on(4), one)

    def test_sharded_over_two_devices_equals_one_bit_for_bit(self):
        one = self.losses_on(1)
        for sharding in ("full", "grad_op"):
            self.assertEqual(
                self.losses_on(
                    2, strategy="fsdp", sharding=sharding, activation_checkpointing=True
                ),
                one,
            )

    def test_without_determinism_they_agree_within_rounding(self):
        one, two = self.losses_on(1, deterministic=False), self.losses_on(2, deterministic=False)
        for a, b in zip(one, two, strict=True):
            self.assertAlmostEqual(a, b, delta=1e-4)


if __name__ == "__main__":
    unittest.main()
