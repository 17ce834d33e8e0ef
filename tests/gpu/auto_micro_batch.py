#!/usr/bin/env python3
""" "micro_batch_size": "auto" on this host: proven by a trial that leaves no trace, and halved
where the estimate was of another model.

usage: tests/gpu/auto_micro_batch.py [--model DIR] [--limit SIZE] [--devices N …] [--bin DIR]
[--cpu]

For each number of devices (single on one, fsdp on more), deterministic: the job with "auto", and
the same with the number that was proven: their losses must be equal, and their peak memory within
half a percent. Then the model's config is given more layers while the job waits, so that the
estimate's choice is too large: the job must find by itself what fits, and train as the job with
that number does.
"""

import argparse
import json
import pathlib
import tempfile

from host_site import GIB, TOP, Site, random_tokens

LENGTH, ROWS, GLOBAL = 512, 256, 64
PEAK_TOLERANCE = 0.005


def job_of(options, folder, name, devices, micro_batch, steps=3):
    return {
        "version": 1,
        "name": name,
        "model": {"path": str(folder / "model"), "init": "random"},
        "data": {"path": str(folder / "tokens.bin"), "format": "bin"},
        "precision": "bf16-true",
        "deterministic": True,
        "devices": devices,
        "strategy": "single" if devices == 1 else "fsdp",
        "train": {
            "global_batch_size": GLOBAL,
            "micro_batch_size": micro_batch,
            "max_steps": steps,
            "max_seq_length": LENGTH,
            "epochs": 1_000_000,
        },
        "resources": {"gpu_memory_limit": options.limit},
    }


class Check:
    def __init__(self, options, folder, site):
        self.options, self.folder, self.site = options, folder, site
        self.config = json.loads((options.model / "config.json").read_text())

    def write_config(self, layers):
        (self.folder / "model").mkdir(exist_ok=True)
        (self.folder / "model/config.json").write_text(
            json.dumps({**self.config, "num_hidden_layers": layers})
        )

    def submit(self, name, devices, micro_batch, *arguments, steps=3):
        file = self.folder / f"{name}.json"
        file.write_text(
            json.dumps(job_of(self.options, self.folder, name, devices, micro_batch, steps))
        )
        return self.site.json("submit", file, *arguments)["id"]

    def wait(self, job):
        if self.site.trainctl("wait", job).returncode != 0:
            raise SystemExit(self.site.why(job))
        return self.site.json("describe", job)["jobs"][0]

    def figures(self, job):
        """What a trial must not change: each loss, and the run's peak on the fullest rank."""
        points = self.site.points(job)
        return (
            [point["value"] for point in points if point["name"] == "loss"],
            max(
                point["value"] for point in points if point["name"] == "memory_peak_allocated_bytes"
            ),
        )

    def compare(self, what, devices, auto):
        detail = self.wait(auto)
        proven = detail["auto_micro_batch"]
        if not proven["proven_by"]:
            raise SystemExit(f"{what}: never proven\n" + self.site.why(auto))
        number = self.submit("number", devices, proven["size"], "--force")
        self.wait(number)
        (losses, peak), (number_losses, number_peak) = self.figures(auto), self.figures(number)
        same = losses == number_losses and abs(peak / number_peak - 1) < PEAK_TOLERANCE
        trial = [
            point["value"] for point in self.site.points(auto) if point["name"] == "trial_seconds"
        ]
        print(
            f"{what} on {devices}: {proven['estimated']} by the estimate, {proven['size']} proven "
            f"in attempt {proven['proven_by']} by a trial of {trial[-1]:.2f} s; "
            f"peak {peak / GIB:.3f} GiB, {number_peak / GIB:.3f} with the number; losses {losses}, "
            f"{'the same' if losses == number_losses else number_losses} with the number",
            flush=True,
        )
        return same, proven

    def run(self, devices):
        layers = self.config["num_hidden_layers"]
        self.write_config(layers)
        same, _ = self.compare(
            "an estimate of this model", devices, self.submit("auto", devices, "auto")
        )
        blocker = self.submit("blocker", devices, 1, steps=1_000_000)
        self.write_config(max(1, layers // 4))
        auto = self.submit("grown", devices, "auto")
        self.write_config(layers)
        self.site.trainctl("cancel", blocker)
        also, proven = self.compare("an estimate of a smaller model", devices, auto)
        return same and also and proven["size"] < proven["estimated"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--model",
        type=pathlib.Path,
        default=TOP / "deploy/models/TinyLlama-1.1B",
        help="whose config.json is used",
    )
    parser.add_argument("--limit", default="16GiB", help="of memory, for each device")
    parser.add_argument("--devices", type=int, nargs="+", default=[1])
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--cpu", action="store_true", help="on CPU slots")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainctl-auto-") as folder:
        folder = pathlib.Path(folder)
        vocab = json.loads((options.model / "config.json").read_text())["vocab_size"]
        random_tokens(folder / "tokens.bin", ROWS, LENGTH, vocab)
        # No more workers than devices of a job, so that a job can hold the next one up.
        for devices in options.devices:
            site = Site(
                options.bin.resolve(),
                folder / f"site-{devices}",
                "--workers",
                str(devices),
                *(("--cpu",) if options.cpu else ()),
            )
            try:
                if not Check(options, folder, site).run(devices):
                    raise SystemExit("the trial is not what it is to be")
            finally:
                site.down()


if __name__ == "__main__":
    main()
