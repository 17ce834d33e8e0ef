"""tests/gpu/recipes.py as a whole, with the tiny model on CPU slots: rows run, are skipped the
second time, and end up in the README."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from cluster import BIN, TOP

ROWS = "single-4,multi-3"


class Recipes(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="trainctl-recipes-test-"))
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(TOP / "deploy" / "recipes" / "README.md", self.folder)

    def recipes(self, *arguments):
        command = [
            sys.executable,
            "-B",
            TOP / "tests" / "gpu" / "recipes.py",
            "--tiny",
            "--rows",
            ROWS,
            "--steps",
            "3",
            "--bin",
            BIN,
            "--results",
            self.folder / "results.json",
            "--write",
            self.folder / "README.md",
            *arguments,
        ]
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=240,
            env={**os.environ, "TMPDIR": str(self.folder)},
        )

    def test_rows_are_measured_once_and_written_into_the_readme(self):
        first = self.recipes()
        self.assertEqual(first.returncode, 0, first.stdout + first.stderr)
        results = json.loads((self.folder / "results.json").read_text())
        self.assertEqual(
            {row: result["outcome"] for row, result in results.items()},
            {"single-4": "SUCCEEDED", "multi-3": "SUCCEEDED"},
        )
        for result in results.values():
            self.assertGreater(result["measured"]["params"], 0)
            self.assertGreater(result["measured"]["peak_allocated"], result["measured"]["params"])
            self.assertGreater(result["predicted_peak"], 0)
            self.assertEqual(result["limit_bytes"], 80 * 10**9)
            self.assertGreater(result["tokens_per_second"], 0)
        before = (self.folder / "results.json").read_text()
        second = self.recipes()
        self.assertEqual((self.folder / "results.json").read_text(), before)
        table = [
            line
            for line in (self.folder / "README.md").read_text(encoding="utf-8").splitlines()
            if line.startswith("| single-4 |")
        ]
        self.assertEqual(len(table), 1)
        self.assertIn(table[0], second.stdout)


if __name__ == "__main__":
    unittest.main()
