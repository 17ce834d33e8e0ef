#!/usr/bin/env python3
"""How fast a checkpoint loads, and what it takes of host memory: a model with random weights is
saved by one job and loaded by the next ones from the page cache, whole on one device and sharded
over all.

usage: tests/gpu/loading.py [--model DIR] [--bin DIR] [--cpu SLOTS] [--folder DIR]

Prints the seconds from the rank's start to its first step (process, data and gang included), GB/s
of weights, and the most anonymous memory that a rank process held above what it holds when it
trains from random weights. Needs the model's size of free disk under --folder.
"""

import argparse
import json
import pathlib
import tempfile
import threading

from host_site import GIB, TOP, Site, with_changes


class RankMemory(threading.Thread):
    """The most anonymous memory (RssAnon) of any trainrank until stop()."""

    def __init__(self):
        super().__init__(daemon=True)
        self.most, self._stopped = 0, threading.Event()
        self.start()

    def run(self):
        while not self._stopped.wait(0.02):
            for status in pathlib.Path("/proc").glob("[0-9]*/status"):
                try:
                    fields = dict(
                        line.split(":", 1)
                        for line in status.read_text().splitlines()
                        if ":" in line
                    )
                except OSError:
                    continue  # it has ended
                if fields["Name"].strip() == "trainrank":
                    self.most = max(self.most, int(fields.get("RssAnon", "0 kB").split()[0]) * 1024)

    def stop(self):
        self._stopped.set()
        self.join()
        return self.most


def run(site, options, name, changes):
    """(load_seconds, most anonymous bytes of a rank)"""
    job = with_changes(
        {
            "version": 1,
            "name": name,
            "model": {"path": str(options.model.resolve()), "init": "random"},
            "data": {"path": str(TOP / "deploy/data/alpaca.json"), "max_rows": 8},
            "precision": "bf16-true",
            "train": {"micro_batch_size": 1, "max_steps": 1, "max_seq_length": 64},
            "optimizer": {"name": "sgd", "lr": 1e-4},
            "resources": {"step_timeout": "5min"},
        },
        changes,
    )
    file = site.folder / f"{name}.json"
    file.write_text(json.dumps(job))
    memory = RankMemory()
    submitted = site.trainctl("submit", file, "--wait")
    most = memory.stop()
    if submitted.returncode != 0:
        raise SystemExit(submitted.stderr + site.why(name))
    return next(
        point["value"] for point in site.points(name) if point["name"] == "load_seconds"
    ), most


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=pathlib.Path, default=TOP / "deploy/models/open_llama_7b")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--cpu", type=int, help="on so many CPU slots")
    parser.add_argument("--folder", type=pathlib.Path, help="where the model is saved")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainctl-loading-", dir=options.folder) as folder:
        folder = pathlib.Path(folder)
        site = Site(
            options.bin.resolve(),
            folder,
            *(("--workers", str(options.cpu), "--cpu") if options.cpu else ()),
        )
        try:
            devices = site.devices("cpu" if options.cpu else "cuda")
            _, usual = run(
                site,
                options,
                "saving",
                {"output.dir": str(folder / "model"), "output.save": "final"},
            )
            size = sum(file.stat().st_size for file in (folder / "model").glob("*.safetensors"))
            print(
                f"{size / 1e9:.2f} GB of weights; a rank that trains from random ones holds "
                f"{usual / GIB:.2f} GiB of anonymous memory"
            )
            loaded = {"model.path": str(folder / "model"), "model.init": "pretrained"}
            ways = {"one device": loaded, "again": loaded}
            if devices > 1:
                ways[f"{devices} devices, fsdp"] = {
                    **loaded,
                    "devices": devices,
                    "strategy": "fsdp",
                }
            for way, changes in ways.items():
                seconds, most = run(site, options, f"loading-{len(way)}", changes)
                print(
                    f"{way:20} {seconds:6.2f} s  {size / seconds / 1e9:5.2f} GB/s  "
                    f"anonymous memory {(most - usual) / 1e9:+.2f} GB",
                    flush=True,
                )
        finally:
            site.down()


if __name__ == "__main__":
    main()
