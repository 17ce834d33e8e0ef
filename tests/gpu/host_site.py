"""A coordinator and workers of this host for one script, and random tokens to train on.

Used by training.py, ladder.py and recipes.py.
"""

import json
import os
import pathlib
import random
import struct
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
GIB = 2**30
KINDS = ("params", "grads", "optimizer", "optimizer_cpu", "other")


class Site:
    """deploy/local's cluster under a folder, until down()."""

    def __init__(self, bin_dir, folder, *up_arguments):
        self.bin, self.folder = bin_dir, folder
        self.environment = dict(os.environ, TRAINCTL_BIN_DIR=str(bin_dir))
        self.up_arguments = up_arguments or ("--workers", "auto")
        self.up()
        self.environment["TRAINCTL_SERVER"] = (folder / "coordinator.addr").read_text().strip()

    def _local(self, verb, *arguments):
        subprocess.run(
            [TOP / "deploy/local", verb, "--dir", self.folder, *arguments],
            check=True,
            env=self.environment,
        )

    def up(self):
        """Starts what is not running: at first everything, later what was killed."""
        self._local("up", *self.up_arguments)

    def down(self):
        self._local("down")

    def trainctl(self, *arguments):
        return subprocess.run(
            [self.bin / "trainctl", *map(str, arguments)],
            env=self.environment,
            capture_output=True,
            text=True,
        )

    def json(self, *arguments):
        done = self.trainctl(*arguments, "-o", "json")
        if done.returncode != 0:
            raise SystemExit(
                f"trainctl {' '.join(map(str, arguments))}: exit {done.returncode}\n{done.stderr}"
            )
        return json.loads(done.stdout)

    def devices(self, kind="cuda"):
        return sum(worker["device"]["kind"] == kind for worker in self.json("workers")["workers"])

    def points(self, job):
        """Every metric point of the job."""
        return [
            json.loads(line)
            for line in self.trainctl("metrics", job, "-o", "jsonl").stdout.splitlines()
        ]

    def why(self, job):
        """What a person would look at after a failure."""
        return (
            self.trainctl("describe", job).stdout
            + self.trainctl("logs", job, "--tail", "30").stdout
        )[-3000:]


def exit_status(good, ran):
    """77 where nothing ran, as CTest and people take it for skipped."""
    return (0 if good else 1) if ran else 77


def with_changes(job, changes):
    """The job with keys like "train.max_steps" set."""
    for key, value in changes.items():
        section, _, last = key.rpartition(".")
        (job.setdefault(section, {}) if section else job)[last] = value
    return job


def random_tokens(path, rows, length, vocab=32000):
    """A .bin of raw uint16, as nanoGPT's, that is cut into so many rows of this length."""
    source = random.Random(7)
    path.write_bytes(
        b"".join(struct.pack("<H", source.randrange(vocab)) for _ in range(rows * length))
    )
