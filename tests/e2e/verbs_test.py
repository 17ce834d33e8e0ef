"""What is kept of jobs: sweeps over settings, exports, and the models they saved."""

import csv
import os
import re
import shutil
import subprocess
import unittest
import unittest.mock

from cluster import BIN, SharedClusterTest, tiny_job

TOO_LITTLE = "2400KiB"  # weights and moments fit, a step does not


class Verbs(SharedClusterTest):
    def succeeded(self, **changes):
        """The job, which all tests that ask for the same one share."""
        code, job = self.once(str(changes), lambda: self.run_job(tiny_job(**changes)))
        self.assertEqual(code, 0, job)
        return job

    def saved_job(self):
        """The id of a job that has saved its model, and where."""
        out = self.site / "model"
        return self.succeeded(output__dir=str(out), output__save="final")["id"], out

    def test_an_export_can_be_read_and_submitted_again(self):
        job = self.succeeded(devices=2, strategy="ddp")
        folder = self.dir / "export"
        result = self.trainctl("export", job["id"], folder)
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(folder / "metrics.csv", newline="") as lines:
            losses = [row for row in csv.DictReader(lines) if row["name"] == "loss"]
        self.assertEqual([int(row["step"]) for row in losses], list(range(6)))
        self.assertEqual([float(row["value"]) for row in losses], self.losses(job["id"]))
        for rank in range(2):
            self.assertTrue((folder / "logs" / "attempt-1" / f"rank-{rank}.log").exists())
        self.assertIn("SUCCEEDED", (folder / "README.md").read_text())
        self.assertIn("Memory, predicted and measured", (folder / "report.md").read_text())
        again = self.json("submit", folder / "job.json", "--name", "again")
        self.assertEqual(self.trainctl("wait", again["id"]).returncode, 0)

    def test_the_log_of_a_job_that_goes_well_tells_of_its_steps(self):
        job = self.succeeded(devices=2, strategy="ddp")
        lines = self.trainctl("logs", job["id"], "--rank", "0").stdout.splitlines()
        self.assertTrue(any("training" in line for line in lines), lines)
        last = [line for line in lines if "step 6/6" in line and "tokens/s" in line]
        self.assertEqual(len(last), 1, lines)
        self.assertIn(f"loss {self.losses(job['id'])[-1]:.4g}  ", last[0])
        self.assertEqual(self.trainctl("logs", job["id"], "--rank", "1").stdout, "")

    def expect_files_made(self, job_id, folder, verbs, begin):
        folder.mkdir()
        for verb, name in verbs:
            with self.subTest(name):
                result = self.trainctl(verb, job_id, "-o", folder / name)
                self.assertEqual(result.returncode, 0, result.stderr)
                made = (folder / name).read_bytes()
                self.assertTrue(made.startswith(begin), made[:16])
                self.assertGreater(len(made), 2000)
        self.assertEqual(len(list(folder.iterdir())), len(verbs), "nothing else is left there")

    def test_pictures_are_painted_without_any_other_program(self):
        job = self.succeeded()
        verbs = (("plot", "loss.png"), ("compare", "bars.png"))
        with unittest.mock.patch.dict(os.environ, PATH=str(self.dir)):
            self.expect_files_made(job["id"], self.dir / "pictures", verbs, b"\x89PNG")

    @unittest.skipIf(shutil.which("chromium") is None, "no chromium on this host")
    def test_pages_are_printed_by_a_real_chromium(self):
        job = self.succeeded()
        verbs = (("compare", "table.pdf"), ("report", "report.pdf"))
        folder = self.dir / "a folder & more"
        self.expect_files_made(job["id"], folder, verbs, b"%PDF")
        for verb, name in verbs:
            page = folder / f"{verb}.html"
            self.assertEqual(self.trainctl(verb, job["id"], "-o", page).returncode, 0)
            title = re.search("<title>(.+?)</title>", page.read_text())[1]
            written = title.replace("(", r"\(").replace(")", r"\)")
            self.assertIn(f"/Title ({written})".encode(), (folder / name).read_bytes())

    def test_a_saved_model_is_listed_and_copied(self):
        job_id, out = self.saved_job()
        [artifact] = self.json("artifacts", "ls", job_id)["artifacts"]
        size = sum(path.stat().st_size for path in self.saved_files(out))
        self.assertEqual((artifact["path"], artifact["bytes"]), (str(out), size))
        self.assertEqual(self.trainctl("artifacts", "get", job_id, self.dir / "copy").returncode, 0)
        self.expect_same(out, self.dir / "copy")

    def test_a_model_that_is_not_on_this_machine_comes_through_the_coordinator(self):
        job_id, out = self.saved_job()
        if (
            shutil.which("unshare") is None
            or subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode != 0
        ):
            self.skipTest("a path can't be hidden from trainctl alone: no user namespaces here")
        hidden = (
            f"mount -t tmpfs none '{out}' && "
            f"exec '{BIN}/trainctl' artifacts get {job_id} '{self.dir}/copy' "
            f"--server {self.coordinator_address()}"
        )
        result = subprocess.run(
            ["unshare", "-rm", "sh", "-c", hidden], capture_output=True, text=True, timeout=120
        )
        self.assertEqual(result.returncode, 0, result.stderr)
        self.expect_same(out, self.dir / "copy")

    @staticmethod
    def saved_files(folder):
        """Without whose the folder is."""
        return [
            path for path in folder.rglob("*") if path.is_file() and ".trainctl" not in path.parts
        ]

    def expect_same(self, folder, copy):
        wanted = {path.relative_to(folder): path.read_bytes() for path in self.saved_files(folder)}
        found = {
            path.relative_to(copy): path.read_bytes() for path in copy.rglob("*") if path.is_file()
        }
        self.assertEqual(wanted.keys(), found.keys())
        self.assertTrue(all(found[path] == content for path, content in wanted.items()))

    def test_a_sweep_keeps_the_global_batch_and_shows_time_and_memory(self):
        path = self.write_job(tiny_job())
        points = self.json("sweep", path, "--set", "train.micro_batch_size=1,4", "--wait")["points"]
        self.assertEqual([point["outcome"] for point in points], ["SUCCEEDED", "SUCCEEDED"])
        self.assertEqual(
            [point["settings"]["train.micro_batch_size"] for point in points], ["1", "4"]
        )
        for point in points:
            self.assertGreater(point["step_seconds"], 0)
            self.assertGreater(point["peak_allocated_bytes"], 0)
            self.assertGreater(point["predicted_peak_bytes"], 0)
        jobs = [self.json("describe", point["id"])["jobs"][0]["job"] for point in points]
        self.assertEqual([job["train"]["global_batch_size"] for job in jobs], [4, 4])

    def test_a_sweep_stops_at_the_first_that_is_out_of_memory(self):
        known = self.job_ids()
        path = self.write_job(tiny_job(resources__gpu_memory_limit=TOO_LITTLE))
        points = self.json("sweep", path, "--set", "train.micro_batch_size=2,4", "--stop-at-oom")[
            "points"
        ]
        self.assertEqual([point["outcome"] for point in points], ["OOM_GPU", "skipped"])
        self.assertEqual(len(self.job_ids()), len(known) + 1)


if __name__ == "__main__":
    unittest.main()
