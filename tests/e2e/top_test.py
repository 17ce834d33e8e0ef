"""`trainctl top` on a real terminal: tmux's."""

import fcntl
import os
import select
import shutil
import signal
import struct
import subprocess
import termios
import time
import unicodedata
import unittest

from cluster import BIN, ClusterTest, endless_job, tiny_job

SECONDS = 30


def columns_of(text):
    """Of a terminal; no joined pictures but the names' are in it."""
    width = 0
    for before, character in zip("\0" + text, text):
        stands_on = unicodedata.combining(character) or character == "\u200d"
        if not stands_on and before != "\u200d":
            width += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return width


class Tmux:
    """One pane with a shell in it, on a server of its own."""

    def __init__(self, folder, columns, rows, **environment):
        self.folder = folder
        self.socket = folder / "tmux"
        settings = {"LC_ALL": "C.UTF-8", "PS1": "$ ", "PATH": f"{BIN}:{os.environ['PATH']}"}
        words = [f"{name}={value}" for name, value in {**settings, **environment}.items()]
        self.run(
            *("-f", "/dev/null", "new-session", "-d", "-x", columns, "-y", rows),
            *("env", *words, "bash", "--norc"),
        )

    def run(self, *words):
        command = ["tmux", "-S", self.socket, *map(str, words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if done.returncode != 0:
            raise AssertionError(f"{words}: {done.stderr}")
        return done.stdout

    def close(self):
        self.run("kill-server")

    def keys(self, *keys):
        self.run("send-keys", *keys)

    def type(self, line):
        self.run("send-keys", "-l", line)
        self.keys("Enter")

    def picture(self):
        return self.run("capture-pane", "-p")

    def fact(self, name):
        return self.run("display-message", "-p", f"#{{{name}}}").strip()


@unittest.skipIf(shutil.which("tmux") is None, "no tmux on this host")
class TopTest(ClusterTest):
    def setUp(self):
        super().setUp()
        server = (self.dir / "coordinator.addr").read_text().strip()
        self.tmux = Tmux(self.dir, 80, 24, TRAINCTL_SERVER=server, TERM="screen-256color")
        self.addCleanup(self.tmux.close)

    def see(self, *texts):
        """The picture once it has all of these."""
        picture = ""

        def has_all():
            nonlocal picture
            picture = self.tmux.picture()
            return all(text in picture for text in texts)

        try:
            self.eventually(f"{texts} is seen", SECONDS, has_all)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{picture}") from None
        return picture

    def start_top(self):
        """The process id; what the terminal was like is in the file `before`."""
        self.tmux.type(f"stty -g > {self.dir}/before")
        self.tmux.type("trainctl top")
        self.see(" 2 devices busy", "q quit")
        self.assertEqual(self.tmux.fact("alternate_on"), "1")
        self.assertEqual(self.tmux.fact("cursor_flag"), "0")
        shell = self.tmux.fact("pane_pid")
        children = subprocess.run(["pgrep", "-P", shell], capture_output=True, text=True).stdout
        return int(children.split()[0])

    def expect_terminal_as_before(self):
        self.eventually(
            "the shell has its screen", SECONDS, lambda: self.tmux.fact("alternate_on") == "0"
        )
        self.tmux.type(f"stty -g > {self.dir}/after; echo do''ne")
        self.see("done")
        self.assertEqual(self.tmux.fact("cursor_flag"), "1")
        self.assertEqual(self.tmux.fact("wrap_flag"), "1")
        modes = [(self.dir / name).read_text() for name in ("before", "after")]
        self.assertEqual(modes[0], modes[1])

    def test_a_job_is_seen_its_log_read_and_its_end_asked_for(self):
        saves = {"output__dir": str(self.dir / "out"), "checkpoint__every_steps": 20}
        job = self.submit(endless_job(**saves))
        queued = self.submit(endless_job(name="later", devices=2))
        self.start_top()
        self.see("RUNNING", "endless", "/10,000,000", "QUEUED", "later", f"▶ {job}")
        first = self.tmux.picture()
        self.eventually("it is live", SECONDS, lambda: self.tmux.picture() != first)
        self.tmux.keys("Enter")
        self.see(f"log of {job} endless", "saved checkpoint", "RANK", "q back")
        self.tmux.keys("q")
        self.see("q quit")
        self.tmux.keys("Down")
        self.see(f"▶ {queued}")
        self.tmux.keys("c")
        self.see(f"End later ({queued})? y ends it")
        self.tmux.keys("n")
        self.see("Nothing was cancelled.")
        self.tmux.keys("k", "c", "y")
        self.see(f"Really? endless ({job}) of ", " has trained for 0:")
        self.assertNotEqual(self.job(job)["state"], "FINISHED")
        self.tmux.keys("y")
        self.see(f"Asked endless ({job}) to end.")
        self.see("ENDED", "CANCELLED")
        self.assertEqual(self.wait_for_end(job)["outcome"], "CANCELLED")
        self.assertNotEqual(self.job(queued)["state"], "FINISHED")
        self.tmux.keys("q")
        self.expect_terminal_as_before()
        self.trainctl("cancel", queued)

    def bytes_of_top(self, seconds, *options):
        """What it sends to a terminal of 80 × 24, in whole seconds from its first picture on."""
        server = (self.dir / "coordinator.addr").read_text().strip()
        main, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        environment = {**os.environ, "TRAINCTL_SERVER": server, "TERM": "xterm-256color"}
        with subprocess.Popen(
            [BIN / "trainctl", "top", *options],
            env=environment,
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
        ) as process:
            os.close(terminal)
            self.assertTrue(select.select([main], [], [], SECONDS)[0], "it shows nothing")
            sent, end = [], time.monotonic() + seconds
            while (left := end - time.monotonic()) > 0:
                if select.select([main], [], [], left)[0]:
                    sent.append(len(os.read(main, 1 << 16)))
            process.terminate()
        os.close(main)
        return sum(sent)

    def test_it_goes_through_a_slow_line(self):
        first = self.bytes_of_top(1)
        self.assertGreater(first, 300)
        idle = self.bytes_of_top(6)
        self.assertLess(idle - first, 5 * 1000, "an idle site changes its time and load")
        job = self.submit(endless_job())
        self.eventually("it runs", SECONDS, lambda: self.job(job)["state"] == "RUNNING")
        for options in ((), ("--job", job)):
            busy = self.bytes_of_top(6, *options)
            self.assertGreater(busy, first + 200, "what runs is drawn anew")
            self.assertLess(busy, 6 * 20_000)
        self.trainctl("cancel", job)

    def test_it_follows_the_size_of_the_terminal(self):
        self.start_top()
        for columns, rows in ((150, 40), (40, 10), (80, 24)):
            self.tmux.run("resize-window", "-x", columns, "-y", rows)
            last = "q quit" if columns < 80 else "~ predicted"

            # tmux itself keeps the last row where it makes the terminal smaller.
            def lines(last=last):
                return self.see("DEVICE", "READY", last).rstrip("\n").split("\n")

            self.eventually("it is drawn anew", SECONDS, lambda: len(lines()) == rows)
            picture = lines()
            self.assertIn(last, picture[-1])
            self.assertLessEqual(max(map(len, picture)), columns)
        self.tmux.keys("q")
        self.expect_terminal_as_before()

    def test_columns_stand_below_each_other_whatever_scripts_names_are_in(self):
        names = ["plain", "日本語モデルの学習", "e\u0301mile", "👩\u200d💻 at work", "قياس"]
        self.submit(endless_job(devices=2))
        for name in names:
            self.submit(tiny_job(name=name, tags={"lab": "第二 🧪"}))
        self.start_top()
        self.see("QUEUED", *names)
        for columns in (80, 60, 150):
            self.tmux.run("resize-window", "-x", columns, "-y", 24)

            def are_aligned():
                rows = self.tmux.picture().split("\n")
                begin = next(i for i, row in enumerate(rows) if row.startswith("QUEUED"))
                places = {
                    columns_of(row[: row.index(word)])
                    for row, word in zip(
                        rows[begin : begin + 1 + len(names)], ["DEVICES"] + ["      1"] * 5
                    )
                }
                return len(places) == 1

            self.eventually(f"{columns} columns are aligned", SECONDS, are_aligned)
        self.tmux.keys("q")
        self.expect_terminal_as_before()

    def test_terminals_that_show_less(self):
        escapes = {"plain": "\x1b[1m", "NO_COLOR=1": "", "TERM=vt100": "", "LC_ALL=C": "\x1b[1m"}
        for setting, style in escapes.items():
            with self.subTest(setting):
                self.tmux.type(f"{setting if '=' in setting else ''} trainctl top")
                self.see(" 2 devices busy", "q quit")
                self.assertEqual(self.tmux.fact("alternate_on"), "1")
                drawn = self.tmux.run("capture-pane", "-p", "-e")
                self.assertIn(style, drawn)
                self.assertEqual("\x1b[" in drawn, style != "", drawn)
                self.assertEqual(drawn.isascii(), setting == "LC_ALL=C", drawn)
                self.tmux.keys("?")
                self.see("any key goes back")
                self.tmux.keys("q", "q")
                self.eventually(
                    "it is left", SECONDS, lambda: self.tmux.fact("alternate_on") == "0"
                )
                self.tmux.run("send-keys", "-R")
                self.tmux.keys("C-l")

    def test_on_a_dumb_terminal_it_is_printed_once(self):
        self.tmux.type("TERM=dumb trainctl top; echo do''ne")
        self.see("DEVICE", "READY", "done")
        self.assertEqual(self.tmux.fact("alternate_on"), "0")
        self.assertNotIn("\x1b[", self.tmux.run("capture-pane", "-p", "-e"))

    def test_signals_leave_the_terminal_as_it_was(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGABRT):
            with self.subTest(number.name):
                os.kill(self.start_top(), number)
                self.expect_terminal_as_before()
                self.tmux.run("send-keys", "-R")
                self.tmux.keys("C-l")

    def test_it_stops_and_goes_on(self):
        self.start_top()
        self.tmux.keys("C-z")
        self.expect_terminal_as_before()
        self.tmux.type("fg")
        self.see(" 2 devices busy", "q quit")
        self.assertEqual(self.tmux.fact("alternate_on"), "1")
        self.tmux.keys("C-c")
        self.expect_terminal_as_before()

    def test_a_coordinator_that_is_gone_is_said(self):
        self.start_top()
        self.process("traincoordinator").kill()
        self.see("not as it is now", "READY")
        self.up()
        self.see(" 2 devices busy")
        self.tmux.keys("q")
        self.expect_terminal_as_before()


if __name__ == "__main__":
    unittest.main()
