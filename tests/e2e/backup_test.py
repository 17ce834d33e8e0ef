"""Backups of a site that goes on: while jobs are submitted, and with a kill in the middle."""

import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import unittest

from cluster import BIN, ClusterTest, Patience, endless_job, tiny_job
from small_disk import fill, small_disk

POINTS = 600_000  # so many are written for a moment, on any disk


class Backup(Patience, unittest.TestCase):
    def setUp(self):
        self.dir = pathlib.Path(tempfile.mkdtemp(prefix="trainctl-backup-"))
        self.addCleanup(shutil.rmtree, self.dir)
        self.job = self.dir / "job.json"
        self.job.write_text(json.dumps(tiny_job()))
        self.coordinator = None
        self.addCleanup(self.stop)

    def start(self, site="site"):
        address = self.dir / "address"
        address.unlink(missing_ok=True)
        self.coordinator = subprocess.Popen(
            [BIN / "traincoordinator", "--dir", self.dir / site, "--listen", "127.0.0.1:0",
             "--address-file", address],
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.eventually("it listens", 60, address.exists)
        self.address = address.read_text().strip()

    def stop(self, how=signal.SIGTERM):
        if self.coordinator is None:
            return
        self.coordinator.send_signal(how)
        self.coordinator.wait(60)
        self.coordinator = None

    def popen(self, *arguments):
        return subprocess.Popen(
            [BIN / "trainctl", "--server", self.address, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "HOME": str(self.dir)},
        )

    def trainctl(self, *arguments, status=0):
        with self.popen(*arguments) as process:
            out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, err)
        return out

    def submit(self):
        return json.loads(self.trainctl("submit", self.job, "-o", "json"))["id"]

    def fill(self):
        """A site with a job and many points of it."""
        self.start()
        self.assertEqual(self.submit(), "j1")
        self.stop()
        with sqlite3.connect(self.dir / "site/coordinator.db") as database:
            columns = [row[1] for row in database.execute("PRAGMA table_info(points)")]
            names = ", ".join(columns)
            values = ", ".join("n" if name == "step" else "1" for name in columns)
            database.execute(
                "INSERT INTO series (id, job, name, rank, phase, attempt, latest_step, total, "
                "count) VALUES (1, 1, 'loss', -1, '', 1, 1, 1, 1)"
            )
            database.execute(
                f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers "
                f"LIMIT {POINTS}) INSERT INTO points ({names}) SELECT {values} FROM numbers"
            )
        database.close()
        self.start()

    def wait_for_bytes(self, path):
        deadline = time.monotonic() + 60
        while not path.exists() or path.stat().st_size == 0:
            self.assertLess(time.monotonic(), deadline, f"{path} was not begun")
            time.sleep(0.001)

    def test_a_site_takes_submits_meanwhile_and_one_begins_with_the_backup(self):
        self.fill()
        during = []
        for number in range(5):  # of a busy host's submits, some take longer than a backup
            backup = self.dir / f"backup{number}.db"
            with self.popen("admin", "backup", backup) as client:
                self.wait_for_bytes(self.dir / f"backup{number}.db.partial")
                during.append(self.submit())
                is_meanwhile = not backup.exists()
                said, err = client.communicate(timeout=120)
            self.assertEqual(client.returncode, 0, err)
            self.assertIn("it was read again and holds together", said)
            if is_meanwhile:
                break
        self.assertTrue(is_meanwhile, "the submits waited for the backup")
        self.stop()

        restore = [BIN / "traincoordinator", "restore", "--from", backup, "--dir"]
        refused = subprocess.run(
            [*restore, self.dir / "site"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(refused.returncode, 1)
        self.assertIn("to restore a backup in its place, move", refused.stderr)
        told = subprocess.run(
            [*restore, self.dir / "again"], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(told.returncode, 0, told.stderr)
        (following,) = re.findall(r"The next one is j(\d+)\.", told.stdout)
        self.assertGreater(int(following), 200_000)
        self.start("again")
        restored = json.loads(self.trainctl("status", "-o", "json"))["jobs"]
        self.assertIn("j1", {job["id"] for job in restored})
        self.assertLessEqual({job["id"] for job in restored}, {"j1", *during})
        self.assertEqual({job["outcome"] for job in restored}, {"CANCELLED"})
        points = self.trainctl("metrics", "j1", "-o", "csv").count("\n")
        self.assertGreaterEqual(points, POINTS)
        self.assertEqual(self.submit(), f"j{following}")

    def test_without_its_log_a_site_that_was_killed_does_not_start(self):
        self.start()
        self.submit()
        self.stop(signal.SIGKILL)
        log = self.dir / "site/coordinator.db-wal"
        kept = log.read_bytes()
        log.unlink()
        start = [BIN / "traincoordinator", "--dir", self.dir / "site", "--listen", "127.0.0.1:0"]
        told = subprocess.run(start, capture_output=True, text=True, timeout=20)
        self.assertEqual(told.returncode, 1)
        self.assertRegex(told.stderr, r"coordinator.db lacks the last \d+ commits of this site")
        log.write_bytes(kept)
        self.start()
        (job,) = json.loads(self.trainctl("status", "-o", "json"))["jobs"]
        self.assertEqual(job["id"], "j1")

    def test_of_a_full_disk_it_is_said_which(self):
        disk = self.dir / "disk"
        small_disk(self, disk, mebibytes=1)
        fill(disk)
        self.start()
        self.submit()
        with self.popen("admin", "backup", disk / "copy.db") as client:
            _, err = client.communicate(timeout=120)
        self.assertEqual(client.returncode, 1, err)
        self.assertIn(f"{disk}/copy.db.partial: its disk is full", err)
        self.assertNotIn("coordinator.db", err)
        self.assertFalse((disk / "copy.db.partial").exists())

    def test_a_kill_in_the_middle_leaves_no_backup_and_a_whole_site(self):
        self.fill()
        backup = self.dir / "backup.db"
        with self.popen("admin", "backup", backup) as client:
            self.wait_for_bytes(self.dir / "backup.db.partial")
            self.stop(signal.SIGKILL)
            _, err = client.communicate(timeout=60)
        self.assertNotEqual(client.returncode, 0, err)
        self.assertFalse(backup.exists())
        self.start()
        self.assertEqual(self.submit(), "j2")
        self.trainctl("admin", "backup", backup)
        self.assertEqual([path.name for path in self.dir.glob("backup*")], ["backup.db"])


class Gap(ClusterTest):
    """Jobs between a backup and the site that was made of it."""

    def restore(self, backup):
        """The first number of the site that begins with the backup, in the place of this one."""
        coordinator = self.process("traincoordinator")
        site = pathlib.Path(coordinator.value_of("--dir"))
        coordinator.kill()
        for path in site.glob("coordinator.db*"):
            path.unlink()
        command = [BIN / "traincoordinator", "restore", "--from", backup, "--dir", site]
        told = subprocess.run(command, capture_output=True, text=True, timeout=120)
        self.assertEqual(told.returncode, 0, told.stderr)
        self.up()
        return int(re.search(r"The next one is j(\d+)\.", told.stdout)[1])

    def test_what_runs_of_them_is_stopped_and_their_numbers_and_folders_stay_theirs(self):
        backup = self.dir / "backup.db"
        self.assertEqual(self.trainctl("admin", "backup", str(backup)).returncode, 0)
        output = {"output__dir": str(self.dir / "out"), "checkpoint__every_steps": 100_000}
        first = self.submit(endless_job(**output))
        self.wait_for_step(first, 2)
        number = self.restore(backup)
        self.assertEqual(self.json("status")["jobs"], [])
        self.expect_devices_free(60)
        taken = self.trainctl("submit", self.write_job(endless_job(name="after", **output)))
        self.assertNotEqual(taken.returncode, 0)
        self.assertIn(f"it belongs to {first} (endless)", taken.stderr)
        # The stop gave it the time to save.
        after = self.submit(
            endless_job(name="after", checkpoint__resume_from=str(self.dir / "out/checkpoints"))
        )
        self.assertEqual(after, f"j{number}")
        self.wait_for_step(after, 3)
        self.trainctl("cancel", after)
        self.expect_devices_free(60)

        beyond = self.submit(endless_job(name="beyond"))
        self.eventually("a second", 10, lambda: time.time() > self.job(beyond)["submitted_at"] + 3)
        self.assertGreater(self.restore(backup), int(beyond[1:]))
        self.expect_devices_free(60)


if __name__ == "__main__":
    unittest.main()
