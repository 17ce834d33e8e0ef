"""Memory as it is predicted at submit, against what the ranks' own allocator counted: every method,
on CPU slots."""

import json
import shutil
import unittest

from cluster import TINY, TOP, ClusterTest, tiny_job

# Enough positions that what is no tensor of the model (token ids, tables of rotations) hardly
# counts.
LARGE = {
    "train__micro_batch_size": 8,
    "train__global_batch_size": 8,
    "train__max_seq_length": 256,
    "train__max_steps": 2,
}
MOST_BELOW = 0.02  # a prediction that is too low lets a job run out of memory
# Where weights are read from files; every method with random ones: random_memory_test.py.
METHODS = {
    "single": {},
    "lora, checkpointing, bf16-true": {
        "lora": {"r": 8},
        "activation_checkpointing": True,
        "precision": "bf16-true",
    },
    "qlora": {"lora": {"r": 8}, "quantize": "nf4"},
    "ddp": {"devices": 2, "train__global_batch_size": 16},
    "fsdp, bf16-mixed": {
        "devices": 2,
        "train__global_batch_size": 16,
        "strategy": "fsdp",
        "precision": "bf16-mixed",
    },
}
# With accumulation, of which fsdp may hold whole gradients over the micro steps or reduce them in
# each.
ACCUMULATING = {
    "devices": 2,
    "strategy": "fsdp",
    "model__init": "random",
    "train__micro_batch_size": 1,
    "train__global_batch_size": 6,
    "train__max_seq_length": 64,
    "train__max_steps": 2,
}
ACCUMULATING_METHODS = {
    "fsdp": {},
    "clipping": {"train__max_norm": 1.0},
    "bf16-mixed": {"precision": "bf16-mixed"},
    "grad_op": {"sharding": "grad_op"},
    "one unit": {"fsdp_unit": "model"},
}


# What config.json says beside the tiny model's.
FAMILIES = {
    "Llama 3": {
        "rope_scaling": {
            "rope_type": "llama3",
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 64,
        }
    },
    "LLaMA with biases": {"attention_bias": True, "mlp_bias": True},
    "Qwen 2": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2"},
    "OPT": {
        "architectures": ["OPTForCausalLM"],
        "model_type": "opt",
        "ffn_dim": 256,
        "dropout": 0.1,
    },
    "Qwen 3": {"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "head_dim": 32},
}
METHODS_OF_FAMILIES = {
    "single": {},
    "lora, bf16-true": {"lora": {"r": 8}, "precision": "bf16-true"},
    "checkpointing, bf16-mixed": {"activation_checkpointing": True, "precision": "bf16-mixed"},
}
# A vision transformer, and a Q-Former whose keys and values, that hold more than the words.
PICTURES = {
    "vision": {
        "vision_config": {
            "image_size": 112,
            "hidden_size": 64,
            "intermediate_size": 256,
            "num_hidden_layers": 3,
        },
        "qformer_config": {"encoder_hidden_size": 64},
    },
    "Q-Former": {
        "num_query_tokens": 16,
        "vision_config": {"image_size": 112, "num_hidden_layers": 1},
        "qformer_config": {
            "hidden_size": 192,
            "intermediate_size": 384,
            "num_attention_heads": 6,
            "num_hidden_layers": 4,
        },
    },
}
CAPTIONED = {
    "data": {"path": str(TOP / "deploy" / "data" / "captions"), "format": "captions"},
    "model__init": "random",
    "train__max_seq_length": 64,
}
METHODS_OF_PICTURES = {
    **METHODS_OF_FAMILIES,
    "checkpointing": {"activation_checkpointing": True},
    "qlora": {"lora": {"r": 8}, "quantize": "nf4"},
    "qlora of words": {
        "lora": {"r": 8, "targets": ["q", "v"]},
        "quantize": "nf4",
        "precision": "bf16-true",
    },
    "vision frozen": {"freeze": ["vision"]},
    "vision and Q-Former frozen, bf16-true": {
        "freeze": ["vision", "qformer"],
        "precision": "bf16-true",
    },
    "vision frozen, fsdp": {
        "devices": 2,
        "train__global_batch_size": 16,
        "strategy": "fsdp",
        "freeze": ["vision"],
        "precision": "bf16-mixed",
    },
}


class Prediction(ClusterTest):
    def errors(self, name, changes):
        """By metric: the prediction's error of the measured."""
        return self.run_and_describe(name, {**LARGE, **changes})[1]

    def run_and_describe(self, name, changes):
        """(describe's record, the errors)"""
        code, job = self.run_job(tiny_job(**changes))
        self.assertEqual(code, 0, f"{name}: {job}")
        [detail] = self.json("describe", job["id"])["jobs"]
        return detail, {row["key"]: row["error"] for row in detail["prediction_errors"]}

    def expect_near(self, methods):
        wrong = {}
        for name, changes in methods.items():
            errors = self.errors(name, changes)
            for key, most in (
                ("memory_params_bytes", 0.01),
                ("memory_optimizer_bytes", 0.01),
                ("memory_peak_allocated_bytes", 0.05),
            ):
                if key in errors and not -min(most, MOST_BELOW) <= errors[key] <= most:
                    wrong[f"{name}: {key}"] = errors[key]
            self.assertIn("memory_peak_allocated_bytes", errors, name)
        self.assertEqual(wrong, {})

    def test_with_weights_of_files(self):
        self.expect_near(METHODS)

    def test_of_each_family(self):
        for family, config in FAMILIES.items():
            model = {"model__path": self.model_like_tiny(family, config), "model__init": "random"}
            self.expect_near(
                {
                    f"{family}, {name}": {**model, **changes}
                    for name, changes in METHODS_OF_FAMILIES.items()
                }
            )

    def test_of_pictures_that_hold_more_than_words(self):
        for name, changes in PICTURES.items():
            rows = {**CAPTIONED, "model__path": self.pictured_model(name, changes)}
            self.expect_near(
                {
                    f"{name}, {method}": {**rows, **own}
                    for method, own in METHODS_OF_PICTURES.items()
                }
            )

    def test_of_rows_beyond_a_window_and_beyond_the_positions_of_dynamic_rotation(self):
        mistral = {
            "architectures": ["MistralForCausalLM"],
            "model_type": "mistral",
            "sliding_window": 100,
            "max_position_embeddings": 512,
            "rope_scaling": {"rope_type": "dynamic", "factor": 4.0},
        }
        text = self.dir / "text.txt"
        text.write_text("one two three " * 4000)
        rows = {
            "model__path": self.model_like_tiny("window", mistral),
            "model__init": "random",
            "data": {"path": str(text), "format": "plain"},
            "train__micro_batch_size": 1,
            "train__global_batch_size": 1,
            "train__max_seq_length": 1024,
        }
        self.expect_near(
            {f"{name}, 1024": {**rows, **METHODS_OF_FAMILIES[name]} for name in METHODS_OF_FAMILIES}
        )

    def test_of_validation_rows_longer_than_what_trains(self):
        """An evaluation's forward holds the most then, of several shapes of models."""
        short, long = self.dir / "short.jsonl", self.dir / "long.jsonl"
        short.write_text('{"text": "one two three"}\n' * 8)
        long.write_text(json.dumps({"text": "one two three " * 150}) + "\n")
        rows = {
            "data": {"path": str(short), "format": "text", "val_path": str(long)},
            "model__init": "random",
            "train__micro_batch_size": 1,
            "train__global_batch_size": 1,
            "train__max_seq_length": 1024,
            "train__max_steps": 2,
        }
        shapes = {
            **{name: FAMILIES[name] for name in ("Llama 3", "OPT", "Qwen 3")},
            "a wide FFN": {"intermediate_size": 4096, "max_position_embeddings": 1024},
            "a large vocabulary": {"vocab_size": 9000, "max_position_embeddings": 1024},
            "many heads": {"num_attention_heads": 16, "head_dim": 64},
        }
        for shape, config in shapes.items():
            model = {"model__path": self.model_like_tiny(shape, config)}
            self.expect_near(
                {
                    f"{shape}, {name}": {**rows, **model, **METHODS_OF_FAMILIES[name]}
                    for name in ("single", "lora, bf16-true")
                }
            )

    def test_of_texts_that_hold_more_than_a_step(self):
        """Of prompts at an evaluation: one after the other, and together."""
        rows = self.dir / "rows.jsonl"
        rows.write_text('{"text": "short"}\n' * 8)
        texts = {
            "data": {"path": str(rows), "format": "text"},
            "train__micro_batch_size": 1,
            "train__global_batch_size": 1,
            "eval": {"prompts": ["Give", "What is", "The"], "max_new_tokens": 1500},
        }
        checkpointing = {"activation_checkpointing": True, "optimizer": {"name": "sgd"}}
        self.expect_near(
            {
                "one by one": {**texts, "train__max_seq_length": 64},
                "two by two": {**texts, **checkpointing, "train__max_seq_length": 3072},
                "together": {**texts, "lora": {"r": 8}, "train__max_seq_length": 8192},
                "bf16-true": {**texts, "precision": "bf16-true", "train__max_seq_length": 8192},
            }
        )

    def model_like_tiny(self, name, changes):
        """A folder without weights."""
        folder = self.dir / name
        shutil.copytree(TINY, folder, ignore=shutil.ignore_patterns("*.safetensors"))
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(config))
        return str(folder)

    def pictured_model(self, name, changes):
        """A folder of a BLIP-2 without weights, with changes to the tiny one's sections."""
        folder = self.dir / name
        tiny = TOP / "deploy" / "models" / "tiny-blip2"
        shutil.copytree(tiny, folder, ignore=shutil.ignore_patterns("*.safetensors"))
        config = json.loads((folder / "config.json").read_text())
        for key, own in changes.items():
            config[key] = config[key] | own if isinstance(own, dict) else own
        (folder / "config.json").write_text(json.dumps(config))
        side = config["vision_config"]["image_size"]
        for file, key, value in (
            ("preprocessor_config.json", "size", {"height": side, "width": side}),
            ("processor_config.json", "num_query_tokens", config["num_query_tokens"]),
        ):
            processor = json.loads((folder / file).read_text()) | {key: value}
            (folder / file).write_text(json.dumps(processor))
        return str(folder)

    def wide_model(self):
        """The folder of a model whose parameters are most of a job's memory."""
        changes = {
            "hidden_size": 256,
            "intermediate_size": 1024,
            "head_dim": 64,
            "num_hidden_layers": 5,
            "tie_word_embeddings": False,
        }
        return self.model_like_tiny("wide", changes)

    def test_whether_gradients_are_held_whole_or_reduced_in_each_micro_step(self):
        model = self.wide_model()
        for name, changes in ACCUMULATING_METHODS.items():
            ways = {**ACCUMULATING, **changes, "model__path": model}
            held, held_errors = self.run_and_describe(name, ways)
            self.assertIs(held["prediction"]["holds_gradients"], True, name)
            self.assertLess(
                abs(held_errors["memory_peak_allocated_bytes"]), 0.05, f"{name}: {held_errors}"
            )
            if (
                held["prediction"]["holding_bytes"] <= 0
            ):  # all are whole at the end of a backward anyway
                self.assertEqual(name, "one unit")
                continue
            # A limit that whole gradients would just fit leaves no margin for them.
            tight = {
                **ways,
                "resources__gpu_memory_limit": f"{held['prediction']['peak_allocated']}B",
            }
            each, each_errors = self.run_and_describe(name, tight)
            self.assertIs(each["prediction"]["holds_gradients"], False, name)
            self.assertLess(
                abs(each_errors["memory_peak_allocated_bytes"]), 0.05, f"{name}: {each_errors}"
            )
            for one, other in zip(self.losses(held["id"]), self.losses(each["id"]), strict=True):
                self.assertAlmostEqual(one, other, delta=1e-3, msg=name)


if __name__ == "__main__":
    unittest.main()
