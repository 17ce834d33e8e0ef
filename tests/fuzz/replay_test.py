"""Each fuzz target reads its seeds and damaged copies of them, built as everything else is."""

import os
import pathlib
import subprocess
import tempfile
import unittest

import seeds

PROGRAM = pathlib.Path(os.environ["TRAINCTL_BIN_DIR"]).parent / "tests/fuzz_replay"
COPIES_BYTES = 200_000  # of all damaged copies of a seed


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        seeds.write(cls.folder)
        listed = subprocess.run([PROGRAM, "--list"], capture_output=True, text=True, check=True)
        cls.targets = listed.stdout.split()

    def test_every_target_has_seeds(self):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), self.targets)

    def test_targets_understand_some_of_their_seeds_and_survive_damaged_ones(self):
        for target in self.targets:
            with self.subTest(target):
                files = sorted((self.folder / target).iterdir())
                command = [PROGRAM, target, str(COPIES_BYTES), *files]
                result = subprocess.run(command, capture_output=True)
                said = result.stderr.decode(errors="replace")[-3000:]
                self.assertEqual(result.returncode, 0, said)
                self.assertGreater(int(result.stdout), 0)


if __name__ == "__main__":
    unittest.main()
