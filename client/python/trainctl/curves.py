"""Points of metrics as frames and as curves."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import pandas as pd

from .api import Api
from .errors import Invalid
from .proto import trainctl_pb2 as pb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from .job import Job


def read_metrics(
    api: Api, job: pb.JobView, names: Sequence[str] = (), rank: int | None = None
) -> pd.DataFrame:
    """In order of name, rank and step. Warns of names of which there is no point."""
    for name in names:
        if not isinstance(name, str):
            raise Invalid(f"{name!r} is no metric's name: give each as in metrics('loss', 'lr')")
    request = pb.MetricsRequest(job=job.id, names=names, rank=rank)
    points = [point for response in api.metrics(request) for point in response.points]
    frame = pd.DataFrame(
        {
            "name": pd.Series([point.name for point in points], dtype=str),
            "step": pd.Series([point.step for point in points], dtype="int64"),
            "rank": pd.Series(
                [point.rank if point.HasField("rank") else None for point in points], dtype="Int64"
            ),
            "phase": pd.Series([point.phase for point in points], dtype=str),
            "value": pd.Series([point.value for point in points], dtype="float64"),
            "time": pd.to_datetime([point.time for point in points], unit="us", utc=True),
        }
    )
    missing = set(names) - {point.name for point in points}
    if missing:
        known = sorted({summary.name for summary in api.get(job.id).jobs[0].summaries})
        for name in sorted(missing):
            warnings.warn(_nothing(job, name, known), stacklevel=3)
    return frame


def _nothing(job: pb.JobView, name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f": did you mean '{close[0]}'?" if close else f"; it has {', '.join(known) or 'none'}"
    return f"{job.name} ({job.id}) has no points of '{name}'{hint}"


def plot(
    jobs: Iterable[Job],
    metric: str,
    *,
    over_time: bool = False,
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """A curve a job, of what each rank has a curve a rank.

    Where a step has several points, of the phases of memory, the largest counts.
    """
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "plots need matplotlib: pip install matplotlib", name="matplotlib"
        ) from None
    if ax is None:
        ax = pyplot.subplots()[1]
    for job in jobs:
        curves = list(job.metrics(metric).groupby("rank", dropna=False))
        for rank, points in curves:
            largest = points.groupby("step", as_index=False).agg({"value": "max", "time": "first"})
            x = largest["step"] + 1  # that were done
            if over_time:
                start = job.view.started_at or 0
                x = (
                    largest["time"] - pd.to_datetime(start, unit="us", utc=True)
                ).dt.total_seconds()
            label = f"{job.name} ({job.id})" + (f", rank {rank}" if len(curves) > 1 else "")
            ax.plot(x, largest["value"], label=label)
    ax.set_xlabel("seconds" if over_time else "step")
    ax.locator_params(axis="x", integer=not over_time)
    ax.set_ylabel(metric)
    if log:
        ax.set_yscale("log")
    if ax.get_legend_handles_labels()[0]:
        ax.legend()
    return ax
