#!/usr/bin/env python3
"""Makes chat.jsonl: conversations of the rows of generate.py, {"messages": …}, a line each.

usage: deploy/data/generate_chat.py        writes chat.jsonl (200 conversations) beside this file

A conversation has one to three questions; every third begins with a system turn. The same seed
gives the same bytes on any Python 3.
"""

import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import generate  # noqa: E402

SEED = 20241122
CONVERSATIONS = 200
MOST_QUESTIONS = 3
LONGEST = 400  # characters of a question or an answer
SYSTEM = "You answer briefly, and you are right."


def turns(row):
    question = "\n\n".join(part for part in (row["instruction"], row["input"]) if part)
    yield {"role": "user", "content": question}
    yield {"role": "assistant", "content": row["output"]}


def conversations():
    rng = random.Random(SEED)
    rows = [
        row
        for row in generate.rows(CONVERSATIONS * MOST_QUESTIONS * 2, SEED)
        if all(len(value) <= LONGEST for value in row.values())
    ]
    for number in range(CONVERSATIONS):
        messages = [{"role": "system", "content": SYSTEM}] if number % 3 == 0 else []
        for _ in range(rng.randrange(MOST_QUESTIONS) + 1):
            messages += turns(rows.pop())
        yield messages


def text():
    lines = [json.dumps({"messages": made}, ensure_ascii=False) for made in conversations()]
    return "\n".join(lines) + "\n"


def main():
    path = pathlib.Path(__file__).resolve().parent / "chat.jsonl"
    path.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
