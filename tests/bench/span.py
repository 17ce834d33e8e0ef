"""How long something takes, from a cause of this program's to what comes of it.

What was there before its cause, or is told with a time outside of the span, raises WrongOrder: such
a number says nothing.
"""

import time

SLACK_SECONDS = 0.001  # times are told in microseconds, and read as floats


class WrongOrder(Exception):
    """What was measured did not happen in the order that its name says."""


class Span:
    """`effect`: a function that says whether it is there. It must not be at first."""

    def __init__(self, name, effect):
        self.name = name
        self.effect = effect
        self.expect(not effect(), "it was there before its cause")
        self.began = time.monotonic()
        self.began_wall = time.time()
        self.seconds = self.ended_wall = None

    def end(self):
        """The effect was seen just now."""
        self.seconds = time.monotonic() - self.began
        self.ended_wall = time.time()
        self.expect(self.effect(), "it is not there at its end")
        self.expect(self.seconds > 0, "it took no time")

    def expect(self, holds, otherwise):
        if not holds:
            raise WrongOrder(f"{self.name}: {otherwise}")

    def expect_within(self, *moments):
        """(what, when by the wall clock) of the span: in this order."""
        before, last = "its cause", self.began_wall
        for what, at in (*moments, ("its end", self.ended_wall)):
            gap = f"{what} ({at:.6f}) is before {before} ({last:.6f})"
            self.expect(at >= last - SLACK_SECONDS, gap)
            before, last = what, at
