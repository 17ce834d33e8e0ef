"""trainctl slurm on a real Slurm of two virtual nodes: a gang over both, requeue, down, read."""

import functools
import json
import os
import pathlib
import subprocess
import tempfile
import unittest

import checkout
import slurm_cluster

JOB = {
    "version": 1,
    "name": "gang",
    "model": {"path": str(checkout.DEPLOY / "models/tiny")},
    "data": {"path": str(checkout.DEPLOY / "data/alpaca.json"), "format": "alpaca"},
    "devices": 3,
    "strategy": "ddp",
    "checkpoint": {"every_steps": 1000},
    "resources": {"time_limit": "4h"},
    "train": {
        "global_batch_size": 3,
        "micro_batch_size": 1,
        "max_steps": 100000,
        "epochs": 100000,
    },
}


class Allocation(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        checkout.require_programs()
        slurm_cluster.require()
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        cls.folder = pathlib.Path(folder)
        cls.cluster = slurm_cluster.Cluster(cls.folder / "slurm")
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.environment.update(
            TRAINCTL_BIN_DIR=str(checkout.BIN), XDG_CONFIG_HOME=folder, XDG_STATE_HOME=folder
        )
        cls.cluster.environment.pop("TRAINCTL_SERVER", None)
        cls.cluster.start()

    def slurm(self, *words):
        return subprocess.run(
            [checkout.BIN / "trainctl", "slurm", *words],
            env=self.cluster.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def trainctl(self, *words):
        return self.cluster.run(checkout.BIN / "trainctl", *words)

    def job(self):
        shown = self.trainctl("status", "-o", "json")
        [job] = json.loads(shown or '{"jobs": [{}]}')["jobs"]
        return job

    def events(self, *site):
        shown = self.slurm("read", *site, "--", "describe", "j1").stdout
        return shown.partition("\nEvents\n")[2]

    def until(self, condition, site=None):
        try:
            return self.cluster.until(condition)
        except TimeoutError:
            site = pathlib.Path(site or self.folder / "trainctl/slurm")
            logs = [
                f"== {path.name}\n{path.read_text()[-2000:]}"
                for path in sorted((site / "log").iterdir())
            ]
            self.fail("\n".join(["not in time", self.cluster.run("squeue"), *logs]))

    def test_a_job_goes_on_when_its_allocation_is_requeued_and_in_the_next_one(self):
        up = self.slurm("up", "--nodes", "2", "--cpu", "2", "--time", "30")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertIn("warning: ProctrackType of this cluster is proctrack/linuxproc", up.stderr)
        self.assertRegex(self.trainctl("ui"), r"^https://[^/]+/sign-in#[0-9a-f]+$")
        self.submit()
        self.until(lambda: self.job().get("step", 0) > 0)
        self.requeue()
        self.until(lambda: self.events().count(": goes on from /") == 1)
        down = self.slurm("down")
        self.assertEqual(down.returncode, 0, down.stderr)
        self.assertEqual(self.cluster.run("squeue", "--noheader"), "")
        self.expect_readable()
        up = self.slurm("up", "--nodes", "2", "--cpu", "2", "--time", "30")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.until(lambda: self.events().count(": goes on from /") == 2)
        self.trainctl("cancel", "j1")
        self.until(lambda: self.job()["state"] == "FINISHED")
        self.assertEqual(self.job()["outcome"], "CANCELLED")
        self.assertEqual(self.slurm("down").returncode, 0)

    def test_an_allocation_that_is_preempted_comes_back_and_its_job_goes_on(self):
        folder = str(self.folder / "second")
        up = self.slurm("up", "--cpu", "1", "--time", "30", "--dir", folder, "--context", "second")
        self.assertEqual(up.returncode, 0, up.stderr)
        self.submit(devices=1, strategy="auto")
        events = functools.partial(self.events, "--dir", folder)
        self.until(lambda: self.job().get("step", 0) > 0)
        self.cluster.run("sbatch", "-p", "high", "-N2", "-c2", "-o/dev/null", "--wrap", "sleep 1")
        number = pathlib.Path(folder, "allocation").read_text().strip()
        self.until(lambda: self.cluster.run("squeue", "-h", "-t", "PD", "-o", "%i") == number)
        log = pathlib.Path(folder, f"log/allocation-{number}.log").read_text()
        self.assertIn("it is queued again", log)
        self.assertIn("PREEMPTED", events())
        self.cluster.run("scontrol", "update", f"JobId={number}", "StartTime=now")
        self.until(lambda: events().count(": goes on from /") == 1, site=folder)
        self.expect_down_while_its_coordinator_is_started_anew(folder, number)

    def test_each_gpu_of_an_allocation_gets_a_worker(self):
        """Nobody has a driver for these GPUs: no worker registers."""
        folder = self.folder / "gpus"
        words = ["--nodes", "2", "--gpus", "4", "--cpus-per-gpu", "1", "--dir", str(folder)]
        up = subprocess.Popen(
            [checkout.BIN / "trainctl", "slurm", "up", *words, "--context", "gpus"],
            env=self.cluster.environment,
            stderr=subprocess.PIPE,
            text=True,
        )
        named = folder / "slurm-keys/up"
        self.until(lambda: named.is_dir() and len(list(named.iterdir())) == 2, site=folder)
        names = "".join((named / node).read_text() for node in slurm_cluster.NODES).split()
        self.assertEqual(
            [name.partition("/")[2] for name in names], ["n1-0", "n1-1", "n2-0", "n2-1"]
        )
        self.assertEqual(self.cluster.run("squeue", "-h", "-o", "%C"), "4")
        self.assertEqual(self.slurm("down", "--dir", str(folder)).returncode, 0)
        self.assertIn("has ended", up.communicate()[1])
        self.assertNotEqual(up.returncode, 0)

    def expect_down_while_its_coordinator_is_started_anew(self, folder, number):
        steps = self.cluster.run("squeue", "-s", "-h", "-j", number, "-o", "%i %j").splitlines()
        [step] = [line.split()[0] for line in steps if line.endswith(" coordinator")]
        log = pathlib.Path(folder, f"log/allocation-{number}.log")
        self.cluster.run("scancel", "--signal=KILL", step)
        self.until(lambda: "it is started anew" in log.read_text(), site=folder)
        down = self.slurm("down", "--dir", folder)
        self.assertEqual(down.returncode, 0, down.stderr)
        self.assertNotIn("does not end by itself", down.stderr)

    def submit(self, **changes):
        output = tempfile.mkdtemp(dir=self.folder)
        path = self.folder / "job.json"
        path.write_text(json.dumps({**JOB, "output": {"dir": output}, **changes}))
        self.trainctl("submit", path)

    def requeue(self):
        """Slurm lets a requeued allocation wait for two minutes, unless it is told otherwise."""
        number = (self.folder / "trainctl/slurm/allocation").read_text().strip()
        self.cluster.run("scontrol", "requeue", number)
        pending = f"{number} PENDING"
        self.until(lambda: self.cluster.run("squeue", "-h", "-o", "%i %T") == pending)
        self.assertIn("PREEMPTED", self.events())
        self.cluster.run("scontrol", "update", f"JobId={number}", "StartTime=now")

    def expect_readable(self):
        """The site without an allocation, and what it says of the job."""
        status = self.slurm("status")
        self.assertEqual(status.returncode, 1)
        self.assertIn("no allocation", status.stderr)
        events = self.events()
        self.assertEqual(events.count("its time limit is 4 h: it is stopped before"), 2, events)
        exported = self.slurm("read", "--", "export", "j1", str(self.folder / "export"))
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertTrue(any((self.folder / "export").iterdir()))


class WrongWords(unittest.TestCase):
    def expect(self, words, *command):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "XDG_STATE_HOME": folder, "PATH": "/usr/bin:/bin"}
            result = subprocess.run(
                [checkout.DEPLOY / "slurm/trainctl-slurm", *command],
                env=environment,
                capture_output=True,
                text=True,
            )
        self.assertIn(words, result.stderr)
        self.assertNotEqual(result.returncode, 0)

    def test_what_is_wrong_is_said(self):
        self.expect("usage: trainctl slurm up", "begin")
        self.expect("usage: trainctl slurm up", "up", "--node", "2")
        self.expect("which devices?", "up")
        self.expect("either --gpus or --cpu", "up", "--gpus", "1", "--cpu", "1")
        self.expect("expected a multiple of --nodes 2", "up", "--nodes", "2", "--gpus", "3")
        self.expect("'two': expected a number from 1", "up", "--nodes", "two")
        self.expect("no allocation for", "status")
        self.expect("no site was there yet", "read", "--", "status")


if __name__ == "__main__":
    unittest.main()
