"""Tests of numbers that transformers and peft have too.

Skipped without the environment that tests/oracles makes.
"""

import json
import pathlib
import subprocess
import tempfile
import unittest

from cluster import TOP, SharedClusterTest, tiny_job


def oracle_python(name="tests"):
    """Of an environment that tests/oracles makes; None where it is not there."""
    printed = subprocess.run(
        [TOP / "tests" / "oracles", "--print", name], capture_output=True, text=True, check=True
    )
    python = pathlib.Path(printed.stdout.strip())
    return python if (python.parents[1] / "complete").exists() else None


class BesideTransformers(SharedClusterTest):
    """The tests of a class ask one process of oracle.py, which takes seconds to load."""

    TRAINED = {}  # changes of the tiny job whose saved model is looked at

    @classmethod
    def setUpClass(cls):
        python = oracle_python()
        if python is None:
            raise unittest.SkipTest("no environment with transformers: tests/oracles makes it")
        super().setUpClass()
        cls.said = cls.enterClassContext(tempfile.TemporaryFile("w+"))
        cls.oracle = subprocess.Popen(
            [python, "-B", TOP / "tests" / "e2e" / "oracle.py"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=cls.said,
            text=True,
        )
        cls.addClassCleanup(cls.oracle.communicate)

    def answer(self, model, of_rows, adapter=None):
        """oracle.py's, to a question of this model."""
        question = {"model": str(model), "adapter": adapter and str(adapter), **of_rows}
        self.oracle.stdin.write(json.dumps(question) + "\n")
        self.oracle.stdin.flush()
        answer = self.oracle.stdout.readline()
        if not answer:
            self.said.seek(0)
            self.fail(self.said.read())
        return json.loads(answer)

    def trained(self, name, **changes):
        """The folder that a run saved."""
        folder = self.dir / name
        job = tiny_job(**{**self.TRAINED, "name": name, **changes}, output__dir=str(folder))
        code, state = self.run_job(job)
        self.assertEqual(code, 0, state)
        is_adapter = changes.get("output__save") == "adapter"
        saved = "adapter_config.json" if is_adapter else "model.safetensors"
        [found] = folder.rglob(saved)
        return found.parent

    def expect_rounded(self, name, of_rows, **changes):
        """A run that saves float16 leaves what the same run saves as float32, rounded once."""
        same = {**changes, "deterministic": True}
        whole = self.trained(f"{name}-whole", **same, output__dtype="float32")
        half = self.trained(f"{name}-half", **same, output__dtype="float16")
        found = self.answer(half, {"rounded": str(whole), **of_rows})
        self.assertEqual((found["dtype"], found["difference"]), ("float16", 0))
        self.assertGreater(found["of_rounding"], 0)
        sizes = [(folder / "model.safetensors").stat().st_size for folder in (half, whole)]
        self.assertAlmostEqual(sizes[0] / sizes[1], 0.5, delta=0.05)
