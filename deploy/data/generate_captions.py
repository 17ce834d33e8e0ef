#!/usr/bin/env python3
"""Makes pictures of our own making with captions.

usage: deploy/data/generate_captions.py        writes both beside this file

  captions/               an imagefolder as datasets reads it: 36 pictures, a caption each
  captions_512.jsonl      {"image", "text"}: 512 captions of the same pictures, for the BLIP-2 lab

A picture shows one shape of one colour on one ground; its caption says so: "a red circle on white".
The same bytes come out on any Python 3: what is stored in the PNG files is not compressed.
"""

import json
import pathlib
import struct
import zlib

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 64  # pixels
COLOURS = {"red": (200, 30, 30), "green": (30, 150, 50), "blue": (40, 60, 200)}
COLOURS["yellow"] = (230, 200, 40)
LAB_ROWS = 512
# Of few and of many words: the longest are cut at the lab's 50 tokens.
PHRASES = [
    "a {colour} {shape} on {ground}",
    "{colour} {shape}, {ground} background",
    "this is a picture of a {colour} {shape} on a {ground} ground",
    "one {shape}, painted {colour}, in the middle of a {ground} square",
    "a {shape}",
    "a drawing in two colours: {colour} for the {shape}, {ground} for all that is around it",
    "what you see is a {shape}; it is {colour}, and what lies behind it is {ground}",
    "{ground} paper with a {colour} {shape} that someone cut out and put on it",
    "a sign with a {colour} {shape} on {ground}, as one would hang it on the door of a workshop",
    "the {shape} is {colour}",
    "a single large {colour} {shape} fills most of the {ground} picture and leaves only a narrow "
    "border of it free, at the top as at the bottom, and nothing else is to be seen anywhere near "
    "it, no second {shape}, no line, no letter and no shadow either",
    "on {ground}, a {shape} of a plain {colour}",
    "a child's card with a {colour} {shape} on a {ground} ground, by which shapes are learned",
    "{colour}, {shape}, {ground}",
    "a flat {colour} {shape}, without any shading, on an even {ground} ground",
]
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


def pictures():
    """{file name: (its bytes, its words)}"""
    made = {}
    for ground, behind in GROUNDS.items():
        for colour, paint in COLOURS.items():
            for shape, inside in SHAPES.items():
                words = {"colour": colour, "shape": shape, "ground": ground}
                made[f"{colour}_{shape}_{ground}.png"] = png(inside, behind, paint), words
    return made


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def files():
    """{path: bytes} of all."""
    made = pictures()
    words = {name: of_picture for name, (_, of_picture) in made.items()}
    folder = [{"file_name": name, "text": PHRASES[0].format(**words[name])} for name in made]
    names = list(made)
    lab = []
    for row in range(LAB_ROWS):
        name, phrase = names[row % len(names)], PHRASES[row // len(names) % len(PHRASES)]
        lab.append({"image": f"captions/{name}", "text": phrase.format(**words[name])})
    return {
        **{f"captions/{name}": data for name, (data, _) in made.items()},
        "captions/metadata.jsonl": lines(folder),
        "captions_512.jsonl": lines(lab),
    }


def main():
    (HERE / "captions").mkdir(exist_ok=True)
    for name, data in files().items():
        (HERE / name).write_bytes(data)


if __name__ == "__main__":
    main()
