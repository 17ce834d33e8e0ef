"""A rank that is slower than its gang: said, marked, kept, and forgotten once it keeps up."""

import re
import signal
import threading
import unittest
import urllib.request

from cluster import ClusterTest, endless_job

# Steps that are long beside the slices in which a rank is held back, and beside the noise of a
# machine that other tests use.
LONG_STEPS = {"train__micro_batch_size": 4, "train__global_batch_size": 16}
SLICE_SECONDS = 0.005
HELD_SLICES = 5  # of six


class Brake:
    """Holds a process back: it stands still, then runs for a slice."""

    def __init__(self, process):
        self.process = process
        self.released = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.released.is_set():
            for number, slices in ((signal.SIGSTOP, HELD_SLICES), (signal.SIGCONT, 1)):
                self.process.kill(number)
                self.released.wait(slices * SLICE_SECONDS)

    def release(self):
        self.released.set()
        self.thread.join()


class SlowDevice(ClusterTest):
    def said(self, job, words):
        return [text for text in self.events(job) if words in text]

    def slowness(self):
        return {name: worker["slowness"] for name, worker in self.workers().items()}

    def metrics(self):
        address = (self.dir / "dashboard.addr").read_text().strip()
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            return answer.read().decode()

    def test_a_rank_that_is_held_back_is_flagged_until_it_keeps_up(self):
        job = self.submit(endless_job(devices=2, **LONG_STEPS))
        self.wait_for_step(job, 3)
        brake = Brake(self.ranks()[1])
        self.addCleanup(brake.release)
        self.eventually(
            "rank 1 is said to be slow", 120, lambda: self.said(job, "is slower than its gang")
        )
        (text,) = self.said(job, "is slower than its gang")
        self.assertRegex(text, r"^rank 1 on \S+/1 .* takes \d+\.\d\d times the others'")
        self.assertIsNone(self.slowness()["0"])
        self.assertEqual(self.slowness()["1"]["job"], job)
        self.assertGreater(self.slowness()["1"]["ratio"], 1.25)
        self.assertIn("slower than its gang", self.trainctl("workers").stdout)
        self.assertIn("2 of 2 devices busy, 1 slow", self.trainctl("status").stdout)
        self.assertIn("slower than its gang", self.trainctl("top", "-1").stdout)
        self.assertRegex(
            self.metrics(), re.compile(r'^trainctl_device_slow_ratio\{worker="\S+/1"\} ', re.M)
        )

        self.process("traincoordinator").kill()
        self.up()
        self.assertIsNotNone(self.slowness()["1"], "the mark outlives the coordinator")
        self.assertEqual(len(self.said(job, "is slower than its gang")), 1)

        brake.release()
        self.eventually("rank 1 keeps up", 120, lambda: self.slowness()["1"] is None)
        self.eventually("that is said", 30, lambda: self.said(job, "keeps up with its gang again"))
        self.assertEqual(len(self.said(job, "keeps up with its gang again")), 1)
        self.trainctl("cancel", job)
        self.wait_for_end(job)

    def test_an_evaluation_is_no_work_of_a_rank(self):
        code, job = self.run_job(
            endless_job(
                devices=2,
                data__max_rows=256,
                data__val_split_fraction=0.5,  # far more work than a step
                eval__every_steps=2,
                train__max_steps=8,
            )
        )
        self.assertEqual(code, 0, job)
        evaluations = self.points(job["id"], "evaluation_seconds")
        self.assertEqual([point["step"] for point in evaluations], [1, 3, 5, 7])
        work = self.points(job["id"], "work_seconds")
        self.assertEqual({point["rank"] for point in work}, {0, 1})
        behind = [point["value"] for point in work if point["step"] in (2, 4, 6)]
        self.assertEqual(len(behind), 2 * 3)
        self.assertLess(min(behind), min(point["value"] for point in evaluations) / 2)


if __name__ == "__main__":
    unittest.main()
