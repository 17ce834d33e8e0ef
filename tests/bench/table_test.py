"""Which rows of the table of benchmarks miss their bars."""

import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parent / "table"


def load_table():
    loader = importlib.machinery.SourceFileLoader("table", str(PATH))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("table", loader))
    loader.exec_module(module)
    return module


class Bars(unittest.TestCase):
    def test_a_row_is_held_to_its_bar_in_the_bars_units(self):
        is_missed = load_table().is_missed
        milliseconds = "{:.0f} ms"
        self.assertFalse(is_missed("2 s", milliseconds, [1999]))
        self.assertTrue(is_missed("2 s", milliseconds, [2001]))
        submits = "{:.0f}/s, p50 {:.1f} ms, p99 {:.1f} ms"
        bar = "500/s, p99 < 20 ms"
        self.assertFalse(is_missed(bar, submits, [500, 90, 20]))
        self.assertTrue(is_missed(bar, submits, [499, 1, 2]))
        self.assertTrue(is_missed(bar, submits, [900, 1, 21]))
        rate = "{:.0f} a second of CPU time"
        self.assertTrue(is_missed("5,000/s", rate, [4999]))
        self.assertFalse(is_missed("aim 5,000/s", rate, [1]), "an aim is no bar")
        seconds = "{:.2f} s, slowest {:.2f} s"
        self.assertTrue(is_missed("10 s past the grace", seconds, [1, 10.5]))

    def test_each_bar_of_the_table_can_be_compared(self):
        table = load_table()
        for _, _, patterns in table.RUNS:
            for pattern, (what, form, bar) in patterns.items():
                with self.subTest(what):
                    fields = [1.0] * pattern.count(table.NUMBER)
                    form.format(*fields)
                    table.is_missed(bar, form, fields)


if __name__ == "__main__":
    unittest.main()
