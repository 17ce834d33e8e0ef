"""Twenty runs over each other stay at 60 frames a second: what a frame costs the page while
somebody moves over the curves and zooms."""

import statistics
import unittest

from cluster import tiny_job
from dashboard import DashboardCase

RUNS = 20
FRAME_MILLIS = 1000 / 60
# One real run answers for all; its curve has as many points as the server ever sends.
AS_MANY = """
const real = window.fetch;
window.fetch = async (path, ...more) => {
  const asked = new URL(path, location.href), job = asked.searchParams.get("job");
  if (asked.pathname === "/api/series") asked.searchParams.set("job", job.split("-")[0]);
  const answer = await real(asked, ...more);
  if (!["/api/compare", "/api/series"].includes(asked.pathname)) return answer;
  const found = await answer.json(), times = (list) => Array.from({length: RUNS}, () => list[0]);
  if (found.jobs) {
    found.jobs = times(found.jobs).map((one, i) => ({...one, id: `${one.id}-${i}`}));
    for (const row of found.rows)
      for (const key of ["values", "deltas", "best", "notes"]) row[key] = times(row[key]);
  } else {
    const from = Number(asked.searchParams.get("from") || 0);
    const to = Number(asked.searchParams.get("to") || 100000);
    const steps = Array.from({length: 600}, (_, i) => from + Math.round(i * (to - from) / 599));
    const run = Number(job.split("-")[1] ?? 0);
    const values = steps.map((step) =>
      2 + run / 10 + 3 * Math.exp(-step / 2e4) + Math.sin(step * run) / 9);
    found.job = job;
    found.curves = [{rank: null, phase: "", count: to, steps, times: steps, values}];
  }
  return new Response(JSON.stringify(found), {headers: {"content-type": "application/json"}});
};
""".replace("RUNS", str(RUNS))
# What the page does between two frames, over a second or two of moving.
WATCH = """
window.costs = [];
const watch = () => {
  const begin = performance.now();
  const channel = new MessageChannel();
  channel.port1.onmessage = () => window.costs.push(performance.now() - begin);
  channel.port2.postMessage(null);
  window.watching = requestAnimationFrame(watch);
};
watch();
"""


class DashboardFramesTest(DashboardCase):
    def open_comparison(self):
        job = self.finished(tiny_job())
        self.browser.command("Page.addScriptToEvaluateOnNewDocument", source=AS_MANY)
        self.browser.open(f"{self.address}compare?job={job}")
        drawn = "return document.querySelectorAll('#curves tbody tr').length === 20"
        self.browser.wait(drawn)
        self.skip_without_charts()

    def place(self):
        self.browser.run("document.querySelector('#curves').scrollIntoView()")
        return self.browser.run(
            "const box = document.querySelector('#curves .plot').getBoundingClientRect();"
            "return [box.left, box.top, box.width, box.height].map(Math.round)"
        )

    def costs_of(self, actions):
        """Milliseconds of the page's own work for each frame meanwhile."""
        self.browser.run(WATCH)
        pointer = {"type": "pointer", "id": "mouse", "actions": actions}
        self.browser.do("actions", {"actions": [pointer]})
        return self.browser.run("cancelAnimationFrame(window.watching); return window.costs")

    def test_a_frame_of_twenty_runs_takes_less_than_a_sixtieth_second(self):
        self.open_comparison()
        left, top, width, height = self.place()
        moves = [
            {
                "type": "pointerMove",
                "duration": 16,
                "x": left + width * (10 + i % 80) // 100,
                "y": top + height * (30 + i % 40) // 100,
            }
            for i in range(120)
        ]
        hover = self.costs_of(moves)
        press = [{"type": "pointerDown", "button": 0}]
        zoom = self.costs_of([moves[0], *press, *moves[1:60], {"type": "pointerUp", "button": 0}])
        self.browser.wait(
            "const count = document.querySelector('#curves tbody td:nth-child(2)');"
            "return count.textContent !== '100,000'"
        )
        for what, costs in (("hover", hover), ("zoom", zoom)):
            self.assertGreater(len(costs), 20, what)
            self.assertLess(statistics.median(costs), FRAME_MILLIS, f"{what}: {costs}")
        self.keep_picture("twenty-runs")
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
