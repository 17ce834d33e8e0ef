"""Texts and numbers as people read them: in the words of client/show/format.h."""

from __future__ import annotations

import math
import unicodedata

_DURATIONS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def visible(words: str) -> str:
    """What others wrote, such as a job's name, does not steer the terminal."""
    return "".join(c if c.isprintable() else "�" for c in words)


def columns_of(character: str) -> int:
    """Of a terminal: wide characters of East Asia and emoji have two, marks on others none."""
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def first_columns(words: str, columns: int) -> str:
    """As far as they fit into so many."""
    for i, character in enumerate(words):
        columns -= columns_of(character)
        if columns < 0:
            return words[:i]
    return words


def with_unit(value: float, unit: str) -> str:
    """ "2.22 GiB", "1 min 47 s", "86 %": units are those of the messages."""
    if not math.isfinite(value):
        return number(value)
    if unit == "bytes":
        return size(value)
    if unit == "s":
        return seconds(value)
    if unit == "%":
        return f"{value:.0f} %"
    if unit == "×":
        return f"{value:.2f}×"
    return f"{number(value)} {unit}".strip()


def number(value: float) -> str:
    """Four digits that count."""
    large = abs(value)
    if not math.isfinite(value):
        return f"{value:g}"
    if large >= 1e15:
        return f"{value:.3e}"
    if large >= 1000 or value == math.trunc(value):
        return f"{_nearest(value):,}"
    if large < 1e-5:
        return f"{value:.4g}"
    digits = max(0, 3 - math.floor(math.log10(large)))
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def size(value: float) -> str:
    large = abs(value)
    if large < 1 << 10:
        return f"{value:.0f} B"
    if large < 1 << 20:
        return f"{value / (1 << 10):.2f} KiB"
    if large < (1 << 30) / 10:
        return f"{value / (1 << 20):.2f} MiB"
    return f"{value / (1 << 30):.2f} GiB"


def seconds(value: float) -> str:
    if value < 1:
        return f"{1000 * value:.2f} ms"
    if value < 60:
        return f"{value:.2f} s"
    rest, words = _nearest(value), []
    for name, length in _DURATIONS:
        count, rest = divmod(rest, length)
        if count:
            words.append(f"{count} {name}")
    return " ".join(words)


def delta(ratio: float) -> str:
    """ "+1.8 %" of a ratio to the base's value."""
    percent = 100 * ratio
    if not math.isfinite(percent) or abs(percent) < 0.05:
        return "±0 %"
    sign = "+" if percent > 0 else "−"
    digits = 1 if abs(percent) < 999.95 else 0
    return f"{sign}{abs(percent):.{digits}f} %"


def clock(value: float) -> str:
    """ "1:02:03"."""
    whole = max(0, _nearest(value))
    hours, minutes, rest = whole // 3600, whole // 60 % 60, whole % 60
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _nearest(value: float) -> int:
    """Halves go away from zero, as in C."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))
