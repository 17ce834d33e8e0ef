"""kill -9 where nothing else is left that could tell of it, and words that are lost on the way."""

import contextlib
import json
import shutil
import signal
import subprocess
import time
import unittest

from cluster import BIN, ClusterTest, endless_job

CLOCK = time.CLOCK_MONOTONIC  # of deadline.json's steady_at
SHIM_LOOKS_EVERY = 5  # seconds (worker/shim/rank_deadline.h)


class Kills(ClusterTest):
    def running_job(self, **changes):
        job_id = self.submit(endless_job(**changes))
        self.wait_for_step(job_id, 1)
        return job_id

    def kill_worker_of(self, job_id):
        number = self.job(job_id)["placement"][0].rsplit("/", 1)[1]
        self.process("trainworker", f"worker-{number}").kill()

    def expect_failed_and_free(self, job_id):
        job = self.wait_for_end(job_id, 30)
        self.assertEqual((job["outcome"], job["attempt"]), ("FAILED", 1), job)
        self.assertIn("rank 0", job["message"])
        self.expect_devices_free(60)
        self.assertEqual(self.processes("trainshim"), [])

    def test_a_shim_killed_under_its_rank_ends_the_job_and_frees_the_device(self):
        job_id = self.running_job()
        self.process("trainshim").kill()
        self.expect_failed_and_free(job_id)

    def test_a_shim_killed_while_its_worker_is_away_is_found_out_by_the_next_worker(self):
        job_id = self.running_job()
        self.kill_worker_of(job_id)
        self.process("trainshim").kill()
        self.up()
        self.expect_failed_and_free(job_id)

    def test_a_rank_that_dies_while_the_coordinator_is_away_is_reported_when_it_is_back(self):
        job_id = self.running_job()
        self.process("traincoordinator").kill()
        self.ranks()[0].kill(signal.SIGSEGV)
        self.up()
        self.expect_failed_and_free(job_id)
        self.assertIn("signal 11", self.job(job_id)["message"])

    def test_a_time_limit_that_ends_while_the_coordinator_is_away_is_kept_by_the_worker(self):
        job_id = self.running_job(resources__time_limit="5s")
        self.process("traincoordinator").kill()
        self.eventually("the rank is ended", 30, lambda: not self.processes("trainrank"))
        self.up()
        self.assertEqual(self.wait_for_end(job_id, 30)["outcome"], "TIMEOUT")
        self.expect_devices_free(60)

    def deadline_file(self):
        (found,) = self.dir.glob("**/deadline.json")
        return found

    def expect_timeout_once_the_worker_is_back(self, job_id):
        self.up()
        job = self.wait_for_end(job_id, 60)
        self.assertEqual((job["outcome"], job["attempt"]), ("TIMEOUT", 1), job)
        self.expect_devices_free(60)

    def test_a_time_limit_that_ends_while_the_worker_is_dead_is_kept_by_the_shim(self):
        job_id = self.running_job(resources__time_limit="5s")
        self.deadline_file()
        self.kill_worker_of(job_id)
        self.assertEqual(len(self.ranks()), 1)
        self.eventually("the rank is ended", 60, lambda: not self.processes("trainrank"))
        self.expect_timeout_once_the_worker_is_back(job_id)

    def test_a_rank_whose_deadline_is_not_known_runs_on_until_its_worker_is_back(self):
        job_id = self.running_job(resources__time_limit="5s")
        deadline = self.deadline_file()
        comes_at = json.loads(deadline.read_text())["steady_at"] / 1e6
        self.kill_worker_of(job_id)
        deadline.unlink()
        looked = comes_at + SHIM_LOOKS_EVERY + 2
        self.eventually("it has come", 60, lambda: time.clock_gettime(CLOCK) > looked)
        self.assertEqual(len(self.ranks()), 1)
        self.expect_timeout_once_the_worker_is_back(job_id)

    def saved_at(self):
        """When each checkpoint that is there was written, by its folder."""
        times = {}
        for manifest in (self.dir / "out" / "checkpoints").glob("step-*[0-9]/manifest.json"):
            with contextlib.suppress(FileNotFoundError):  # an older one goes for a newer one
                times[str(manifest.parent)] = manifest.stat().st_mtime
        return times

    def saved_events(self, job_id):
        """When the job's history says so, by folder."""
        events = self.json("describe", job_id)["jobs"][0]["events"]
        return {
            event["text"].rsplit(" ", 1)[1]: event["time"]
            for event in events
            if " saved checkpoint to " in event["text"]
        }

    def test_what_a_rank_saved_while_the_coordinator_was_away_stands_at_its_own_time(self):
        job_id = self.running_job(output__dir=str(self.dir / "out"), checkpoint__every_steps=10)
        self.process("traincoordinator").kill()
        gone_at, saved = time.time(), {}

        def several():
            saved.update((path, at) for path, at in self.saved_at().items() if at > gone_at)
            return len(saved) >= 3

        self.eventually("checkpoints are saved meanwhile", 60, several)
        back_at = time.time()
        self.up()
        self.eventually(
            "all of them are told", 60, lambda: saved.keys() <= self.saved_events(job_id).keys()
        )
        told = self.saved_events(job_id)
        # A rank tells of each before it begins with the next.
        *before_the_last, _ = sorted(saved, key=saved.get)
        for path in before_the_last:
            self.assertLess(told[path], back_at, path)
            self.assertGreater(told[path], saved[path] - 1, path)
        self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)

    def test_a_cancel_is_not_lost_with_the_coordinator(self):
        job_id = self.running_job()
        self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)
        self.process("traincoordinator").kill()
        self.up()
        self.assertEqual(self.wait_for_end(job_id, 30)["outcome"], "CANCELLED")
        self.expect_devices_free(60)

    def test_a_cancel_reaches_a_rank_whose_worker_was_away(self):
        job_id = self.running_job()
        self.kill_worker_of(job_id)
        self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)
        self.assertEqual(self.job(job_id)["state"], "STOPPING")
        self.up()
        self.assertEqual(self.wait_for_end(job_id, 30)["outcome"], "CANCELLED")
        self.expect_devices_free(60)

    def test_a_job_that_was_accepted_is_there_after_a_kill_and_runs_once(self):
        for number in range(2):
            job_id = self.submit(endless_job(name=f"job-{number}"))
            self.process("traincoordinator").kill()
            self.up()
            self.wait_for_step(job_id, 1)
            self.assertEqual(self.job(job_id)["attempt"], 1)
            self.assertEqual(len(self.ranks()), 1)
            self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)
            self.assertEqual(self.wait_for_end(job_id, 30)["outcome"], "CANCELLED")

    def test_a_coordinator_with_another_database_neither_takes_nor_ends_a_rank(self):
        job_id = self.running_job()
        ranks = self.ranks()
        self.process("traincoordinator").kill()
        site, aside, log = (self.dir / name for name in ("coordinator", "aside", "other.log"))
        site.rename(aside)
        address = self.dir / "coordinator.addr"
        with open(log, "w") as to, subprocess.Popen(
            [BIN / "traincoordinator", "--dir", site, "--listen", address.read_text().strip(),
             "--address-file", address], stdout=to, stderr=to
        ) as other:  # fmt: skip
            self.eventually(
                "the worker is refused",
                60,
                lambda: f"it holds {job_id} attempt 1 rank 0 of another" in log.read_text(),
            )
            self.assertEqual(self.ranks(), ranks)
            other.kill()
        shutil.rmtree(site)
        aside.rename(site)
        self.up()
        self.wait_for_step(job_id, self.job(job_id)["step"] + 1)
        self.assertEqual((self.job(job_id)["attempt"], self.ranks()), (1, ranks))
        self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)


if __name__ == "__main__":
    unittest.main()
