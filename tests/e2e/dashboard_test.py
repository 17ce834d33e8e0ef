"""The dashboard as a person sees it: in a real Chromium, of a real site whose jobs run."""

import datetime
import json
import unittest

from cluster import endless_job, tiny_job
from dashboard import CHART, HOSTILE, DashboardCase

STEP = (
    "return Number("
    "document.querySelector('#facts b')?.innerText.split(' ')[0].replaceAll(',', '') ?? 0)"
)


# What the site says is changed by these words before it is shown.
CHANGED = """
const Real = window.EventSource;
window.EventSource = class extends Real {
  set onmessage(show) {
    super.onmessage = (event) => {
      const site = JSON.parse(event.data);
      CHANGE
      show({data: JSON.stringify(site)});
    };
  }
};
"""
# The slots of the site are GPUs that somebody else uses too.
STRANGERS = """
      const foreign = {pid: 4711, user: "bo", program: HOSTILE, memory_bytes: 3 * 2 ** 30};
      const gpu = {utilization_percent: 98, memory_used_bytes: 5 * 2 ** 30, power_watts: 600,
        temperature_celsius: 60, foreign_processes: [foreign]};
      site.workers[0].gpu = gpu;
""".replace("HOSTILE", json.dumps(HOSTILE))
FAULTS = "site.workers[0].state = 'BAD'; site.workers[1].state = 'SUSPECT';"


# Columns, in the chart's own units, in which more than a third of the pixels differ between two
# ways to draw it.
DIFFERENT_COLUMNS = """
const chart = chartOf("#curves", "Loss"), box = document.querySelector("#marks");
const drawn = () => { chart.draw(); return pixelsOf(chart); };
const withMarks = drawn();
box.click();
const without = drawn();
box.click();
const { top, bottom } = chart.chartArea, { width, height, scale } = withMarks, found = [];
for (let x = 0; x < width; ++x) {
  let count = 0;
  for (let y = 0; y < height; ++y)
    count += [0, 1, 2].some((i) =>
      withMarks.data[4 * (y * width + x) + i] !== without.data[4 * (y * width + x) + i]);
  if (count > (bottom - top) * scale / 3) found.push(x / scale);
}
return found;
"""
# The share of the chart's width that has this colour, in the rows at a value.
SHARE_OF_COLOUR = """
const chart = chartOf("#memory"), { data, width, scale } = pixelsOf(chart);
const { left, right } = chart.chartArea, y = chart.scales.y.getPixelForValue(arguments[0]);
const wanted = arguments[1].match(/\\w\\w/g).map((two) => parseInt(two, 16));
const isWanted = (x, row) =>
  wanted.every((one, i) => Math.abs(data[4 * (row * width + x) + i] - one) < 40);
let count = 0;
for (let x = Math.ceil(left * scale); x < right * scale; ++x)
  count += [-1, 0, 1].some((off) => isWanted(x, Math.round(y * scale) + off));
return count / ((right - left) * scale);
"""
STEPS = 40
PHASES = ("before_forward", "after_forward", "after_backward", "after_optimizer_step")


class DashboardTest(DashboardCase):
    whole = None

    def whole_job(self):
        """The id of one that has all that a page shows; trained once for all tests."""
        if type(self).whole is None:
            type(self).whole = self.finished(
                tiny_job(
                    name="whole",
                    train__max_steps=STEPS,
                    data__val_split_fraction=0.2,
                    eval__every_steps=10,
                    eval__prompts=["<b>Once"],
                    eval__max_new_tokens=4,
                    resources__gpu_memory_limit="10MiB",
                )
            )
        return self.whole

    def open_job(self, job):
        """Its page, once its curves and all about it are there."""
        self.browser.open(f"{self.address}job?job={job}")
        self.browser.wait("return document.querySelector('#settings tr') !== null")
        self.skip_without_charts()
        self.browser.wait(CHART + "return chartOf('#curves', 'Loss')?.marks.length > 0")

    def chart(self, what, place="#curves", title=""):
        """What the script `what` says of the chart."""
        return self.browser.run(f"{CHART}const chart = chartOf({place!r}, {title!r}); {what}")

    def open_changed(self, change):
        script = CHANGED.replace("CHANGE", change)
        self.browser.command("Page.addScriptToEvaluateOnNewDocument", source=script)
        self.browser.open(self.address)

    def test_devices_that_are_bad_or_suspect_are_counted(self):
        self.open_changed(FAULTS)
        self.browser.wait("return document.querySelector('#devices tr') !== null")
        facts = self.browser.text("#facts")
        self.assertIn("2\ndevices faulty", facts)
        self.assertNotIn("lost", facts)
        self.expect_no_faults()

    def test_who_else_uses_a_gpu_stands_below_it(self):
        self.open_changed(STRANGERS)
        self.browser.wait("return document.querySelectorAll('#devices tr').length > 2")
        row = self.browser.text("#devices tr:nth-child(2)")
        self.assertIn(f"foreign\tpid 4711 {HOSTILE} (bo)", row)
        self.assertIn("3.00 GiB", row)
        self.assertIn("1\ndevice used by others", self.browser.text("#facts"))
        self.keep_picture("strangers")
        self.expect_no_faults()

    def test_the_site_moves_while_a_job_runs_and_hostile_names_are_text(self):
        job = self.submit(endless_job(name=HOSTILE))
        self.browser.open(self.address)
        row = "return document.querySelector('#jobs tr')?.innerText.includes(arguments[0])"
        self.browser.wait(row, "RUNNING")
        self.assertIn(HOSTILE, self.browser.text("#jobs"))
        self.assertEqual(self.browser.run("return document.title"), "trainctl")
        self.assertEqual(self.browser.run("return document.querySelectorAll('img').length"), 0)
        before = self.browser.text("#jobs progress + *") or self.browser.text("#jobs")
        self.browser.wait(
            "return document.querySelector('#jobs').innerText !== arguments[0]", before
        )
        self.assertIn("BUSY", self.browser.text("#devices"))
        self.keep_picture("site")
        self.expect_no_faults()
        self.trainctl("cancel", job)
        self.browser.wait(row, "CANCELLED")

    def test_a_job_shows_its_curves_memory_log_and_settings_as_they_grow(self):
        # What it saves is a line of its log.
        saves = {"output__dir": str(self.dir / "out"), "checkpoint__every_steps": 20}
        gang = {"devices": 2, "strategy": "ddp", "resources__max_restarts": 1}
        job = self.submit(endless_job(name=HOSTILE, **saves, **gang))
        self.browser.open(f"{self.address}job?job={job}")
        first = self.browser.wait(STEP)
        self.browser.wait(f"{STEP} > arguments[0]", first)
        self.browser.wait("return document.querySelectorAll('#curves figure').length >= 3")
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        points = self.browser.wait(count)
        self.browser.wait(count + " !== arguments[0]", points)
        self.assertEqual(self.browser.text("h1"), f"{HOSTILE} ({job})")
        self.browser.wait("return document.querySelector('#text').innerText.includes('step-')")
        self.assertIn("train.micro_batch_size\t2", self.browser.text("#settings"))
        self.assertIn("all ranks joined", self.browser.text("#events"))
        self.expect_utilization_of_ranks(job)
        self.keep_picture("job")
        self.expect_mark_of_the_next_attempt(job)
        self.expect_no_faults()

    def test_settings_name_the_targets_of_lora_that_are_in_force(self):
        job = self.submit(tiny_job(name="adapted", lora={"r": 8}))
        self.trainctl("wait", job)
        self.browser.open(f"{self.address}job?job={job}")
        shown = "return document.querySelector('#settings').innerText"
        self.browser.wait(f"{shown}.includes('lora.targets')")
        self.assertIn('lora.targets\t["q","k","v","o"', self.browser.text("#settings"))
        self.expect_no_faults()

    def expect_utilization_of_ranks(self, job):
        self.skip_without_charts()
        title = "CPU of the ranks"
        self.browser.wait(f"{CHART}return chartOf('#curves', '{title}')?.data.datasets.length == 2")
        drawn = self.chart(
            "return chart.data.datasets.map((line) => [line.label, line.data])", title=title
        )
        self.assertEqual([label for label, _ in drawn], ["rank 0", "rank 1"])
        for rank, (_, points) in enumerate(drawn):
            stored = self.stored(job, "rank_cpu_percent", rank)
            self.assertTrue(points)
            self.assertLessEqual({(one["x"], one["y"]) for one in points}, set(stored))

    def expect_mark_of_the_next_attempt(self, job):
        self.ranks()[0].kill()
        marks = "chartOf('#curves', 'Loss').marks.filter((mark) => mark.kind === 'attempt')"
        mark = self.browser.wait(f"{CHART}return {marks}[0]")
        self.assertEqual(mark["text"], "attempt 2 begins")
        first, second = self.described(job)["attempts"]
        before = [time for _, _, time in self.timed(job, "loss") if time < second["started_at"]]
        self.assertTrue(before)
        self.browser.run(
            "const axis = document.querySelector('#axis'); axis.value = 'time';"
            "axis.dispatchEvent(new Event('input'))"
        )
        at = self.browser.run(f"{CHART}return {marks}[0].x")
        self.assertAlmostEqual(at, second["started_at"] - first["started_at"], delta=0.001)
        outcomes = "return [...document.querySelectorAll('#attempts tr')].map((row) => row.children"
        self.assertEqual(
            self.browser.run(f"{outcomes}[1].textContent)"), [first["outcome"], "running"]
        )

    def test_curves_are_the_points_of_the_database(self):
        job = self.whole_job()
        self.open_job(job)
        drawn = self.browser.wait(
            CHART + "const figures = [...document.querySelectorAll('#curves figure')];"
            "if (!chartOf('#curves', 'Peak memory of the ranks')) return null;"
            "return figures.map((one) => [one.querySelector('b').textContent,"
            " Chart.getChart(one.querySelector('canvas')).data.datasets.map((line) =>"
            " line.data.map(({x, y}) => [x, y]))])"
        )
        wanted = {
            "Loss": [("loss",), ("val_loss",)],
            "Learning rate": [("lr",)],
            "Tokens per second": [("tokens_per_second",)],
            "Seconds per step": [("step_seconds",)],
            "Gradient norm": [("grad_norm",)],
            "Memory of the ranks after the forward pass": [
                ("memory_allocated_bytes", 0, "after_forward")
            ],
            "Peak memory of the ranks": [("memory_peak_allocated_bytes", 0, PHASES[3])],
        }
        for title, series in wanted.items():
            with self.subTest(title):
                points = [[list(one) for one in self.stored(job, *name)] for name in series]
                self.assertEqual(dict(drawn)[title], points)
        self.expect_no_faults()

    def test_over_a_slow_line_each_piece_of_the_log_is_shown_once(self):
        job = self.whole_job()
        line = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        self.browser.command("Network.enable")
        self.browser.command("Network.emulateNetworkConditions", **line, latency=1300)
        self.browser.open(f"{self.address}job?job={job}")
        asked = (
            "performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/log'))"
        )
        self.browser.wait(f"return {asked}.length >= 2")  # the second before the first's answer
        log = self.browser.wait("return document.querySelector('#text').innerText")
        self.assertEqual(log.count("joining"), 1, log)

    def marks(self):
        """The marks of the loss, and the columns in which they are drawn."""
        marks = self.chart(
            "return chart.marks.map(({x, text, kind}) =>"
            " ({x, text, kind, at: chart.scales.x.getPixelForValue(x)}))",
            title="Loss",
        )
        return marks, self.browser.run(CHART + DIFFERENT_COLUMNS)

    def expect_drawn(self, marks, columns):
        """A line down the chart at each mark, and nowhere else."""
        places = [mark["at"] for mark in marks]
        self.assertTrue(columns, "no mark is drawn")
        for place in places:
            self.assertLess(min(abs(place - column) for column in columns), 1.5, marks)
        for column in columns:
            self.assertLess(min(abs(place - column) for place in places), 1.5, marks)

    def test_texts_and_events_stand_on_the_axis(self):
        job = self.whole_job()
        known = self.described(job)
        self.open_job(job)
        rows = "return [...document.querySelectorAll('#texts tr')].map((row) => [...row.children]"
        self.assertEqual(
            self.browser.run(rows + ".map((cell) => cell.textContent))"),
            [[str(one["step"]), one["prompt"], one["text"]] for one in known["continuations"]],
        )
        marks, columns = self.marks()
        texts = [mark["x"] for mark in marks if mark["kind"] == "text"]
        self.assertEqual(texts, [one["step"] for one in known["continuations"]])
        times = [time for _, _, time in self.timed(job, "loss")]
        events = {event["text"]: event["time"] for event in known["events"]}
        shown = {mark["text"]: mark["x"] for mark in marks if mark["kind"] == "event"}
        inside = {text for text, time in events.items() if times[0] <= time <= times[-1]}
        self.assertEqual(set(shown), inside)
        for text, step in shown.items():
            before = sum(time <= events[text] for time in times)
            self.assertTrue(before <= step <= before + 1, (text, step, before))
        self.expect_drawn(marks, columns)

        self.browser.run(
            "const axis = document.querySelector('#axis'); axis.value = 'time';"
            "axis.dispatchEvent(new Event('input'))"
        )
        marks, columns = self.marks()
        shown = {mark["text"]: mark["x"] for mark in marks if mark["kind"] == "event"}
        self.assertEqual(set(shown), set(events))
        for text, seconds in shown.items():
            since_start = max(0, events[text] - known["started_at"])
            self.assertAlmostEqual(seconds, since_start, delta=0.001)
        left, right = self.chart(
            "return [chart.chartArea.left, chart.chartArea.right]", title="Loss"
        )
        inside = [mark for mark in marks if left <= mark["at"] <= right]
        self.assertGreaterEqual(len(inside), 2)
        self.expect_drawn(inside, columns)
        self.keep_picture("texts")

        [whole] = self.json("describe", job, "--texts", "all")["jobs"]
        other = whole["text_steps"][1]
        choose = "const one = document.querySelector('#texts-of'); one.value = arguments[0];"
        self.browser.run(choose + "one.dispatchEvent(new Event('change'))", str(other))
        begins = "return document.querySelector('#texts').innerText.startsWith(arguments[0])"
        self.browser.wait(begins, f"{other}\t")
        self.expect_no_faults()

    def test_memory_is_drawn_as_predicted_beside_measured_with_the_limit_as_a_line(self):
        job = self.whole_job()
        self.open_job(job)
        predicted = self.described(job)["prediction"]["phases"]
        bars = self.chart(
            "return chart.data.datasets.map((set, i) => ({label: set.label, stack: set.stack,"
            " data: set.data, bars: chart.getDatasetMeta(i).data.map(({x, y, base, width}) =>"
            " ({x, y, base, width}))}))",
            place="#memory",
        )
        kinds = {
            "params": "parameters",
            "grads": "gradients",
            "optimizer": "optimizer",
            "other": "other",
        }
        of = {(one["stack"], one["label"]): one for one in bars}
        self.assertEqual(
            set(of),
            {(stack, kind) for stack in ("predicted", "measured") for kind in kinds.values()},
        )
        area = self.chart(
            "const {top, bottom} = chart.chartArea, {min, max} = chart.scales.y;"
            "return (bottom - top) / (max - min)",
            place="#memory",
        )
        for kind, label in kinds.items():
            one, other = of["predicted", label], of["measured", label]
            self.assertEqual(one["data"], [predicted[phase][kind] for phase in PHASES])
            stored = [self.stored(job, f"memory_{kind}_bytes", 0, phase) for phase in PHASES]
            self.assertEqual(other["data"], [max(v for _, v in points) for points in stored])
            for value, bar in zip(one["data"] + other["data"], one["bars"] + other["bars"]):
                self.assertAlmostEqual(bar["base"] - bar["y"], value * area, delta=0.6)
            for pale, full in zip(one["bars"], other["bars"], strict=True):
                beside = (pale["width"] + full["width"]) / 2
                self.assertGreater(full["x"] - pale["x"], beside - 0.1)
                self.assertLess(full["x"] - pale["x"], 1.5 * beside)
        middles = [
            [of[stack, "optimizer"]["bars"][0][axis] for axis in ("x", "y", "base")]
            for stack in ("predicted", "measured")
        ]
        pale, full = self.chart(
            "chart.draw(); const {data, width, scale} = pixelsOf(chart);"
            f"const places = {json.dumps(middles)}.map(([x, y, base]) => 4 * ("
            "Math.round(x * scale) + width * Math.round((y + base) / 2 * scale)));"
            "return places.map((at) => [...data.slice(at, at + 4)])",
            place="#memory",
        )
        self.assertEqual(full[3], 255, "what was measured is solid")
        self.assertAlmostEqual(pale[3], 0x66, delta=2, msg="what was predicted is pale")
        for one, other in zip(pale[:3], full[:3], strict=True):
            self.assertAlmostEqual(one, other, delta=4)
        self.expect_limit(10 * 2**20)
        self.expect_no_faults()

    def expect_limit(self, limit):
        self.assertEqual(self.browser.text("#memory figcaption span"), "limit 10.00 MiB")
        bad = self.browser.run(
            "return getComputedStyle(document.documentElement).getPropertyValue('--bad').trim()"
        )
        self.assertRegex(bad, "^#[0-9a-f]{6}$")
        share = CHART + SHARE_OF_COLOUR
        self.assertGreater(self.browser.run(share, limit, bad), 0.5)
        self.assertEqual(self.browser.run(share, limit * 0.8, bad), 0)

    def test_curves_are_smoothed_and_drawn_on_a_log_scale_over_time(self):
        self.open_job(self.whole_job())
        chart = "Chart.getChart(document.querySelector('#curves canvas'))"
        self.assertEqual(self.browser.run(f"return {chart}.data.datasets.length"), 2)
        raw = self.browser.run(f"return {chart}.data.datasets[0].data.map((point) => point.y)")
        for control, value in (("smoothing", 0.9), ("axis", "time")):
            self.browser.run(
                f"const control = document.querySelector('#{control}'); control.value = '{value}';"
                "control.dispatchEvent(new Event('input'))"
            )
        self.browser.run("document.querySelector('#log').click()")
        self.assertEqual(self.browser.run(f"return {chart}.scales.y.type"), "logarithmic")
        smooth, behind, *_ = self.browser.run(
            f"return {chart}.data.datasets.map((line) => line.data.map((point) => point.y))"
        )
        self.assertEqual(behind, raw)
        self.assertEqual(smooth[0], raw[0])
        self.assertGreater(smooth[-1], raw[-1], "the mean of a falling loss lies above it")
        times = self.browser.run(f"return {chart}.data.datasets[0].data.map((point) => point.x)")
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1], 30, "seconds of the run, not steps or the date")
        self.assertNotEqual(times, list(range(STEPS)))
        self.expect_no_faults()

    def test_dragging_over_a_curve_asks_for_those_steps(self):
        self.open_job(self.whole_job())
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        self.assertEqual(self.browser.wait(count), str(STEPS))
        steps = self.drag_over_curves()
        self.browser.wait(f"{count} !== '{STEPS}'")
        self.assertEqual(self.browser.run(count), str(steps[1] - steps[0] + 1))
        self.expect_no_faults()

    def test_the_queue_has_what_waits_and_a_calendar_of_leases(self):
        running = self.submit(endless_job(devices=2, strategy="ddp"))
        waiting = self.submit(endless_job(name=HOSTILE))
        made = self.trainctl(
            *("lease", "create", "lab2", "--gpus", "1", "--for", "1h"),
            *("--start", f"{datetime.date.today() + datetime.timedelta(days=3)} 14:00"),
        )
        self.assertEqual(made.returncode, 0, made.stderr)
        self.browser.open(f"{self.address}queue")
        self.browser.wait("return document.querySelector('#queue tr') !== null")
        self.assertIn(HOSTILE, self.browser.text("#queue"))
        facts = self.browser.text("#facts")
        self.assertEqual(facts.split("\n"), ["1", "job waits", "1", "device wanted", "1", "lease"])
        self.assertEqual(self.browser.text("#calendar .turn"), "lab2")
        self.assertIn("lab2", self.browser.text("#leases"))
        (lease,) = self.json("lease", "ls")["leases"]
        (device,) = lease["devices"]
        self.trainctl("drain", device, "--reason", HOSTILE)
        self.browser.wait("return document.querySelector('#calendar b span') !== null")
        self.assertEqual(self.browser.text("#calendar .device b").split(), [device, "DRAINED"])
        self.assertIn(f"{device} is DRAINED", self.browser.text("#leases td div"))
        self.assertIn(HOSTILE, self.browser.text("#leases td div"))
        self.keep_picture("queue")
        self.trainctl("undrain", device)
        self.browser.wait("return document.querySelector('#calendar b span') === null")
        self.trainctl("cancel", running, waiting)
        self.browser.wait("return document.querySelector('#queue tr') === null")
        self.expect_no_faults()

    def test_zooming_a_comparison_is_in_its_address(self):
        job = self.whole_job()
        self.browser.open(f"{self.address}compare?job={job}&from=10&to=19")
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        self.assertEqual(self.browser.wait(count), "10")
        self.browser.run("document.querySelector('#whole').click()")
        self.browser.wait(f"{count} === '{STEPS}'")
        self.assertNotIn("from", self.browser.run("return location.search"))
        self.expect_no_faults()

    def test_pages_fit_a_phone_and_are_dark_in_the_dark(self):
        job = self.finished(tiny_job(name="all-linear-layers-with-lora-of-rank-8-in-bf16"))
        self.browser.command(
            "Emulation.setDeviceMetricsOverride",
            width=360,
            height=844,
            deviceScaleFactor=1,
            mobile=True,
        )
        for scheme, back in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(14, 17, 22)")):
            self.browser.command(
                "Emulation.setEmulatedMedia",
                features=[{"name": "prefers-color-scheme", "value": scheme}],
            )
            for page in ("", f"job?job={job}", f"compare?job={job}", "queue"):
                self.browser.open(self.address + page)
                shown = "#span:not(:empty)" if page == "queue" else "tbody tr"
                self.browser.wait(f"return document.querySelector('{shown}') !== null")
                width = self.browser.run("return document.documentElement.scrollWidth")
                self.assertLessEqual(width, 360, page)
                shown = self.browser.run("return getComputedStyle(document.body).backgroundColor")
                self.assertEqual(shown, back, page)
                self.keep_picture(f"phone-{scheme}-{page.partition('?')[0] or 'site'}")
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
