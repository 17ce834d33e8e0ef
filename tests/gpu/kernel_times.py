#!/usr/bin/env python3
"""Where the time of a job's steps goes on the GPU, kernel by kernel: the job runs through
coordinator and worker as always, and CUPTI writes down each kernel of its first rank.

usage: tests/gpu/kernel_times.py JOB [--set KEY=VALUE …] [--seconds S] [--kernels N] [--bin DIR]

Prints, of the last S seconds of the run: the share in which the GPU was busy, the time between
kernels by the length of the gap, and the N kernels that took most. A GPU that idles in gaps of
microseconds waits for the host to launch. Measuring costs some of the speed. Needs a C++ compiler,
CUPTI (of the CUDA toolkit, or of PyTorch's packages), python3.
"""

import argparse
import collections
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from host_site import TOP, Site

INJECTION = pathlib.Path(__file__).with_name("cupti_injection.cc")
PROGRAMS = ("trainctl", "traincoordinator", "trainworker", "trainshim", "trainrank")
GAPS_US = (1, 3, 10, 30, float("inf"))


def cupti_folders():
    """(include folder, library)"""
    roots = [pathlib.Path(path) for path in sys.path] + list(
        pathlib.Path("/usr/local").glob("cuda*")
    )
    headers, libraries = [], []
    for root in roots:
        base = root / "nvidia" if root.name.endswith("packages") else root
        headers += base.glob("**/include/cupti.h")
        libraries += base.glob("**/libcupti.so*")
    if not headers or not libraries:
        raise SystemExit("kernel_times: neither the CUDA toolkit nor PyTorch's packages have CUPTI")
    return headers[0].parent, libraries[0]


def build_injection(folder):
    include, library = cupti_folders()
    path = folder / "kernel_times.so"
    subprocess.run(
        ["c++", "-shared", "-fPIC", "-O1", f"-I{include}", "-I/usr/local/cuda/include"]
        + [INJECTION, "-o", path, library, f"-Wl,-rpath,{library.parent}"],
        check=True,
    )
    return path


def wrapped_programs(bin_dir, folder, log):
    """A copy of the programs in which trainrank runs with the injection."""
    programs = folder / "bin"
    programs.mkdir()
    for name in PROGRAMS:
        shutil.copy(bin_dir / name, programs / name)
    rank = programs / "trainrank"
    rank.rename(programs / "trainrank.real")
    injection = build_injection(folder)
    rank.write_text(
        f"#!/bin/sh\nexport CUDA_INJECTION64_PATH={injection} KERNEL_TIMES={log}\n"
        + f"export LD_LIBRARY_PATH={os.environ.get('LD_LIBRARY_PATH', '')}\n"
        + f'exec {programs / "trainrank.real"} "$@"\n'
    )
    rank.chmod(0o755)
    return programs


def read_kernels(log, seconds):
    """[(begin, end, blocks, name)] in order of begin, of the file with most lines."""
    files = sorted(log.parent.glob(log.name + ".*"), key=lambda file: file.stat().st_size)
    if not files or files[-1].stat().st_size == 0:
        raise SystemExit("kernel_times: the rank ran no kernel on a GPU")
    kernels = []
    for line in files[-1].read_text(errors="replace").splitlines():
        begin, end, blocks, name = line.split(" ", 3)
        kernels.append((int(begin), int(end), int(blocks), name))
    kernels.sort()
    first = kernels[-1][0] - seconds * 1e9
    return [kernel for kernel in kernels if kernel[0] >= first]


def tell(kernels, most):
    span = kernels[-1][1] - kernels[0][0]
    busy, done, gaps = 0, kernels[0][0], collections.Counter()
    kinds = collections.defaultdict(lambda: [0, 0, 0])
    for begin, end, blocks, name in kernels:
        if begin > done:
            gaps[next(us for us in GAPS_US if begin - done < 1000 * us)] += begin - done
        busy += max(0, end - max(begin, done))
        done = max(done, end)
        kind = kinds[name]
        kind[0], kind[1], kind[2] = kind[0] + end - begin, kind[1] + 1, max(kind[2], blocks)
    print(f"{len(kernels)} kernels and copies in {span / 1e6:.1f} ms; busy {busy / span:.1%}")
    for limit in GAPS_US:
        print(f"  gaps below {limit:>3} us: {gaps[limit] / span:.1%}")
    print("  share     count    mean us   blocks  kernel")
    for name, (time, count, blocks) in sorted(kinds.items(), key=lambda kind: -kind[1][0])[:most]:
        print(f"{time / span:7.1%} {count:9} {time / count / 1e3:10.2f} {blocks:8}  {name[:120]}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("job", type=pathlib.Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--kernels", type=int, default=30)
    parser.add_argument("--bin", type=pathlib.Path, default=TOP / "build/bin")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trainctl-kernels-") as folder:
        folder = pathlib.Path(folder)
        log = folder / "kernels"
        site = Site(wrapped_programs(options.bin.resolve(), folder, log), folder / "site")
        try:
            changes = [word for change in options.set for word in ("--set", change)]
            done = site.trainctl("submit", options.job.resolve(), *changes, "--wait")
            sys.stdout.write(done.stdout)
            if done.returncode != 0:
                raise SystemExit(done.stderr)
        finally:
            site.down()
        tell(read_kernels(log, options.seconds), options.kernels)


if __name__ == "__main__":
    main()
