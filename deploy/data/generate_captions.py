#!/usr/bin/env python3
"""Makes captions/: pictures of our own making with captions, an imagefolder as datasets reads it.

usage: deploy/data/generate_captions.py        writes captions/ beside this file

A picture shows one shape of one colour on one ground; its caption says so: "a red circle on white".
The same bytes come out on any Python 3: what is stored in the PNG files is not compressed.
"""

import json
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent / "captions"
SIDE = 64  # pixels
COLOURS = {"red": (200, 30, 30), "green": (30, 150, 50), "blue": (40, 60, 200)}
COLOURS["yellow"] = (230, 200, 40)
GROUNDS = {"white": (255, 255, 255), "gray": (128, 128, 128), "black": (0, 0, 0)}


def in_circle(x, y):
    return x * x + y * y <= 0.5


def in_square(x, y):
    return max(abs(x), abs(y)) <= 0.6


def in_triangle(x, y):
    return -0.6 <= y <= 0.6 and abs(x) <= (y + 0.6) / 2


SHAPES = {"circle": in_circle, "square": in_square, "triangle": in_triangle}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(inside, ground, colour):
    """One bit a pixel, and a palette of two colours."""
    rows = b""
    for row in range(SIDE):
        bits = 0
        for column in range(SIDE):
            x, y = ((2 * place + 1) / SIDE - 1 for place in (column, row))
            bits = bits << 1 | inside(x, y)
        rows += b"\0" + bits.to_bytes(SIDE // 8, "big")
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 1, 3, 0, 0, 0))
        + chunk(b"PLTE", bytes(ground + colour))
        + chunk(b"IDAT", zlib.compress(rows, 0))
        + chunk(b"IEND", b"")
    )


def main():
    HERE.mkdir(exist_ok=True)
    rows = []
    for ground, behind in GROUNDS.items():
        for colour, paint in COLOURS.items():
            for shape, inside in SHAPES.items():
                name = f"{colour}_{shape}_{ground}.png"
                (HERE / name).write_bytes(png(inside, behind, paint))
                rows.append({"file_name": name, "text": f"a {colour} {shape} on {ground}"})
    (HERE / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
