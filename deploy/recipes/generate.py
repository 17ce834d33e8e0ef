#!/usr/bin/env python3
"""Makes a job file of each experiment of the lab files beside this script: lab-single.json's
"single-3" becomes single-3.json.

usage: deploy/recipes/generate.py

The lab files are what people edit; a test holds the rest to them. Needs only Python.
"""

import copy
import json
import pathlib

HERE = pathlib.Path(__file__).resolve().parent


def with_setting(job, key, value):
    """Sets a dotted key of the job."""
    *outer, last = key.split(".")
    place = job
    for name in outer:
        place = place.setdefault(name, {})
    place[last] = value


def single_job(base, experiment, lab_name):
    notes = f"{experiment['name']} of {lab_name}, made by generate.py: change it there."
    head = {"version": base["version"], "name": experiment["name"], "tags": base["tags"]}
    job = {**head, "notes": notes, **copy.deepcopy(base)}
    for key, value in experiment["set"].items():
        with_setting(job, key, value)
    if "expect" in experiment:
        job["expect"] = experiment["expect"]
    return job


def text(job):
    """A line for each key of the job."""
    lines = [
        f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in job.items()
    ]
    return "{" + ",\n ".join(lines) + "}\n"


def single_jobs():
    """{file name: text} of every experiment of every lab-*.json."""
    made = {}
    for path in sorted(HERE.glob("lab-*.json")):
        lab = json.loads(path.read_text(encoding="utf-8"))
        for experiment in lab["experiments"]:
            made[f"{experiment['name']}.json"] = text(
                single_job(lab["base"], experiment, path.name)
            )
    return made


def main():
    for name, job in single_jobs().items():
        (HERE / name).write_text(job, encoding="utf-8")


if __name__ == "__main__":
    main()
