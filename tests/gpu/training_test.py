"""What counts as a good row of training.py, and the exit status of bad rows and of none."""

import contextlib
import io
import unittest
import unittest.mock

import host_site
import ladder
import training

OURS = {
    "row": "a row",
    "unit": "tok/s",
    "rate": 1000.0,
    "data_wait_seconds": 0.0,
    "peak_allocated": 1.0,
    "reserved": 1.0,
    **dict.fromkeys(training.KINDS, 0.0),
    "first_loss": 10.0,
    "last_loss": 9.0,
    "power_watts": 700.0,
}


def is_good(ours, *peers):
    with contextlib.redirect_stdout(io.StringIO()):
        return training.print_row(ours, peers)


def peer(rate):
    return {"peer": "torch", "rate": rate, "peak_allocated": 1.0}


class Rows(unittest.TestCase):
    def test_a_slower_peer_is_good(self):
        self.assertTrue(is_good(OURS))
        self.assertTrue(is_good(OURS, peer(900.0)))

    def test_a_faster_peer_is_not(self):
        self.assertFalse(is_good(OURS, peer(900.0), peer(1001.0)))

    def test_a_peer_that_crashed_is_not(self):
        self.assertFalse(is_good(OURS, {"peer": "torch", "error": "Segmentation fault"}))

    def test_memory_beside_the_arithmetic_is_not(self):
        self.assertFalse(is_good({**OURS, "ratios": [1.0, 1.06]}))


class HostWithoutGpus:
    """A site of no devices."""

    def __init__(self, _bin, folder, *_):
        self.folder = folder

    def devices(self, _kind="cuda"):
        return 0

    def down(self):
        pass


class HostOfGpus(HostWithoutGpus):
    def devices(self, _kind="cuda"):
        return 8


class ExitStatus(unittest.TestCase):
    def exit_status(self, script, *arguments, site=HostWithoutGpus):
        with (
            unittest.mock.patch.object(script, "Site", site),
            unittest.mock.patch("sys.argv", [script.__name__, *arguments]),
            contextlib.redirect_stdout(io.StringIO()),
            self.assertRaises(SystemExit) as ended,
        ):
            script.main()
        return ended.exception.code

    def test_too_few_gpus_are_a_skip(self):
        self.assertEqual(self.exit_status(training), 77)
        self.assertEqual(self.exit_status(ladder), 77)

    def test_of_rows_that_ran(self):
        self.assertEqual(host_site.exit_status(True, True), 0)
        self.assertEqual(host_site.exit_status(False, True), 1)

    def test_a_bad_row_is_a_failure(self):
        crashed = {"peer": "torch", "error": "Segmentation fault"}
        for ours, other, status in (
            (OURS, peer(900.0), 0),
            (OURS, peer(1001.0), 1),
            (OURS, crashed, 1),
            ({"row": "a row", "error": "OOM_GPU"}, peer(900.0), 1),
        ):
            with (
                self.subTest(ours=ours, other=other),
                unittest.mock.patch.object(training, "ours", lambda *_, row=ours: row),
                unittest.mock.patch.object(training, "peer", lambda *_, row=other: row),
            ):
                rows = ("--rows", "tiny-1gpu,7b-1gpu", "--peers", "/nowhere")
                self.assertEqual(self.exit_status(training, *rows, site=HostOfGpus), status)

    def test_a_pattern_that_matches_no_rung_is_a_skip(self):
        self.assertEqual(self.exit_status(ladder, "--rungs", "no-such-rung"), 77)


if __name__ == "__main__":
    unittest.main()
