"""A span says no number of what happened in another order than its name says."""

import time
import unittest

from span import Span, WrongOrder


class SpanTest(unittest.TestCase):
    def setUp(self):
        self.is_there = False

    def span(self):
        return Span("kill → end", lambda: self.is_there)

    def ended(self):
        span = self.span()
        self.is_there = True
        span.end()
        return span

    def test_from_its_cause_to_its_effect(self):
        span = self.ended()
        self.assertGreater(span.seconds, 0)
        span.expect_within(("told", time.time()))

    def test_an_effect_before_its_cause_is_no_span(self):
        self.is_there = True
        with self.assertRaisesRegex(WrongOrder, "kill → end: it was there before its cause"):
            self.span()

    def test_an_effect_that_passed_again_ends_none(self):
        with self.assertRaisesRegex(WrongOrder, "it is not there at its end"):
            self.span().end()

    def test_what_is_told_with_a_time_before_the_cause_is_wrong(self):
        span = self.ended()
        with self.assertRaisesRegex(WrongOrder, r"ended \(.*\) is before its cause"):
            span.expect_within(("ended", span.began_wall - 1))

    def test_what_is_told_with_a_time_behind_the_end_is_wrong(self):
        span = self.ended()
        with self.assertRaisesRegex(WrongOrder, r"its end \(.*\) is before ended"):
            span.expect_within(("ended", span.ended_wall + 1))

    def test_what_is_told_in_another_order_is_wrong(self):
        span = self.ended()
        with self.assertRaisesRegex(WrongOrder, "started .* is before submitted"):
            span.expect_within(("submitted", time.time()), ("started", time.time() - 1))


if __name__ == "__main__":
    unittest.main()
