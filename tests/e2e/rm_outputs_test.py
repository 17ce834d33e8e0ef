"""Jobs that are removed with what they have saved: that goes, and nothing else."""

import threading
import unittest

from cluster import ClusterTest, tiny_job

SAVES_ALL = {
    "output__save": "final",
    "checkpoint__every_steps": 2,
    "train__max_steps": 4,
    "profile__steps": 1,
    "track": ["tensorboard"],
}


class RmOutputs(ClusterTest):
    def remove(self, *words):
        return self.trainctl("rm", *words, "--outputs", "--yes")

    def test_all_that_a_job_has_saved_goes_and_the_users_files_stay(self):
        out = self.dir / "out"
        (out / "parts").mkdir(parents=True)
        mine = [out / "mine.txt", out / "parts" / "mine.txt"]
        for path in mine:
            path.write_text("mine", encoding="utf-8")
        code, job = self.run_job(tiny_job(output__dir=str(out), **SAVES_ALL))
        self.assertEqual(code, 0, job)
        saved = [
            path
            for path in out.rglob("*")
            if path.is_file() and ".trainctl" not in path.parts and path not in mine
        ]
        parts = {path.relative_to(out).parts[0] for path in saved}
        self.assertLessEqual({"checkpoints", "profile", "tensorboard", "config.json"}, parts)
        [told] = self.json("rm", job["id"], "--outputs", "--dry-run")["jobs"]
        self.assertEqual(told["files"], len(saved))
        self.assertEqual(told["bytes"], sum(path.stat().st_size for path in saved))
        removed = self.remove(job["id"])
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertIn(f"{out}: stays, with mine.txt, parts/mine.txt", removed.stdout)
        self.assertEqual(sorted(path for path in out.rglob("*") if path.is_file()), mine)
        self.assertFalse((out / ".trainctl").exists())
        self.assertEqual(self.trainctl("describe", job["id"]).returncode, 3)
        entries = self.json("admin", "audit")["audit"]
        self.assertIn((f"{job['id']} {out}", "accepted"), self.audited(entries, "rm-outputs"))
        code, again = self.run_job(tiny_job(output__dir=str(out), output__save="final"))
        self.assertEqual(code, 0, again)

    def test_what_others_write_while_it_saves_is_not_the_jobs(self):
        out = self.dir / "out"
        out.mkdir()
        notes, ended = out / "notes.txt", threading.Event()

        def write_on():
            while not ended.is_set():
                with notes.open("a", encoding="utf-8") as file:
                    file.write("still here\n")

        writer = threading.Thread(target=write_on)
        writer.start()
        try:
            code, job = self.run_job(tiny_job(output__dir=str(out), output__save="final"))
        finally:
            ended.set()
            writer.join()
        self.assertEqual(code, 0, job)
        removed = self.remove(job["id"])
        self.assertEqual(removed.returncode, 0, removed.stderr)
        self.assertIn(f"{out}: stays, with notes.txt", removed.stdout)
        self.assertTrue(notes.exists())

    @staticmethod
    def audited(entries, action):
        return [(e["subject"], e["verdict"]) for e in entries if e["action"] == action]

    def test_a_folder_in_which_another_job_went_on_is_that_jobs(self):
        out = self.dir / "out"
        checkpoints = {"checkpoint__every_steps": 2, "train__max_steps": 4}
        code, first = self.run_job(tiny_job(output__dir=str(out), **checkpoints))
        self.assertEqual(code, 0, first)
        resumed = self.json("resume", first["id"], "--train.max_steps", "6")["id"]
        self.assertEqual(self.wait_for_end(resumed)["outcome"], "SUCCEEDED")
        refused = self.remove(first["id"])
        self.assertEqual(refused.returncode, 1, refused.stdout)
        self.assertIn(f"{out} belongs to {resumed} (tiny): nothing was removed", refused.stderr)
        self.assertEqual(self.trainctl("describe", first["id"]).returncode, 0)
        both = self.remove("--older-than", "0s")
        self.assertEqual(both.returncode, 0, both.stderr)
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
