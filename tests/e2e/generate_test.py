"""trainctl generate: texts by a saved model, as a job of its own."""

import os
import shutil
import signal
import unittest

from cluster import TINY, SharedClusterTest, tiny_job

PROMPTS = ["Give three tips", "What is"]
EVAL = {"prompts": PROMPTS, "max_new_tokens": 24}
READ_BYTES = 1 << 16


class Generate(SharedClusterTest):
    def any_trained(self):
        """Of a job that all tests have: as trained."""
        return self.once("trained", self.trained)

    def trained(self, **changes):
        """The id of a job that has saved its model, and its last texts."""
        out = self.dir / "model"
        code, job = self.run_job(
            tiny_job(output__dir=str(out), output__save="final", eval=EVAL, **changes)
        )
        self.assertEqual(code, 0, job)
        return job["id"], self.texts(job["id"])

    def texts(self, job_id):
        """Of its last evaluation, by place."""
        said = self.json("describe", job_id)["jobs"][0]["continuations"]
        last = max(text["step"] for text in said)
        return [text["text"] for text in said if text["step"] == last]

    def words(self, job_id):
        prompts = [word for prompt in PROMPTS for word in ("--prompt", prompt)]
        return ["generate", job_id, *prompts, "--max-new-tokens", "24"]

    def test_a_saved_model_says_what_the_run_said_at_its_end(self):
        job_id, texts = self.any_trained()
        said = self.json(*self.words(job_id))
        self.assertEqual(said["outcome"], "SUCCEEDED")
        self.assertEqual([text["text"] for text in said["continuations"]], texts)
        self.assertEqual(self.texts(said["id"]), texts)
        for_people = self.trainctl(*self.words(job_id), "--name", "again")
        self.assertEqual(for_people.returncode, 0, for_people.stderr)
        for prompt in PROMPTS:
            self.assertIn(prompt, for_people.stdout)
        self.assertEqual(self.trainctl("rm", said["id"], "--yes").returncode, 0)

    def first_words(self, generating):
        """What it shows first of its text, past Python's buffers."""
        shown = b""
        while len(shown) <= len(PROMPTS[0]):
            more = os.read(generating.stdout.fileno(), READ_BYTES)
            self.assertTrue(more, "it ended before it showed a text")
            shown += more
        return shown.decode()

    def long_words(self, job_id):
        """One text that takes a rank seconds, by a job with the name of the test."""
        name = ("--name", self._testMethodName)
        return ["generate", job_id, "--prompt", PROMPTS[0], "--max-new-tokens", "2000", *name]

    def test_a_text_is_shown_as_it_grows_and_is_the_one_that_is_stored(self):
        job_id, _ = self.any_trained()
        with self.start_trainctl(*self.long_words(job_id)) as generating:
            first = self.first_words(generating)
            with self.resting_ranks():
                job = self.job(self._testMethodName)
                self.assertEqual(job["state"], "RUNNING", job)
            rest, err = generating.communicate(timeout=120)
        self.assertEqual(generating.returncode, 0, err)
        self.assertGreater(len(rest), len("\n"))
        self.assertEqual(first + rest, PROMPTS[0] + self.texts(job["id"])[0] + "\n")

    def test_ctrl_c_ends_the_showing_and_the_job_goes_on(self):
        job_id, _ = self.any_trained()
        with self.start_trainctl(*self.long_words(job_id)) as generating:
            first = self.first_words(generating)
            with self.resting_ranks():
                generating.send_signal(signal.SIGINT)
                rest, err = generating.communicate(timeout=60)
                job = self.job(self._testMethodName)
        self.assertEqual(generating.returncode, 130, err)
        self.assertIn(f"Detached: the job goes on. Its texts: trainctl describe {job['id']}\n", err)
        self.assertEqual(job["state"], "RUNNING", job)
        self.assertEqual(self.wait_for_end(job["id"])["outcome"], "SUCCEEDED")
        shown = (first + rest).removesuffix("\n")
        self.assertTrue((PROMPTS[0] + self.texts(job["id"])[0]).startswith(shown), shown)

    def test_a_saved_model_that_broke_or_is_gone_is_said_and_nothing_is_submitted(self):
        job_id, _ = self.trained()
        known = self.job_ids()
        for name in ("model.safetensors", "config.json"):
            file = self.dir / "model" / name
            os.truncate(file, file.stat().st_size // 2)
            broken = self.trainctl(*self.words(job_id))
            self.assertEqual(broken.returncode, 2, broken.stderr)
            self.assertIn(f"{file}: ", broken.stderr)
        shutil.rmtree(self.dir / "model")
        gone = self.trainctl(*self.words(job_id))
        self.assertNotEqual(gone.returncode, 0)
        self.assertIn(str(self.dir / "model"), gone.stderr)
        self.assertEqual(self.job_ids(), known)

    def test_an_adapter_is_added_to_its_base_model(self):
        lora = {"r": 4, "alpha": 8, "dropout": 0.0}
        job_id, texts = self.trained(lora=lora, optimizer={"lr": 1e-2})
        said = self.json(*self.words(job_id))
        self.assertEqual([text["text"] for text in said["continuations"]], texts)

    def test_a_model_that_was_never_saved_is_said(self):
        code, job = self.run_job(tiny_job(name="unsaved"))
        self.assertEqual(code, 0, job)
        unsaved = self.trainctl(*self.words(job["id"]))
        self.assertEqual(unsaved.returncode, 2)
        self.assertIn("has saved no model", unsaved.stderr)
        self.assertEqual(self.job_ids()[0], job["id"])

    def test_a_job_file_may_ask_for_texts_alone(self):
        path = self.write_job(
            tiny_job(name="texts", train__max_steps=0, eval=EVAL, model__path=str(TINY))
        )
        result = self.trainctl("submit", path, "--wait")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.texts("texts")), len(PROMPTS))


if __name__ == "__main__":
    unittest.main()
