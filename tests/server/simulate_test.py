"""tests/server/simulate believes the program's own count only."""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SIMULATE = pathlib.Path(__file__).parent / "simulate"


class Simulate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.program = pathlib.Path(folder.name, "program")

    def write_program(self, script):
        self.program.write_text(f"#!/bin/sh\n{script}\n")
        self.program.chmod(0o755)

    def simulate(self, *options, binary=None):
        command = [sys.executable, SIMULATE, "--jobs", "2", "--binary", binary or self.program]
        return subprocess.run([*command, *options], capture_output=True, text=True, timeout=60)

    def test_a_program_that_runs_no_seeds_holds_none(self):
        done = self.simulate("--seeds", "100", binary="/bin/true")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("0 seeds from 1 on held, 2 did not: ? ?", done.stdout)

    def test_too_few_seeds_fail(self):
        self.write_program('echo "49 seeds held"')
        done = self.simulate("--seeds", "50")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("seeds 1 to 50: 49 held", done.stdout)

    def test_seeds_that_the_program_counts_hold(self):
        self.write_program('echo "$TRAINCTL_SEEDS seeds held"')
        done = self.simulate("--seeds", "120")
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertTrue(done.stdout.startswith("120 seeds from 1 on held, 0 did not"), done.stdout)

    def test_fresh_seeds_are_told_so_that_they_can_be_run_again(self):
        self.write_program('echo "$TRAINCTL_SEED" >> "$0.ran"; echo "$TRAINCTL_SEEDS seeds held"')
        ran = self.program.with_suffix(".ran")
        done = self.simulate("--fresh", "60")
        self.assertEqual(done.returncode, 0, done.stdout)
        again = re.match(r"(--first \d+ --seeds 60) runs these again\n", done.stdout)
        self.assertTrue(again, done.stdout)
        fresh = sorted(ran.read_text().split())
        ran.unlink()
        self.assertEqual(self.simulate(*again[1].split()).returncode, 0)
        self.assertEqual(sorted(ran.read_text().split()), fresh)
        self.assertNotEqual(self.simulate("--fresh", "60").stdout.split("\n")[0], again[0].strip())


if __name__ == "__main__":
    unittest.main()
