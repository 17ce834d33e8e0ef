"""The dashboard of a cluster, opened in a real Chromium."""

import contextlib
import os
import pathlib
import sqlite3
import unittest

import browser
from cluster import ClusterTest

HOSTILE = "<script>document.title='taken'<img src=x onerror=alert(1)>"
# Pictures are kept there where it is named: CI's artifacts.
PICTURES = os.environ.get("TRAINCTL_PICTURES")

# The chart of a figure with this title.
CHART = """
const chartOf = (place, title = "") => Chart.getChart(
  [...document.querySelectorAll(`${place} figure`)].find(
    (figure) => figure.querySelector("b").textContent.startsWith(title))?.querySelector("canvas"));
const pixelsOf = (chart) => {
  const { width, height } = chart.canvas, copy = document.createElement("canvas");
  Object.assign(copy, { width, height });
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(chart.canvas, 0, 0);
  const { data } = pen.getImageData(0, 0, width, height);
  return { scale: width / chart.width, width, height, data };
};
"""


@unittest.skipIf(browser.why_not(), browser.why_not())
class DashboardCase(ClusterTest):
    """One cluster and one browser for all tests of a class. A test finds jobs that have ended, and
    a tab of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        shared = type(self)
        if "dir" not in vars(shared):
            self.make_cluster(shared.addClassCleanup)
            shared.dir = self.dir
            self.up()
        self.addCleanup(self.end_jobs)
        self.addCleanup(self.show_logs_of_a_failure)
        self.addCleanup(self.browser.start_afresh)
        self.address = self.trainctl("ui").stdout.strip()

    def end_jobs(self):
        jobs = self.json("status")["jobs"]
        if running := [job["id"] for job in jobs if job["state"] != "FINISHED"]:
            self.trainctl("cancel", *running)
            self.trainctl("wait", *running)
        self.expect_devices_free(60)

    def query(self, sql, *parameters):
        """Rows of the coordinator's database."""
        path = f"file:{self.dir}/coordinator/coordinator.db?mode=ro"
        with contextlib.closing(sqlite3.connect(path, uri=True)) as database:
            return database.execute(sql, parameters).fetchall()

    def described(self, job):
        return self.json("describe", job)["jobs"][0]

    def timed(self, job, name, rank=None, phase=""):
        """(step, value, seconds) of a metric, as the database has them."""
        rows = self.query(
            "SELECT step, value, points.time / 1e6 FROM points JOIN series ON series.id = series "
            "WHERE job = ? AND name = ? AND rank = ? AND phase = ? ORDER BY step",
            *(int(job[1:]), name, -1 if rank is None else rank, phase),
        )
        self.assertTrue(rows, name)
        return rows

    def stored(self, job, name, rank=None, phase=""):
        return [(step, value) for step, value, _ in self.timed(job, name, rank, phase)]

    def keep_picture(self, name):
        if PICTURES:
            folder = pathlib.Path(PICTURES)
            folder.mkdir(parents=True, exist_ok=True)
            self.browser.picture(folder / f"{name}.png")

    def expect_no_faults(self):
        self.assertEqual(self.browser.faults(), [])

    def skip_without_charts(self):
        if not self.browser.run("return typeof Chart !== 'undefined'"):
            self.skipTest("this build found no Chart.js (libjs-chart.js)")

    def finished(self, job):
        """The id of the job, which has succeeded."""
        job = self.submit(job)
        self.assertEqual(self.trainctl("wait", job).returncode, 0)
        return job
