"""The dashboard of a cluster, opened in a real Chromium."""

import os
import pathlib
import unittest

import browser
from cluster import ClusterTest

HOSTILE = "<script>document.title='taken'<img src=x onerror=alert(1)>"
# Pictures are kept there where it is named: CI's artifacts.
PICTURES = os.environ.get("TRAINCTL_PICTURES")


@unittest.skipIf(browser.why_not(), browser.why_not())
class DashboardCase(ClusterTest):
    """Each test has a page of its own; starting Chromium takes longer than most of them."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.close)

    def setUp(self):
        super().setUp()
        self.addCleanup(self.browser.start_afresh)
        self.address = self.trainctl("ui").stdout.strip()

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
