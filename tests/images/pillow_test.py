"""Pictures of random sizes and kinds, beside Pillow and transformers' image processor of BLIP.

Skipped without the environment that tests/oracles makes.
"""

import os
import pathlib
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
TESTS = pathlib.Path(os.environ["TRAINCTL_BIN_DIR"]).parent / "tests"
PICTURES = 150
SIDES = ("224", "37")
WEBP = HERE.parent / "baselines" / "images" / "lossy.webp"


def suffixes():
    """Without .webp where the build has no libwebp."""
    webp = subprocess.run([TESTS / "show_pixels", "8", WEBP], check=False, capture_output=True)
    return [".jpg", ".png"] + ([".webp"] if webp.returncode == 0 else [])


def oracle_python():
    """None where tests/oracles has not made its environment."""
    printed = subprocess.run(
        [HERE.parent / "oracles", "--print"], capture_output=True, text=True, check=True
    )
    python = pathlib.Path(printed.stdout.strip())
    return python if (python.parents[1] / "complete").exists() else None


class Pillow(unittest.TestCase):
    def test_pictures_are_squeezed_to_224_and_other_sides_as_by_pillow(self):
        python = oracle_python()
        if python is None:
            self.skipTest("no environment with Pillow: tests/oracles makes it")
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [python, "-B", HERE / "pillow_oracle.py", folder, str(PICTURES)]
                + [TESTS / "show_pixels", ",".join(suffixes()), *SIDES],
                check=True,
            )


if __name__ == "__main__":
    unittest.main()
