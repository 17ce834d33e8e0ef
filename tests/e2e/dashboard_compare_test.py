"""Runs side by side: the pages that compare them, and the report of them, have the numbers of the
command line."""

import contextlib
import importlib.util
import re
import sqlite3
import unittest

from cluster import TOP, tiny_job
from dashboard import CHART, DashboardCase


def texts_of_python():
    """The module of the Python package that writes numbers; it needs no other."""
    path = TOP / "client" / "python" / "trainctl" / "text.py"
    spec = importlib.util.spec_from_file_location("text", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class DashboardCompareTest(DashboardCase):
    trained_lab = None

    def lab(self):
        """(its id, the ids of its jobs); trained once for all tests."""
        if type(self).trained_lab is None:
            sampled = {"eval__prompts": ["<b>Once"], "eval__max_new_tokens": 4}
            evaluated = {"data__val_split_fraction": 0.2, "eval__every_steps": 10}
            base = tiny_job(train__max_steps=20, **evaluated, **sampled)
            del base["name"]
            experiments = [
                {"name": "two", "set": {"train.micro_batch_size": 2}},
                {"name": "<b>four", "set": {"train.micro_batch_size": 4}},
            ]
            path = self.write_job(
                {"title": "Does a larger batch pay?", "base": base, "experiments": experiments}
            )
            accepted = self.json("submit", path)
            self.assertEqual(self.trainctl("wait", accepted["group"]).returncode, 0)
            type(self).trained_lab = (accepted["group"], [job["id"] for job in accepted["jobs"]])
        return self.trained_lab

    def test_a_comparison_is_the_one_of_the_command_line_and_its_address_holds_it(self):
        _, jobs = self.lab()
        self.browser.open(f"{self.address}compare?job={jobs[0]}&job={jobs[1]}&base={jobs[1]}")
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 5")
        printed = self.trainctl("compare", *jobs, "--base", jobs[1], "--no-transpose").stdout
        _, *table = [" ".join(line.split()) for line in printed.splitlines() if line.strip()]
        shown = self.browser.run(
            "return [...document.querySelectorAll('#rows tr')].map("
            "(row) => [...row.children].map((cell) => cell.textContent).join(' '))"
        )
        shown = [" ".join(row.split()) for row in shown]
        until_texts = shown.index("texts") + 1
        self.assertEqual(shown[:until_texts], table[:until_texts])
        self.assertEqual(len(shown), until_texts + 2, "its texts follow, which a terminal wraps")
        self.assertTrue([row for row in shown if " * " in row], "the best are marked")
        self.expect_lines_of("#warnings p", printed)
        said = self.expect_lines_of("#definitions p", printed)
        self.assertTrue([line for line in said if line.startswith("time: ")], said)
        self.assertTrue([line for line in said if line.startswith("memory: ")], said)
        self.assertIn("<b>four", self.browser.text("#head"))
        self.browser.wait("return document.querySelectorAll('#curves tbody tr').length === 2")
        self.browser.run(
            "const choice = document.querySelector('#metric'); choice.value = 'lr';"
            "choice.dispatchEvent(new Event('change'))"
        )
        self.browser.wait("return location.search.includes('metric=lr')")
        self.expect_overlaid(jobs, "lr")
        self.keep_picture("compare")
        address = self.browser.run("return location.href")
        self.browser.open(address)
        self.browser.wait("return document.querySelectorAll('#curves tbody tr').length === 2")
        self.assertEqual(self.browser.run("return document.querySelector('#metric').value"), "lr")
        self.assertEqual(self.browser.run("return document.querySelector('#base').value"), "1")
        self.expect_no_faults()

    def test_the_address_holds_the_runs_and_not_what_they_are_called(self):
        group, lab = self.lab()
        first, second = (self.submit(tiny_job(name="two words")) for _ in range(2))
        self.compare_page(f"?job=two+words&job={first}")
        self.assertEqual(self.held(), ([second, first], [second, first]))
        self.compare_page(f"?job={first}&job={group}")
        self.assertEqual(self.held(), ([first, group], [first, *lab]))
        newest = self.submit_group_of_one()
        self.compare_page("")
        self.assertEqual(self.held(), ([newest], [newest]))
        self.submit_group_of_one()
        self.browser.run(
            "document.querySelector('#rows').replaceChildren();"
            "document.querySelector('#base').dispatchEvent(new Event('change'))"
        )
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 0")
        self.assertEqual(self.held(), ([newest], [newest]))
        self.expect_no_faults()

    def compare_page(self, asked):
        self.browser.open(f"{self.address}compare{asked}")
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 0")

    def held(self):
        """The jobs of the page's address, and those that it compares."""
        held = self.browser.run("return new URLSearchParams(location.search).getAll('job')")
        compared = self.browser.run(
            "return [...document.querySelectorAll('#base option')].map((one) => one.textContent)"
        )
        return held, [re.search(r"\((j\d+)\)$", text)[1] for text in compared]

    def submit_group_of_one(self):
        """The id of its job."""
        lab = {"base": tiny_job(), "experiments": [{"name": "one", "set": {}}]}
        [job] = self.json("submit", self.write_job(lab))["jobs"]
        return job["id"]

    def expect_lines_of(self, places, printed):
        """What stands at these places is what the command line prints, in lines of its own."""
        lines = self.browser.run(
            f"return [...document.querySelectorAll('{places}')].map((at) => at.textContent)"
        )
        for line in lines:
            self.assertIn(line, printed.splitlines())
        return lines

    def expect_overlaid(self, jobs, name):
        self.skip_without_charts()
        drawn = self.browser.wait(
            CHART + "const chart = chartOf('#curves', 'learning rate');"
            "return chart?.data.datasets.map((line) => line.data.map(({x, y}) => [x, y]))"
        )
        self.assertEqual(drawn, [[list(one) for one in self.stored(job, name)] for job in jobs])

    def labels_of_curves(self, jobs, metric, count):
        asked = "&".join(f"job={job}" for job in jobs)
        self.browser.open(f"{self.address}compare?{asked}&metric={metric}")
        rows = "document.querySelectorAll('#curves tbody tr')"
        self.browser.wait(f"return {rows}.length === {count}")
        return self.browser.run(f"return [...{rows}].map((row) => row.children[0].textContent)")

    def test_of_ranks_the_highest_stands_for_a_run_and_all_for_one_alone(self):
        one, other = (self.finished(tiny_job(name=name)) for name in ("one", "other"))
        peak = "gpu_memory_used_bytes"
        ranks = [(peak, rank, f"{rank} % 3 * 1e9 + step") for rank in range(4)]
        self.fill(one, 9, [*ranks, ("loss", -1, "3 - step * 0.1")])
        self.fill(other, 9, ranks[:1])
        self.assertEqual(
            self.labels_of_curves([one, other], peak, 2),
            [f"one ({one}), rank 2, the highest of 4", f"other ({other})"],
        )
        alone = self.labels_of_curves([one], peak, 4)
        self.assertEqual(alone, [f"one ({one}), rank {rank}" for rank in range(4)])
        self.assertEqual(self.labels_of_curves([one], "loss", 1), [f"one ({one})"])
        self.fill(one, 9, [(peak, rank, f"{rank} % 9 * 1e9 + step") for rank in range(10)])
        self.assertEqual(
            self.labels_of_curves([one], peak, 1), [f"one ({one}), rank 8, the highest of 10"]
        )
        self.expect_no_faults()

    def test_memory_is_drawn_at_the_phase_where_its_kind_is_largest(self):
        """DDP has gradients after the backward alone; a fused step that accumulates only before."""
        of_ddp = self.finished(tiny_job(devices=2, strategy="ddp"))
        jobs = [self.lab()[1][0], of_ddp]
        for metric, when in (
            ("memory_grads_bytes", ["after forward", "after backward"]),
            ("memory_other_bytes", ["after forward"]),
        ):
            [row] = [row for row in self.json("compare", *jobs)["rows"] if row["key"] == metric]
            labels = self.labels_of_curves(jobs, metric, 2)
            self.skip_without_charts()
            title, peaks = self.browser.run(
                CHART + "const lines = chartOf('#curves').data.datasets;"
                "return [document.querySelector('#curves figcaption b').textContent,"
                " lines.map((line) => Math.max(...line.data.map(({y}) => y)))]"
            )
            self.assertEqual(peaks, row["values"])
            self.assertEqual(title, f"{row['label']}, {' or '.join(when)}")
            if len(when) > 1:
                self.assertEqual([label.split(", ")[-1] for label in labels], when)
        self.expect_no_faults()

    def test_times_are_of_the_whole_run_whatever_steps_are_shown(self):
        _, jobs = self.lab()
        asked = f"{self.address}compare?job={jobs[0]}&job={jobs[1]}&axis=time"
        self.browser.open(f"{asked}&from=10&to=19")
        self.browser.wait("return document.querySelectorAll('#curves tbody tr').length === 2")
        self.skip_without_charts()
        shown = "chartOf('#curves').data.datasets.map((line) => line.data.map(({x}) => x))"
        for job, times in zip(jobs, self.browser.run(f"{CHART} return {shown}"), strict=True):
            start = self.described(job)["started_at"]
            stored = [time - start for step, _, time in self.timed(job, "loss") if 10 <= step < 20]
            self.assertEqual(len(times), len(stored))
            for drawn, known in zip(times, stored, strict=True):
                self.assertAlmostEqual(drawn, known, delta=1e-3)
        self.browser.open(asked)
        points = "return document.querySelector('#curves tbody td:nth-child(2)')?.textContent"
        self.browser.wait(points)
        _, _, height = self.middle_of_curves()
        # Around a step: in a burst of steps the middle of the plot may have none.
        _, _, time = self.timed(jobs[0], "loss")[10]
        place = (
            f"{CHART} const edge = document.querySelector('#curves .plot').getBoundingClientRect();"
            "const axis = chartOf('#curves').scales.x;"
        )
        pixels = self.browser.run(
            f"{place} const middle = axis.getPixelForValue(arguments[0]);"
            "return [Math.max(axis.left, middle - 40), Math.min(axis.right, middle + 40)]"
            " .map((one) => Math.round(edge.left + one))",
            time - self.described(jobs[0])["started_at"],
        )
        left, right = self.browser.run(
            f"{place} return [...arguments].map((one) => axis.getValueForPixel(one - edge.left))",
            *pixels,
        )
        within = [
            step
            for job in jobs
            for step, _, time in self.timed(job, "loss")
            if left <= time - self.described(job)["started_at"] <= right
        ]
        self.assertTrue(within, (left, right))
        self.assertEqual(self.drag_over_curves((*pixels, height)), [min(within), max(within)])
        steps = [step for step, _, _ in self.timed(jobs[0], "loss")]
        shown = sum(min(within) <= step <= max(within) for step in steps)
        self.browser.wait(f"{points} === '{shown}'")
        self.expect_no_faults()

    def test_a_report_has_the_numbers_of_compare_and_describe(self):
        group, jobs = self.lab()
        rows = self.json("compare", *jobs)["rows"]
        known = [self.described(job) for job in jobs]
        said = ["<b>Once", *(one["text"] for job in known for one in job["continuations"])]
        for name, read in (("lab.html", self.read_page), ("lab.md", self.read_markdown)):
            with self.subTest(name):
                path = self.dir / name
                result = self.trainctl("report", group, "-o", path)
                self.assertEqual(result.returncode, 0, result.stderr)
                tables, texts = read(path)
                self.expect_numbers_of_compare(tables, rows)
                self.expect_numbers_of_describe(tables, known)
                begin = texts.index(said[0])
                self.assertEqual(texts[begin : begin + len(said)], said)
        self.expect_no_faults()

    def read_page(self, path):
        """Its tables, and what stands as it was written."""
        self.browser.open(path.as_uri())
        self.assertIn("Does a larger batch pay?", self.browser.text("body"))
        return self.browser.run(
            "return [[...document.querySelectorAll('table')].map((table) => [...table.rows].map("
            "(row) => [...row.cells].map((cell) => cell.textContent))),"
            " [...document.querySelectorAll('pre')].map((one) => one.textContent)]"
        )

    def read_markdown(self, path):
        text, tables, inside = path.read_text(), [], False
        for line in text.splitlines():
            if is_row := line.startswith("| "):
                if not inside:
                    tables.append([])
                cells = re.sub(r"\\([^\w\s])", r"\1", line.strip("| ")).split(" | ")
                tables[-1].append(cells)
            inside = is_row or line.startswith("|--")
        return tables, re.findall(r"^```\n(.*?)\n```$", text, re.DOTALL | re.MULTILINE)

    def expect_number(self, text, value, unit):
        """The text is that number, as far as its digits go."""
        sign, digits, size = re.match(r"([−+]?)([\d,.]+) ?([KMG]iB|ms)?", text).groups()
        scale = {"GiB": 2**30, "MiB": 2**20, "KiB": 2**10, "ms": 1e-3, None: 1}[size]
        digits = digits.replace(",", "")
        half = 0.5001 * scale * 10.0 ** -len(digits.partition(".")[2])
        number = float(digits) * scale * (-1 if sign == "−" else 1)
        self.assertAlmostEqual(number, value, delta=half, msg=f"{text} {unit}")

    def expect_numbers_of_compare(self, tables, rows):
        found = {row[0]: row[1:] for table in tables for row in table if len(row) == 3}
        numbers = [row for row in rows if isinstance(row["values"][0], (int, float))]
        self.assertGreater(len(numbers), 12)
        for row in numbers:
            cells = found[row["label"]]
            for cell, value, best in zip(cells, row["values"], row["best"], strict=True):
                with self.subTest(row["label"]):
                    self.expect_number(cell, value, row["unit"])
                    self.assertEqual("*" in cell, best)

    def expect_numbers_of_describe(self, tables, known):
        """Tables of predicted and measured, one a job."""
        found = [
            table[1:] for table in tables if table[0][1:] == ["PREDICTED", "MEASURED", "ERROR"]
        ]
        self.assertEqual(len(found), len(known))
        for table, job in zip(found, known, strict=True):
            for row, one in zip(table, job["prediction_errors"], strict=True):
                self.expect_number(row[1], one["predicted"], row[0])
                self.expect_number(row[2], one["measured"], row[0])
                self.expect_number(row[3].replace("±", ""), one["error"] * 100, row[0])

    def test_an_end_that_the_lab_expects_is_not_counted_against_it(self):
        base = tiny_job()
        del base["name"]
        too_little = {"resources.gpu_memory_limit": "2400KiB"}
        experiments = [
            {"name": "fits"},
            {"name": "does-not", "set": too_little, "expect": "OOM"},
            {"name": "was-to-fit", "set": too_little, "expect": "SUCCEEDED"},
        ]
        lab = self.write_job({"base": base, "experiments": experiments})
        group = self.json("submit", lab, "--force")["group"]
        self.trainctl("wait", group)
        self.browser.open(f"{self.address}lab?group={group}")
        self.browser.wait("return document.querySelectorAll('#facts li').length > 4")
        facts = self.browser.run(
            "return [...document.querySelectorAll('#facts li')].map("
            "(li) => [...li.children].map((one) => one.textContent))"
        )
        self.assertEqual(
            [fact for fact in facts if "ended" in fact[1] or fact[1] == "succeeded"],
            [["1", "succeeded"], ["1", "ended otherwise, as expected"], ["1", "ended otherwise"]],
        )
        self.expect_no_faults()

    def test_how_long_a_job_took_is_told_alike_everywhere(self):
        job = self.submit(tiny_job())
        self.wait_for_end(job)
        self.process("traincoordinator").kill()
        path = self.site / "coordinator" / "coordinator.db"
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            whole_seconds = "UPDATE job_status SET started_at = started_at / 1000000 * 1000000"
            database.execute(f"{whole_seconds} + 900000 WHERE job = ?", [int(job[1:])])
            took = "UPDATE job_status SET ended_at = started_at + 6300000"
            database.execute(f"{took} WHERE job = ?", [int(job[1:])])
        self.up()
        [record] = self.json("describe", job)["jobs"]
        self.assertAlmostEqual(record["ended_at"] - record["started_at"], 6.3, delta=1e-3)
        described = self.trainctl("describe", job).stdout
        self.assertRegex(described, r"(?m)^ +took +0:06$")
        self.assertRegex(self.trainctl("status", job).stdout, r" 0:06 ")
        report = self.dir / "report.md"
        self.assertEqual(self.trainctl("report", job, "-o", report).returncode, 0)
        self.assertIn("| 0:06 |", report.read_text())
        self.browser.open(f"{self.address}job?job={job}")
        self.browser.wait("return document.querySelectorAll('#facts li').length > 2")
        self.assertIn("0:06", self.browser.text("#facts"))
        self.assertEqual(texts_of_python().clock(record["ended_at"] - record["started_at"]), "0:06")

    def test_a_lab_is_a_grid_of_its_experiments(self):
        group, _ = self.lab()
        self.browser.open(f"{self.address}lab?group={group}")
        self.browser.wait("return document.querySelectorAll('.experiment tbody tr').length === 2")
        text = self.browser.text("#experiments")
        for part in ("two", "<b>four", "train.micro_batch_size 4", "SUCCEEDED", "20 of 20"):
            self.assertIn(part, text)
        self.assertEqual(self.browser.text("#question"), "Does a larger batch pay?")
        self.keep_picture("lab")
        self.browser.run("document.querySelector('#compare').click()")
        self.browser.wait("return location.pathname === '/compare'")
        self.browser.wait("return document.querySelectorAll('#rows tr').length > 5")
        self.expect_no_faults()


if __name__ == "__main__":
    unittest.main()
