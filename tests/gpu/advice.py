#!/usr/bin/env python3
"""What `trainctl advise` puts first, beside the other ways of the same training, run on this host.

usage: tests/gpu/advice.py [--rows PATTERN,…] [--set KEY=VALUE …] [--try N] [--steps N]
[--results FILE] [--budget SECONDS] [--tiny] [--bin DIR]

Each row of deploy/recipes/lab-*.json that this host has devices for, cut as recipes.py cuts it; a
row of four devices runs on two with --set devices=2:
advise names every way that fits, by predicted time; the first N and the row as its file has it run
for a few steps, one after another. Printed for each row: advise's first choice, the fastest that
was measured, and their ratio, predicted and measured seconds a step beside each other. Rows that
--results holds are not run again. Exit status 1 where a first choice is more than 5 % slower than
the fastest, 77 where nothing ran. Needs python3.
"""

import argparse
import json
import pathlib
import signal
import sys
import tempfile
import time

from host_site import TOP, Site, exit_status, random_tokens
from recipes import Results, is_asked
from recipes_row import JOBS, LENGTH, read_rows

MOST = 1.05  # times the fastest
AS_ASKED = "(as the file has it)"  # as advise says it


def options_of(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="*", help="ids or patterns, such as single-3,lora-*")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--try", dest="tried", type=int, default=3)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("advice-results.json"))
    parser.add_argument("--budget", type=float, help="start no row after so many seconds")
    parser.add_argument("--tiny", action="store_true", help="a test of this script on a CPU slot")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    options = parser.parse_args(arguments)
    options.engine, options.shipped_data = "fused", False  # as recipes.py's
    return options


def ways_of(row, site):
    """What was measured of advise's first ways, its own order first, and of the row itself."""
    path = JOBS / f"{row.id}.json"
    tried = site.trainctl(
        *("advise", path, *row.overrides(), "--all", "--try", row.options.tried),
        *("--steps", row.options.steps, "-o", "json"),
    )
    if not tried.stdout:
        return None, tried.stderr.strip().splitlines()[-1]
    ways = [
        {
            "changes": point["settings"]["changes"],
            "outcome": point["outcome"],
            "measured": point["step_seconds"],
            "predicted": point["predicted_step_seconds"],
        }
        for point in json.loads(tried.stdout)["points"]
    ]
    if all(way["changes"] != AS_ASKED for way in ways):
        ways.append(as_asked(row, site))
    return ways, ""


def as_asked(row, site):
    job, refusal = row.submit(site)
    if job is None:
        return {"changes": AS_ASKED, "outcome": refusal, "measured": None, "predicted": None}
    site.trainctl("wait", job)
    result = row.result(site, job)
    prediction = result.get("prediction") or {}
    return {
        "changes": AS_ASKED,
        "outcome": result["outcome"],
        "measured": result.get("step_seconds"),
        "predicted": prediction.get("step_seconds"),
    }


def line_of(key, result):
    """A row of the table, and whether the first choice is near enough to the fastest."""
    ways = [way for way in result["ways"] if way["measured"]]
    first = result["ways"][0]
    if not ways or not first["measured"]:
        return f"| {key} | {first['changes']}: {first['outcome']} | | | |", False
    fastest = min(ways, key=lambda way: way["measured"])
    ratio = first["measured"] / fastest["measured"]

    def shown(way):
        predicted = f", predicted {way['predicted']:.3f}" if way["predicted"] else ""
        return f"{way['changes']}: {way['measured']:.3f} s{predicted}"

    return (
        f"| {key} | {shown(first)} | {shown(fastest)} | {ratio:.3f} | {len(ways)} |",
        ratio <= MOST,
    )


def run_rows(options, results, rows):
    end = time.monotonic() + options.budget if options.budget else float("inf")
    with tempfile.TemporaryDirectory(prefix="trainctl-advice-") as folder:
        folder = pathlib.Path(folder)
        for row in rows:
            row.prepare(folder)
        tokens = max(row.tokens_file_rows() for row in rows)
        random_tokens(folder / "tokens.bin", tokens, LENGTH, vocab=512 if options.tiny else 32000)
        site = Site(
            options.bin.resolve(),
            folder / "site",
            *(("--workers", "1", "--cpu") if options.tiny else ()),
        )
        try:
            devices = site.devices("cpu" if options.tiny else "cuda")
            for row in rows:
                if row.devices > devices or time.monotonic() > end:
                    continue
                ways, why = ways_of(row, site)
                if ways is None:
                    print(f"{row.key}: {why}", flush=True)
                    continue
                results.add(row.key, {"ways": ways, "outcome": "SUCCEEDED"})
                print(line_of(row.key, results.rows[row.key])[0], flush=True)
        finally:
            site.down()


def main(arguments):
    options = options_of(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the site goes down with the script
    results = Results(options.results)
    rows = [
        row
        for row in read_rows(options)
        if is_asked(row, options.rows) and not results.is_done(row.key)
    ]
    if rows:
        run_rows(options, results, rows)
    lines = [line_of(key, result) for key, result in results.rows.items()]
    print("\n| row | advise's first choice | the fastest measured | ratio | ways run |")
    print("|---|---|---|---|---|")
    for line, _ in lines:
        print(line)
    good = all(near for _, near in lines)
    print(f"{sum(near for _, near in lines)} of {len(lines)} first choices are within 5 %")
    return exit_status(good, bool(lines))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
