"""What is measured of a real gang: each rank's own, and numbers that agree with the rows of the
database."""

import unittest

from cluster import SharedClusterTest, endless_job, tiny_job


class Metrics(SharedClusterTest):
    def run_to_success(self, job):
        code, ended = self.run_job(job)
        self.assertEqual(code, 0, ended)
        return ended["id"]

    def rows(self, job_id):
        return {row["key"]: row["values"][0] for row in self.json("compare", job_id)["rows"]}

    def test_each_rank_of_a_gang_has_its_own_metrics(self):
        job_id = self.run_to_success(tiny_job(name="pair", devices=2))
        peaks = {}
        for rank in (0, 1):
            result = self.json("metrics", job_id, "--rank", rank)
            points = [p for p in result["points"] if p["name"] == "memory_peak_allocated_bytes"]
            self.assertTrue(points)
            self.assertEqual({point["rank"] for point in points}, {rank})
            peaks[rank] = max(point["value"] for point in points)
        stored = self.query_database(
            "SELECT rank, MAX(maximum) FROM series WHERE job = ? AND name = ? GROUP BY rank",
            int(job_id[1:]),
            "memory_peak_allocated_bytes",
        )
        self.assertEqual(dict(stored), peaks)
        gang = self.query_database(
            "SELECT DISTINCT rank FROM series WHERE name IN ('loss', 'step_seconds')"
        )
        self.assertEqual(gang, [(-1,)])
        ranks = {
            summary["rank"]
            for summary in self.json("describe", job_id)["jobs"][0]["summaries"]
            if summary["name"] == "memory_params_bytes"
        }
        self.assertEqual(ranks, {0, 1})
        self.assertEqual(self.rows(job_id)["memory_peak_allocated_bytes"], max(peaks.values()))

    def test_rates_are_totals_over_the_time_of_the_loop(self):
        job_id = self.run_to_success(tiny_job(name="one"))
        totals = dict(
            self.query_database(
                "SELECT name, SUM(value) FROM points JOIN series ON series.id = series "
                "WHERE job = ? AND rank = -1 GROUP BY name",
                int(job_id[1:]),
            )
        )
        seconds = totals["step_seconds"]
        self.assertEqual(totals["samples"], 6 * 4)
        rows = self.rows(job_id)
        self.assertAlmostEqual(rows["time_seconds"], seconds, delta=1e-9)
        for rate, counted in (
            ("samples_per_second", "samples"),
            ("tokens_per_second", "tokens"),
            ("trained_tokens_per_second", "trained_tokens"),
        ):
            self.assertAlmostEqual(rows[rate], totals[counted] / seconds, places=6)
        shown = self.job(job_id)["tokens_per_second"]
        self.assertAlmostEqual(shown, rows["tokens_per_second"], places=6)
        means = {
            summary["name"]: summary["mean"]
            for summary in self.json("describe", job_id)["jobs"][0]["summaries"]
        }
        self.assertAlmostEqual(means["tokens_per_second"], shown, places=6)

    def test_runs_beside_each_other_are_warned_of(self):
        ids = [self.submit(endless_job(name="first")), self.submit(tiny_job(name="second"))]
        self.assertEqual(self.trainctl("wait", ids[1]).returncode, 0)
        self.assertEqual(self.trainctl("cancel", ids[0]).returncode, 0)
        self.wait_for_end(ids[0])
        compared = self.json("compare", *ids)
        sections = {
            text.partition(" (")[0]: names
            for text, names in zip(compared["warnings"], compared["warning_sections"], strict=True)
        }
        self.assertIn("time", sections["runs shared a host's processors with other jobs"])
        self.assertNotIn("loss", sections["runs shared a host's processors with other jobs"])


if __name__ == "__main__":
    unittest.main()
