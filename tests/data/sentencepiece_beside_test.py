"""Rows beside a tokenizer.model have SentencePiece's ids, and transformers' where tokens are added.

Skipped without the environment that tests/oracles makes.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TESTS = pathlib.Path(os.environ["TRAINCTL_BIN_DIR"]).parent / "tests"


def oracle_python():
    """None where tests/oracles has not made its environment."""
    printed = subprocess.run(
        [HERE.parent / "oracles", "--print"], capture_output=True, text=True, check=True
    )
    python = pathlib.Path(printed.stdout.strip())
    return python if (python.parents[1] / "complete").exists() else None


class SentencePiece(unittest.TestCase):
    def test_llamas_and_mistrals_rows_have_the_ids_of_the_original(self):
        python = oracle_python()
        if python is None:
            self.skipTest("no environment with SentencePiece: tests/oracles makes it")
        with tempfile.TemporaryDirectory() as folder:
            script = HERE / "sentencepiece_oracle.py"
            done = subprocess.run(
                [python, "-B", script, folder, TESTS / "show_tokens"],
                check=False,
                capture_output=True,
                text=True,
            )
            self.assertEqual(done.returncode, 0, done.stderr[-4000:])


if __name__ == "__main__":
    unittest.main()
