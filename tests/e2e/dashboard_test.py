"""The dashboard as a person sees it: in a real Chromium, of a real site whose jobs run."""

import datetime
import json
import unittest

from cluster import endless_job, tiny_job
from dashboard import HOSTILE, DashboardCase

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


class DashboardTest(DashboardCase):
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
        job = self.submit(endless_job(name=HOSTILE, **saves))
        self.browser.open(f"{self.address}job?job={job}")
        first = self.browser.wait(STEP)
        self.browser.wait(f"{STEP} > arguments[0]", first)
        self.browser.wait("return document.querySelectorAll('#curves figure').length >= 3")
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        points = self.browser.wait(count)
        self.browser.wait(count + " !== arguments[0]", points)
        self.assertEqual(self.browser.text("h1"), f"{HOSTILE} ({job})")
        self.browser.wait("return document.querySelector('#text').innerText.includes('step-')")
        memory = self.browser.wait(
            "return document.querySelector('#memory tbody').textContent.includes('parameters')"
            " && document.querySelector('#memory tbody').textContent"
        )
        self.assertIn("after backward", memory)
        self.assertIn("train.micro_batch_size\t2", self.browser.text("#settings"))
        self.assertIn("all ranks joined", self.browser.text("#events"))
        self.keep_picture("job")
        self.expect_no_faults()

    def test_over_a_slow_line_each_piece_of_the_log_is_shown_once(self):
        job = self.finished(tiny_job(train__max_steps=5))
        line = {"offline": False, "downloadThroughput": -1, "uploadThroughput": -1}
        reset = {**line, "latency": 0}
        self.addCleanup(self.browser.command, "Network.emulateNetworkConditions", **reset)
        self.browser.command("Network.enable")
        self.browser.command("Network.emulateNetworkConditions", **line, latency=1300)
        self.browser.open(f"{self.address}job?job={job}")
        asked = (
            "performance.getEntriesByType('resource').filter((e) => e.name.includes('/api/log'))"
        )
        self.browser.wait(f"return {asked}.length >= 2")  # the second before the first's answer
        log = self.browser.wait("return document.querySelector('#text').innerText")
        self.assertEqual(log.count("joining"), 1, log)

    def test_texts_and_events_stand_on_the_axis_and_the_limit_is_a_line(self):
        evaluated = {"data__val_split_fraction": 0.2, "eval__every_steps": 10}
        sampled = {"eval__prompts": ["<b>Once"], "eval__max_new_tokens": 4}
        limited = {"resources__gpu_memory_limit": "10MiB"}
        job = self.finished(tiny_job(train__max_steps=20, **evaluated, **sampled, **limited))
        self.browser.open(f"{self.address}job?job={job}")
        self.browser.wait("return document.querySelector('#texts tr') !== null")
        self.assertIn("<b>Once", self.browser.text("#texts"))
        self.skip_without_charts()
        chart = "Chart.getChart(document.querySelector('{} canvas'))"
        marks = f"{chart.format('#curves')}?.marks?.map((mark) => mark.text)"
        self.browser.wait(f"return {marks}?.some((text) => text.startsWith('texts of step'))")
        self.assertIn("limit 10.00 MiB", self.browser.text("#memory figcaption"))
        lines = f"return {chart.format('#memory')}.config.plugins.map((plugin) => plugin.id)"
        self.assertEqual(self.browser.wait(lines), ["limit"])
        self.keep_picture("texts")
        self.expect_no_faults()

    def test_curves_are_smoothed_and_drawn_on_a_log_scale_over_time(self):
        job = self.finished(tiny_job(train__max_steps=40))
        self.browser.open(f"{self.address}job?job={job}")
        self.skip_without_charts()
        chart = "Chart.getChart(document.querySelector('#curves canvas'))"
        self.browser.wait(f"return {chart}?.data.datasets.length === 1")
        raw = self.browser.run(f"return {chart}.data.datasets[0].data.map((point) => point.y)")
        for control, value in (("smoothing", 0.9), ("axis", "time")):
            self.browser.run(
                f"const control = document.querySelector('#{control}'); control.value = '{value}';"
                "control.dispatchEvent(new Event('input'))"
            )
        self.browser.run("document.querySelector('#log').click()")
        self.assertEqual(self.browser.run(f"return {chart}.scales.y.type"), "logarithmic")
        smooth, behind = self.browser.run(
            f"return {chart}.data.datasets.map((line) => line.data.map((point) => point.y))"
        )
        self.assertEqual(behind, raw)
        self.assertEqual(smooth[0], raw[0])
        self.assertGreater(smooth[-1], raw[-1], "the mean of a falling loss lies above it")
        times = self.browser.run(f"return {chart}.data.datasets[0].data.map((point) => point.x)")
        self.assertEqual(times, sorted(times))
        self.assertLess(times[-1], 30, "seconds of the run, not steps or the date")
        self.assertNotEqual(times, list(range(40)))
        self.expect_no_faults()

    def test_dragging_over_a_curve_asks_for_those_steps(self):
        job = self.finished(tiny_job(train__max_steps=40))
        self.browser.open(f"{self.address}job?job={job}")
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        self.assertEqual(self.browser.wait(count), "40")
        self.skip_without_charts()
        place = self.browser.run(
            "const box = document.querySelector('#curves .plot').getBoundingClientRect();"
            "return [box.left + box.width * 0.4, box.left + box.width * 0.7, box.top + 100]"
        )
        left, right, height = map(round, place)
        at = {"type": "pointerMove", "duration": 50, "y": height}
        drag = [
            {**at, "x": left},
            {"type": "pointerDown", "button": 0},
            {**at, "x": right},
            {"type": "pointerUp", "button": 0},
        ]
        self.browser.do("actions", {"actions": [{"type": "pointer", "id": "m", "actions": drag}]})
        self.browser.wait("return document.querySelector('#from').value !== ''")
        self.browser.wait(count + " !== '40'")
        steps = [
            int(self.browser.run(f"return document.querySelector('{one}').value"))
            for one in ("#from", "#to")
        ]
        self.assertEqual(self.browser.run(count), str(steps[1] - steps[0] + 1))
        self.expect_no_faults()

    def test_a_comparison_is_the_one_of_the_command_line_and_its_address_holds_it(self):
        jobs = [
            self.submit(tiny_job(name=name, train__micro_batch_size=size))
            for name, size in (("two", 2), ("<b>four", 4))
        ]
        for job in jobs:
            self.assertEqual(self.trainctl("wait", job).returncode, 0)
        self.browser.open(f"{self.address}compare?job={jobs[0]}&job={jobs[1]}&base={jobs[1]}")
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 5")
        table = self.trainctl("compare", *jobs, "--base", jobs[1], "--no-transpose").stdout
        shown = self.browser.run(
            "return [...document.querySelectorAll('#rows tr')].map("
            "(row) => [...row.children].map((cell) => cell.textContent))"
        )
        for row in shown:
            self.assertIn("  ".join(row[:1]), table)
            for cell in row:
                self.assertIn(cell, table)
        self.assertIn("<b>four", self.browser.text("#head"))
        self.browser.wait("return document.querySelectorAll('#curves tbody tr').length === 2")
        self.browser.run(
            "const choice = document.querySelector('#metric'); choice.value = 'lr';"
            "choice.dispatchEvent(new Event('change'))"
        )
        self.browser.wait("return location.search.includes('metric=lr')")
        self.keep_picture("compare")
        address = self.browser.run("return location.href")
        self.browser.open(address)
        self.browser.wait("return document.querySelectorAll('#curves tbody tr').length === 2")
        self.assertEqual(self.browser.run("return document.querySelector('#metric').value"), "lr")
        self.assertEqual(self.browser.run("return document.querySelector('#base').value"), "1")
        self.expect_no_faults()

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
        self.assertEqual(shown[-1][0], "as it is")
        self.assertIn("limit", self.browser.text("#ways figcaption"))
        self.keep_picture("advice")
        self.expect_no_faults()

    def test_a_lab_is_a_grid_of_its_experiments(self):
        lab = {
            "base": tiny_job(train__max_steps=20),
            "experiments": [
                {"name": "two", "set": {"train.micro_batch_size": 2}},
                {"name": "<b>four", "set": {"train.micro_batch_size": 4}},
            ],
        }
        lab["base"].pop("name", None)
        path = self.write_job({**lab, "title": "Does a larger batch pay?"})
        group = self.json("submit", path)["group"]
        self.assertEqual(self.trainctl("wait", group).returncode, 0)
        self.browser.open(f"{self.address}lab?group={group}")
        self.browser.wait("return document.querySelectorAll('.experiment tbody tr').length === 2")
        text = self.browser.text("#experiments")
        for part in ("two", "<b>four", "train.micro_batch_size 4", "SUCCEEDED", "20 of 20"):
            self.assertIn(part, text)
        self.keep_picture("lab")
        self.browser.run("document.querySelector('#compare').click()")
        self.browser.wait("return location.pathname === '/compare'")
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 5")
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
        self.keep_picture("queue")
        self.trainctl("cancel", running, waiting)
        self.browser.wait("return document.querySelector('#queue tr') === null")
        self.expect_no_faults()

    def test_zooming_a_comparison_is_in_its_address(self):
        job = self.finished(tiny_job(train__max_steps=40))
        self.browser.open(f"{self.address}compare?job={job}&from=10&to=19")
        count = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        self.assertEqual(self.browser.wait(count), "10")
        self.browser.run("document.querySelector('#whole').click()")
        self.browser.wait(count + " === '40'")
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
