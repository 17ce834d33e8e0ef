"""How jobs end, and what is known of them then."""

import json
import re
import signal
import unittest

from cluster import SharedClusterTest, endless_job, tiny_job

TINY_PARAMETERS = 180_800
TOO_LITTLE = "2400KiB"  # weights and moments fit, a step does not


def catches(pid, number=signal.SIGINT):
    """Whether the process has a handler of its own for this signal."""
    with open(f"/proc/{pid}/status") as status:
        [mask] = [line.split()[1] for line in status if line.startswith("SigCgt:")]
    return int(mask, 16) >> (number - 1) & 1


class Outcomes(SharedClusterTest):
    def test_a_job_succeeds_and_its_numbers_are_there(self):
        code, job = self.run_job(tiny_job(data__val_split_fraction=0.125))
        self.assertEqual(
            (code, job["state"], job["outcome"], job["step"], job["steps"]),
            (0, "FINISHED", "SUCCEEDED", 6, 6),
            job,
        )
        losses = self.points(job["id"], "loss")
        self.assertEqual(
            [(point["step"], point["rank"]) for point in losses],
            [(step, None) for step in range(6)],
        )
        self.assertTrue(
            all(5 < point["value"] < 8 for point in losses), losses
        )  # ln 512 = 6.2: the weights are random
        for name in (
            "step_seconds",
            "tokens_per_second",
            "trained_tokens_per_second",
            "samples_per_second",
            "lr",
            "val_loss",
            "memory_params_bytes",
            "memory_optimizer_bytes",
            "memory_peak_allocated_bytes",
        ):
            self.assertTrue(self.points(job["id"], name), name)
        for point in self.points(job["id"], "memory_params_bytes"):
            self.assertAlmostEqual(
                point["value"], TINY_PARAMETERS * 4, delta=TINY_PARAMETERS * 4 / 50
            )  # each tensor is padded
        self.expect_devices_free(60)

    def test_the_host_and_the_rank_are_sampled_where_there_is_no_gpu(self):
        job_id = self.submit(endless_job())
        for name in (
            "host_cpu_percent",
            "host_memory_used_bytes",
            "rank_cpu_percent",
            "rank_memory_used_bytes",
        ):
            self.eventually(f"a point of {name}", 30, lambda name=name: self.points(job_id, name))

    def test_the_loss_falls_on_data_that_is_learnt(self):
        code, job = self.run_job(
            tiny_job(data__max_rows=4, train__max_steps=30, optimizer__lr=5e-3)
        )
        self.assertEqual(code, 0, job)
        losses = self.losses(job["id"])
        self.assertLess(losses[-1], losses[0] - 1)

    def test_the_final_model_is_a_hugging_face_folder(self):
        out = self.dir / "out"
        code, job = self.run_job(tiny_job(output__dir=str(out), output__save="final"))
        self.assertEqual(code, 0, job)
        self.assertLessEqual(
            {"config.json", "tokenizer.json", "model.safetensors"},
            {path.name for path in out.rglob("*")},
        )

    def test_a_lab_file_runs_all_and_compares_them(self):
        base = tiny_job()
        del base["name"]
        lab = self.dir / "lab.json"
        lab.write_text(
            json.dumps(
                {
                    "base": base,
                    "experiments": [
                        {"name": "micro-2", "set": {}},
                        {"name": "micro-4", "set": {"train.micro_batch_size": 4}},
                    ],
                }
            )
        )
        submitted = self.json("submit", lab)
        self.assertEqual([job["name"] for job in submitted["jobs"]], ["micro-2", "micro-4"])
        self.assertEqual(self.trainctl("wait", submitted["group"]).returncode, 0)
        compared = self.json("compare", submitted["group"])
        rows = {row["key"]: row["values"] for row in compared["rows"]}
        self.assertEqual(rows["train.micro_batch_size"], [2, 4])
        self.assertEqual(rows["outcome"], ["SUCCEEDED", "SUCCEEDED"])
        self.assertTrue(all(seconds > 0 for seconds in rows["time_seconds"]))
        self.assertGreater(
            rows["memory_peak_allocated_bytes"][1], rows["memory_peak_allocated_bytes"][0]
        )

    def test_out_of_memory_is_an_outcome(self):
        code, job = self.run_job(tiny_job(resources__gpu_memory_limit=TOO_LITTLE), "--force")
        self.assertEqual((code, job["outcome"]), (11, "OOM_GPU"), job)
        self.assertIn("rank 0", job["message"])
        [attempt] = self.json("describe", job["id"])["jobs"][0]["attempts"]
        detail = attempt["oom"]
        self.assertEqual((detail["rank"], detail["limit_bytes"]), (0, 2400 << 10))
        self.assertEqual(detail["phase"], "forward")
        self.assertGreater(detail["requested_bytes"], 0)
        self.assertGreater(detail["memory"]["params"], 0)
        compared = {row["key"]: row["values"] for row in self.json("compare", job["id"])["rows"]}
        self.assertEqual(compared["outcome"], ["OOM_GPU"])
        self.expect_devices_free(60)

    def test_a_loss_that_is_no_number_is_an_outcome_of_its_own(self):
        out = self.dir / "out"
        code, job = self.run_job(
            tiny_job(
                train__max_steps=100,
                optimizer__lr=1e30,
                resources__max_restarts=2,
                output__dir=str(out),
                output__save="final",
            )
        )
        self.assertEqual((code, job["outcome"], job["attempt"]), (13, "DIVERGED", 1), job)
        self.assertRegex(job["message"], r"is (nan|-?inf) after step \d")
        self.assertLess(job["step"], 6)
        self.assertFalse(list(out.rglob("*.safetensors")))
        compared = {row["key"]: row["values"] for row in self.json("compare", job["id"])["rows"]}
        self.assertEqual(compared["outcome"], ["DIVERGED"])
        self.assertNotIn("loss", compared)
        self.expect_devices_free(60)

    def test_an_evaluation_longer_than_the_step_timeout_is_progress_and_is_shown(self):
        rows = self.dir / "rows.jsonl"
        rows.write_text('{"text": "one two three four five six seven eight nine ten"}\n' * 10000)
        job_id = self.submit(
            tiny_job(
                data={"path": str(rows), "format": "text", "val_split_fraction": 0.99},
                train__micro_batch_size=1,
                train__max_steps=1,
                resources__step_timeout="3s",
            )
        )
        seen = self.eventually(
            "the evaluation is shown",
            120,
            lambda: re.fullmatch(
                r"evaluating (\d+)/9900", self.json("status", job_id)["jobs"][0]["reason"] or ""
            ),
        )
        self.assertLess(int(seen[1]), 9900)
        job = self.wait_for_end(job_id, 400)
        self.assertEqual(job["outcome"], "SUCCEEDED", job)
        [took] = self.points(job_id, "evaluation_seconds")
        self.assertGreater(took["value"], 3)

    def test_what_is_predicted_not_to_fit_is_refused_with_the_settings_that_would(self):
        result = self.trainctl(
            "submit", self.write_job(tiny_job(resources__gpu_memory_limit=TOO_LITTLE))
        )
        self.assertEqual(result.returncode, 2, result.stderr)
        self.assertIn("predicted peak", result.stderr)
        self.assertIn("--force", result.stderr)

    def test_out_of_memory_that_was_expected_is_as_expected(self):
        code, job = self.run_job(tiny_job(resources__gpu_memory_limit=TOO_LITTLE, expect="OOM"))
        self.assertEqual((code, job["outcome"], job["as_expected"]), (0, "OOM_GPU", True), job)

    def test_an_expectation_that_is_not_met_is_a_failure(self):
        code, job = self.run_job(tiny_job(expect="OOM"))
        self.assertEqual((code, job["outcome"], job["as_expected"]), (10, "SUCCEEDED", False), job)

    def test_cancel_ends_the_ranks_and_frees_the_devices(self):
        job_id = self.submit(endless_job(devices=2))
        self.wait_for_step(job_id, 1)
        self.assertEqual(self.trainctl("cancel", job_id).returncode, 0)
        self.expect_devices_free(60)
        self.assertEqual(self.trainctl("wait", job_id).returncode, 12)
        self.assertEqual(self.job(job_id)["outcome"], "CANCELLED")
        self.assertEqual(self.processes("trainshim"), [])

    def test_a_queued_job_waits_for_a_device_says_why_and_can_be_cancelled(self):
        running = self.submit(endless_job(devices=2))
        self.wait_for_step(running, 1)
        waiting = self.submit(tiny_job(name="waiting"))
        job = self.job(waiting)
        self.assertEqual(job["state"], "QUEUED")
        self.assertTrue(job["reason"])
        self.assertEqual(self.trainctl("cancel", waiting).returncode, 0)
        self.assertEqual(self.trainctl("wait", waiting).returncode, 12)
        self.assertEqual(self.job(running)["state"], "RUNNING")

    def test_a_time_limit_ends_the_job(self):
        code, job = self.run_job(endless_job(resources__time_limit="3s"))
        self.assertEqual((code, job["outcome"]), (14, "TIMEOUT"), job)
        self.expect_devices_free(60)

    def test_ctrl_c_of_a_waiting_trainctl_leaves_the_job_running(self):
        job_id = self.submit(endless_job())
        self.wait_for_step(job_id, 1)
        with self.start_trainctl("wait", job_id) as waiting:
            self.eventually("it has its own answer to Ctrl-C", 60, lambda: catches(waiting.pid))
            waiting.send_signal(signal.SIGINT)
            waiting.communicate(timeout=60)
        self.assertEqual(waiting.returncode, 130)
        self.assertEqual(self.job(job_id)["state"], "RUNNING")


if __name__ == "__main__":
    unittest.main()
