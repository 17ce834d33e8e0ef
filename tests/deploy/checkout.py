"""The checkout, its README's commands, and the programs that were built from it."""

import os
import pathlib
import re
import subprocess
import unittest

TOP = pathlib.Path(__file__).resolve().parents[2]
DEPLOY = TOP / "deploy"
BIN = pathlib.Path(os.environ.get("TRAINCTL_BIN_DIR", TOP / "build" / "bin"))
PROGRAMS = ("trainctl", "traincoordinator", "trainworker", "trainshim", "trainrank")


def readme_commands(heading, block=1):
    """The lines of this block of commands, counted from 1, below this heading of README.md."""
    text = (TOP / "README.md").read_text(encoding="utf-8")
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## )", text, re.S | re.M).group(1)
    return re.findall(r"^```\n(.*?)^```", section, re.S | re.M)[block - 1].splitlines()


def installed(*what):
    """Where deploy/setup puts the toolchain, or what is named."""
    printed = subprocess.run(
        [DEPLOY / "setup", "--print", *what], check=True, capture_output=True, text=True
    )
    return pathlib.Path(printed.stdout.strip())


def packages_of(*what):
    """The folder of its Python packages."""
    (packages,) = installed(*what).glob("lib/python3*/site-packages")
    return packages


def linked_libraries(program):
    """What ldd prints. One that failed tells why, and what it printed."""
    result = subprocess.run(["ldd", program], capture_output=True, text=True)
    if result.returncode != 0 or "=>" not in result.stdout:
        raise AssertionError(f"{result.args} ended with {result.returncode}: {result}")
    return result.stdout


def require_programs(*names):
    missing = [name for name in names or PROGRAMS if not (BIN / name).exists()]
    if missing:
        raise unittest.SkipTest(f"not built in {BIN}: {', '.join(missing)}")
