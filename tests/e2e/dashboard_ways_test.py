"""Other ways to run a job, on its page: those of `trainctl advise`."""

import shlex
import unittest

from cluster import tiny_job
from dashboard import DashboardCase


class DashboardWaysTest(DashboardCase):
    def test_other_ways_to_run_a_job_are_those_of_advise_and_pasted_they_run(self):
        job = self.finished(tiny_job())
        self.browser.open(f"{self.address}job?job={job}")
        self.browser.wait("return document.querySelector('#settings tr') !== null")
        self.browser.run("document.querySelector('#advice summary').click()")
        rows = "[...document.querySelectorAll('#ways tbody tr')].map((row) => [...row.children]"
        shown = self.browser.wait(
            f"const rows = {rows}.map((cell) => cell.textContent)); return rows.length > 1 && rows"
        )
        ways = self.json("advise", self.dir / "tiny.json")["ways"]
        self.assertEqual(
            [row[-1] for row in shown[:-1]], [way["overrides"] or "(none)" for way in ways]
        )
        for row in shown[:-1]:
            pasted = [] if row[-1] == "(none)" else shlex.split(row[-1])
            tried = self.trainctl("submit", self.dir / "tiny.json", *pasted, "--dry-run")
            self.assertEqual(tried.returncode, 0, (row[-1], tried.stderr))
        self.assertEqual(shown[-1][0], "as it is")
        self.assertIn("limit", self.browser.text("#ways figcaption"))
        self.assertEqual(self.browser.text("#refused"), "")
        self.assertRegex(shown[0][3], "^[0-9.]+ [KM]iBparameters [0-9.]+ [KM]iB")
        self.expect_costs(shown, ways)
        self.keep_picture("advice")
        self.expect_no_faults()

    def expect_costs(self, before, ways):
        """They come with a price, and go with it."""
        heads = "[...document.querySelectorAll('#ways thead th')].map((one) => one.textContent)"
        place = self.browser.run(f"return {heads}.indexOf('energy')") + 1
        enter = (
            "const price = document.querySelector('#price'); price.value = arguments[0];"
            "price.dispatchEvent(new Event('input'));"
            "return [price.getAttribute('aria-invalid'), [...document.querySelectorAll("
            "'#ways tbody tr')].map((row) => [...row.children].map((one) => one.textContent))]"
        )
        invalid, priced = self.browser.run(enter, "9000.50/GPUh")
        self.assertEqual(invalid, "false")
        self.assertEqual(self.browser.run(f"return {heads}[{place}]"), "cost")
        for row, way in zip(priced, ways, strict=False):
            cost = 9000.5 * way["devices"] * way["total_seconds"] / 3600
            self.assertAlmostEqual(float(row[place]), cost, delta=0.01 + 0.01 * cost)
        for text, wrong in (("a lot", "true"), ("", "false")):
            self.assertEqual(self.browser.run(enter, text), [wrong, before])

    def test_a_job_that_does_not_fit_as_it_is_says_why(self):
        job = self.submit(tiny_job(resources__gpu_memory_limit="1MiB"), "--force")
        self.browser.open(f"{self.address}job?job={job}")
        self.browser.wait("return document.querySelector('#settings tr') !== null")
        self.browser.run("document.querySelector('#advice summary').click()")
        self.browser.wait("return document.querySelector('#refused').textContent !== ''")
        why = self.browser.text("#refused")
        self.assertEqual(why, "As it is: it does not fit 1.00 MiB with a margin.")
        self.assertRegex(
            self.browser.text("#excluded"),
            r"Left out, \d+: more memory than a device has \(the least of them [0-9.]+ MiB\)\.",
        )
        self.trainctl("wait", job)
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
