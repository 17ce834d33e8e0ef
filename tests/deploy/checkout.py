"""The checkout, its README's commands, and the programs that were built from it."""

import os
import pathlib
import re
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
BIN = pathlib.Path(os.environ.get("TRAINCTL_BIN_DIR", TOP / "build" / "bin"))
PROGRAMS = ("trainctl", "traincoordinator", "trainworker", "trainshim", "trainrank")


def readme_commands(heading):
    """The lines of the first block of commands below this heading of README.md."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    block = re.search(rf"^## {re.escape(heading)}\n.*?^```\n(.*?)^```", text, re.S | re.M)
    return block.group(1).splitlines()


def require_programs(*names):
    missing = [name for name in names or PROGRAMS if not (BIN / name).exists()]
    if missing:
        raise unittest.SkipTest(f"not built in {BIN}: {', '.join(missing)}")
