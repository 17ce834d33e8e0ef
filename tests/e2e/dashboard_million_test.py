"""A job of a million points, opened in a real Chromium: how soon its curves are drawn, what the
page and the coordinator work for it beside what they work for a job of few, and how much is sent.
The bar of a second is measured by what it prints: processors differ."""

import os
import pathlib
import unittest

from cluster import tiny_job
from dashboard import DashboardCase

STEPS = 100_000
FEW = 100
SPIKE = 77_777  # a step whose loss is far from all others
# Metric, its rank, and its value at a step; -1: the gang's.
SERIES = (
    ("loss", -1, f"iif(step = {SPIKE}, 50, 3 + step * -2e-5)"),
    ("lr", -1, "step * 1e-9"),
    ("tokens_per_second", -1, "20000 + step % 97"),
    ("step_seconds", -1, "0.1 + step % 89 * 1e-4"),
    ("grad_norm", -1, "1 + step % 83 * 0.01"),
    ("gpu_memory_used_bytes", 0, "1e10 + step % 79 * 1e6"),
    ("gpu_utilization_percent", 0, "50.0 + step % 47"),
    ("gpu_power_watts", 0, "600.0 + step % 71"),
    ("rank_cpu_percent", 0, "90.0 + step % 11"),
    ("rank_memory_used_bytes", 0, "2e9 + step % 67 * 1e5"),
)
# When the first curve is on the screen.
WATCH = """
new MutationObserver((_, watcher) => {
  if (!document.querySelector("#curves figure")) return;
  watcher.disconnect();
  requestAnimationFrame(() => { window.firstCurve = performance.now(); });
}).observe(document, { childList: true, subtree: true });
"""
SENT = """
const all = [...performance.getEntriesByType("navigation"),
  ...performance.getEntriesByType("resource")];
const sum = (found) => found.reduce((bytes, one) => bytes + one.transferSize, 0);
return [sum(all), sum(all.filter((one) => one.name.includes("/api/series")))];
"""
DRAWN = """
const figures = [...document.querySelectorAll("#curves figure")];
return figures.length === arguments[0] && figures.map((figure) => [
  figure.querySelector("b").textContent,
  Chart.getChart(figure.querySelector("canvas")).data.datasets[0].data.map(({x, y}) => [x, y])]);
"""
TITLES = (
    *("Loss", "Learning rate", "Tokens per second", "Seconds per step", "Gradient norm"),
    *("GPU memory used", "GPU utilization", "GPU power", "CPU of the ranks"),
    "Host memory of the ranks",
)
MOST_CURVES = 128  # of a metric
MOST_TIMES = 3  # the processor time of few points
MOST_BYTES = 500_000


class DashboardMillionTest(DashboardCase):
    def coordinator_seconds(self):
        """Of a processor, since it began."""
        stat = pathlib.Path(f"/proc/{self.process('traincoordinator').pid}/stat").read_text()
        user, system = stat.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def expect_curve(self, title, points, series):
        """Few points, among them the least and the most, each at the steps that were done."""
        name, rank, _ = series
        self.assertLessEqual(len(points), 600, title)
        [ends] = self.query_database(
            "SELECT MIN(value), MAX(value), MIN(step) + 1, MAX(step) + 1 FROM points "
            "JOIN series ON series.id = series WHERE name = ? AND rank = ?",
            *(name, rank),
        )
        steps, values = zip(*points, strict=True)
        self.assertEqual((min(values), max(values), steps[0], steps[-1]), ends, title)
        self.assertEqual(list(steps), sorted(steps), title)

    def worked(self):
        """Seconds of a processor until now by the coordinator, and by the page."""
        return self.coordinator_seconds(), self.browser.page_seconds()

    def opened(self, job, curves):
        """Its curves by title; seconds of a processor by the coordinator and by the page."""
        before = self.worked()
        self.browser.open(f"{self.address}job?job={job}")
        self.browser.wait("return window.firstCurve")
        self.skip_without_charts()
        drawn = dict(self.browser.wait(DRAWN, curves))
        return drawn, *(now - then for now, then in zip(self.worked(), before, strict=True))

    def test_a_job_of_a_million_points_costs_as_little_to_open_as_one_of_few(self):
        job = self.finished(tiny_job())
        self.browser.command("Page.addScriptToEvaluateOnNewDocument", source=WATCH)
        self.browser.count_processor_time()
        self.fill(job, FEW, SERIES)
        _, *of_few = self.opened(job, len(SERIES))
        self.browser.open("about:blank")
        self.fill(job, STEPS, SERIES)
        drawn, site, page = self.opened(job, len(SERIES))
        first = self.browser.run("return window.firstCurve") / 1000
        sent, of_curves = self.browser.run(SENT)
        print(
            f"first curve after {first:.2f} s; all {len(SERIES)}: {site:.2f} s of a processor by",
            f"the coordinator, {page:.2f} s by the page, {sum(of_few):.2f} s by both where there",
            f"are {FEW} steps; {sent:,} bytes, {of_curves:,} of curves",
        )
        self.assertEqual(set(drawn), set(TITLES))
        for title, series in zip(TITLES, SERIES, strict=True):
            self.expect_curve(title, drawn[title], series)
        self.assertIn([SPIKE + 1, 50], drawn["Loss"])
        self.assertLess(site + page, MOST_TIMES * sum(of_few), "seconds of processors")
        self.assertLess(sent, MOST_BYTES)
        self.keep_picture("million")
        self.expect_no_faults()

    def test_curves_of_more_ranks_than_are_drawn_are_counted(self):
        job = self.finished(tiny_job())
        ranks = [("rank_cpu_percent", rank, f"{rank} + step") for rank in range(MOST_CURVES + 3)]
        self.fill(job, FEW, ranks)
        self.browser.open(f"{self.address}job?job={job}")
        said = self.browser.wait(
            "return document.querySelector('#curves figcaption span')?.textContent"
        )
        self.assertEqual(said, "3 more curves left out")
        rows = "return document.querySelectorAll('#curves tbody tr').length"
        self.assertEqual(self.browser.run(rows), MOST_CURVES)
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
