"""A job that waits for another process to make the tokens of its data."""

import fcntl
import os
import time
import unittest
import unittest.mock

from cluster import ClusterTest, endless_job, tiny_job

NAME_AT = 8  # in the file of a turn, behind the bytes that are done


class TokenTurn(ClusterTest):
    WORKERS = 1

    def up(self):
        # The cache of this test alone.
        with unittest.mock.patch.dict(os.environ, {"XDG_CACHE_HOME": str(self.dir / "cache")}):
            super().up()

    def test_a_job_says_at_once_for_whom_it_waits(self):
        first = self.submit(endless_job())
        self.wait_for_step(first, 1)
        waiting = self.submit(tiny_job(data__max_rows=63))
        made = list(self.dir.rglob("*.tokens"))
        self.assertTrue(made)
        turns = []
        for tokens in made:  # as if a process that is frozen were making them
            tokens.unlink()
            turns.append(os.open(f"{tokens}.turn", os.O_RDWR | os.O_CREAT, 0o644))
            fcntl.flock(turns[-1], fcntl.LOCK_EX)
            os.pwrite(turns[-1], b"j77 (process 12)", NAME_AT)
        self.assertEqual(self.trainctl("cancel", first).returncode, 0)
        said = "waits for j77 (process 12), which makes the same tokens"
        self.eventually(
            "it says for whom it waits",
            30,
            lambda: said in str(self.json("describe", waiting)["jobs"][0]["events"]),
        )
        self.assertEqual(self.job(waiting)["step"], 0)
        # What looks at the data has an answer to give.
        begin = time.monotonic()
        dry = self.trainctl("submit", self.write_job(tiny_job(data__max_rows=63)), "--dry-run")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertIn("waited for j77 (process 12), which makes the same tokens", dry.stdout)
        self.assertEqual(self.job(waiting)["step"], 0)
        for turn in turns:
            os.close(turn)
        self.assertEqual(self.wait_for_end(waiting)["outcome"], "SUCCEEDED")


if __name__ == "__main__":
    unittest.main()
