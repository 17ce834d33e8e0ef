"""A folder belongs to one job: what two jobs, a resumed one and a sweep do to each other's work."""

import unittest

from cluster import SharedClusterTest, endless_job, tiny_job

CHECKPOINTS = {"checkpoint__every_steps": 2, "train__max_steps": 4}


class Output(SharedClusterTest):
    def files(self, folder):
        return {
            path.relative_to(folder): path.read_bytes()
            for path in folder.rglob("*")
            if path.is_file() and ".trainctl" not in path.parts
        }

    def try_submit(self, job, *options):
        return self.trainctl("submit", self.write_job(job), *options)

    def test_a_folder_with_a_model_is_refused_to_every_other_job(self):
        out = self.dir / "out"
        job = tiny_job(output__dir=str(out), output__save="final", **CHECKPOINTS)
        code, first = self.run_job(job)
        self.assertEqual(code, 0, first)
        before = self.files(out)
        refused = self.try_submit(job)
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn(f"belongs to {first['id']} (tiny)", refused.stderr)
        self.assertIn(f"trainctl rm {first['id']} --outputs frees this one", refused.stderr)
        self.assertIn("would be refused here", self.try_submit(job, "--dry-run").stdout)
        self.assertEqual(self.files(out), before)

    def test_two_live_jobs_do_not_share_a_folder(self):
        out = self.dir / "out"
        job = tiny_job(output__dir=str(out), output__save="final")
        endless = tiny_job(
            output__dir=str(self.dir / "x" / ".." / "out"),
            output__save="final",
            train__max_steps=1_000_000,
            train__epochs=1_000_000,
        )
        running = self.json("submit", self.write_job(endless))["id"]
        refused = self.try_submit(job)
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn(running, refused.stderr)
        self.trainctl("cancel", running)
        self.wait_for_end(running)
        code, after = self.run_job(job)  # it had written nothing
        self.assertEqual(code, 0, after)

    def test_of_two_spellings_of_a_folder_one_job_writes_there(self):
        out, link = self.dir / "out", self.dir / "link"
        out.mkdir()
        link.symlink_to(out)
        waits = self.submit(endless_job(devices=2))
        self.wait_for_step(waits, 1)
        jobs = [
            self.submit(
                tiny_job(
                    name=path.name,
                    output__dir=str(path),
                    output__save="final",
                    train__max_steps=60,
                )
            )
            for path in (out, link)
        ]
        self.trainctl("cancel", waits)
        ends = [self.wait_for_end(job) for job in jobs]
        outcomes = [end["outcome"] for end in ends]
        self.assertEqual(sorted(outcomes), ["FAILED", "SUCCEEDED"], ends)
        self.assertTrue((out / "model.safetensors").exists())
        loser = jobs[outcomes.index("FAILED")]
        self.assertEqual(self.points(loser, "loss"), [])  # before its first step

    def test_a_job_goes_on_from_its_own_checkpoints_only(self):
        out = self.dir / "out"
        code, first = self.run_job(tiny_job(output__dir=str(out), **CHECKPOINTS))
        self.assertEqual(code, 0, first)
        resumed = self.json("resume", first["id"], "--train.max_steps", "6")["id"]
        self.assertEqual(self.wait_for_end(resumed)["outcome"], "SUCCEEDED")
        self.assertEqual([point["step"] for point in self.points(resumed, "loss")], [4, 5])
        again = self.trainctl("resume", first["id"], "--train.max_steps", "8")
        self.assertEqual(again.returncode, 2, again.stdout)
        self.assertIn(resumed, again.stderr)
        last = self.json("resume", resumed, "--train.max_steps", "7")["id"]
        self.assertEqual(self.wait_for_end(last)["outcome"], "SUCCEEDED")
        self.assertEqual([point["step"] for point in self.points(last, "loss")], [6])

    def test_a_finished_model_is_not_overwritten_by_a_resume(self):
        out, more = self.dir / "out", self.dir / "more"
        job = tiny_job(
            output__dir=str(out), output__save="final", checkpoint__keep_last=1, **CHECKPOINTS
        )
        code, first = self.run_job(job)
        self.assertEqual(code, 0, first)
        saved = [a["path"] for a in self.json("artifacts", "ls", first["id"])["artifacts"]]
        self.assertEqual(saved, [str(out / "checkpoints" / "step-4"), str(out)])
        before = self.files(out)
        refused = self.trainctl("resume", first["id"])
        self.assertEqual(refused.returncode, 2, refused.stdout)
        self.assertIn("has made all its 4 steps, and its model is in", refused.stderr)
        longer = ("resume", first["id"], "--train.max_steps", "6")
        self.assertIn("--output.dir DIR", self.trainctl(*longer).stderr)
        elsewhere = (*longer, "--output.dir", more)
        [predicted] = self.json(*elsewhere, "--dry-run")["jobs"]
        self.assertEqual((predicted["first_step"], predicted["steps"]), (4, 6))
        time = predicted["time"]
        self.assertAlmostEqual(time["training_seconds"], 2 * time["step_seconds"])
        resumed = self.json(*elsewhere)["id"]
        self.assertEqual(self.wait_for_end(resumed)["outcome"], "SUCCEEDED")
        self.assertEqual([point["step"] for point in self.points(resumed, "loss")], [4, 5])
        self.assertEqual(self.files(out), before)

    def test_each_point_of_a_sweep_keeps_its_own_model(self):
        out = self.dir / "out"
        path = self.write_job(tiny_job(output__dir=str(out), output__save="final"))
        points = self.json("sweep", path, "--set", "optimizer.lr=0.001,0.1", "--wait")["points"]
        self.assertEqual([point["outcome"] for point in points], ["SUCCEEDED"] * 2)
        models = []
        for place, point in enumerate(points):
            copy = self.dir / f"copy-{place}"
            got = self.trainctl("artifacts", "get", point["id"], copy)
            self.assertEqual(got.returncode, 0, got.stderr)
            self.assertFalse((copy / ".trainctl").exists())
            models.append((copy / "model.safetensors").read_bytes())
        self.assertNotEqual(models[0], models[1])


if __name__ == "__main__":
    unittest.main()
