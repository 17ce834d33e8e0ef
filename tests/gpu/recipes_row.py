"""A row of recipes.py: a shipped job file, how it is cut for measuring, and what came out of it."""

import json
import statistics
import time

from host_site import KINDS, TOP

JOBS = TOP / "deploy" / "recipes"
LENGTH = 512


class Row:
    def __init__(self, row_id, job, options):
        self.id, self.job, self.options = row_id, job, options
        self.changes = dict(change.split("=", 1) for change in options.set)
        engine = [options.engine] if options.engine != "fused" else []
        self.key = "-".join(
            [
                row_id,
                *engine,
                *(f"{key.split('.')[-1]}-{value}" for key, value in self.changes.items()),
            ]
        )
        self.devices = int(self.changes.get("devices", job["devices"]))
        self.folder = None

    def prepare(self, folder):
        self.folder = folder

    def steps(self):
        return min(self.options.steps, self.job["train"].get("max_steps") or self.options.steps)

    def tokens_file_rows(self):
        return self.job["train"]["global_batch_size"] * self.options.steps

    def has_pictures(self):
        return self.job["data"].get("format") == "captions"

    def uses_shipped_data(self):
        return self.options.shipped_data or self.has_pictures()

    def overrides(self):
        """What makes a short run of the file: all of the memory and the time of a step stay as they
        are."""
        changed = {
            "name": self.key,
            "model.init": "random",
            "engine": self.options.engine,
            "train.max_steps": self.steps(),
            "train.epochs": 1000,
            "data.val_split_fraction": 0,
            "eval.every_steps": "null",
            "resources.step_timeout": "2min",
            "resources.max_restarts": 0,
            "expect": "null",
        }
        if not self.uses_shipped_data():
            changed |= {"data.path": self.folder / "tokens.bin", "data.format": "bin"}
        if self.options.tiny:
            name = "tiny-blip2" if self.has_pictures() else "tiny"
            changed |= {"model.path": TOP / "deploy/models" / name}
            if "lora" in self.job:
                changed |= {"lora.targets": "[]"}  # all but the head, which is tied here
        changed |= self.changes
        return [word for key, value in changed.items() for word in ("--set", f"{key}={value}")]

    def submit(self, site):
        """(job id, "") or (None, why it was refused).

        What is refused because it cannot fit is run nonetheless: that shows who is right.
        """
        path = JOBS / f"{self.id}.json"
        for more in ([], ["--set", "expect=OOM"]):
            done = site.trainctl("submit", path, *self.overrides(), *more, "-o", "json")
            if done.returncode == 0:
                return json.loads(done.stdout)["id"], ""
        lines = [line for line in done.stderr.strip().splitlines() if not line.startswith("note: ")]
        return None, "; ".join(line.removeprefix(f"{path}:") for line in lines[1:] or lines)

    def refused(self, why):
        return {**self.settings(), "outcome": "REFUSED", "message": why}

    def settings(self):
        limit = self.job["resources"].get("gpu_memory_limit")
        return {
            "id": self.id,
            "engine": self.options.engine,
            "date": time.strftime("%Y-%m-%d", time.gmtime()),
            "memory_limit": limit,
            "devices": self.devices,
            "steps": self.steps(),
            "data": "shipped" if self.uses_shipped_data() else f"random, T {LENGTH}",
        }

    def result(self, site, job):
        detail = site.json("describe", job)["jobs"][0]
        if not detail["attempts"]:
            return {
                **self.settings(),
                "outcome": detail["outcome"],
                "message": detail["message"],
                "last_log_lines": [],
            }
        attempt = detail["attempts"][-1]
        result = {
            **self.settings(),
            "outcome": detail["outcome"],
            "message": detail["message"] or "",
            "wall_seconds": attempt["ended_at"] - attempt["started_at"],
            "measured": attempt["oom"]["memory"]
            if attempt["oom"]
            else memory_measured(detail["summaries"]),
            "predicted_peak": (detail["prediction"] or {}).get("peak_allocated"),
            "prediction": detail["prediction"],
            "oom": attempt["oom"],
            "limit_bytes": size_in_bytes(detail["job"]["resources"]["gpu_memory_limit"]),
            "last_log_lines": []
            if detail["outcome"] in ("SUCCEEDED", "OOM_GPU")
            else attempt["last_log_lines"],
            "machine": machine(attempt["ranks"]),
        }
        points = site.points(job)
        for name in ("step_seconds", "tokens_per_second", "loss"):
            values = [point["value"] for point in points if point["name"] == name]
            result[name] = statistics.median(values[len(values) // 2 :]) if values else None
        return result


def memory_measured(summaries):
    """The most that any rank held in any phase, by kind."""

    def most(kind):
        return max(
            (summary["max"] for summary in summaries if summary["name"] == f"memory_{kind}_bytes"),
            default=0,
        )

    return {kind: most(kind) for kind in (*KINDS, "peak_allocated", "reserved")}


def size_in_bytes(text):
    """Of "80GB" or "64GiB", as a job file writes sizes; None of None."""
    units = {
        "GiB": 2**30,
        "MiB": 2**20,
        "KiB": 2**10,
        "GB": 10**9,
        "MB": 10**6,
        "kB": 10**3,
        "B": 1,
    }
    unit = next((unit for unit in units if text and text.endswith(unit)), None)
    return round(float(text.removesuffix(unit)) * units[unit]) if unit else None


def machine(ranks):
    if not ranks:
        return None
    return {
        **{key: ranks[0][key] for key in ("device_name", "driver", "libtorch", "nccl", "commit")},
        "ranks": len(ranks),
    }


def read_rows(options):
    """In the order of the labs."""
    rows = []
    for lab in ("single", "lora", "multi", "chess", "further", "families", "blip"):
        for experiment in json.loads((JOBS / f"lab-{lab}.json").read_text(encoding="utf-8"))[
            "experiments"
        ]:
            name = experiment["name"]
            rows.append(
                Row(name, json.loads((JOBS / f"{name}.json").read_text(encoding="utf-8")), options)
            )
    return rows
