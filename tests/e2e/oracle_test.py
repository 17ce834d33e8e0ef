"""Folders that a run saved, loaded by transformers and peft, and their losses beside ours."""

import json
import random
import shutil
import struct
import unittest

from beside_transformers import BesideTransformers
from cluster import ALPACA, TINY, TOP, tiny_job

EXAMPLE = TOP / "deploy" / "models" / "SmolLM2-135M"
FAMILIES = TOP / "tests" / "baselines" / "families"  # their vocabulary, and rows as they bear
CHAT = TOP / "deploy" / "data" / "chat.jsonl"
VOCABULARY, TOKENS = 150, 24
LENGTH, ROWS = 96, 6
LORA = {"r": 4, "alpha": 8, "dropout": 0.0}
# Of themselves, that ours may differ from theirs in fp32. Over 18 seeds, and all families, the
# largest were 1.9e-7 and 5.4e-7.
LOSS_SHARE, GRADIENT_SHARE = 1e-6, 3e-6
# Nothing is learned, and each step is one row: its loss is the model's on that row. A bound that no
# gradient reaches has its norm measured at each.
LOOK = {
    "train__micro_batch_size": 1,
    "train__global_batch_size": 1,
    "train__max_seq_length": LENGTH,
    "train__max_norm": 1e30,
    "optimizer": {"name": "sgd", "lr": 1e-30, "momentum": 0.0},
}


def chat_template(name):
    forms = json.loads((TOP / "tests" / "baselines" / "chat.json").read_text())
    return next(form["jinja"] for form in forms if form["template"] == name)


def halve(path):
    """The weights of a safetensors file, of fp32, are of fp16 from here on."""
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header, halves = json.loads(data[8 : 8 + size]), b""
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        count = (end - begin) // 4
        half = struct.pack(f"<{count}e", *struct.unpack(f"<{count}f", data[begin:end]))
        tensor.update(dtype="F16", data_offsets=[len(halves), len(halves) + len(half)])
        halves += half
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + halves)


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
        """The engine's losses on the first rows of the data and the norms of their gradients, in
        the order of the losses."""
        job = tiny_job(
            **{**LOOK, **changes, "model__path": str(model)},
            name="look",
            data__max_rows=rows,
            train__max_steps=rows,
            train__epochs=1,
        )
        code, state = self.run_job(job)
        self.assertEqual(code, 0, state)
        norms = [point["value"] for point in self.points(state["id"], "grad_norm")]
        return sorted(zip(self.losses(state["id"]), norms, strict=True))

    def expect_learned(self, before, after):
        self.assertLess(sum(after["losses"]), sum(before["losses"]) - 0.1, "it learned nothing")

    def expect_equal(self, theirs, ours, loss_share=LOSS_SHARE, gradient_share=GRADIENT_SHARE):
        rows = sorted(zip(theirs["losses"], theirs["grad_norms"], strict=True))
        for (loss, norm), (our_loss, our_norm) in zip(rows, ours, strict=True):
            self.assertAlmostEqual(loss, our_loss, delta=loss_share * loss)
            self.assertAlmostEqual(norm, our_norm, delta=gradient_share * norm)

    def test_a_saved_model_is_transformers_model(self):
        folder = self.trained("final", output__save="final")
        before = self.asked(TINY, range(ROWS))
        after = self.asked(folder, range(ROWS))
        self.expect_learned(before, after)
        self.expect_equal(after, self.ours(folder, ROWS))

    def test_weights_of_fp16_are_read_as_transformers_reads_them(self):
        folder = self.dir / "half"
        shutil.copytree(TINY, folder)
        halve(folder / "model.safetensors")
        theirs = self.asked(folder, range(ROWS))
        self.expect_equal(theirs, self.ours(folder, ROWS))
        self.assertNotEqual(theirs["losses"], self.asked(TINY, range(ROWS))["losses"])

    def test_an_adapter_is_pefts_and_merged_it_is_the_same(self):
        lora = {"lora": LORA, "optimizer": {"lr": 1e-2}}
        merged = self.trained("merged", **lora, output__save="merged")
        adapter = self.trained("adapter", **lora, output__save="adapter")
        beside_base = self.asked(TINY, range(ROWS), adapter)
        self.expect_learned(self.asked(TINY, range(ROWS)), beside_base)
        of_merged = self.asked(merged, range(ROWS))
        self.expect_equal(of_merged, self.ours(merged, ROWS))
        self.expect_equal(beside_base, self.ours(adapter, ROWS, lora=LORA))
        for one, other in zip(of_merged["losses"], beside_base["losses"], strict=True):
            self.assertAlmostEqual(one, other, delta=LOSS_SHARE * one)

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

    def test_a_model_of_chats_answers_as_transformers_does(self):
        base = self.dir / "base"
        shutil.copytree(TINY, base)
        tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|end|>"}
        tokenizer["chat_template"] = chat_template("zephyr")
        (base / "tokenizer_config.json").write_text(json.dumps(tokenizer))
        chat = {"model__path": str(base), "data": {"path": str(CHAT), "format": "chat"}}
        folder = self.trained("chat", **chat, output__save="final")
        self.expect_same_texts(folder, None, "chat")

    def test_a_models_repetition_penalty_is_transformers(self):
        base = self.dir / "penalized"
        shutil.copytree(TINY, base)
        settings = {"eos_token_id": 1, "repetition_penalty": 1.3}
        (base / "generation_config.json").write_text(json.dumps(settings))
        folder = self.trained("punished", model__path=str(base), output__save="final")
        ours = self.expect_same_texts(folder, None, "punished")
        (folder / "generation_config.json").unlink()
        self.assertNotEqual(ours, self.expect_same_texts(folder, None, "punished"))

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
                after = self.answer(folder, {"ids": rows})
                self.expect_learned(self.answer(base, {"ids": rows}), after)
                self.expect_equal(after, self.ours(folder, ROWS, **job))

    def test_transformers_loads_a_saved_model_in_the_type_of_its_weights(self):
        for said, precision, saved in (
            ("float16", "bf16-true", "bfloat16"),
            ("bfloat16", "32-true", "float32"),
            ("bfloat16", "bf16-mixed", "float32"),
        ):
            with self.subTest(precision):
                base = self.dir / f"base-{precision}"
                shutil.copytree(TINY, base)
                text = (base / "config.json").read_text().replace('"float32"', f'"{said}"')
                (base / "config.json").write_text(text)
                folder = self.trained(
                    precision, model__path=str(base), precision=precision, output__save="final"
                )
                self.assertEqual(self.answer(base, {"loads": True})["dtype"], said)
                self.assertEqual(self.answer(folder, {"loads": True})["dtype"], saved)

    def test_a_model_of_each_family_is_saved_as_float16(self):
        for base, rows, job in self.families():
            with self.subTest(base.name):
                self.expect_rounded(base.name, {"ids": rows}, **job, output__save="final")

    def test_a_merged_model_is_saved_as_float16(self):
        [(base, rows, job), *_] = self.families()
        lora = {"lora": LORA, "precision": "bf16-mixed", "output__save": "merged"}
        self.expect_rounded("merged", {"ids": rows}, **job, **lora)

    def test_an_adapter_of_each_family_is_pefts(self):
        lora = {"lora": LORA, "optimizer": {"lr": 1e-2}}
        for base, rows, job in self.families():
            with self.subTest(base.name):
                folder = self.trained(base.name, **job, **lora, output__save="adapter")
                after = self.answer(base, {"ids": rows}, folder)
                self.expect_learned(self.answer(base, {"ids": rows}), after)
                look = {**job, "lora": LORA}
                self.expect_equal(after, self.ours(folder, ROWS, **look))
                # With the weights of an adapted head, which peft writes beside.
                again = self.dir / f"{base.name}-by-peft"
                written = self.answer(base, {"saves": str(again)}, folder)["files"]
                self.assertIn("adapter_model.safetensors", written)
                self.expect_equal(after, self.ours(again, ROWS, **look))

    def test_the_example_model_has_transformers_losses_on_rows_of_text(self):
        if not (EXAMPLE / "model.safetensors").exists():
            self.skipTest(f"no {EXAMPLE}: deploy/example_model makes it")
        ours = self.ours(EXAMPLE, 3)
        self.expect_equal(self.asked(EXAMPLE, range(3)), ours, loss_share=3e-5, gradient_share=1e-3)


if __name__ == "__main__":
    unittest.main()
