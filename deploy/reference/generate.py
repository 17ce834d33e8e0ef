#!/usr/bin/env python3
"""Makes h200/four-devices.json, beside this script, of the table in ../recipes/README.md: its rows
of four devices, of which no comparison was kept.

usage: deploy/reference/generate.py

It has those figures of the table alone that mean what they mean in a comparison: the table's
tokens/s are of the second half of a run, a comparison's of all of it. Where rows are measured anew,
tests/gpu/recipes.py --reference writes the whole comparison instead. A test holds the file to the
table. Needs only Python.
"""

import json
import pathlib
import re

HERE = pathlib.Path(__file__).resolve().parent
RECIPES = HERE.parent / "recipes"
FILE = HERE / "h200" / "four-devices.json"
DEVICES = 4

GIB = 1 << 30
# The table's column → what it is in a comparison, and in which unit.
COLUMNS = {
    "s/step": ("step_seconds", 1),
    "measured peak": ("memory_peak_allocated_bytes", GIB),
    "reserved": ("memory_reserved_bytes", GIB),
}


def table(text):
    """[{column: cell}]"""
    marked = text.split("<!-- measured: begin -->")[1].split("<!-- measured: end -->")[0]
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in marked.splitlines()
        if line.startswith("|")
    ]
    header, _, *rows = lines
    return [dict(zip(header, row)) for row in rows]


def machine_in(text):
    return re.search(r"Measured on (.*?); data:", text)[1]


def measured(text):
    """When, on what and how long, in the words of recipes_table.measured_on."""
    date, steps = re.search(r"Rows of four\s+devices (\S+), (\d+) steps a run", text).groups()
    return (
        f"{date} on {machine_in(text)}, {steps} steps a run: "
        "the table of deploy/recipes/README.md, fsdp with gathers by NCCL"
    )


def devices_of(row):
    return json.loads((RECIPES / f"{row['id']}.json").read_text(encoding="utf-8")).get("devices", 1)


def number(cell, unit):
    return round(float(cell) * unit, 3) if cell else None


def comparison():
    text = (RECIPES / "README.md").read_text(encoding="utf-8")
    rows = [row for row in table(text) if devices_of(row) == DEVICES]
    device_name = machine_in(text).split(",")[0]
    return {
        "measured": measured(text),
        "jobs": [
            {
                "name": row["id"],
                "outcome": row["outcome"].split()[0],
                "device_name": device_name,
            }
            for row in rows
        ],
        "rows": [
            {"key": key, "values": [number(row[column], unit) for row in rows]}
            for column, (key, unit) in COLUMNS.items()
        ],
    }


def text():
    return json.dumps(comparison(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), encoding="utf-8")
