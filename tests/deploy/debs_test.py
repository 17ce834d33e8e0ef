"""deploy/debs: dpkg takes the packages, in a root without a running systemd and in one with it."""

import pathlib
import re
import subprocess
import tempfile
import unittest

import checkout
import clean_root

NAMES = ("traincoordinator", "trainctl", "trainworker")
JOB = """{"version": 1, "name": "long", "model": {"path": "/usr/share/trainctl/models/tiny"},
 "data": {"path": "/usr/share/trainctl/data/alpaca.json", "format": "alpaca"},
 "train": {"micro_batch_size": 2, "max_steps": 1000000, "epochs": 1000000}}"""


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        checkout.require_programs()
        clean_root.require()
        cls.folder = pathlib.Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        made = subprocess.run(
            [checkout.DEPLOY / "debs", cls.folder], capture_output=True, text=True
        )
        if made.returncode != 0:
            raise AssertionError(made.stderr[-4000:])
        cls.debs = [pathlib.Path(line) for line in made.stdout.splitlines()]
        cls.later = [cls.repack(path) for path in cls.debs]

    @classmethod
    def repack(cls, path):
        """The same as a later version."""
        tree = cls.folder / f"{path.stem}-later"
        subprocess.run(["dpkg-deb", "-R", path, tree], check=True)
        control = tree / "DEBIAN/control"
        control.write_text(re.sub(r"(?m)^(Version: .*)$", r"\1.later", control.read_text()))
        later = tree.with_suffix(".deb")
        subprocess.run(
            ["dpkg-deb", "-Zgzip", "-z1", "-b", tree, later], check=True, capture_output=True
        )
        return later

    def field(self, path, name):
        return subprocess.run(
            ["dpkg-deb", "-f", path, name], check=True, capture_output=True, text=True
        ).stdout.strip()

    def install(self, root, debs):
        copies = [root.put(path) for path in debs]
        root.run("dpkg", "-i", *copies)
        root.run("rm", *copies)

    def append(self, root, path, text):
        with (root.path / path.lstrip("/")).open("a") as file:
            file.write(text)

    def test_each_has_what_debian_asks_for_and_nothing_of_the_build(self):
        self.assertEqual(tuple(self.field(path, "Package") for path in self.debs), NAMES)
        for path in self.debs:
            name = self.field(path, "Package")
            self.assertIn("libc6", self.field(path, "Depends"))
            listed = subprocess.run(
                ["dpkg-deb", "-c", path], check=True, capture_output=True, text=True
            ).stdout
            for line in listed.splitlines():
                self.assertRegex(line, r"^\S+ root/root ")
                self.assertRegex(line, r" \./(usr/|etc/|$)")
            self.assertIn(f"./usr/share/doc/{name}/copyright", listed)
            self.assertNotRegex(listed, r"man1/.*\.1\n")
        tree = self.folder / f"{self.debs[2].stem}-later"
        rank = subprocess.run(
            ["readelf", "-d", tree / "usr/bin/trainrank"], capture_output=True, text=True
        ).stdout
        places = re.search(r"R(?:UN)?PATH.*\[(.*)\]", rank).group(1).split(":")
        for place in places:
            self.assertTrue(place.startswith("/opt/trainctl/torch/"), place)

    def test_a_root_without_systemd_takes_them_and_purge_leaves_nothing(self):
        with clean_root.chrooted() as root:
            self.install(root, self.debs)
            self.assertIn("trainctl", root.say("getent", "passwd", "trainctl"))
            root.run(
                "systemd-analyze",
                "verify",
                "--man=no",
                "traincoordinator.service",
                "trainworker@0.service",
            )
            for name in ("traincoordinator", "trainctl", "trainworker"):
                self.assertIn("0.1.0", root.say(name, "--version"))
            missing = root.run("trainworker-setup", "--check", check=False)
            self.assertEqual(missing.returncode, 1)
            self.assertIn("Fetch it: trainworker-setup", missing.stderr)
            self.install(root, self.later)
            root.run("dpkg", "--remove", *NAMES)
            self.assertIn("worker.env", root.say("ls", "/etc/trainctl"))
            root.run("dpkg", "--purge", *NAMES)
            self.assertEqual([str(path) for path in root.changes.rglob("*train*")], [])

    def test_an_upgrade_spares_the_ranks_of_a_running_job_and_removal_ends_them(self):
        with clean_root.booted() as root:
            self.install(root, self.debs)
            self.expect_no_worker_without_libtorch(root)
            self.give_libtorch(root)
            root.run(
                "bash",
                "-c",
                "printf 'THREADS=1\\nOPTIONS=--device cpu:0\\n' >>/etc/trainctl/worker.env",
            )
            root.run("systemctl", "enable", "--now", "trainworker@0")
            self.submit(root)
            before = self.processes(root)
            self.install(root, self.later)
            self.expect_spared(root, before)
            self.expect_back_where_they_hang(root)
            self.start_rank_of_another_user(root)
            root.run("dpkg", "--remove", *NAMES)
            programs = ("traincoordinator", "trainworker", "trainshim", "trainrank")
            for name in (*programs, "trainrank-of-nobody"):
                self.assertEqual(root.run("pidof", name, check=False).stdout, "", name)
            root.run("dpkg", "--purge", *NAMES)
            self.assertEqual(
                root.run(
                    "bash",
                    "-c",
                    "ls -d /var/lib/train* /etc/train* /opt/train* /etc/systemd/system/*/train*",
                    check=False,
                ).stdout,
                "",
            )

    def expect_no_worker_without_libtorch(self, root):
        root.run("systemctl", "start", "trainworker@0")
        log = root.say("journalctl", "--unit=trainworker@0", "--output=cat")
        self.assertIn("Fetch it: trainworker-setup", log)
        self.assertEqual(root.run("pidof", "trainworker", check=False).stdout, "")

    def give_libtorch(self, root):
        packages = checkout.packages_of()
        refused = root.run("trainworker-setup", "--from", "/usr", check=False)
        self.assertIn("holds no LibTorch", refused.stderr)
        for parent in packages.parents:
            root.run("chmod", "o+rx", str(parent))
        root.run("trainworker-setup", "--from", str(packages))

    def start_rank_of_another_user(self, root):
        """As `trainworker --run-as owner` has them: only the program's path tells whose it is."""
        root.run("cp", "/usr/bin/sleep", "/usr/bin/trainrank-of-nobody")
        root.run("systemd-run", "--uid=nobody", "/usr/bin/trainrank-of-nobody", "1000")
        clean_root.until(lambda: root.run("pidof", "trainrank-of-nobody", check=False).stdout)

    def submit(self, root):
        self.append(root, "/root/long.json", JOB)
        clean_root.until(
            lambda: "READY" in root.run("trainctl", "workers", check=False).stdout
        )  # the coordinator may be beginning
        root.run("trainctl", "submit", "/root/long.json")
        clean_root.until(lambda: self.steps(root) > 0)

    def steps(self, root):
        points = root.run("trainctl", "metrics", "j1", "-o", "csv", check=False).stdout
        return len(points.splitlines())

    def processes(self, root):
        return {
            name: root.say("pidof", name)
            for name in ("traincoordinator", "trainworker", "trainshim", "trainrank")
        }

    def expect_spared(self, root, before, restarted=("traincoordinator", "trainworker")):
        after = self.processes(root)
        for name, pid in after.items():
            if name in restarted:
                self.assertNotEqual(pid, before[name], name)
            else:
                self.assertEqual(pid, before[name], name)
        steps = clean_root.until(lambda: self.steps(root))
        clean_root.until(lambda: self.steps(root) > steps)
        self.assertIn("RUNNING", root.say("trainctl", "status"))
        self.assertIn("--device cpu:0", root.say("cat", "/etc/trainctl/worker.env"))

    def expect_back_where_they_hang(self, root):
        """The watchdog's patience is short here; who is stopped is silent."""
        status = "listens on 127.0.0.1:7070", "connected to the coordinator as "
        for unit, words in zip(("traincoordinator", "trainworker@0"), status):
            program = unit.partition("@")[0]
            drop_in = root.path / f"run/systemd/system/{unit}.service.d/patience.conf"
            drop_in.parent.mkdir(parents=True)
            drop_in.write_text("[Service]\nWatchdogSec=2\n")
            root.run("systemctl", "daemon-reload")
            root.run("systemctl", "restart", unit)
            before = self.processes(root)
            root.run("kill", "-STOP", before[program])
            clean_root.until(
                lambda: (
                    root.run("pidof", program, check=False).stdout.strip()
                    not in ("", before[program])
                )
            )
            log = root.say("journalctl", f"--unit={unit}", "--output=cat")
            self.assertIn("watchdog", log.lower())
            clean_root.until(lambda: words in self.shown(root, unit, "StatusText"))
            self.assertEqual(self.shown(root, unit, "SubState"), "running")
            self.expect_spared(root, before, restarted=(program,))

    def shown(self, root, unit, name):
        return root.say("systemctl", "show", unit, "--value", f"--property={name}")


if __name__ == "__main__":
    unittest.main()
