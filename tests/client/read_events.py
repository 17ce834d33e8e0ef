"""Prints the scalars that TensorBoard itself reads from a folder: run, tag, step, value."""

import sys

from tensorboard.backend.event_processing import event_multiplexer

runs = event_multiplexer.EventMultiplexer()
runs.AddRunsFromDirectory(sys.argv[1])
runs.Reload()
for run, tags in sorted(runs.Runs().items()):
    for tag in sorted(tags["scalars"] + tags["tensors"]):
        points = runs.Scalars(run, tag) if tag in tags["scalars"] else []
        for point in points:
            print(run, tag, point.step, f"{point.value:g}", f"{point.wall_time:g}")
