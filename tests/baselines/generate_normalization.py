#!/usr/bin/env python3
"""Makes worker/rank/tokenizer/nfc_table.cc of Python's Unicode data.

usage: tests/baselines/generate_normalization.py

Needs only Python. Another version of Python may hold a later Unicode, with more characters.
"""

import pathlib
import sys
import textwrap
import unicodedata

TOP = pathlib.Path(__file__).resolve().parents[2]
HANGUL = range(0xAC00, 0xD7A4)  # decomposed by arithmetic
COMPATIBILITY = {"At2F800": range(0x2F800, 0x2FA1E), "AtF900": range(0xF900, 0xFADA)}
HEAD = """// Made by tests/baselines/generate_normalization.py of Unicode %s: not to be edited.
#include "worker/rank/tokenizer/nfc_table.h"

// clang-format off
namespace trainctl::data::nfc {
"""


def parts(code):
    """One step of the canonical decomposition: (), (one,) or (first, second)."""
    text = unicodedata.decomposition(chr(code))
    return () if not text or text.startswith("<") else tuple(int(p, 16) for p in text.split())


def rows(numbers):
    text = ", ".join(f"0x{number:X}" for number in numbers) + ","
    return textwrap.fill(text, 98, initial_indent="    ", subsequent_indent="    ")


def array(kind, name, numbers):
    return f"\nconst {kind} {name} = {{\n{rows(numbers)}\n}};\n"


def classes():
    """(first, last, class) of characters whose combining class is not 0."""
    runs = []
    for code in range(sys.maxunicode + 1):
        own = unicodedata.combining(chr(code))
        if own and runs and runs[-1][1] == code - 1 and runs[-1][2] == own:
            runs[-1][1] = code
        elif own:
            runs.append([code, code, own])
    return [number for run in runs for number in run]


def main():
    composing, only_decomposing = [], []
    for code in range(sys.maxunicode + 1):
        found = parts(code)
        if not found or code in HANGUL or any(code in r for r in COMPATIBILITY.values()):
            continue
        composes = len(found) == 2 and unicodedata.normalize("NFC", chr(code)) == chr(code)
        (composing if composes else only_decomposing).extend(
            [code, *found, *[0] * (2 - len(found))]
        )
    text = HEAD % unicodedata.unidata_version
    kind = "std::vector<char32_t>"
    text += array(kind, "kComposing", composing)
    text += array(kind, "kOnlyDecomposing", only_decomposing)
    for name, codes in COMPATIBILITY.items():
        text += array(kind, f"k{name}", [(parts(code) or (code,))[0] for code in codes])
    text += array(kind, "kClasses", classes())
    text += "\n}  // namespace trainctl::data::nfc\n"
    (TOP / "worker/rank/tokenizer/nfc_table.cc").write_text(text)


if __name__ == "__main__":
    main()
