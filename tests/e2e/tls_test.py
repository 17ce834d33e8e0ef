"""A site that is reached with TLS alone: jobs of people with tokens, and who is refused."""

import json
import os
import re
import shutil
import socket
import subprocess
import unittest

from cluster import BIN, TOP, tiny_job
from python_client_test import PACKAGE, Client
from tls_site import TlsSite

DENIED = 6  # exit status
SCRIPT = """
import sys, trainctl
site = trainctl.connect(context="anna")
print(*(job.outcome for job in site.jobs()))
job = site.submit(sys.argv[1], {"train.max_steps": 2}, name="second")
job.wait(progress=False)
print(job.outcome)
"""


class Tls(Client, TlsSite):
    def test_a_job_of_a_person_with_a_token_runs_on_a_worker_that_has_joined(self):
        self.token_of("anna", "user")
        self.start("trainworker", "--coordinator", self.address, "--keys", self.join(),
                   "--dir", self.dir / "worker", "--device", "cpu:0")  # fmt: skip
        self.eventually("the worker is there", 60, lambda: self.states() == ["READY"])
        job = self.dir / "job.json"
        job.write_text(json.dumps(tiny_job()))
        self.trainctl("--context", "anna", "submit", job, "--wait")
        self.trainctl("--context", "anna", "admin", "audit", status=DENIED)
        done = [(entry["actor"], entry["action"]) for entry in self.audit()]
        self.assertIn(("anna", "submit"), done)
        self.expect_nothing_told()

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

    def test_a_host_joins_by_the_lines_of_its_settings_and_its_workers_user_has_the_keys(self):
        if os.geteuid() != 0:
            self.skipTest("it needs root")
        text = (TOP / "deploy/systemd/worker.env").read_text()
        (paragraph,) = (part for part in text.split("\n\n") if "trainworker join" in part)
        keys = self.dir / "worker-keys"
        commands = "\n".join(re.findall(r"(?m)^#   (.*)$", paragraph))
        for theirs, ours in (("HOST:7443", self.address), ("/var/lib/trainctl/keys", str(keys)),
                             (" trainctl", " nobody")):  # fmt: skip
            self.assertIn(theirs, commands)
            commands = commands.replace(theirs, ours)
        # As an admin has them: in a folder of root's, for root's eyes.
        home = self.dir / "root"
        home.mkdir(0o700)
        shutil.copy(self.keys / "ca.pem", home)
        self.trainctl("admin", "worker-token", socket.gethostname(), "--to", home / "join.token")
        joined = subprocess.run(
            ["bash", "-euc", commands],
            cwd=home,
            capture_output=True,
            text=True,
            timeout=60,
            env={**self.environment, "PATH": f"{BIN}:{os.environ['PATH']}"},
        )
        self.assertEqual(joined.returncode, 0, joined.stderr)
        self.dir.chmod(0o711)
        folder = self.dir / "worker"
        folder.mkdir()
        shutil.chown(folder, "nobody")
        program = self.dir / "trainworker"  # the checkout may be closed to other users
        shutil.copy(BIN / "trainworker", program)
        with open(self.dir / "trainworker.log", "w") as log:
            worker = subprocess.Popen(
                [program, "--coordinator", self.address, "--keys", keys, "--dir", folder,
                 "--device", "cpu:0"],
                stderr=log, user="nobody", group="nogroup", extra_groups=[], env=self.environment,
            )  # fmt: skip
        self.addCleanup(worker.wait, 60)
        self.addCleanup(worker.terminate)
        self.eventually("the worker is there", 60, lambda: self.states() == ["READY"])

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
