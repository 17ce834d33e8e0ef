"""Malformed jobs, models, tokenizers and data: an exit status and a message that names the place;
the cluster goes on."""

import json
import pathlib
import shutil
import unittest

from cluster import ALPACA, TINY, SharedClusterTest, tiny_job


class BadInput(SharedClusterTest):
    WORKERS = 1

    def setUp(self):
        super().setUp()
        type(self).last, self.known = self, self.job_ids()

    @classmethod
    def tearDownClass(cls):
        """After all that was wrong a job that is right runs."""
        code, job = cls.last.run_job(tiny_job(name="next"))
        cls.last.assertEqual(code, 0, job)

    def refused(self, text, name="bad.json"):
        """What submit says of a file that it must not accept."""
        path = self.dir / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        result = self.trainctl("submit", path)
        self.assertEqual(result.returncode, 2, result)
        self.assertEqual(self.job_ids(), self.known)
        return result.stderr

    def ends_with(self, job, place):
        """Whether it is refused at submit or fails at launch: not accepted as a run, and the
        message names the place."""
        result = self.trainctl("submit", self.write_job(job), "--wait")
        self.assertIn(result.returncode, (2, 10), result)
        self.assertIn(place, result.stdout + result.stderr)

    def broken_model(self, **files):
        """A copy of the tiny model with other contents in some files (a double underscore is the
        dot of a name)."""
        folder = self.dir / "model"
        shutil.copytree(TINY, folder)
        for name, content in files.items():
            (folder / name.replace("__", ".")).write_bytes(content)
        return str(folder)

    def test_a_job_that_is_not_json(self):
        self.assertIn("bad.json:1", self.refused('{"version": 1,,}'))

    def test_all_problems_of_a_job_are_listed_at_once(self):
        job = tiny_job(
            train__micro_batch_size=0,
            optimiser={"lr": 1},
            precision="fp64",
            train__global_batch_size="four",
        )
        text = self.refused(json.dumps(job, indent=1))
        for place in (
            "train.micro_batch_size",
            "optimiser",
            "precision",
            "train.global_batch_size",
        ):
            self.assertIn(place, text)
        self.assertIn("optimizer", text)  # did you mean

    def test_duplicate_keys_invalid_utf8_and_deep_nesting(self):
        self.assertIn("version", self.refused('{"version": 1, "version": 1}'))
        self.refused(b'{"version": 1, "name": "\xff"}')
        self.refused('{"version": ' + "[" * 100 + "]" * 100 + "}")
        self.refused("[" + " " * (1 << 20) + "]")

    def test_a_batch_that_does_not_divide_and_more_devices_than_there_are(self):
        self.assertIn(
            "global_batch_size", self.refused(json.dumps(tiny_job(train__global_batch_size=5)))
        )
        self.assertIn(
            "devices",
            self.refused(
                json.dumps(tiny_job(devices=64, train__global_batch_size=128, data__max_rows=400))
            ),
        )

    def test_a_file_that_is_not_there_exits_3(self):
        result = self.trainctl("submit", self.dir / "none.json")
        self.assertEqual(result.returncode, 3, result)
        self.assertIn("none.json", result.stderr)

    def test_a_model_that_is_not_there(self):
        self.ends_with(tiny_job(model__path=str(self.dir / "no-model")), "no-model")

    def test_a_configuration_that_is_not_json(self):
        self.ends_with(tiny_job(model__path=self.broken_model(config__json=b"{")), "config.json")

    def test_a_configuration_without_a_size(self):
        config = json.loads((TINY / "config.json").read_text())
        del config["hidden_size"]
        self.ends_with(
            tiny_job(model__path=self.broken_model(config__json=json.dumps(config).encode())),
            "hidden_size",
        )

    def test_weights_that_are_cut_short(self):
        weights = (TINY / "model.safetensors").read_bytes()
        self.ends_with(
            tiny_job(
                model__path=self.broken_model(model__safetensors=weights[: len(weights) // 2])
            ),
            "model.safetensors",
        )

    def refused_here(self, job, *texts):
        """At submit and in a dry run, whatever is said."""
        for options in ((), ("--dry-run",)):
            result = self.trainctl("submit", self.write_job(job), *options)
            self.assertNotEqual(result.returncode, 0, result.stdout)
            for text in texts:
                self.assertIn(text, result.stdout + result.stderr)
        self.assertEqual(self.job_ids(), self.known)

    def test_weights_of_another_shape(self):
        config = json.loads((TINY / "config.json").read_text())
        config["intermediate_size"] = 96
        folder = self.broken_model(config__json=json.dumps(config).encode())
        self.refused_here(
            tiny_job(model__path=folder),
            f"{folder}/model.safetensors: weight model.layers.0.mlp.gate_proj.weight has shape "
            "[128, 64]: config.json makes it [96, 64]",
        )
        code, job = self.run_job(tiny_job(model__path=folder, model__init="random"))
        self.assertEqual(code, 0, job)

    def test_weights_that_are_not_there(self):
        folder = self.broken_model()
        (pathlib.Path(folder) / "model.safetensors").unlink()
        job = tiny_job(model__path=folder)
        self.refused_here(job, "model.path", f"no weights in '{folder}'")
        forced = self.trainctl("submit", self.write_job(job), "--force", "--wait")
        self.assertEqual(forced.returncode, 10, forced)

    def test_a_layer_that_the_weights_do_not_have(self):
        config = json.loads((TINY / "config.json").read_text())
        config["num_hidden_layers"] += 1
        self.refused_here(
            tiny_job(model__path=self.broken_model(config__json=json.dumps(config).encode())),
            "missing: model.layers.4.input_layernorm.weight",
        )

    def test_a_tokenizer_that_is_broken(self):
        self.ends_with(
            tiny_job(model__path=self.broken_model(tokenizer__json=b'{"model": {"type": "BPE"}}')),
            "tokenizer.json",
        )

    def test_data_with_a_broken_row(self):
        rows = json.loads(ALPACA.read_text())[:10]
        del rows[6]["output"]
        path = self.dir / "rows.json"
        path.write_text(json.dumps(rows))
        self.ends_with(tiny_job(data__path=str(path)), "rows.json")

    def test_data_that_is_not_there(self):
        self.ends_with(tiny_job(data__path=str(self.dir / "no-data.json")), "no-data.json")

    def test_an_unknown_job_exits_3_and_an_unreachable_server_5(self):
        self.assertEqual(self.trainctl("status", "j999").returncode, 3)
        self.assertEqual(self.trainctl("--server", "127.0.0.1:1", "status").returncode, 5)


if __name__ == "__main__":
    unittest.main()
