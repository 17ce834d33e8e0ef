#!/usr/bin/env python3
"""Tokens a second of one core on the English text of this machine, ours and, with --original, the
original's (one thread each).

    tests/bench/tokenizer_bench.py build/bin/tokenizer_bench DIRECTORY_OF_A_TOKENIZER… [--original]
    [--megabytes 46]

The text: paragraphs of documentation and doc strings under /usr, each once however often it lies
there, cut into rows of 2,000 characters and shuffled; 46 MB are about 12 million tokens with half a
million different words. --original needs tokenizers and sentencepiece of pip.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import re
import subprocess
import tempfile
import time

ROOTS = ["/usr/share", "/usr/lib"]
SUFFIXES = (".txt", ".md", ".rst", ".py", ".pod")
ROW, MOST_OF_A_FILE = 2000, 400_000


def files():
    folders = [(folder, names) for root in ROOTS for folder, _, names in os.walk(root)]
    found = [
        os.path.join(folder, name)
        for folder, names in folders
        for name in names
        if name.endswith(SUFFIXES)
    ]
    random.Random(1).shuffle(found)
    return found


def paragraphs(path, seen):
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_OF_A_FILE)
    except (OSError, UnicodeDecodeError):
        return
    for part in (
        re.findall(r'"""(.{200,}?)"""', text, re.DOTALL)
        if path.endswith(".py")
        else re.split(r"\n\s*\n", text)
    ):
        key = hashlib.md5(re.sub(r"\W+", " ", part).encode()).digest()
        if len(part) >= 80 and sum(map(str.isalpha, part)) > 0.6 * len(part) and key not in seen:
            seen.add(key)
            yield part


def rows(size):
    seen, made = set(), []
    for path in files():
        text = "\n\n".join(paragraphs(path, seen))
        made += [text[i : i + ROW] for i in range(0, len(text), ROW)]
        size -= len(text)
        if size < 0:
            break
    random.Random(2).shuffle(made)
    return made


def encoder(directory):
    if (directory / "tokenizer.json").exists():
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        return lambda row: tokenizer.encode(row, add_special_tokens=False).ids
    import sentencepiece

    return sentencepiece.SentencePieceProcessor(
        model_file=str(directory / "tokenizer.model")
    ).encode


def run_original(directory, texts):
    encode = encoder(directory)
    begin = time.process_time()
    tokens = sum(len(encode(text)) for text in texts)
    seconds = time.process_time() - begin
    print(
        f"{'the original':32} {tokens / 1e6:10.2f} M tokens {seconds:8.2f} s "
        f"{tokens / seconds / 1e6:8.2f} M tokens/s",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("tokenizers", nargs="+", type=pathlib.Path)
    parser.add_argument("--original", action="store_true")
    parser.add_argument("--megabytes", type=int, default=46)
    asked = parser.parse_args()
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    texts = rows(asked.megabytes * 1_000_000)
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)
        file.flush()
        print(
            f"{len(texts)} rows, {sum(map(len, texts)) / 1e6:.1f} M characters, "
            f"{len({word for text in texts for word in text.split()})} different words"
        )
        for directory in asked.tokenizers:
            print(directory, flush=True)
            subprocess.run([asked.program, str(directory), file.name], check=True)
            if asked.original:
                run_original(directory, texts)


if __name__ == "__main__":
    main()
