""" "micro_batch_size": "auto": chosen by the estimate, proven by a trial, halved where the estimate
was too optimistic."""

import json
import unittest

from cluster import ClusterTest, endless_job, tiny_job

LIMIT = "32MiB"
SHORT, LONG = "word " * 4, "word " * 200


class AutoMicroBatch(ClusterTest):
    def auto_job(self, **changes):
        return tiny_job(
            **{
                "name": "auto",
                "deterministic": True,
                "data__path": str(self.rows),
                "data__format": "text",
                "data__max_rows": None,
                "train__max_seq_length": 256,
                "train__global_batch_size": 64,
                "train__micro_batch_size": "auto",
                "train__max_steps": 2,
                "resources__gpu_memory_limit": LIMIT,
                **changes,
            }
        )

    def write_rows(self, longest):
        self.rows = self.dir / "rows.json"
        self.rows.write_text(
            json.dumps(
                [{"text": SHORT} for _ in range(64)] + [{"text": longest} for _ in range(64)]
            )
        )

    def described(self, job_id):
        return self.json("describe", job_id)["jobs"][0]

    def test_the_estimates_choice_is_proven_and_trains_as_the_number_does(self):
        self.write_rows(LONG)
        for changes in ({"devices": 1}, {"devices": 2, "strategy": "fsdp"}):
            code, job = self.run_job(self.auto_job(**changes))
            self.assertEqual(code, 0, job)
            detail = self.described(job["id"])
            proven = detail["auto_micro_batch"]
            self.assertEqual(proven["proven_by"], 1, detail["events"])
            self.assertEqual(proven["estimated"], proven["size"])
            self.assertGreater(proven["size"], 1)
            code, number = self.run_job(
                self.auto_job(train__micro_batch_size=proven["size"], **changes)
            )
            self.assertEqual(code, 0, number)
            self.assertEqual(self.described(number["id"])["auto_micro_batch"], None)
            self.assertEqual(self.losses(job["id"]), self.losses(number["id"]))

    def test_an_estimate_of_other_data_is_halved_until_it_fits(self):
        """The data grow while the job waits: what was inspected at submit is no longer what is
        trained on."""
        blocker = self.submit(endless_job(devices=2))
        self.write_rows(SHORT)
        auto = self.submit(self.auto_job())
        self.write_rows(LONG)
        self.trainctl("cancel", blocker)
        job = self.wait_for_end(auto)
        self.assertEqual(job["outcome"], "SUCCEEDED", job)
        detail = self.described(auto)
        proven = detail["auto_micro_batch"]
        self.assertLess(proven["size"], proven["estimated"], detail["events"])
        self.assertEqual(
            [attempt["trial"] for attempt in detail["attempts"]],
            ["failed"] * (proven["proven_by"] - 1) + ["passed"],
        )
        self.assertEqual(detail["job"]["train"]["global_batch_size"], 64)
        self.assertIn(
            f"auto: {proven['estimated']} by the estimate, {proven['size']} proven by trial",
            self.trainctl("describe", auto).stdout,
        )

        number = self.submit(self.auto_job(train__micro_batch_size=proven["size"]), "--force")
        self.assertEqual(self.wait_for_end(number)["outcome"], "SUCCEEDED")
        self.assertEqual(self.losses(auto), self.losses(number))
        rows = {row["key"]: row["values"] for row in self.json("compare", auto, number)["rows"]}
        self.assertNotIn(
            "train.micro_batch_size", rows, "the same, so it is not among what changed"
        )


if __name__ == "__main__":
    unittest.main()
