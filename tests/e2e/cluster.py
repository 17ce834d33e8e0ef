"""A cluster of CPU slots for one test, and what a person does with it.

TRAINCTL_BIN_DIR names the programs (CTest sets it).
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
import unittest

import processes

TOP = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TRAINCTL_BIN_DIR", TOP / "build" / "bin"))
TINY = TOP / "deploy" / "models" / "tiny"
ALPACA = TOP / "deploy" / "data" / "alpaca.json"
POLL_SECONDS = 0.05
MOST_POLL_SECONDS = 0.5
EPHEMERAL_PORTS = 32767  # those above it are Linux's own choice


def tiny_job(**changes):
    """A job of the tiny model that takes a second or two.

    A change's double underscore is the dot of a key: train__max_steps=3.
    """
    job = {
        "version": 1,
        "name": "tiny",
        "model": {"path": str(TINY)},
        "data": {"path": str(ALPACA), "max_rows": 64},
        "train": {
            "global_batch_size": 4,
            "micro_batch_size": 2,
            "max_steps": 6,
            "epochs": 1000,
            "max_seq_length": 64,
        },
    }
    for key, value in changes.items():
        *outer, last = key.split("__")
        place = job
        for name in outer:
            place = place.setdefault(name, {})
        place[last] = value
    return job


def endless_job(**changes):
    """Runs for an hour or until it is stopped."""
    return tiny_job(
        **{"name": "endless", "train__max_steps": 10_000_000, "train__epochs": 1_000_000, **changes}
    )


def free_ports():
    """Ports that the kernel gives to nobody who asks for any, so that a cluster that was down finds
    its own free when it comes up again."""
    for candidate in range(EPHEMERAL_PORTS - 2 * (os.getpid() % 8000), 1024, -1):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", candidate))
            except OSError:
                continue
        yield candidate


class Patience:
    """Of a TestCase that waits for what other processes do."""

    def eventually(self, what, seconds, condition):
        """The condition's value once it is true; fails after that many seconds.

        Who has waited long is looked at more seldom: what asks takes the processor from others.
        """
        start = time.monotonic()
        while not (value := condition()):
            waited = time.monotonic() - start
            self.assertLess(waited, seconds, f"not within {seconds} s: {what}")
            time.sleep(min(max(POLL_SECONDS, waited / 5), MOST_POLL_SECONDS))
        return value


class ClusterTest(Patience, unittest.TestCase):
    """Each test has a cluster of its own; afterwards nothing of it may be left.

    self.site: the cluster's folder; self.dir: the test's, which is the same one here.
    """

    WORKERS = 2
    LOCAL = (TOP / "deploy" / "local",)  # what makes the cluster
    UP_OPTIONS = ()  # of its verb up

    def setUp(self):
        self.make_cluster(self.addCleanup)
        self.addCleanup(self.show_logs_of_a_failure)
        self.up()

    def make_cluster(self, add_cleanup):
        """Its folder, where nothing runs yet."""
        self.site = self.dir = pathlib.Path(tempfile.mkdtemp(prefix="trainctl-e2e-"))
        add_cleanup(shutil.rmtree, self.site)
        add_cleanup(self.expect_nothing_left)
        for name, port in zip(("coordinator", "dashboard"), free_ports(), strict=False):
            (self.site / f"{name}.last").write_text(f"127.0.0.1:{port}\n")

    # ---- the cluster ----

    def local(self, verb, *arguments, timeout=120):
        environment = {**os.environ, "TRAINCTL_BIN_DIR": str(BIN)}
        command = [*self.LOCAL, verb, "--dir", self.site, *arguments]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout
        )

    def up(self):
        result = self.local("up", "--workers", str(self.WORKERS), "--cpu", *self.UP_OPTIONS)
        self.assertEqual(result.returncode, 0, result.stderr)

    def expect_nothing_left(self):
        result = self.local("down")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.processes(), [])

    def show_logs_of_a_failure(self):
        outcome = self._outcome
        if outcome is not None and outcome.success:
            return
        for log in sorted((self.site / "log").glob("*.log")):
            lines = log.read_text(errors="replace").splitlines()
            print(f"---- {log.name}", *lines[-40:], sep="\n")

    def processes(self, program=None):
        return [
            process
            for process in processes.processes_of(self.site)
            if program in (None, process.program)
        ]

    def process(self, program, path=None):
        """The only one, or the one whose --dir is the path under the cluster's folder."""
        found = [
            process
            for process in self.processes(program)
            if path is None or process.value_of("--dir") == str(self.site / path)
        ]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def ranks(self):
        """The running rank processes, in order of rank."""
        return sorted(self.processes("trainrank"), key=lambda process: process.plan()["rank"])

    @contextlib.contextmanager
    def resting_ranks(self):
        """They stand still meanwhile: a job that lasts need not take the processor from others."""
        ranks = self.ranks()
        self.assertTrue(ranks)
        for rank in ranks:
            rank.kill(signal.SIGSTOP)
        yield
        for rank in ranks:
            rank.kill(signal.SIGCONT)

    # ---- trainctl ----

    def coordinator_address(self):
        return (self.site / "coordinator.addr").read_text().strip()

    def start_trainctl(self, *arguments, to=subprocess.PIPE):
        command = [BIN / "trainctl", *map(str, arguments)]
        environment = {**os.environ, "TRAINCTL_SERVER": self.coordinator_address()}
        return subprocess.Popen(
            command, stdout=to, stderr=subprocess.PIPE, text=True, env=environment
        )

    def trainctl(self, *arguments, timeout=120):
        with self.start_trainctl(*arguments) as process:
            out, err = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def json(self, *arguments):
        result = self.trainctl(*arguments, "-o", "json")
        self.assertEqual(result.returncode, 0, result.stderr)
        value = json.loads(result.stdout)
        self.assertEqual(value["schema"], "trainctl/v1")
        return value

    def write_job(self, job):
        path = self.dir / f"{job.get('name', 'job')}.json"
        path.write_text(json.dumps(job))
        return path

    def submit(self, job, *options):
        """The id of the accepted job."""
        return self.json("submit", self.write_job(job), *options)["id"]

    def run_job(self, job, *options):
        """(exit status of submit --wait, the job as status shows it)."""
        job_id = self.submit(job, *options)
        return self.trainctl("wait", job_id, timeout=500).returncode, self.job(job_id)

    def job(self, job_id):
        return self.json("status", job_id)["jobs"][0]

    def events(self, job_id):
        """The texts of what happened to the job, in order."""
        return [event["text"] for event in self.json("describe", job_id)["jobs"][0]["events"]]

    def query_database(self, sql, *parameters):
        """Rows of the coordinator's database."""
        path = f"file:{self.site}/coordinator/coordinator.db?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
            return database.execute(sql, parameters).fetchall()

    def workers(self):
        return {
            worker["name"].rsplit("/", 1)[1]: worker for worker in self.json("workers")["workers"]
        }

    def points(self, job_id, name):
        """The job's metric points of this name, in order of step."""
        result = self.trainctl("metrics", job_id, "-o", "jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        found = [json.loads(line) for line in result.stdout.splitlines()]
        return sorted(
            (point for point in found if point.get("name") == name), key=lambda point: point["step"]
        )

    def losses(self, job_id):
        return [point["value"] for point in self.points(job_id, "loss")]

    # ---- waiting ----

    def wait_for_step(self, job_id, step):
        self.eventually(
            f"{job_id} reaches step {step}", 60, lambda: self.job(job_id)["step"] >= step
        )

    def wait_for_end(self, job_id, seconds=150):
        """By a stream, so that waiting takes no processor from other tests. An answer that a test's
        kill has cost is asked for again."""
        deadline = time.monotonic() + seconds
        while (job := self.job(job_id))["state"] != "FINISHED":
            left = deadline - time.monotonic()
            self.assertGreater(left, 0, f"not within {seconds} s: {job_id} ends")
            self.trainctl("wait", job_id, "--timeout", f"{int(left) + 1}s", timeout=left + 60)
        return job

    def expect_devices_free(self, seconds):
        self.eventually(
            "all workers READY and no rank left",
            seconds,
            lambda: (
                not self.processes("trainrank")
                and all(worker["state"] == "READY" for worker in self.workers().values())
            ),
        )


class SharedClusterTest(ClusterTest):
    """One cluster for all tests of a class, which is one entry of CTest (CMakeLists.txt). A test
    finds jobs that have ended, and leaves it as it found it."""

    def setUp(self):
        shared = type(self)
        if "site" not in vars(shared):
            self.make_cluster(shared.addClassCleanup)
            shared.site, shared.kept = self.site, {}
            self.up()
        self.dir = self.site / "tests" / self._testMethodName
        self.dir.mkdir(parents=True)
        self.addCleanup(self.end_jobs)
        self.addCleanup(self.show_logs_of_a_failure)

    def once(self, name, make):
        """What make returns to the first test of the class that asks for this name."""
        if name not in self.kept:
            self.kept[name] = make()
        return self.kept[name]

    def job_ids(self):
        return [job["id"] for job in self.json("status")["jobs"]]

    def end_jobs(self):
        jobs = self.json("status")["jobs"]
        if running := [job["id"] for job in jobs if job["state"] != "FINISHED"]:
            self.trainctl("cancel", *running)
            self.trainctl("wait", *running)
        self.expect_devices_free(60)
