"""A disk of a few MiB, and filling it."""

import contextlib
import os
import subprocess


def small_disk(test, folder, mebibytes=8):
    """Such a disk in the folder's place, until the test's end."""
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m", "none", folder], capture_output=True
    )
    if mounted.returncode != 0:
        test.skipTest("no small disk can be mounted here")
    test.addCleanup(subprocess.run, ["umount", "-l", folder], check=True)


def fill(folder, leave=0):
    """A file that takes all that is free there, but for some bytes."""
    filler = folder / "filler"
    with open(filler, "wb", buffering=0) as out, contextlib.suppress(OSError):
        while True:
            out.write(bytes(4096))
    os.truncate(filler, filler.stat().st_size - leave)
    return filler
