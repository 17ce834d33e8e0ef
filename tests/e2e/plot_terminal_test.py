"""trainctl plot asks its terminal what it shows, and draws so; the terminal is as before."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import unittest

from cluster import BIN, ClusterTest, tiny_job

LINES, COLUMNS, CELL_WIDTH, CELL_HEIGHT = 40, 100, 8, 16
QUESTION = b"\x1b[c"  # DA1
SECONDS = 60


def size_of_sixels(sent):
    """Columns and rows of pixels that something is drawn on, as (width, height)."""
    data = re.search(rb'\x1bP0;1;0q"1;1;\d+;\d+(.*?)\x1b\\', sent, re.DOTALL)[1].decode()
    x = y = width = height = 0
    for count, sixel, control in re.findall(r"(?:!(\d+))?([?-~])|(\$|-|#[0-9;]+)", data):
        if control == "$":
            x = 0
        elif control == "-":
            x, y = 0, y + 6
        elif sixel:
            x += int(count or 1)
            if bits := ord(sixel) - ord("?"):
                width, height = max(width, x), max(height, y + bits.bit_length())
    return width, height


class PlotTerminalTest(ClusterTest):
    def plotted(self, job, answer):
        """All that a plot sends to a terminal that says this of itself."""
        environment = {
            **os.environ,
            "TRAINCTL_SERVER": (self.dir / "coordinator.addr").read_text().strip(),
            "TERM": "xterm-256color",
        }
        pid, terminal = pty.fork()
        if pid == 0:
            size = (LINES, COLUMNS, COLUMNS * CELL_WIDTH, LINES * CELL_HEIGHT)
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", *size))
            os.execve(BIN / "trainctl", ["trainctl", "plot", job], environment)
        self.addCleanup(os.close, terminal)
        before = termios.tcgetattr(terminal)[3]
        sent, asked = b"", False
        while select.select([terminal], [], [], SECONDS)[0]:
            try:
                sent += os.read(terminal, 1 << 16)
            except OSError:  # the other end is closed
                break
            if not asked and QUESTION in sent:
                asked = True
                self.assertFalse(termios.tcgetattr(terminal)[3] & termios.ECHO)
                os.write(terminal, answer)
        self.assertEqual(os.waitpid(pid, 0)[1], 0, sent)
        self.assertEqual(termios.tcgetattr(terminal)[3], before)
        self.assertTrue(asked)
        return sent

    def test_sixels_are_sent_to_a_terminal_that_shows_them_and_braille_to_others(self):
        status, job = self.run_job(tiny_job(train__max_steps=20))
        self.assertEqual(status, 0)
        sent = self.plotted(job["id"], b"\x1b[?62;4;22c")
        width, height = size_of_sixels(sent)
        self.assertGreater(width, 80 * CELL_WIDTH)
        self.assertLessEqual(width, COLUMNS * CELL_WIDTH)
        self.assertGreater(height, 10 * CELL_HEIGHT)
        self.assertLessEqual(height, 20 * CELL_HEIGHT)
        sent = self.plotted(job["id"], b"\x1b[?1;2c")
        self.assertNotIn(b"\x1bP", sent)
        self.assertIn("⣀".encode(), sent)


if __name__ == "__main__":
    unittest.main()
