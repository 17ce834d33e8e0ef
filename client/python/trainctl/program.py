"""The program trainctl, for what it alone can do: it reads job files, looks at the data, and
predicts, before it submits."""

from __future__ import annotations

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping

from .address import Address
from .errors import Denied, Error, Invalid, NotFound, Unreachable

JobFile = str | os.PathLike[str] | Mapping[str, object]

# client/exit_code.h
_EXCEPTIONS: dict[int, type[Error]] = {2: Invalid, 3: NotFound, 5: Unreachable, 6: Denied}
WOULD_NOT_RUN = 4


def find() -> str:
    """Of the wheel, of the build folder that this package lies in, else of PATH."""
    package = pathlib.Path(__file__).resolve().parent
    folders = [package / "bin", package.parents[1] / "bin"]
    if named := os.environ.get("TRAINCTL_BIN_DIR"):
        folders.insert(0, pathlib.Path(named))
    for folder in folders:
        if os.access(folder / "trainctl", os.X_OK):
            return str(folder / "trainctl")
    if found := shutil.which("trainctl"):
        return found
    raise Error("the program trainctl is not found: put its folder into PATH or TRAINCTL_BIN_DIR")


def output_of(
    *arguments: str, stdin: str = "", accepted: tuple[int, ...] = (0,), notes: bool = True
) -> str:
    """What the program prints. What it notes besides goes to stderr, where that is wanted. stdin is
    the text of a dict, which has no lines of its own."""
    done = subprocess.run([find(), *arguments], input=stdin, capture_output=True, text=True)
    said = done.stderr.strip()
    if stdin:
        said = re.sub(r"\bstdin(:\d+)?(?=[:,])", "the dict", said)
    if done.returncode not in accepted:
        words = said or f"trainctl ended with status {done.returncode}"
        raise _EXCEPTIONS.get(done.returncode, Error)(words.removeprefix("trainctl: "))
    if said and notes:
        print(said, file=sys.stderr)
    return done.stdout


def submit_arguments(
    address: Address, job: JobFile, overrides: Mapping[str, object] | None
) -> tuple[list[str], str]:
    """The words behind trainctl, and what it reads from standard input."""
    is_text = isinstance(job, Mapping)
    path = "-" if isinstance(job, Mapping) else os.fspath(job)
    arguments = ["submit", path, "-o", "json", *address.arguments()]
    for key, value in (overrides or {}).items():
        arguments += ["--set", f"{key}={_value(value)}"]
    return arguments, json.dumps(job, default=_plain) if is_text else ""


def _value(value: object) -> str:
    """As an override is typed: strings bare, everything else as JSON."""
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    return json.dumps(value, default=_plain)


def _plain(value: object) -> object:
    """Of what json does not know: paths, and numbers of numpy."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return dict(value)
    item = getattr(value, "item", None)
    if callable(item):
        return item()
    raise Invalid(f"a job can't hold {value!r}: expected what JSON can hold")
