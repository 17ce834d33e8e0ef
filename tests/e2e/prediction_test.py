"""Memory as it is predicted at submit, against what the ranks' own allocator counted: every method, on CPU slots."""
import unittest

from cluster import ClusterTest, tiny_job

# Enough positions that what is no tensor of the model (token ids, tables of rotations) hardly counts.
LARGE = {"train__micro_batch_size": 8, "train__global_batch_size": 8, "train__max_seq_length": 256, "train__max_steps": 2}
METHODS = {
    "single": {},
    "bf16-true": {"precision": "bf16-true"},
    "bf16-mixed": {"precision": "bf16-mixed"},
    "sgd": {"optimizer__name": "sgd"},
    "accumulation": {"train__global_batch_size": 16},
    "clipping": {"train__max_norm": 1.0},
    "checkpointing": {"activation_checkpointing": True},
    "every second block": {"activation_checkpointing": 2},
    "deterministic": {"deterministic": True},
    "lora": {"lora": {"r": 8}},
    "lora, checkpointing, bf16-true": {"lora": {"r": 8}, "activation_checkpointing": True, "precision": "bf16-true"},
    "qlora": {"lora": {"r": 8}, "quantize": "nf4"},
}
TWO = {"devices": 2, "train__global_batch_size": 16}
METHODS_OF_TWO = {
    "ddp": {},
    "fsdp": {"strategy": "fsdp"},
    "fsdp, bf16-mixed": {"strategy": "fsdp", "precision": "bf16-mixed"},
    "fsdp, grad_op": {"strategy": "fsdp", "sharding": "grad_op"},
    "fsdp, one unit": {"strategy": "fsdp", "fsdp_unit": "model"},
    "fsdp, accumulation": {"strategy": "fsdp", "train__global_batch_size": 32},
    "fsdp, checkpointing": {"strategy": "fsdp", "activation_checkpointing": True},
    "fsdp, lora": {"strategy": "fsdp", "lora": {"r": 8}},
}


class Prediction(ClusterTest):
    def errors(self, name, changes):
        """By metric: the prediction's error of the measured."""
        code, job = self.run_job(tiny_job(**{**LARGE, **changes}))
        self.assertEqual(code, 0, f"{name}: {job}")
        [detail] = self.json("describe", job["id"])["jobs"]
        return {row["key"]: row["error"] for row in detail["prediction_errors"]}

    def expect_near(self, methods):
        wrong = {}
        for name, changes in methods.items():
            errors = self.errors(name, changes)
            for key, most in (("memory_params_bytes", 0.01), ("memory_optimizer_bytes", 0.01), ("memory_peak_allocated_bytes", 0.05)):
                if key in errors and abs(errors[key]) > most:
                    wrong[f"{name}: {key}"] = errors[key]
            self.assertIn("memory_peak_allocated_bytes", errors, name)
        self.assertEqual(wrong, {})

    def test_on_one_device(self):
        self.expect_near(METHODS)

    def test_on_two_devices(self):
        self.expect_near({name: {**TWO, **changes} for name, changes in METHODS_OF_TWO.items()})


if __name__ == "__main__":
    unittest.main()
