"""What is counted for people adds up: prices of ways, and a class's runs beside the database."""

import re
import unittest

from cluster import SharedClusterTest, tiny_job

PRICE = 250_000  # a device and hour: a tiny job takes seconds
RUNS = """
SELECT jobs.name, COUNT(*), SUM(outcome = 'SUCCEEDED'), MAX(jobs.id) FILTER (WHERE outcome = ?)
FROM jobs JOIN job_status ON job = jobs.id GROUP BY jobs.name
"""


class Sums(SharedClusterTest):
    def test_the_price_of_each_way_is_that_of_all_its_devices_for_all_its_time(self):
        file = self.write_job(tiny_job())
        words = ("advise", file, "--all", "--price", f"{PRICE}/GPUh")
        document = self.json(*words)
        ways = document["ways"]
        self.assertEqual({way["devices"] for way in ways}, {1, 2})
        for way in (document["as_asked"], *ways):
            cost = PRICE * way["devices"] * way["total_seconds"] / 3600
            self.assertAlmostEqual(way["price"], cost, delta=1e-6 * cost)
        printed = self.trainctl(*words).stdout
        (titles,) = re.findall("^TIME .*$", printed, re.M)
        table = printed.split(titles + "\n")[1].split("\n\n")[0].splitlines()
        columns = re.split(" {2,}", titles)
        for row, way in zip(table[: len(ways)], ways, strict=True):
            cells = dict(zip(columns, re.split(" {2,}", row.strip()), strict=True))
            self.assertEqual(cells["DEVICES"], str(way["devices"]), row)
            self.assertEqual(cells["PRICE"], f"{way['price']:.2f}", row)
            self.assertEqual(cells["CHANGES"], way["overrides"] or "(as the file has it)", row)

    def test_what_a_class_has_run_is_what_the_database_has(self):
        lab = {
            "base": tiny_job(),
            "experiments": [
                {"name": "often", "set": {}},
                {"name": "once", "set": {"lora.r": 4}},
                {"name": "never", "set": {"train.max_steps": 2}},
            ],
        }
        file = self.write_job(lab)
        often, once = tiny_job(name="often"), tiny_job(name="once", lora__r=4)
        fails = tiny_job(name="often", resources__gpu_memory_limit="1MiB")
        for job in (often, often, once, fails):
            code, _ = self.run_job(job, "--force")
            self.assertEqual(code == 0, job is not fails)
        runs = {run["experiment"]: run for run in self.json("class", file)["runs"]}
        stored = {name: rest for name, *rest in self.query_database(RUNS, "SUCCEEDED")}
        self.assertEqual(list(runs), ["often", "once", "never"])
        self.assertEqual(runs.pop("never")["runs"], 0)
        for name, run in runs.items():
            count, succeeded, newest = stored[name]
            self.assertEqual((run["runs"], run["done"]), (count, succeeded > 0), name)
            self.assertEqual(run["job"], f"j{newest}", "the newest that succeeded")
        self.assertEqual(sum(run["runs"] for run in runs.values()), 4)
        self.assertIn("2 of 3 done; remains: never", self.trainctl("class", file).stdout)


if __name__ == "__main__":
    unittest.main()
