#!/usr/bin/env python3
"""The labs' experiments (deploy/recipes/lab-*.json) through the real coordinator and workers of
this host: one table of time, and of memory predicted and measured.

usage: tests/gpu/recipes.py [--rows PATTERN,…] [--steps N] [--results FILE] [--budget SECONDS]
[--parallel] [--write README] [--bin DIR]
       … --help lists the others

Each row is the job file of its id with the lab's memory limit, few steps, random weights, and (but
for --shipped-data, and for models of pictures) random tokens at the full length of 512, so that a
short run meets the longest row and its times can be compared. Rows that need more devices than this
host has are left out, and so are rows that --results shows as done (succeeded, or out of memory):
the script can be killed and started again. Rows of one device run one after another, or with
--parallel on as many devices as there are; those of several devices always one after another.

--write puts the table, with date and machine, between the markers of deploy/recipes/README.md;
--table-only prints what --results holds. --reference writes the comparison of this call's rows that
succeeded, against which `trainctl class --reference` measures a class. Exit status 1 where a row
failed or its prediction was wrong: another outcome, or a peak more than 5 % off. Needs python3.
"""

import argparse
import fnmatch
import json
import pathlib
import signal
import sys
import tempfile
import time

from host_site import TOP, Site, random_tokens
from recipes_row import LENGTH, Row, read_rows
from recipes_table import markdown, measured_on, problems, write_into

POLL_SECONDS = 0.5


def options_of(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", default="*", help="ids or patterns, such as single-3,multi-*")
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument(
        "--results", type=pathlib.Path, default=pathlib.Path("recipes-results.json")
    )
    parser.add_argument("--again", action="store_true", help="run rows that have a result, too")
    parser.add_argument(
        "--budget",
        type=float,
        help="start no row after so many seconds less a minute, and cancel what runs at their end",
    )
    parser.add_argument("--parallel", action="store_true")
    parser.add_argument("--engine", choices=["fused", "reference"], default="fused")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="of every row's job, such as devices=2",
    )
    parser.add_argument(
        "--shipped-data", action="store_true", help="the rows that the job file names"
    )
    parser.add_argument(
        "--tiny", action="store_true", help="deploy/models/tiny on CPU slots: a test of this script"
    )
    parser.add_argument("--write", type=pathlib.Path, help="deploy/recipes/README.md")
    parser.add_argument(
        "--reference", type=pathlib.Path, help="deploy/reference/h200/one-device.json"
    )
    parser.add_argument("--table-only", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    return parser.parse_args(arguments)


class Results:
    """{row: what came out}, on disk after every change."""

    def __init__(self, path):
        self.path = path
        self.rows = json.loads(path.read_text()) if path.exists() else {}

    def is_done(self, key):
        return self.rows.get(key, {}).get("outcome") in ("SUCCEEDED", "OOM_GPU")

    def add(self, key, result):
        self.rows[key] = result
        partial = self.path.with_name(self.path.name + ".partial")
        partial.write_text(json.dumps(self.rows, indent=1))
        partial.replace(self.path)


class Run:
    """Rows on their way through the site."""

    def __init__(self, site, options, results):
        self.site, self.options, self.results = site, options, results
        self.devices = site.devices("cpu" if options.tiny else "cuda")
        self.end = time.monotonic() + options.budget if options.budget else float("inf")
        self.under_way = {}  # job id → row
        self.succeeded = {}  # job id → what came out

    def all(self, rows):
        for row in rows:
            if row.devices > self.devices:
                print(
                    f"{row.id}: needs {row.devices} devices, this host has {self.devices}",
                    flush=True,
                )
        rows = [row for row in rows if row.devices <= self.devices]
        self.some(
            [row for row in rows if row.devices == 1], self.devices if self.options.parallel else 1
        )
        self.some([row for row in rows if row.devices > 1], 1)

    def some(self, rows, at_once):
        waiting = list(rows)
        while waiting or self.under_way:
            while (
                waiting
                and len(self.under_way) < at_once
                and time.monotonic() < self.end - min(60, (self.options.budget or 0) / 2)
            ):
                self.start(waiting.pop(0))
            if not self.under_way:
                break
            time.sleep(POLL_SECONDS)
            self.collect()
            if time.monotonic() > self.end:
                self.give_up()

    def start(self, row):
        job, refusal = row.submit(self.site)
        if job is None:
            self.results.add(row.key, row.refused(refusal))
            print(f"{row.key}: refused: {refusal}", flush=True)
        else:
            self.under_way[job] = row

    def collect(self):
        for state in self.site.json("status", *self.under_way)["jobs"]:
            if state["state"] == "FINISHED":
                row = self.under_way.pop(state["id"])
                result = row.result(self.site, state["id"])
                self.results.add(row.key, result)
                if result["outcome"] == "SUCCEEDED":
                    self.succeeded[state["id"]] = result
                print(
                    "\n".join(
                        [
                            f"{row.key}: {result['outcome']} {result['message']}".rstrip(),
                            *result["last_log_lines"],
                        ]
                    ),
                    flush=True,
                )

    def give_up(self):
        print("out of time: " + ", ".join(row.key for row in self.under_way.values()), flush=True)
        self.site.trainctl("cancel", *self.under_way)
        self.under_way = {}


def is_asked(row, patterns):
    return any(fnmatch.fnmatchcase(row.id, pattern) for pattern in patterns.split(","))


def run_rows(options, results, rows):
    with tempfile.TemporaryDirectory(prefix="trainctl-recipes-") as folder:
        folder = pathlib.Path(folder)
        for row in rows:
            row.prepare(folder)
        tokens = max(row.tokens_file_rows() for row in rows)
        random_tokens(folder / "tokens.bin", tokens, LENGTH, vocab=512 if options.tiny else 32000)
        site = Site(
            options.bin.resolve(),
            folder / "site",
            *(("--workers", "4", "--cpu") if options.tiny else ()),
        )
        try:
            run = Run(site, options, results)
            run.all(rows)
            if options.reference and run.succeeded:
                comparison = {
                    "measured": measured_on(run.succeeded.values()),
                    **site.json("compare", *run.succeeded),
                }
                options.reference.write_text(json.dumps(comparison, indent=1) + "\n")
        finally:
            site.down()


def main(arguments):
    options = options_of(arguments)
    signal.signal(
        signal.SIGTERM, lambda *_: sys.exit(143)
    )  # so that the cluster goes down with the script
    results = Results(options.results)
    every_row = read_rows(options)
    rows = [
        row
        for row in every_row
        if is_asked(row, options.rows) and (options.again or not results.is_done(row.key))
    ]
    if rows and not options.table_only:
        run_rows(options, results, rows)
    table = markdown(every_row, results.rows)
    print("\n" + table)
    if options.write:
        write_into(options.write, table)
    wrong = problems(results.rows, judge_peaks=not options.tiny)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
