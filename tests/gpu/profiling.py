#!/usr/bin/env python3
"""What a profile says of steps on this host's GPUs, and what it costs; without a coordinator.

usage: tests/gpu/profiling.py [--models NAME,…] [--devices N] [--steps N] [--bin DIR] [--out DIR]

Needs trainrank alone (deploy/build trainrank) and python3. Each model of deploy/models trains with
random weights on random tokens (T 512, bf16-true AdamW; on several devices under fsdp) by ranks
that this script starts and joins itself, with "profile": {"steps": 5, "skip": 15}. It prints the
table of kinds, the kernels that took most, and the steps' seconds before, in and behind the trace.
Exit status 1 where kinds do not sum up to the step within 2 %, the step is not what the rank's own
clock says within 5 %, the share of matrix products is none that can be, a rank fails, or the trace
has no named steps. --cpu runs on a CPU slot. --out keeps the traces, for Perfetto.
"""

import argparse
import collections
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading

from host_site import TOP, exit_status, random_tokens

LENGTH, SKIP, PROFILED = 512, 15, 5
KINDS = (
    "matmul",
    "attention",
    "optimizer",
    "other",
    "communication",
    "copies",
    "data",
    "host",
)
# Which shares of matrix products can be: a tiny model on a GPU waits for its host.
SHARES = {"tiny": (0.005, 0.9), "TinyLlama-1.1B": (0.3, 0.95)}
MICRO = {"tiny": 8, "TinyLlama-1.1B": 8}


def job(model, options, folder):
    several = options.devices > 1
    return {
        "version": 1,
        "name": model,
        "model": {"path": str(TOP / "deploy/models" / model), "init": "random"},
        "data": {"path": str(folder / "tokens.bin"), "format": "bin"},
        "precision": "32-true" if options.cpu else "bf16-true",
        "devices": options.devices,
        "strategy": "fsdp" if several else "single",
        "train": {
            "micro_batch_size": MICRO.get(model, 4),
            "accumulate_grad_batches": 1,
            "max_steps": options.steps,
            "epochs": 1000,
            "max_seq_length": LENGTH,
        },
        "optimizer": {"name": "adamw", "lr": 1e-4},
        "output": {"dir": str(folder / "out")},
        "profile": {"steps": PROFILED, "skip": SKIP},
    }


class Rank:
    """A trainrank, and all that it reported."""

    def __init__(self, number, spec, options, folder):
        plan = {
            "job": spec,
            "job_id": "j1",
            "attempt": 1,
            "rank": number,
            "world_size": options.devices,
            "device": "cpu" if options.cpu else "cuda",
            "device_index": number,
            "host_place": number,
            "host_devices": list(range(options.devices)),
            "device_uuid": f"by hand {number}",
            "threads": 2,
            "bind_address": "127.0.0.1",
            "directory": str(folder),
        }
        path = folder / f"plan-{number}.json"
        path.write_text(json.dumps(plan))
        self.log = (folder / f"log-{number}").open("w+")
        self.process = subprocess.Popen(
            [options.bin / "trainrank", "--plan", path, "--commands-fd", "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )
        self.messages = []
        self.blob = None
        self.blob_came = threading.Event()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            message = json.loads(line)
            self.messages.append(message)
            if message["type"] == "rendezvous":
                self.blob = message["blob"]
                self.blob_came.set()
        self.blob_came.set()

    def join(self, blob):
        self.process.stdin.write(json.dumps({"type": "peers", "blob": blob}) + "\n")
        self.process.stdin.flush()

    def end(self):
        self.reader.join()
        self.process.wait()
        self.process.stdin.close()
        self.log.seek(0)
        return self.process.returncode == 0

    def values(self, name):
        """By step."""
        return {
            point["step"]: point["value"]
            for message in self.messages
            if message["type"] == "metrics"
            for point in message["points"]
            if point["name"] == name
        }


def run(model, options, folder):
    config = json.loads((TOP / "deploy/models" / model / "config.json").read_text())
    rows = MICRO.get(model, 4) * options.devices * 8
    random_tokens(folder / "tokens.bin", rows, LENGTH, config["vocab_size"])
    spec = job(model, options, folder)
    ranks = [Rank(number, spec, options, folder) for number in range(options.devices)]
    ranks[0].blob_came.wait()
    for rank in ranks[1:]:
        rank.join(ranks[0].blob)
    ended = [rank.end() for rank in ranks]
    return ranks, all(ended)


def mean(values):
    return statistics.fmean(values) if values else float("nan")


def tell_rank(number, rank, model, checks):
    steps = rank.values("profile_step_seconds")
    checks(
        f"rank {number} told of {PROFILED} steps",
        sorted(steps) == list(range(SKIP, SKIP + PROFILED)),
    )
    if not steps:
        return
    kinds = {kind: rank.values(f"profile_{kind}_seconds") for kind in KINDS}
    whole = mean(steps.values())
    print(f"  rank {number}: a step is {whole * 1e3:.2f} ms")
    for kind, by_step in kinds.items():
        seconds = mean(by_step.values())
        print(f"    {kind:14} {seconds * 1e3:10.3f} ms {seconds / whole:7.1%}")
    sums = [abs(sum(kinds[kind][step] for kind in KINDS) / steps[step] - 1) for step in steps]
    checks(f"kinds sum up to the step: off by {max(sums):.2%}", max(sums) < 0.02)
    share = mean(kinds["matmul"].values()) / whole
    least, most = SHARES.get(model, (0.3, 0.97))
    checks(f"matrix products are {share:.1%} of the step", least <= share <= most)
    return whole


def tell_cost(rank, checks):
    seconds = rank.values("step_seconds")
    before = [seconds[step] for step in seconds if 3 <= step < SKIP - 1]
    traced = [seconds[step] for step in seconds if SKIP <= step < SKIP + PROFILED]
    behind = [seconds[step] for step in seconds if step > SKIP + PROFILED]
    if not behind:
        return
    base = statistics.median(before)
    print(
        f"  steps: {base * 1e3:.2f} ms before the trace, {mean(traced) * 1e3:.2f} ms in it "
        f"({mean(traced) / base - 1:+.1%}), {statistics.median(behind) * 1e3:.2f} ms behind it "
        f"({statistics.median(behind) / base - 1:+.1%})"
    )
    told = mean(rank.values("profile_step_seconds").values())
    off = told / mean(traced) - 1
    checks(f"the profile's step is off the rank's clock by {off:+.2%}", abs(off) < 0.05)


def tell_trace(path, checks, most):
    text = path.read_text()
    events = json.loads(text)["traceEvents"]
    names = {event.get("name") for event in events}
    checks(
        f"the trace has its steps by name ({len(events)} events, {len(text) / 1e6:.1f} MB)",
        all(f"step {step}" in names for step in range(SKIP, SKIP + PROFILED)),
    )
    kernels = collections.Counter()
    for event in events:
        if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            kernels[event["name"]] += event["dur"]
    whole = sum(kernels.values()) or 1
    for name, microseconds in kernels.most_common(most):
        print(f"    {microseconds / whole:6.1%}  {name[:150]}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", default="tiny,TinyLlama-1.1B")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--kernels", type=int, default=25)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    good = True

    def checks(what, holds):
        nonlocal good
        good = good and holds
        print(f"  {'ok  ' if holds else 'FAIL'} {what}", flush=True)

    for model in options.models.split(","):
        print(f"{model} on {options.devices} device(s)", flush=True)
        with tempfile.TemporaryDirectory(prefix="trainctl-profiling-") as name:
            folder = pathlib.Path(name)
            ranks, ended = run(model, options, folder)
            checks("all ranks ended well", ended)
            if not ended:
                for rank in ranks:
                    print(rank.log.read()[-3000:], rank.messages[-1:])
                continue
            for number, rank in enumerate(ranks):
                tell_rank(number, rank, model, checks)
            tell_cost(ranks[0], checks)
            for message in ranks[0].messages:
                if message["type"] == "notice":
                    print(f"  notice: {message['text']}")
            traces = sorted((folder / "out/profile").glob("rank-*.json"))
            checks("each rank wrote a trace", len(traces) == options.devices)
            if traces:
                tell_trace(traces[0], checks, options.kernels)
            if options.out:
                options.out.mkdir(parents=True, exist_ok=True)
                for trace in traces:
                    (options.out / f"{model}-{trace.name}").write_bytes(trace.read_bytes())
    sys.exit(exit_status(good, ran=True))


if __name__ == "__main__":
    main()
