"""The systemd units exactly as they ship, installed by the README's own commands below a root of
their own."""

import pathlib
import shlex
import shutil
import subprocess
import tempfile
import unittest

import checkout

UNITS = checkout.DEPLOY / "systemd"
SYSTEM_UNITS = pathlib.Path("/usr/lib/systemd/system")


class Units(unittest.TestCase):
    def setUp(self):
        if shutil.which("systemd-analyze") is None or not SYSTEM_UNITS.is_dir():
            self.skipTest("systemd-analyze is not installed (package systemd)")
        self.root = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        shutil.copytree(SYSTEM_UNITS, self.root / "usr/lib/systemd/system", symlinks=True)
        (self.root / "lib").symlink_to("usr/lib")
        (self.root / "etc/systemd/system").mkdir(parents=True)
        shutil.copy(shutil.which("true"), self.program("traincoordinator"))
        shutil.copy(shutil.which("true"), self.program("trainworker"))
        shutil.copy(checkout.TOP / "README.md", self.root / "opt/trainctl")
        for line in checkout.readme_commands("Run a site", block=2):
            if line.startswith("install "):
                self.install(line)

    def program(self, name):
        path = self.root / "opt/trainctl/build/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def install(self, command):
        *options, target = shlex.split(command)
        sources = [
            str(path)
            for word in options
            for path in (
                sorted(pathlib.Path("/").glob(self.in_checkout(word)[1:]))
                if word.startswith("/opt/trainctl/")
                else [word]
            )
        ]
        subprocess.run([*sources, f"{self.root}{target}"], check=True)

    def in_checkout(self, path):
        return path.replace("/opt/trainctl", str(checkout.TOP), 1)

    def verify(self, *names):
        return subprocess.run(
            ["systemd-analyze", "verify", "--man=no", f"--root={self.root}", *names],
            capture_output=True,
            text=True,
        )

    def test_as_they_ship_systemd_has_nothing_to_complain_of(self):
        result = self.verify("traincoordinator.service", "trainworker@0.service")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_what_ranks_of_their_owners_take_is_a_drop_in(self):
        section = (checkout.TOP / "README.md").read_text().split("\n## Security\n")[1]
        drop_in = self.root / "etc/systemd/system/trainworker@.service.d/override.conf"
        drop_in.parent.mkdir()
        drop_in.write_text("[Service]\n" + section.split("```\n[Service]\n")[1].split("```")[0])
        result = self.verify("trainworker@0.service")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_a_fault_in_one_or_a_missing_program_would_be_seen(self):
        unit = self.root / "etc/systemd/system/traincoordinator.service"
        unit.write_text(unit.read_text().replace("RestartSec=1", "RestartSec=soon"))
        self.program("trainworker").unlink()
        result = self.verify("traincoordinator.service", "trainworker@0.service")
        self.assertIn("soon", result.stderr)
        self.assertIn("/opt/trainctl/build/bin/trainworker is not executable", result.stderr)

    def test_the_readme_installs_every_unit_and_the_settings(self):
        for path in UNITS.iterdir():
            place = "trainctl" if path.suffix == ".env" else "systemd/system"
            installed = self.root / "etc" / place / path.name
            self.assertEqual(installed.read_text(), path.read_text(), installed)

    def test_both_say_that_they_serve_and_one_that_hangs_is_restarted(self):
        for path in UNITS.glob("*.service"):
            for line in ("Type=notify", "NotifyAccess=main", "WatchdogSec=60"):
                self.assertRegex(path.read_text(), f"(?m)^{line}$")

    def test_a_worker_restart_spares_its_ranks_and_cuda_keeps_what_it_needs(self):
        text = (UNITS / "trainworker@.service").read_text()
        for line in (
            "KillMode=process",
            "OOMPolicy=continue",
            "Delegate=yes",
            "Restart=on-failure",
        ):
            self.assertRegex(text, f"(?m)^{line}$")
        for setting in (
            "MemoryDenyWriteExecute",
            "PrivateDevices",
            "PrivateUsers",
            "PrivateIPC",
            "DynamicUser",
            "ProtectClock",
        ):
            self.assertNotRegex(text, f"(?m)^{setting}=")


if __name__ == "__main__":
    unittest.main()
