"""deploy/local, the shipped jobs, and each program's --help and --version."""

import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import unittest
import unittest.mock

from cluster import BIN, TOP, ClusterTest, endless_job, tiny_job

LIBRARIES = r"(?m)^trainrank .*, LibTorch \d+\.\d+\.\d+, NCCL \d+\.\d+\.\d+$"
PROGRAMS = ("trainctl", "traincoordinator", "trainworker", "trainshim", "trainrank")


class Local(ClusterTest):
    def test_up_again_changes_nothing(self):
        before = self.processes()
        self.assertEqual(
            sorted(process.program for process in before),
            ["traincoordinator", "trainworker", "trainworker"],
        )
        self.up()
        self.assertEqual(set(self.processes()), set(before))

    def test_up_refuses_what_a_coordinator_that_runs_would_not_hear_of(self):
        before = self.processes()
        port = (self.dir / "coordinator.addr").read_text().strip().split(":")[1]
        words = ("up", "--workers", str(self.WORKERS), "--cpu", "--port", port)
        self.assertEqual(self.local(*words).returncode, 0)
        refused = self.local(*words, "--policy", "/nonexistent", "--role", "anna=user")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("reads --policy, --role only at its start", refused.stderr)
        self.assertIn(f"trainctl local down --dir {self.dir} (which", refused.stderr)
        self.assertIn("reads --port only", self.local(*words, "--port", "0").stderr)
        self.assertEqual(set(self.processes()), set(before))

    def test_up_says_how_trainctl_finds_a_cluster_of_another_folder(self):
        address = (self.dir / "coordinator.addr").read_text().strip()
        words = ("up", "--workers", str(self.WORKERS), "--cpu")
        line = f"export TRAINCTL_SERVER={address}\n"
        self.assertIn(line, self.local(*words).stderr)
        home = self.dir / "log" / "home"
        (home / "trainctl").mkdir(parents=True)
        (home / "trainctl" / "local").symlink_to(self.dir)
        with unittest.mock.patch.dict(os.environ, XDG_STATE_HOME=str(home)):
            self.assertNotIn(line, self.local(*words).stderr)

    def test_cpu_slots_share_the_memory_of_their_host(self):
        probe = subprocess.run([BIN / "trainworker", "--probe"], capture_output=True, check=True)
        sizes = [worker["device"]["memory_bytes"] for worker in self.workers().values()]
        self.assertEqual(sizes, [json.loads(probe.stdout)["memory_bytes"] // 2] * 2)

    def test_up_starts_what_died(self):
        address = (self.dir / "coordinator.addr").read_text()
        survivor = self.process("trainworker", "worker-0")
        self.process("trainworker", "worker-1").kill()
        self.process("traincoordinator").kill()
        self.eventually("both are gone", 60, lambda: len(self.processes()) == 1)
        self.assertEqual(self.local("status").returncode, 1)
        self.up()
        self.assertEqual(self.local("status").returncode, 0)
        self.assertEqual(self.process("trainworker", "worker-0"), survivor)
        self.assertEqual((self.dir / "coordinator.addr").read_text(), address)
        self.assertEqual(len(self.processes()), 3)

    def test_up_writes_an_address_again_that_was_lost(self):
        path = self.dir / "coordinator.addr"
        address = path.read_text()
        before = self.processes()
        for lose in (path.unlink, lambda: path.write_text(""), lambda: path.write_text("x:y:1\n")):
            lose()
            self.up()
            self.assertEqual(path.read_text(), address)
        path.write_text("127.0.0.1:1\n")  # nobody's
        self.up()
        self.assertEqual(path.read_text(), address)
        self.assertEqual(set(self.processes()), set(before))

    def test_down_leaves_no_address_and_up_takes_the_port_again(self):
        path = self.dir / "coordinator.addr"
        address = path.read_text()
        said = [self.local("down").stderr for _ in range(2)]
        gone = f"nothing runs under {self.dir}"
        self.assertEqual(said, [f"local: stopped: {gone} any more\n", f"local: {gone}\n"])
        self.assertFalse(path.exists())
        self.up()
        self.assertEqual(path.read_text(), address)

    def test_down_ends_running_jobs_and_leaves_no_process(self):
        job_id = self.submit(endless_job(devices=2))
        self.wait_for_step(job_id, 1)
        self.assertEqual(len(self.ranks()), 2)
        self.assertEqual(self.local("down").returncode, 0)
        self.assertEqual(self.processes(), [])
        self.up()
        self.assertEqual(self.job(job_id)["outcome"], "CANCELLED")

    def test_a_stopped_coordinator_is_told_and_not_waited_for(self):
        coordinator = self.process("traincoordinator")
        coordinator.kill(signal.SIGSTOP)
        try:
            told = self.trainctl("status")  # fails after minutes
        finally:
            coordinator.kill(signal.SIGCONT)
        self.assertEqual(told.returncode, 5, told.stderr)
        self.assertIn("takes no connections: it is stopped, or very busy", told.stderr)
        self.assertEqual(self.trainctl("status").returncode, 0)

    def test_down_ends_ranks_whose_coordinator_and_workers_are_dead(self):
        job_id = self.submit(endless_job(devices=2))
        self.wait_for_step(job_id, 1)
        for process in self.processes("trainworker") + self.processes("traincoordinator"):
            process.kill()
        self.assertEqual(len(self.ranks()), 2)
        self.assertEqual(self.local("down").returncode, 0)
        self.assertEqual(self.processes(), [])

    def test_what_is_written_lies_under_the_folder_for_its_owner_only(self):
        self.assertEqual(
            {path.name for path in self.dir.iterdir()},
            {
                "coordinator",
                "coordinator.addr",
                "dashboard.addr",
                "log",
                "lock",
                "worker-0",
                "worker-1",
            },
        )
        self.assertEqual([path for path in self.dir.iterdir() if path.stat().st_mode & 0o077], [])

    def test_what_a_job_saves_has_the_rights_that_the_umask_leaves(self):
        out = self.dir / "log" / "out"
        code, job = self.run_job(tiny_job(output__dir=str(out), output__save="final"))
        self.assertEqual(code, 0, job)
        os.umask(mask := os.umask(0o077))
        self.assertEqual(out.stat().st_mode & 0o777, 0o777 & ~mask)
        rights = {
            path.name: path.stat().st_mode & 0o777 for path in out.iterdir() if path.is_file()
        }
        self.assertIn("model.safetensors", rights)
        self.assertEqual(rights, dict.fromkeys(rights, 0o644 & ~mask))


PROBE = {
    "gpus": [
        {"index": 0, "unfit": "GPU 0 (old) is too old"},
        {"index": 1, "unfit": "GPU 1 (old) is too old"},
    ]
}


class UnfitGpus(ClusterTest):
    """A host whose GPUs no worker can use: only the probe is told otherwise here."""

    WORKERS = "auto"
    PROBE = f"echo '{json.dumps(PROBE)}'; exit"  # of the probe alone

    def up(self):
        programs = self.dir / "bin"
        programs.mkdir()
        for name in PROGRAMS:
            (programs / name).symlink_to(BIN / name)
        (programs / "trainworker").unlink()
        (programs / "trainworker").write_text(
            f'#!/bin/sh\n[ "$1" != --probe ] || {{ {self.PROBE}; }}\n'
            f'exec "{BIN}/trainworker" "$@"\n'
        )
        (programs / "trainworker").chmod(0o755)
        command = [TOP / "deploy" / "local", "up", "--dir", self.dir, "--workers", self.WORKERS]
        environment = {**os.environ, "TRAINCTL_BIN_DIR": str(programs)}
        self.result = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120
        )

    def test_auto_makes_cpu_slots_and_says_why(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        self.assertIn("not used: GPU 0 (old) is too old", self.result.stderr)
        self.assertIn("2 worker(s) on cpu", self.result.stderr)
        self.assertEqual(len(self.workers()), 2)


class FailingProbe(UnfitGpus):
    PROBE = "echo first >&2; echo driver: it is broken >&2; exit 3"

    def test_auto_makes_cpu_slots_and_says_why(self):
        self.assertEqual(self.result.returncode, 0, self.result.stderr)
        self.assertIn("--probe ended with 3: driver: it is broken", self.result.stderr)
        self.assertIn("2 worker(s) on cpu", self.result.stderr)


class NoCluster(unittest.TestCase):
    def test_status_of_a_folder_without_a_cluster_says_so(self):
        result = subprocess.run(
            [TOP / "deploy" / "local", "status", "--dir", "/tmp/trainctl-nobody-made-this"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertIn("no cluster was started there", result.stderr)


class StaleAddress(unittest.TestCase):
    def test_no_answer_is_told_with_the_file_that_names_the_coordinator(self):
        with tempfile.TemporaryDirectory() as home:
            path = pathlib.Path(home) / "trainctl" / "local" / "coordinator.addr"
            path.parent.mkdir(parents=True)
            path.write_text("127.0.0.1:1\n")
            environment = {**os.environ, "HOME": home, "XDG_STATE_HOME": home}
            for name in ("TRAINCTL_SERVER", "XDG_CONFIG_HOME"):
                environment.pop(name, None)
            command = [BIN / "trainctl", "status"]
            result = subprocess.run(command, env=environment, capture_output=True, text=True)
            self.assertEqual(result.returncode, 5)
            self.assertIn(f"The address is that of {path}. ", result.stderr)
            named = [*command, "--server", "127.0.0.1:1"]
            result = subprocess.run(named, env=environment, capture_output=True, text=True)
            self.assertNotIn("The address is that of", result.stderr)


class Shipped(ClusterTest):
    def passes_dry_run(self, path):
        result = self.trainctl("submit", path, "--dry-run", "-o", "json")
        jobs = json.loads(result.stdout)["jobs"]
        refused = any(job["refused"] for job in jobs)
        self.assertEqual(result.returncode, 4 if refused else 0, result.stderr)
        for job in jobs:
            if pathlib.Path(
                job["job"]["model"]["path"]
            ).exists():  # the example model is made at use
                self.assertGreater(job["steps"], 0, job["name"])
                self.assertGreater(job["memory"]["peak_allocated"], 0, job["name"])
                longest = job["job"]["train"]["max_seq_length"]
                padded = job["memory"]["sequence_length"]
                self.assertGreaterEqual(padded, longest, "no row is that long")
                self.assertLessEqual(padded, longest + longest // 8)
            if job["job"]["devices"] > self.WORKERS:
                self.assertIn("devices", "".join(job["refused"]), job["name"])

    def test_each_job_file_passes_a_dry_run(self):
        """Experiments of a lab are job files of their own, equal to the lab's (tests/deploy)."""
        labs = sorted((TOP / "deploy" / "recipes").glob("lab-*.json"))
        self.assertGreater(len(labs), 4)
        others = set((TOP / "deploy" / "recipes").glob("*.json")) - {
            path.with_name(experiment["name"] + ".json")
            for path in labs
            for experiment in json.loads(path.read_text())["experiments"]
        }
        for path in sorted(others):
            with self.subTest(path.name):
                self.passes_dry_run(path)

    def test_the_job_of_the_readme_passes_a_dry_run(self):
        [job] = re.findall(
            r"```json\n(.*?)```", (TOP / "README.md").read_text(encoding="utf-8"), re.DOTALL
        )
        path = self.dir / "readme.json"
        path.write_text(job)
        result = self.trainctl("submit", path, "--dry-run")
        self.assertEqual(result.returncode, 4, result.stderr)  # its model is not here
        self.assertIn("would be refused here", result.stdout)

    def test_doctor_finds_this_host_fit(self):
        result = self.trainctl("doctor")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)


class Programs(unittest.TestCase):
    def test_each_tells_its_version_and_shows_examples_first(self):
        for name in PROGRAMS:
            with self.subTest(name):
                version = subprocess.run(
                    [BIN / name, "--version"], capture_output=True, text=True, timeout=30
                )
                self.assertEqual(version.returncode, 0, version.stderr)
                self.assertRegex(version.stdout, rf"^{name} 0\.1\.0 \(.+\)")
                if name in ("trainctl", "trainrank"):
                    self.assertRegex(version.stdout, LIBRARIES)
                text = subprocess.run(
                    [BIN / name, "--help"], capture_output=True, text=True, timeout=30
                )
                self.assertEqual(text.returncode, 0, text.stderr)
                lines = text.stdout.splitlines()
                example = next(
                    number
                    for number, line in enumerate(lines)
                    if line.startswith("  ") and name in line
                )
                options = next(
                    number
                    for number, line in enumerate(lines)
                    if line.lower().startswith(("options", "everywhere"))
                )
                self.assertLess(example, options)


if __name__ == "__main__":
    unittest.main()
