"""A model of pictures and words, trained on an imagefolder on CPU slots, beside transformers."""

import json
import shutil
import unittest

from beside_transformers import BesideTransformers
from cluster import ALPACA, TINY, TOP, ClusterTest, tiny_job
from oracle_test import LOOK

TINY_BLIP2 = TOP / "deploy" / "models" / "tiny-blip2"
CAPTIONS = TOP / "deploy" / "data" / "captions"
ROWS, VALIDATED = 36, 9
DATA = {"path": str(CAPTIONS), "format": "captions", "val_split_fraction": VALIDATED / ROWS}
# As in ddp_test: one, two and four devices share the micro batches.
TRAINED = {
    "data": DATA,
    "model__path": str(TINY_BLIP2),
    "deterministic": True,
    "train__micro_batch_size": 1,
    "train__max_steps": 24,
    "optimizer": {"lr": 3e-3},
}
LEAST_LEARNED = 1.0  # nats a token: words alone give some of it


class Captions(ClusterTest):
    def run_captions(self, **changes):
        code, job = self.run_job(tiny_job(**{**TRAINED, **changes}))
        self.assertEqual(code, 0, job)
        return job["id"]

    def test_each_strategy_learns_the_same(self):
        runs = {
            "single": {"strategy": "single"},
            "ddp": {"strategy": "ddp", "devices": 2},
            "fsdp": {"strategy": "fsdp", "devices": 2},
            "fsdp-again": {"strategy": "fsdp", "devices": 2, "activation_checkpointing": True},
        }
        found = {}
        for name, changes in runs.items():
            job = self.run_captions(name=name, **changes)
            found[name] = (
                self.losses(job),
                [point["value"] for point in self.points(job, "val_loss")],
            )
        losses, val_losses = found["single"]
        self.assertEqual(len(losses), 24)
        self.assertEqual(len(val_losses), 1)
        self.assertLess(sum(losses[-4:]) / 4, sum(losses[:4]) / 4 - LEAST_LEARNED)
        for name in runs:
            with self.subTest(name):
                self.assertEqual(found[name], found["single"])

    def test_a_micro_batch_is_proven_with_pictures(self):
        job = self.run_captions(name="auto", train__micro_batch_size="auto")
        events = self.trainctl("describe", job).stdout
        self.assertIn("trial of micro batch", events)

    def test_a_saved_model_captions_pictures_as_the_run_did_at_its_end(self):
        look = {"prompts": ["", "a"], "max_new_tokens": 12}
        saved = {"output__dir": str(self.dir / "model"), "output__save": "final"}
        job = self.run_captions(name="saved", eval=look, **saved)
        said = self.json("describe", job)["jobs"][0]["continuations"]
        pictures = [text["prompt"].split(": ")[0] for text in said]
        self.assertEqual(len(set(pictures)), 2)
        words = ["generate", job, "--max-new-tokens", "12"]
        for picture, prompt in zip(pictures, look["prompts"], strict=True):
            words += ["--image", picture, "--prompt", prompt]
        again = self.json(*words)
        self.assertEqual(again["outcome"], "SUCCEEDED")
        self.assertEqual(
            [(text["prompt"], text["text"]) for text in again["continuations"]],
            [(text["prompt"], text["text"]) for text in said],
        )
        predicted = self.json(*words, "--dry-run")["jobs"][0]["memory"]["peak_allocated"]
        points = self.points(again["id"], "memory_peak_allocated_bytes")
        peak = max(point["value"] for point in points)
        self.assertGreater(predicted, 0.98 * peak)
        (self.dir / "broken.png").write_bytes(b"no picture")
        broken = self.trainctl("generate", job, "--image", self.dir / "broken.png")
        self.assertNotEqual(broken.returncode, 0)
        self.assertIn("eval.images[0]", broken.stderr)
        self.assertNotEqual(self.trainctl("generate", job, "--prompt", "a").returncode, 0)

    def test_rows_of_broken_pictures_are_refused_or_left_out(self):
        folder = self.dir / "captions"
        shutil.copytree(CAPTIONS, folder)
        first = json.loads((folder / "metadata.jsonl").read_text().splitlines()[0])["file_name"]
        (folder / first).write_bytes(b"no picture")
        data = {"path": str(folder), "format": "captions"}
        refused = self.trainctl("submit", self.write_job(tiny_job(**{**TRAINED, "data": data})))
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn(f"row 0: {folder / first}", refused.stderr)
        skips = {**data, "on_broken_picture": "skip"}
        asked = self.write_job(tiny_job(**{**TRAINED, "data": skips}))
        dry = self.trainctl("submit", asked, "--dry-run").stdout
        self.assertIn(f"1 of {ROWS} pictures that were looked at are broken", dry)
        job = self.run_captions(name="skips", data=skips, train__max_steps=2)
        told = self.trainctl("describe", job).stdout
        self.assertIn(f"1 of {ROWS} rows are left out", told)
        self.assertRegex(told, r"skipped_rows +1 ")
        self.assertEqual([point["value"] for point in self.points(job, "skipped_rows")], [1])
        self.assertIn(f"1 of {ROWS} rows are left out", self.trainctl("logs", job).stdout)

    def test_pictures_and_models_that_do_not_belong_together_are_refused(self):
        no_pictures = {"path": str(ALPACA), "max_rows": 8}
        for model, data, reason in (
            (TINY_BLIP2, no_pictures, "type 'blip-2' takes a picture with each row"),
            (TINY, DATA, "type 'llama' takes no pictures"),
        ):
            with self.subTest(model.name):
                job = self.write_job(tiny_job(model__path=str(model), data=data))
                for options in ((), ("--dry-run",)):
                    result = self.trainctl("submit", job, *options)
                    self.assertNotEqual(result.returncode, 0, result.stdout)
                    self.assertIn(reason, result.stdout + result.stderr)


class CaptionsOracle(BesideTransformers):
    TRAINED = TRAINED

    def theirs(self, model, adapter=None):
        return self.answer(model, {"captions": str(CAPTIONS)}, adapter)

    def ours(self, model):
        """The losses of the rows that train, one a step, and the loss of those that validate."""
        look = {**LOOK, "model__path": str(model), "data": DATA}
        code, job = self.run_job(
            tiny_job(**look, name="look", train__max_steps=ROWS - VALIDATED, train__epochs=1)
        )
        self.assertEqual(code, 0, job)
        [val_loss] = [point["value"] for point in self.points(job["id"], "val_loss")]
        return self.losses(job["id"]), val_loss

    def expect_equal(self, theirs, ours, delta=2e-5):
        losses, val_loss = ours
        rest = list(zip(theirs["losses"], theirs["tokens"], strict=True))
        for loss in losses:
            nearest = min(rest, key=lambda row: abs(row[0] - loss))
            self.assertAlmostEqual(nearest[0], loss, delta=delta)
            rest.remove(nearest)
        self.assertEqual(len(rest), VALIDATED)
        tokens = sum(count for _, count in rest)
        self.assertAlmostEqual(
            sum(loss * count for loss, count in rest) / tokens, val_loss, delta=delta
        )

    def expect_pictures_to_matter(self, theirs, least):
        moved = [
            abs(one - other)
            for one, other in zip(theirs["losses"], theirs["of_other_pictures"], strict=True)
        ]
        self.assertGreater(sorted(moved)[ROWS // 2], least)

    def test_rows_have_the_losses_of_blip2_behind_its_processor(self):
        theirs = self.theirs(TINY_BLIP2)
        self.expect_pictures_to_matter(theirs, least=1e-3)
        self.expect_equal(theirs, self.ours(TINY_BLIP2))

    def test_a_saved_model_is_transformers_model(self):
        folder = self.trained("final", output__save="final")
        after = self.theirs(folder)
        self.assertLess(sum(after["losses"]), sum(self.theirs(TINY_BLIP2)["losses"]) - ROWS)
        self.expect_equal(after, self.ours(folder))

    def test_an_adapter_is_pefts_and_merged_it_is_the_same(self):
        lora = {"lora": {"r": 4, "alpha": 8, "dropout": 0.0}, "optimizer": {"lr": 1e-2}}
        adapter = self.trained("adapter", **lora, output__save="adapter")
        merged = self.trained("merged", **lora, output__save="merged")
        beside_base = self.theirs(TINY_BLIP2, adapter)
        self.assertLess(
            sum(beside_base["losses"]), sum(self.theirs(TINY_BLIP2)["losses"]) - ROWS / 2
        )
        ours = self.ours(merged)
        self.expect_equal(beside_base, ours, delta=2e-4)
        self.expect_equal(self.theirs(merged), ours)


if __name__ == "__main__":
    unittest.main()
