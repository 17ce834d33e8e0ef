"""trainctl's programs, as a wheel carries them: the commands of the environment become them."""

import os
import pathlib
import sys

BIN = pathlib.Path(__file__).resolve().parent / "bin"


def _become(name):
    # quickstart goes on with a Python that has numpy: this one.
    os.environ["TRAINCTL_PYTHON"] = sys.executable
    os.execv(BIN / name, [name, *sys.argv[1:]])


def trainctl():
    _become("trainctl")


def traincoordinator():
    _become("traincoordinator")


def trainworker():
    _become("trainworker")
