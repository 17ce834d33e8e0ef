"""Processes that die or hang under a job."""

import signal
import unittest

from cluster import ClusterTest, endless_job, tiny_job

STEPS = 100
LONG_ENOUGH = {
    "train__max_steps": STEPS,
    "train__micro_batch_size": 4,
    "train__max_seq_length": 128,
    "train__global_batch_size": 8,
}


class Faults(ClusterTest):
    def killed_rank(self, rank, **changes):
        """The id of a job on two devices one of whose ranks was killed."""
        job_id = self.submit(endless_job(devices=2, **changes))
        self.wait_for_step(job_id, 2)
        self.ranks()[rank].kill()
        return job_id

    def expect_each_step_once(self, job_id):
        self.assertEqual(
            [point["step"] for point in self.points(job_id, "loss")], list(range(STEPS))
        )

    def test_a_killed_rank_stops_its_gang_and_is_named(self):
        job_id = self.killed_rank(1)
        self.eventually(
            "the job stops", 30, lambda: self.job(job_id)["state"] in ("STOPPING", "FINISHED")
        )
        job = self.wait_for_end(job_id, 60)
        self.assertEqual(job["outcome"], "FAILED", job)
        self.assertIn("rank 1", job["message"])
        self.assertIn("signal 9", job["message"])
        self.assertEqual(self.trainctl("wait", job_id).returncode, 10)
        self.expect_devices_free(60)

    def test_max_restarts_starts_the_whole_gang_again(self):
        job_id = self.killed_rank(0, resources__max_restarts=1)
        self.eventually(
            "a second attempt runs",
            30,
            lambda: self.job(job_id)["attempt"] == 2 and self.job(job_id)["state"] == "RUNNING",
        )
        self.wait_for_step(job_id, 1)
        self.assertEqual([rank.plan()["attempt"] for rank in self.ranks()], [2, 2])
        self.ranks()[0].kill()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["outcome"], job["attempt"]), ("FAILED", 2), job)

    def test_a_hanging_rank_is_named(self):
        job_id = self.submit(endless_job(devices=2, resources__step_timeout="4s"))
        self.wait_for_step(job_id, 2)
        self.ranks()[1].kill(signal.SIGSTOP)
        job = self.wait_for_end(job_id, 30)
        self.assertEqual(job["outcome"], "HANG", job)
        self.assertIn("rank 1", job["message"])
        self.expect_devices_free(60)

    def test_a_worker_killed_under_a_running_job_takes_its_rank_up_again(self):
        job_id = self.submit(tiny_job(**LONG_ENOUGH))
        self.wait_for_step(job_id, 5)
        rank = self.ranks()[0]
        number = self.job(job_id)["placement"][0].rsplit("/", 1)[1]
        self.process("trainworker", f"worker-{number}").kill()
        self.assertEqual(self.ranks(), [rank])
        self.up()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 1), job)
        self.expect_each_step_once(job_id)

    def test_a_coordinator_killed_in_mid_job_goes_on_where_it_was(self):
        job_id = self.submit(tiny_job(**LONG_ENOUGH))
        self.wait_for_step(job_id, 5)
        self.process("traincoordinator").kill()
        self.up()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 1), job)
        self.expect_each_step_once(job_id)

    def test_logs_that_are_followed_lose_nothing_and_repeat_nothing_when_the_coordinator_is_killed(
        self,
    ):
        job_id = self.submit(
            tiny_job(output__dir=str(self.dir / "out"), checkpoint__every_steps=1, **LONG_ENOUGH)
        )  # a line a step
        self.wait_for_step(job_id, 1)
        log = self.dir / "followed.txt"
        with open(log, "w") as to, self.start_trainctl("logs", "-f", job_id, to=to) as following:
            self.eventually("a line is followed", 60, lambda: log.stat().st_size)
            self.process("traincoordinator").kill()
            self.up()
            self.assertEqual(self.wait_for_end(job_id)["outcome"], "SUCCEEDED")
            _, said = following.communicate(timeout=60)
        followed = log.read_text()
        self.assertEqual(following.returncode, 0, said)
        self.assertIn("answers again", said)
        self.assertEqual(followed, self.trainctl("logs", job_id).stdout)
        lines = followed.splitlines()
        self.assertGreater(len(lines), STEPS / 4)
        self.assertEqual(len(set(lines)), len(lines))

    def test_a_job_outlives_the_death_of_coordinator_and_workers_together(self):
        job_id = self.submit(tiny_job(devices=2, **LONG_ENOUGH))
        self.wait_for_step(job_id, 5)
        for process in self.processes("trainworker") + self.processes("traincoordinator"):
            process.kill()
        self.assertEqual(len(self.ranks()), 2)
        self.up()
        job = self.wait_for_end(job_id)
        self.assertEqual((job["outcome"], job["attempt"]), ("SUCCEEDED", 1), job)
        self.expect_each_step_once(job_id)

    def test_a_rank_that_dies_while_its_worker_is_away_is_reported_by_the_next_worker(self):
        job_id = self.submit(endless_job())
        self.wait_for_step(job_id, 2)
        number = self.job(job_id)["placement"][0].rsplit("/", 1)[1]
        self.process("trainworker", f"worker-{number}").kill()
        self.ranks()[0].kill(signal.SIGSEGV)
        self.up()
        job = self.wait_for_end(job_id)
        self.assertEqual(job["outcome"], "FAILED", job)
        self.assertIn("signal 11", job["message"])

    def test_jobs_that_were_queued_survive_a_coordinator_that_was_killed(self):
        running = self.submit(endless_job(devices=2))
        self.wait_for_step(running, 1)
        waiting = self.submit(tiny_job(name="waiting"))
        self.process("traincoordinator").kill()
        self.up()
        self.assertEqual(self.job(waiting)["state"], "QUEUED")
        self.assertEqual(self.trainctl("cancel", running).returncode, 0)
        self.assertEqual(self.wait_for_end(waiting)["outcome"], "SUCCEEDED")


if __name__ == "__main__":
    unittest.main()
