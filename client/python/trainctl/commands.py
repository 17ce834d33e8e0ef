"""The commands that a wheel installs: each becomes the program of its name."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import NoReturn

BIN = pathlib.Path(__file__).resolve().parent / "bin"


def _become(name: str) -> NoReturn:
    # quickstart goes on with a Python that has numpy: this one.
    os.environ["TRAINCTL_PYTHON"] = sys.executable
    os.execv(BIN / name, [name, *sys.argv[1:]])


def trainctl() -> NoReturn:
    _become("trainctl")


def traincoordinator() -> NoReturn:
    _become("traincoordinator")


def trainworker() -> NoReturn:
    _become("trainworker")
