"""A gang over two hosts whose link takes its time: each frame waits on its way, in both directions.

This kernel may have no netem: the link is two TAP devices, and this program carries their frames.
"""

import collections
import fcntl
import os
import select
import struct
import threading
import time
import unittest

from two_hosts import STANDSTILL_SECONDS, TwoHostsTest, run

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
MOST_FRAME_BYTES = 65536
LONG_CUT_SECONDS = 20  # the host counts as lost meanwhile


def tap(name):
    run("ip", "tuntap", "add", "mode", "tap", name)
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return end


class Carrier:
    """Brings frames from one end to the other, each after the delay. Thread-safe."""

    def __init__(self, ends):
        self.ends = ends
        self.under_way = {end: collections.deque() for end in ends}  # (when it arrives, frame)
        self.delay_seconds = 0
        self.is_cut = False
        self.stops = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def stop(self):
        self.stops.set()
        self.thread.join()
        for end in self.ends:
            os.close(end)

    def run(self):
        while not self.stops.is_set():
            ready, _, _ = select.select(self.ends, [], [], self.until_next())
            for end in ready:
                self.take(end)
            for end in self.ends:
                self.give(end)

    def until_next(self):
        times = [frames[0][0] for frames in self.under_way.values() if frames]
        return min(0.05, max(0, min(times, default=1e12) - time.monotonic()))

    def take(self, end):
        try:
            frame = os.read(end, MOST_FRAME_BYTES)
        except OSError:
            return  # its host is not up
        if not self.is_cut:
            self.under_way[end].append((time.monotonic() + self.delay_seconds, frame))

    def give(self, end):
        """What came in here, to the other end. A cut loses what is under way, in its midst."""
        frames = self.under_way[end]
        if self.is_cut:
            frames.clear()
        while frames and frames[0][0] <= time.monotonic():
            try:
                os.write(self.ends[1 - self.ends.index(end)], frames.popleft()[1])
            except OSError:
                pass  # lost, as on any link


class SlowLink(TwoHostsTest):
    def make_link(self, one, other):
        self.carrier = Carrier([tap(one), tap(other)])
        self.addCleanup(self.carrier.stop)

    def delay(self, seconds):
        """Of each way; a round trip takes twice as long."""
        self.carrier.delay_seconds = seconds

    def train_alone(self, **steps):
        one = self.submit(name="one", devices=1, **steps)
        self.assertEqual(self.wait_for_end(one)["outcome"], "SUCCEEDED")
        return self.losses(one)

    def test_a_round_trip_of_200_ms_changes_nothing_but_the_time(self):
        steps = {"train__max_steps": 6}
        alone = self.train_alone(**steps)
        self.delay(0.1)
        job = self.submit(name="slow", devices=4, **steps)
        self.assertEqual(self.wait_for_end(job, 300)["outcome"], "SUCCEEDED")
        self.assertEqual(len(self.attempts(job)), 1)
        self.assertEqual(self.losses(job), alone)

    def test_a_round_trip_of_3_s_ends_nothing(self):
        job = self.submit(name="slow", devices=4, train__max_steps=5)
        self.wait_for_step(job, 1)
        self.delay(1.5)
        self.assertEqual(self.wait_for_end(job, 400)["outcome"], "SUCCEEDED")
        self.assertEqual(len(self.attempts(job)), 1)
        self.assertEqual(self.states(), ["READY"] * 4)

    def test_a_host_with_a_round_trip_of_6_s_is_lost_until_it_is_shorter(self):
        self.delay(3)
        self.eventually("b is LOST", 90, lambda: self.state_of("b") == {"LOST"})
        self.delay(0)
        self.eventually("b is back", 90, lambda: self.states() == ["READY"] * 4)

    def test_cancel_reaches_a_gang_over_a_slow_link(self):
        job = self.submit(name="endless", devices=4, train__max_steps=10_000_000,
                          train__epochs=1_000_000)  # fmt: skip
        self.wait_for_step(job, 2)
        self.delay(0.5)
        self.trainctl("cancel", job)
        self.assertEqual(self.wait_for_end(job)["outcome"], "CANCELLED")
        self.eventually("all are free", 60, lambda: self.states() == ["READY"] * 4)

    def test_a_link_that_is_cut_in_the_middle_of_messages_loses_none(self):
        steps = {"train__max_steps": 60}
        alone = self.train_alone(**steps)
        self.delay(0.02)
        job = self.submit(name="cut", devices=4, **steps)
        for step, seconds in ((5, STANDSTILL_SECONDS), (20, LONG_CUT_SECONDS)):
            self.wait_for_step(job, step)
            self.carrier.is_cut = True
            self.wait_for_standstill(job, seconds)
            self.carrier.is_cut = False
        self.assertEqual(self.wait_for_end(job, 300)["outcome"], "SUCCEEDED")
        self.assertEqual(len(self.attempts(job)), 1)
        self.assertEqual(self.losses(job), alone)


if __name__ == "__main__":
    unittest.main()
