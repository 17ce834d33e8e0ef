"""A site that is reached with TLS alone, as README has it: keys, tokens, a worker that joins."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import processes
from cluster import BIN, Patience, tiny_job
from python_client_test import PACKAGE, Client

DENIED = 6  # exit status
SCRIPT = """
import sys, trainctl
site = trainctl.connect(context="anna")
print(*(job.outcome for job in site.jobs()))
job = site.submit(sys.argv[1], {"train.max_steps": 2}, name="second")
job.wait(progress=False)
print(job.outcome)
"""


class Tls(Patience, Client, unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="trainctl-tls-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.keys = self.dir / "keys"
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.dir / "home"),
            "TRAINCTL_BIN_DIR": str(BIN),
        }
        self.run_program("traincoordinator", "init", "--dir", self.keys, "--name", "localhost")
        self.start("traincoordinator", "--dir", self.dir / "site", "--site-keys", self.keys,
                   "--listen", "127.0.0.1:0", "--address-file", self.dir / "address")  # fmt: skip
        self.address = self.eventually("it listens", 60, lambda: self.read(self.dir / "address"))
        self.add_context("admin", self.keys / "admin.token")

    def start(self, program, *arguments):
        log = open(self.dir / f"{program}.log", "w")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [BIN / program, *map(str, arguments)], stderr=log, env=self.environment
        )
        self.addCleanup(process.wait, 60)
        self.addCleanup(process.terminate)
        return process

    def run_program(self, program, *arguments, status=0):
        result = subprocess.run(
            [BIN / program, *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            env=self.environment,
        )
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def trainctl(self, *arguments, status=0):
        return self.run_program("trainctl", *arguments, status=status)

    def add_context(self, name, token_file):
        self.trainctl("context", "add", name, "--address", self.address,
                      "--ca", self.keys / "ca.pem", "--token-file", token_file)  # fmt: skip

    def join(self):
        """The folder of this host's keys."""
        token, keys = self.dir / "join.token", self.dir / "worker-keys"
        self.trainctl("admin", "worker-token", socket.gethostname(), "--to", token)
        arguments = ["join", "--coordinator", self.address, "--ca", self.keys / "ca.pem",
                     "--join-token-file", token, "--keys", keys]  # fmt: skip
        self.run_program("trainworker", *arguments)
        again = self.run_program("trainworker", *arguments, status=1)
        self.assertIn("was for one use", again.stderr)
        return keys

    @staticmethod
    def read(path):
        return path.read_text().strip() if path.exists() else ""

    def states(self):
        workers = json.loads(self.trainctl("workers", "-o", "json").stdout)["workers"]
        return [worker["state"] for worker in workers]

    def secrets(self):
        return [
            path.read_text().strip()
            for path in self.dir.glob("**/*")
            if path.suffix in (".token", ".key") and path.is_file()
        ]

    def test_a_job_of_a_person_with_a_token_runs_on_a_worker_that_has_joined(self):
        self.trainctl("admin", "token", "create", "anna", "--role", "user",
                      "--to", self.dir / "anna.token")  # fmt: skip
        self.add_context("anna", self.dir / "anna.token")
        self.start("trainworker", "--coordinator", self.address, "--keys", self.join(),
                   "--dir", self.dir / "worker", "--device", "cpu:0")  # fmt: skip
        self.eventually("the worker is there", 60, lambda: self.states() == ["READY"])
        job = self.dir / "job.json"
        job.write_text(json.dumps(tiny_job()))
        self.trainctl("--context", "anna", "submit", job, "--wait")
        self.trainctl("--context", "anna", "admin", "audit", status=DENIED)
        audit = json.loads(self.trainctl("admin", "audit", "-o", "json").stdout)["audit"]
        self.assertIn(("anna", "submit"), [(entry["actor"], entry["action"]) for entry in audit])
        seen = "".join(
            " ".join(process.arguments) for process in processes.processes_of(self.dir)
        ) + "".join(path.read_text() for path in self.dir.glob("*.log"))
        for secret in self.secrets():
            self.assertNotIn(secret, seen + json.dumps(audit))

        self.require_python()
        result = subprocess.run(
            [self.python, "-B", "-c", SCRIPT, job],
            capture_output=True,
            text=True,
            timeout=280,
            env={**self.environment, "PYTHONPATH": str(PACKAGE)},
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stdout.split(), ["SUCCEEDED", "SUCCEEDED"])

    def test_who_has_no_token_is_told_so_and_so_is_who_speaks_no_tls(self):
        plain = self.trainctl("status", "--server", self.address, status=DENIED)
        self.assertIn("speaks TLS: name it with its CA and a token", plain.stderr)
        (self.dir / "wrong.token").write_text("trainctl_wrong")
        (self.dir / "wrong.token").chmod(0o600)
        self.add_context("wrong", self.dir / "wrong.token")
        refused = self.trainctl("--context", "wrong", "status", status=DENIED)
        self.assertIn("this token is not known here", refused.stderr)

    def test_another_program_verifies_the_certificate(self):
        result = subprocess.run(
            ["openssl", "s_client", "-connect", self.address, "-CAfile", self.keys / "ca.pem",
             "-verify_return_error", "-verify_ip", "127.0.0.1", "-alpn", "h2", "-brief"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # where HTTP/2's frames may come, which are no text
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Verification: OK", result.stderr)
        self.assertIn("TLSv1.3", result.stderr)


if __name__ == "__main__":
    unittest.main()
