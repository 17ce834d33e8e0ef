"""trainctl plot asks its terminal what it shows, and draws so; the terminal is as before."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import unittest

from cluster import BIN, ClusterTest, tiny_job

LINES, COLUMNS, CELL_WIDTH, CELL_HEIGHT = 40, 100, 8, 16
QUESTION = b"\x1b[c"  # DA1
SECONDS = 60
SLOW_SECONDS = 2  # of a line, there and back


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
    def setUp(self):
        super().setUp()
        status, job = self.run_job(tiny_job(train__max_steps=20))
        self.assertEqual(status, 0)
        self.job = job["id"]

    def plotted(self, answer, typed=b""):
        """A plot's exit status, all that it sent to a terminal, and whether it asked anything.

        The terminal answers by a call with its own descriptor and the plot's process id. Typed
        is what waits in it before.
        """
        environment = {
            **os.environ,
            "TRAINCTL_SERVER": (self.dir / "coordinator.addr").read_text().strip(),
            "TERM": "xterm-256color",
            "LC_ALL": "C.UTF-8",
        }
        for name in ("NO_COLOR", "TERM_PROGRAM"):
            environment.pop(name, None)
        terminal, shell = pty.openpty()
        self.addCleanup(os.close, terminal)
        size = (LINES, COLUMNS, COLUMNS * CELL_WIDTH, LINES * CELL_HEIGHT)
        fcntl.ioctl(shell, termios.TIOCSWINSZ, struct.pack("HHHH", *size))
        before = termios.tcgetattr(terminal)
        os.write(terminal, typed)
        plot = subprocess.Popen(
            [BIN / "trainctl", "plot", self.job],
            env=environment,
            stdin=shell,
            stdout=shell,
            stderr=shell,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(shell)
        sent, asked = b"", False
        try:
            while select.select([terminal], [], [], SECONDS)[0]:
                try:
                    sent += os.read(terminal, 1 << 16)
                except OSError:  # the other end is closed
                    break
                if not asked and QUESTION in sent:
                    asked = True
                    self.assertFalse(termios.tcgetattr(terminal)[3] & termios.ECHO)
                    answer(terminal, plot.pid)
            status = plot.wait(SECONDS)
        finally:
            plot.kill()
            plot.wait()
        self.assertEqual(termios.tcgetattr(terminal), before)
        return status, sent, asked

    def answered(self, answer):
        status, sent, asked = self.plotted(lambda terminal, _: os.write(terminal, answer))
        self.assertEqual(status, 0, sent)
        self.assertTrue(asked)
        return sent

    def test_sixels_are_sent_to_a_terminal_that_shows_them_and_braille_to_others(self):
        sent = self.answered(b"\x1b[?62;4;22c")
        width, height = size_of_sixels(sent)
        self.assertGreater(width, 80 * CELL_WIDTH)
        self.assertLessEqual(width, COLUMNS * CELL_WIDTH)
        self.assertGreater(height, 10 * CELL_HEIGHT)
        self.assertLessEqual(height, 20 * CELL_HEIGHT)
        sent = self.answered(b"\x1b[?1;2c")
        self.assertNotIn(b"\x1bP", sent)
        self.assertIn("⣀".encode(), sent)

    def test_the_answer_of_a_slow_terminal_is_waited_for(self):
        def slow(terminal, _):
            self.assertFalse(select.select([terminal], [], [], SLOW_SECONDS)[0], "it went on")
            os.write(terminal, b"\x1b[?62;4;22c")

        status, sent, _ = self.plotted(slow)
        self.assertEqual(status, 0, sent)
        self.assertIn(b"\x1bP", sent)

    def test_a_terminal_that_does_not_answer_gets_braille_and_a_note(self):
        status, sent, asked = self.plotted(lambda *_: None)
        self.assertEqual(status, 0, sent)
        self.assertTrue(asked)
        self.assertIn("⣀".encode(), sent)
        self.assertIn(b"--graphics none does not ask", sent)

    def test_what_is_typed_meanwhile_is_no_answer(self):
        self.assertIn(b"\x1bP", self.answered(b"c\x1b[?62;4;22c"))

    def test_nothing_is_asked_where_somebody_has_typed_already(self):
        status, sent, asked = self.plotted(None, typed=b"ls")
        self.assertEqual(status, 0, sent)
        self.assertFalse(asked)
        self.assertIn("⣀".encode(), sent)

    def test_a_signal_during_the_question_leaves_the_terminal_as_before(self):
        def key(terminal, _):
            os.write(terminal, b"\x03")

        for answer, expected in (
            (key, 130),
            (lambda _, pid: os.kill(pid, signal.SIGINT), 130),
            (lambda _, pid: os.kill(pid, signal.SIGTERM), -signal.SIGTERM),
        ):
            status, sent, asked = self.plotted(answer)
            self.assertTrue(asked)
            self.assertEqual(status, expected, sent)


if __name__ == "__main__":
    unittest.main()
