"""What a frame costs the page while somebody moves over the curves of twenty runs and zooms, beside
drawing one chart of them anew. Milliseconds are printed, and no bar: processors differ."""

import statistics
import unittest

from cluster import tiny_job
from dashboard import DashboardCase

RUNS = 20
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
# All curves are stroked, as for each frame of a page that keeps no painted chart.
DRAW = (
    "var chart = Chart.getChart(document.querySelector('#curves figure canvas'));"
    "chart.painted = null; chart.draw()"
)
# Once this frame, and the one that it has asked for, are drawn.
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# What the page has drawn, and asked of the coordinator. A line of a curve or axis is a stroke.
COUNT = """
window.counted = {strokes: 0, copies: 0, asked: 0};
const count = (kind, owner, name) => {
  const real = owner[name];
  owner[name] = function (...all) { ++window.counted[kind]; return real.apply(this, all); };
};
count("strokes", CanvasRenderingContext2D.prototype, "stroke");
count("copies", CanvasRenderingContext2D.prototype, "drawImage");
count("asked", window, "fetch");
"""
MOVES = 100
SHARE = 0.95  # of the frames
DRAWS = 9
MOST_COPIES = 1  # of a painted chart, a frame
MOST_STROKES = 4  # a frame: around the tooltip, and at the point that it is of
MOST_DRAWS = 0.5  # that a frame may cost: 0.12 on 2026-11-28, and 1 where all is stroked


class DashboardFramesTest(DashboardCase):
    def open_comparison(self):
        job = self.finished(tiny_job())
        for script in (AS_MANY, COUNT):
            self.browser.command("Page.addScriptToEvaluateOnNewDocument", source=script)
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

    def mouse(self, kind, at, **more):
        """The frame for it is drawn when this returns."""
        self.browser.command("Input.dispatchMouseEvent", type=kind, x=at[0], y=at[1], **more)
        self.browser.command("Runtime.evaluate", expression=DRAWN, awaitPromise=True)

    def costs_of(self, moves, **more):
        """Milliseconds of a processor that the page has worked for each."""
        costs, before = [], self.browser.page_seconds()
        for at in moves:
            self.mouse("mouseMoved", at, **more)
            now = self.browser.page_seconds()
            costs.append((now - before) * 1000)
            before = now
        return costs

    def cost_of_drawing(self):
        """Milliseconds of a processor for a chart of all curves."""
        costs = []
        for _ in range(DRAWS):
            before = self.browser.page_seconds()
            self.browser.command("Runtime.evaluate", expression=DRAW)
            self.browser.command("Runtime.evaluate", expression=DRAWN, awaitPromise=True)
            costs.append((self.browser.page_seconds() - before) * 1000)
        return statistics.median(costs)

    def counted(self):
        return self.browser.run("return window.counted")

    def expect_few_strokes(self, moves, **more):
        """Of each frame, however many curves and points there are; nothing is asked for."""
        strokes, before = [], self.counted()
        for at in moves:
            self.mouse("mouseMoved", at, **more)
            now = self.counted()
            strokes.append(now["strokes"] - before["strokes"])
            self.assertLessEqual(now["copies"] - before["copies"], MOST_COPIES)
            self.assertEqual(now["asked"], before["asked"])
            before = now
        self.assertLessEqual(max(strokes), MOST_STROKES, strokes)

    def expect_fast(self, what, costs, drawing):
        median, share = statistics.median(costs), sorted(costs)[int(len(costs) * SHARE)]
        print(
            f"{what}: median {median:.1f} ms, {SHARE:.0%} below {share:.1f} ms,",
            f"beside {drawing:.1f} ms for a chart anew",
        )
        self.assertLess(median, MOST_DRAWS * drawing, f"{what}: {costs}")

    def test_a_frame_of_twenty_runs_strokes_none_of_their_curves(self):
        self.open_comparison()
        left, top, width, height = self.place()
        moves = [(left + width * i // 10, top + height // 2) for i in range(2, 8)]
        self.mouse("mouseMoved", moves[0])  # painted for all that come
        before = self.counted()
        self.browser.run(DRAW)
        after = self.counted()
        self.assertGreaterEqual(after["strokes"] - before["strokes"], RUNS, "a chart anew")
        self.expect_few_strokes(moves)
        self.assertGreater(self.counted()["copies"], after["copies"], "frames were drawn")
        self.mouse("mousePressed", moves[0], button="left", buttons=1, clickCount=1)
        self.expect_few_strokes(moves, button="left", buttons=1)
        self.expect_no_faults()

    def test_frames_of_twenty_runs_draw_no_page_anew(self):
        self.browser.count_processor_time()
        self.open_comparison()
        left, top, width, height = self.place()
        moves = [
            (left + width * (10 + i % 80) // 100, top + height * (30 + i % 40) // 100)
            for i in range(MOVES)
        ]
        self.costs_of(moves[:2])  # the curves are painted, and compiled what draws them
        drawing = self.cost_of_drawing()
        self.expect_fast("hover", self.costs_of(moves), drawing)
        shown = "return document.querySelectorAll('#curves .drag:not([hidden])').length"
        self.mouse("mousePressed", moves[0], button="left", buttons=1, clickCount=1)
        dragged = self.costs_of(moves[1:60], button="left", buttons=1)
        self.expect_fast("drag", dragged, drawing)
        self.assertEqual(self.browser.run(shown), 1)
        self.mouse("mouseReleased", moves[59], button="left", clickCount=1)
        self.browser.wait(
            "const count = document.querySelector('#curves tbody td:nth-child(2)');"
            "return count.textContent !== '100,000'"
        )
        self.keep_picture("twenty-runs")
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
