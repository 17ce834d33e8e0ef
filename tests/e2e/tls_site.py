"""A site that is reached with TLS alone, as README has it: keys, tokens, workers that join."""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import unittest

import processes
from cluster import BIN, Patience


class TlsSite(Patience, unittest.TestCase):
    OPTIONS = ()  # of the coordinator, beside its own

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
                   "--listen", "127.0.0.1:0", "--address-file", self.dir / "address",
                   *self.OPTIONS)  # fmt: skip
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

    def token_of(self, user, role):
        """The file of a new token, and a context of the user's name that has it."""
        file = self.dir / f"{user}.token"
        self.trainctl("admin", "token", "create", user, "--role", role, "--to", file)
        self.add_context(user, file)
        return file

    def audit(self):
        return json.loads(self.trainctl("admin", "audit", "-o", "json").stdout)["audit"]

    def expect_nothing_told(self, *secrets):
        """What is secret stands in no file but its own, no command line, not in the audit log."""
        seen = json.dumps(self.audit())
        seen += "".join(" ".join(one.arguments) for one in processes.processes_of(self.dir))
        for secret in [*self.secrets(), *secrets]:
            self.assertNotIn(secret, seen)
        for path in self.dir.rglob("*"):
            if path.suffix in (".token", ".key") or not path.is_file():
                continue
            with contextlib.suppress(FileNotFoundError):  # what is replaced just then
                kept = path.read_bytes()
                for secret in [*self.secrets(), *secrets]:
                    self.assertNotIn(secret.encode(), kept, path)
