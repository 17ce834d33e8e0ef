"""Folders that others may pass, for this process and those that it starts: in a mount namespace of
its own, below a layer that holds the changed modes. The machine's own folders stay as they are."""

import ctypes
import os
import pathlib
import stat
import subprocess
import tempfile

CLONE_NEWNS = 0x20000
# The layer holds what it is made of when that has no name any more.
LAYER = """
mount -t tmpfs none "$0"
mkdir "$0/changes" "$0/work"
mount -t overlay none -o "lowerdir=$1,upperdir=$0/changes,workdir=$0/work" "$1"
umount --lazy "$0"
"""


def is_closed(folder):
    return not folder.stat().st_mode & stat.S_IXOTH


def run(*command):
    subprocess.run(command, check=True, capture_output=True, text=True)


def take_own_mounts():
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNS) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), "unshare")
    run("mount", "--make-rprivate", "/")


def put_layer(folder):
    with tempfile.TemporaryDirectory() as place:
        run("sh", "-ec", LAYER, place, folder)


def open_the_way_to(*paths):
    """For root. OSError or CalledProcessError: this machine does not let one do it."""
    folders = [
        folder for path in paths for folder in reversed(pathlib.Path(path).resolve().parents)
    ]
    if not any(map(is_closed, folders)):
        return
    take_own_mounts()
    layers = []
    for folder in folders:
        if not is_closed(folder):
            continue
        if not any(folder.is_relative_to(layer) for layer in layers):
            put_layer(folder)
            layers.append(folder)
        folder.chmod(stat.S_IMODE(folder.stat().st_mode) | stat.S_IXOTH)
