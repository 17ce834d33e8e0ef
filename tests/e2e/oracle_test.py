"""Folders that a run saved, loaded by transformers and peft, and their losses beside ours."""

import random
import struct
import unittest

from beside_transformers import BesideTransformers
from cluster import ALPACA, TINY, TOP, tiny_job

EXAMPLE = TOP / "deploy" / "models" / "SmolLM2-135M"
FAMILIES = TOP / "tests" / "baselines" / "families"  # their vocabulary, and rows as they bear
VOCABULARY, TOKENS = 150, 24
LENGTH, ROWS = 96, 6
LORA = {"r": 4, "alpha": 8, "dropout": 0.0}
# Nothing is learned, and each step is one row: its loss is the model's on that row.
LOOK = {
    "train__micro_batch_size": 1,
    "train__global_batch_size": 1,
    "train__max_seq_length": LENGTH,
    "optimizer": {"name": "sgd", "lr": 1e-30, "momentum": 0.0},
}


class Oracle(BesideTransformers):
    TRAINED = {
        "data__max_rows": 32,
        "train__max_seq_length": LENGTH,
        "train__max_steps": 8,
        "optimizer": {"lr": 3e-3},
    }

    def asked(self, model, rows, adapter=None):
        of_rows = {"data": str(ALPACA), "rows": list(rows), "length": LENGTH}
        return self.answer(model, of_rows, adapter)

    def ours(self, model, rows, **changes):
        """The engine's losses on the first rows of the data, in the order of their size."""
        job = tiny_job(
            **{**LOOK, **changes, "model__path": str(model)},
            name="look",
            data__max_rows=rows,
            train__max_steps=rows,
            train__epochs=1,
        )
        code, state = self.run_job(job)
        self.assertEqual(code, 0, state)
        return sorted(self.losses(state["id"]))

    def expect_equal(self, theirs, ours, delta=2e-4):
        for one, other in zip(sorted(theirs), ours, strict=True):
            self.assertAlmostEqual(one, other, delta=delta)

    def test_a_saved_model_is_transformers_model(self):
        folder = self.trained("final", output__save="final")
        before = self.asked(TINY, range(ROWS))["losses"]
        after = self.asked(folder, range(ROWS))["losses"]
        self.assertLess(sum(after), sum(before) - 0.1, "it learned nothing")
        self.expect_equal(after, self.ours(folder, ROWS))

    def test_an_adapter_is_pefts_and_merged_it_is_the_same(self):
        lora = {"lora": LORA, "optimizer": {"lr": 1e-2}}
        merged = self.trained("merged", **lora, output__save="merged")
        adapter = self.trained("adapter", **lora, output__save="adapter")
        beside_base = self.asked(TINY, range(ROWS), adapter)["losses"]
        self.assertLess(sum(beside_base), sum(self.asked(TINY, range(ROWS))["losses"]) - 0.1)
        ours = self.ours(merged, ROWS)
        self.expect_equal(self.asked(merged, range(ROWS))["losses"], ours)
        self.expect_equal(beside_base, ours)

    def expect_same_texts(self, base, adapter, saved):
        """What trainctl generate adds to prompts, beside transformers' generate."""
        prompts = ["Give three tips for staying healthy.", "What is the capital of", "The"]
        words = [word for prompt in prompts for word in ("--prompt", prompt)]
        said = self.json("generate", saved, *words, "--max-new-tokens", "32")
        ours = [text["text"] for text in said["continuations"]]
        self.assertEqual(self.answer(base, {"prompts": prompts, "new": 32}, adapter)["texts"], ours)
        return ours

    def test_generated_texts_are_transformers_and_pefts(self):
        final = self.trained("final", output__save="final")
        self.expect_same_texts(final, None, "final")
        lora = {"lora": LORA, "optimizer": {"lr": 1e-2}}
        adapter = self.trained("adapter", **lora, output__save="adapter")
        ours = self.expect_same_texts(TINY, adapter, "adapter")
        self.assertNotEqual(ours, self.expect_same_texts(final, None, "final"))

    def families(self):
        """(each one's folder, rows of tokens, and the keys of a job on them)"""
        pick = random.Random(1)
        rows = [[pick.randrange(3, VOCABULARY) for _ in range(TOKENS)] for _ in range(ROWS)]
        tokens = [token for row in rows for token in row]
        (self.dir / "tokens.bin").write_bytes(struct.pack(f"<{len(tokens)}H", *tokens))
        data = {
            "data": {"path": str(self.dir / "tokens.bin"), "format": "bin"},
            "train__max_seq_length": TOKENS,
        }
        of_words = [base for base in FAMILIES.iterdir() if base.name != "blip2"]  # pictures_test
        return [(base, rows, {**data, "model__path": str(base)}) for base in sorted(of_words)]

    def test_a_saved_model_of_each_family_is_transformers_model(self):
        for base, rows, job in self.families():
            with self.subTest(base.name):
                folder = self.trained(base.name, **job, output__save="final")
                before = self.answer(base, {"ids": rows})["losses"]
                after = self.answer(folder, {"ids": rows})["losses"]
                self.assertLess(sum(after), sum(before) - 0.1, "it learned nothing")
                self.expect_equal(after, self.ours(folder, ROWS, **job))

    def test_an_adapter_of_each_family_is_pefts(self):
        lora = {"lora": LORA, "optimizer": {"lr": 1e-2}}
        for base, rows, job in self.families():
            with self.subTest(base.name):
                folder = self.trained(base.name, **job, **lora, output__save="adapter")
                before = self.answer(base, {"ids": rows})["losses"]
                after = self.answer(base, {"ids": rows}, folder)["losses"]
                self.assertLess(sum(after), sum(before) - 0.1, "it learned nothing")
                look = {**job, "lora": LORA}
                self.expect_equal(after, self.ours(folder, ROWS, **look))

    def test_the_example_model_has_transformers_losses_on_rows_of_text(self):
        if not (EXAMPLE / "model.safetensors").exists():
            self.skipTest(f"no {EXAMPLE}: deploy/example_model makes it")
        self.expect_equal(self.asked(EXAMPLE, range(3))["losses"], self.ours(EXAMPLE, 3))


if __name__ == "__main__":
    unittest.main()
