"""The dashboard of a cluster, opened in a real Chromium."""

import contextlib
import os
import pathlib
import sqlite3
import unittest

import browser
from cluster import SharedClusterTest

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


FILL = """
WITH RECURSIVE steps(step) AS (SELECT 0 UNION ALL SELECT step + 1 FROM steps WHERE step + 1 < ?)
INSERT INTO points (series, step, attempt, value, time)
SELECT ?, step, 1, {}, ? + step * 1000 FROM steps
"""


@unittest.skipIf(browser.why_not(), browser.why_not())
class DashboardCase(SharedClusterTest):
    """One browser for all tests of a class. A test has a tab of its own."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.browser.start_afresh)
        self.address = self.trainctl("ui").stdout.strip()

    def fill(self, job, steps, all_series):
        """These points are all that the job has, filled in while the coordinator is away. Of each
        series its metric, its rank, -1 for the gang, and its value at a step as SQL."""
        self.process("traincoordinator").kill()
        number = int(job[1:])
        path = self.site / "coordinator" / "coordinator.db"
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            began = "SELECT started_at FROM job_status WHERE job = ?"
            [(start,)] = database.execute(began, [number])
            old = "SELECT id FROM series WHERE job = ?"
            database.execute(f"DELETE FROM points WHERE series IN ({old})", [number])
            database.execute("DELETE FROM series WHERE job = ?", [number])
            for name, rank, value in all_series:
                made = database.execute(
                    "INSERT INTO series (job, name, rank, phase, attempt, latest_step, total,"
                    " count) VALUES (?, ?, ?, '', 1, ?, 0, ?)",
                    [number, name, rank, steps - 1, steps],
                )
                database.execute(FILL.format(value), [steps, made.lastrowid, start])
        self.up()

    def described(self, job):
        return self.json("describe", job)["jobs"][0]

    def timed(self, job, name, rank=None, phase=""):
        """(steps done, value, seconds) of a metric, as the database has them."""
        rows = self.query_database(
            "SELECT step + 1, value, points.time / 1e6 FROM points "
            "JOIN series ON series.id = series "
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

    def middle_of_curves(self):
        """Left, right and a height, in pixels of the window."""
        place = self.browser.run(
            "const plot = document.querySelector('#curves .plot');"
            "plot.scrollIntoView({block: 'center'});"
            "const box = plot.getBoundingClientRect();"
            "return [box.left + box.width * 0.4, box.left + box.width * 0.7, box.top + 100]"
        )
        return tuple(map(round, place))

    def drag_over_curves(self, place=None):
        """The first and last step that are then asked for. `place` as middle_of_curves has it."""
        left, right, height = place or self.middle_of_curves()
        at = {"type": "pointerMove", "duration": 50, "y": height}
        drag = [
            {**at, "x": left},
            {"type": "pointerDown", "button": 0},
            {**at, "x": right},
            {"type": "pointerUp", "button": 0},
        ]
        self.browser.do("actions", {"actions": [{"type": "pointer", "id": "m", "actions": drag}]})
        self.browser.wait("return document.querySelector('#from').value !== ''")
        return [
            int(self.browser.run(f"return document.querySelector('{one}').value"))
            for one in ("#from", "#to")
        ]

    def finished(self, job):
        """The id of the job, which has succeeded."""
        job = self.submit(job)
        self.assertEqual(self.trainctl("wait", job).returncode, 0)
        return job
