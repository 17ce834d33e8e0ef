"""What can go wrong, as exceptions. Each message says what to do."""

from __future__ import annotations


class Error(Exception):
    """The coordinator or a program failed."""


class Invalid(Error):
    """What was asked for is wrong: a job's setting, an address."""


class NotFound(Error):
    """There is no such job, group or file."""


class Denied(Error):
    """The site does not allow it to this user."""


class Unreachable(Error):
    """The coordinator does not answer, or none is known."""
