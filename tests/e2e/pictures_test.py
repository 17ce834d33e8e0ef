"""A model of pictures and words, trained on an imagefolder on CPU slots, beside transformers."""

import json
import pathlib
import shutil
import unittest

from beside_transformers import BesideTransformers
from cluster import ALPACA, TINY, TOP, SharedClusterTest, tiny_job
from oracle_test import LOOK

TINY_BLIP2 = TOP / "deploy" / "models" / "tiny-blip2"
CAPTIONS = TOP / "deploy" / "data" / "captions"
IMAGES = TOP / "tests" / "baselines" / "images"
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


class Captions(SharedClusterTest):
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

    def test_each_kind_of_broken_picture_is_named_and_refused_or_left_out(self):
        folder = self.dir / "kinds"
        shutil.copytree(IMAGES, folder)
        kinds = json.loads((folder / "images.json").read_text())
        broken = {}
        with open(folder / "metadata.jsonl", "w") as rows:
            for row, (name, picture) in enumerate(kinds.items()):
                rows.write(json.dumps({"file_name": name, "text": "a picture"}) + "\n")
                if "refused" in picture:
                    broken[row] = f"row {row}: {folder / name}: "
        self.assertGreater(len(broken), 10)
        data = {"path": str(folder), "format": "captions"}
        asked = self.write_job(tiny_job(**{**TRAINED, "data": data, "train__max_steps": 40}))
        refused = self.trainctl("submit", asked, "--dry-run")
        self.assertNotEqual(refused.returncode, 0)
        said = refused.stdout + refused.stderr
        count = f"{len(broken)} of {len(kinds)} pictures that were looked at can't be read"
        self.assertIn(count, said)
        for told in list(broken.values())[:3]:
            self.assertIn(told, said)
        self.assertIn('data.on_broken_picture "skip"', said)
        skips = {**data, "on_broken_picture": "skip"}
        job = self.run_captions(name="skips", data=skips, train__max_steps=2)
        told = f"{len(broken)} of {len(kinds)} rows are left out"
        self.assertIn(told, self.trainctl("describe", job).stdout)
        log = self.trainctl("logs", job).stdout
        for told in broken.values():
            self.assertIn(told, log)

    def test_a_broken_picture_that_no_sample_met_ends_the_job_with_its_row(self):
        folder = self.dir / "many"
        shutil.copytree(IMAGES, folder)
        names = ["rgb.png"] * 200
        names[1] = "gray_16bit.png"
        rows = [json.dumps({"file_name": name, "text": "a picture"}) for name in names]
        (folder / "metadata.jsonl").write_text("\n".join(rows))
        data = {"path": str(folder), "format": "captions"}
        epoch = {**TRAINED, "data": data, "train__max_steps": 50, "train__micro_batch_size": 4}
        code, job = self.run_job(tiny_job(**epoch, name="refuses"))
        self.assertEqual((code != 0, job["outcome"]), (True, "FAILED"), job)
        self.assertIn(f"row 1: {folder / 'gray_16bit.png'}: ", job["message"])
        self.assertIn('data.on_broken_picture "skip"', job["message"])

    def test_a_picture_that_breaks_or_vanishes_in_mid_training_ends_all_ranks(self):
        """It was there when the job was looked at, and in the epochs before."""
        row = 17
        name = json.loads((CAPTIONS / "metadata.jsonl").read_text().splitlines()[row])["file_name"]
        left_out = '; data.on_broken_picture "skip" leaves out'
        for strategy, spoil, why in (
            ("ddp", pathlib.Path.unlink, "No such file or directory"),
            ("fsdp", lambda picture: picture.write_bytes(b"no picture"), left_out),
            ("ddp", lambda picture: picture.write_bytes(picture.read_bytes()[:100]), left_out),
        ):
            with self.subTest(why, strategy=strategy):
                folder = self.dir / f"captions-{strategy}"
                shutil.copytree(CAPTIONS, folder, dirs_exist_ok=True)
                data = {"path": str(folder), "format": "captions"}
                spread = {"strategy": strategy, "devices": 2, "train__max_steps": 1_000_000}
                job = self.submit(tiny_job(**{**TRAINED, **spread, "data": data}))
                self.wait_for_step(job, ROWS // 4 + 1)
                spoil(folder / name)
                ended = self.wait_for_end(job)
                self.assertEqual(ended["outcome"], "FAILED", ended)
                self.assertIn(f"data.path: row {row}: ", ended["message"])
                self.assertIn(str(folder / name), ended["message"])
                self.assertIn(why, ended["message"])
                self.expect_devices_free(30)

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

    def test_a_model_is_saved_as_float16(self):
        self.expect_rounded("saved", {"captions": str(CAPTIONS)}, output__save="final")

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
