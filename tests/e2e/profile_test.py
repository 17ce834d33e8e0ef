"""A profiled job: its table, its trace, and that the two say the same."""

import json
import unittest

from cluster import SharedClusterTest, endless_job, tiny_job

KINDS = (
    "matmul",
    "attention",
    "optimizer",
    "other",
    "communication",
    "copies",
    "data",
    "host",
)
TOLD = range(2, 5)
MORE_STEPS_THAN_A_LOOK_TAKES = 100
COPIES = ("copy", "aten::fill_", "aten::zero", "aten::cat")
RANGES = ("attention", "optimizer", "data", "collective")


def spans(events, wanted):
    """(begin, end) in microseconds of the complete events that are wanted, by name."""
    return [
        (event["ts"], event["ts"] + event["dur"], event["name"])
        for event in events
        if event.get("ph") == "X" and wanted(event)
    ]


def covered(parts, begin, end):
    """How much of [begin, end) the parts cover together."""
    total, done = 0.0, begin
    for part_begin, part_end in sorted((a, b) for a, b, _ in parts):
        total += max(0.0, min(part_end, end) - max(part_begin, done))
        done = max(done, min(part_end, end))
    return total


class Profile(SharedClusterTest):
    def profiled(self, **changes):
        settings = {
            "name": "profiled",
            "train__max_steps": 8,
            "output__dir": str(self.dir / "out"),
            "profile": {"steps": 3, "skip": 2},
            **changes,
        }
        code, job = self.run_job(tiny_job(**settings))
        self.assertEqual(code, 0, job)
        return job["id"]

    def summaries(self, job_id):
        """{(metric, rank): mean over steps}"""
        detail = self.json("describe", job_id)["jobs"][0]
        return {(s["name"], s["rank"]): s["mean"] for s in detail["summaries"]}

    def trace(self, job_id, rank):
        out = self.dir / f"copy-{rank}"
        result = self.trainctl("artifacts", "get", job_id, f"rank-{rank}.json", out)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads((out / f"rank-{rank}.json").read_text())["traceEvents"]

    def test_the_table_is_what_the_trace_says(self):
        job_id = self.profiled(devices=2, train__micro_batch_size=1)
        means = self.summaries(job_id)
        listed = self.json("artifacts", "ls", job_id)["artifacts"]
        self.assertEqual(
            [(a["kind"], a["name"], a["rank"]) for a in sorted(listed, key=lambda a: a["rank"])],
            [("profile", "rank-0.json", 0), ("profile", "rank-1.json", 1)],
        )
        for rank in (0, 1):
            whole = means["profile_step_seconds", rank]
            kinds = {kind: means[f"profile_{kind}_seconds", rank] for kind in KINDS}
            self.assertAlmostEqual(sum(kinds.values()), whole, delta=1e-9)
            self.assertGreater(kinds["matmul"], 0)

            events = self.trace(job_id, rank)
            named = spans(events, lambda e: e.get("cat") == "user_annotation")
            steps = [span for span in named if span[2] in {f"step {step}" for step in TOLD}]
            self.assertEqual(len(steps), len(TOLD))
            # Microseconds are rounded in the file.
            from_trace = sum(end - begin for begin, end, _ in steps) / len(steps) / 1e6
            self.assertAlmostEqual(from_trace, whole, delta=1e-5)
            for kind, name in (("optimizer", "optimizer"), ("communication", "collective")):
                parts = [span for span in named if span[2] == name]
                seconds = sum(covered(parts, begin, end) for begin, end, _ in steps)
                self.assertGreater(seconds, 0, name)
                self.assertAlmostEqual(seconds / len(steps) / 1e6, kinds[kind], delta=1e-4)
            products = spans(events, lambda e: e["name"] in ("aten::mm", "aten::addmm"))
            # What a product copies is a copy; a slice of time lost there is as long as any.
            copies = spans(events, lambda e: any(part in e["name"] for part in COPIES))
            others = [span for span in named if span[2] in RANGES] + copies
            seconds = sum(
                covered(products + others, begin, end) - covered(others, begin, end)
                for begin, end, _ in steps
            )
            self.assertAlmostEqual(
                seconds / len(steps) / 1e6, kinds["matmul"], delta=0.05 * kinds["matmul"]
            )

    def test_people_see_it_and_compare_it(self):
        first = self.profiled()
        text = self.trainctl("describe", first).stdout
        self.assertIn("Profile: 3 steps", text)
        for label in ("matrix products", "attention", "exposed communication", "host gaps"):
            self.assertIn(label, text)
        second = self.profiled(
            name="longer", train__max_seq_length=32, output__dir=str(self.dir / "out-2")
        )
        rows = {row["key"]: row for row in self.json("compare", first, second)["rows"]}
        for kind in (*KINDS, "step"):
            values = rows[f"profile_{kind}_seconds"]["values"]
            self.assertEqual([value for value in values if value is None], [], kind)

    def test_no_trace_is_written_to_a_folder_that_another_job_has_taken(self):
        out = self.dir / "out"
        job_id = self.submit(
            endless_job(
                output__dir=str(out),
                profile={"steps": 1, "skip": MORE_STEPS_THAN_A_LOOK_TAKES},
                train__global_batch_size=16,
            )
        )
        self.wait_for_step(job_id, 1)
        owner = {"site": "another", "job": "j9", "name": "other"}
        (out / ".trainctl" / "owner-2.json").write_text(json.dumps(owner))
        said = f"profile: no trace is written: {out} is now that of j9 (other)"
        self.eventually(said, 300, lambda: said in self.trainctl("describe", job_id).stdout)
        self.assertFalse((out / "profile").exists())
        self.trainctl("cancel", job_id)
        self.wait_for_end(job_id)

    def test_a_job_without_it_has_none(self):
        code, job = self.run_job(tiny_job())
        self.assertEqual(code, 0, job)
        self.assertNotIn("Profile", self.trainctl("describe", job["id"]).stdout)
        self.assertFalse(
            [name for name, _ in self.summaries(job["id"]) if name.startswith("profile")]
        )


if __name__ == "__main__":
    unittest.main()
