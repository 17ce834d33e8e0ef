"""This machine's root as it is, below a layer of its own: what is installed there is gone with it.
Changes on the machine itself show through, so a test looks at what it has made alone."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
import unittest

MOUNT = """
mount -t tmpfs none "$0"
mkdir "$0/changes" "$0/work" "$0/root"
mount -t overlay none -o "lowerdir=/,upperdir=$0/changes,workdir=$0/work" "$0/root"
rm -f "$0"/root/etc/systemd/system/multi-user.target.wants/* "$0/root/usr/sbin/policy-rc.d"
"""
CHROOT = (
    MOUNT
    + """
mount -t proc proc "$0/root/proc"
mount --rbind /dev "$0/root/dev"
mount -t tmpfs none "$0/root/run"
echo ready
exec cat
"""
)
# Its output is the console's.
BOOT = (
    MOUNT
    + """
echo ready
exec systemd-nspawn --register=no --keep-unit --quiet --private-network --boot \
  --machine=trainctl-test --directory="$0/root" </dev/null >"$0/console" 2>&1
"""
)
PATIENCE_SECONDS = 60


class Failed(Exception):
    pass


class Root:
    """`path`: the root as seen from outside. Commands go by namespaces of process `inside`."""

    def __init__(self, path, inside, *enter):
        self.path = pathlib.Path(path)
        self.command = ["nsenter", f"--target={inside}", *enter]

    def put(self, file):
        """A file from outside, in /root."""
        return "/root/" + pathlib.Path(shutil.copy(file, self.path / "root")).name

    def run(self, *command, check=True):
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8"}
        result = subprocess.run(
            [*self.command, *command],
            capture_output=True,
            text=True,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=240,
        )
        if check and result.returncode != 0:
            raise Failed(f"{command}: exit {result.returncode}\n{result.stdout}{result.stderr}")
        return result

    def say(self, *command):
        return self.run(*command).stdout.strip()


def require():
    missing = [name for name in ("unshare", "nsenter", "dpkg") if shutil.which(name) is None]
    if os.geteuid() != 0 or missing:
        raise unittest.SkipTest("needs root, and " + ", ".join(missing or ["no more"]))


@contextlib.contextmanager
def started(script):
    require()
    with tempfile.TemporaryDirectory() as name:
        process = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "bash", "-ec", script, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            if process.stdout.readline() != "ready\n":
                raise unittest.SkipTest(f"no layer over this root: {process.communicate()[1]}")
            yield pathlib.Path(name), process
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE_SECONDS)


@contextlib.contextmanager
def chrooted():
    """Without a systemd that runs, as in a container."""
    with started(CHROOT) as (folder, process):
        path = f"/proc/{process.pid}/root{folder}/root"
        root = Root(path, process.pid, "--mount", f"--root={path}", f"--wd={path}")
        root.changes = root.path.parent / "changes"
        yield root


def init_of(process):
    """The pid of the systemd that systemd-nspawn has started; None: not yet."""
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    for child in children.read_text().split():
        with contextlib.suppress(OSError):
            status = pathlib.Path(f"/proc/{child}/status").read_text()
            if "\nNSpid:\t" in status and status.split("NSpid:")[1].splitlines()[0].endswith("\t1"):
                return int(child)
    return None


@contextlib.contextmanager
def booted():
    """With a systemd of its own, and a loopback of its own."""
    if shutil.which("systemd-nspawn") is None:
        raise unittest.SkipTest("systemd-nspawn is not installed (package systemd-container)")
    with started(BOOT) as (folder, process):
        deadline = time.monotonic() + PATIENCE_SECONDS
        while (init := init_of(process)) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                raise unittest.SkipTest("systemd-nspawn can't boot a root here")
            time.sleep(0.05)
        root = Root(f"/proc/{init}/root", init, "--all")
        wait = ("systemctl", "is-system-running", "--wait")
        until(lambda: "connect to bus" not in root.run(*wait, check=False).stderr)
        yield root


def until(condition):
    """Its first true value."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failed("not in time")
        time.sleep(0.1)
