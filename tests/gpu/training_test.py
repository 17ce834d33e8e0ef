"""What counts as a good row of training.py."""

import contextlib
import io
import unittest

import training

OURS = {
    "row": "a row",
    "tokens_per_second": 1000.0,
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


def peer(tokens_per_second):
    return {"peer": "torch", "tokens_per_second": tokens_per_second, "peak_allocated": 1.0}


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


if __name__ == "__main__":
    unittest.main()
