"""Jobs, and the groups that lab files make."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from . import text
from .api import Api
from .comparison import Comparison
from .curves import plot, read_metrics
from .progress import Progress, facts
from .proto import trainctl_pb2 as pb

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Job:
    """What is said of a job that has not ended is asked for anew each time."""

    def __init__(self, api: Api, view: pb.JobView) -> None:
        self._api = api
        self._view = view

    @property
    def id(self) -> str:
        return self._view.id

    @property
    def name(self) -> str:
        return self._view.name

    @property
    def view(self) -> pb.JobView:
        """All that status shows of it: the message JobView of proto/trainctl.proto."""
        if self._view.state != "FINISHED":
            found = self._api.list(pb.ListRequest(jobs=[self.id])).jobs
            self._view = found[0] if found else self._view
        return self._view

    @property
    def state(self) -> str:
        """QUEUED, STARTING, RUNNING, STOPPING or FINISHED."""
        return self.view.state

    @property
    def outcome(self) -> str:
        """SUCCEEDED, OOM_GPU, …; empty until it is FINISHED."""
        return self.view.outcome

    @property
    def settings(self) -> dict[str, Any]:
        """Every setting of the job file, with its defaults."""
        settings: dict[str, Any] = json.loads(self.detail().job_json)
        return settings

    def detail(self) -> pb.JobDetail:
        """Attempts, events, artifacts: the message JobDetail of proto/trainctl.proto."""
        return self._api.get(self.id).jobs[0]

    def events(self) -> pd.DataFrame:
        """What happened, in order."""
        events = self.detail().events
        return pd.DataFrame(
            {
                "time": pd.to_datetime([event.time for event in events], unit="us", utc=True),
                "text": [event.text for event in events],
            }
        )

    def wait(self, timeout: float | None = None, *, progress: bool = True) -> Job:
        """Follows the job with a live line until it ends; how is its outcome, no exception.

        TimeoutError after that many seconds. Neither that nor an interrupt ends the job.
        """
        self._view = _follow(self._api, self.id, timeout, progress)[self.id]
        return self

    def cancel(self) -> None:
        """Asks for its end. Of a job that has ended nothing changes."""
        self._api.cancel(self.id)

    def logs(
        self, *, rank: int | None = None, attempt: int | None = None, tail: int | None = None
    ) -> str:
        """What its ranks wrote so far, one after the other. tail: only the last lines."""
        request = pb.LogsRequest(job=self.id, rank=rank, attempt=attempt, tail_lines=tail or 0)
        written: dict[int, bytes] = {}
        for chunk in self._api.logs(request):
            written[chunk.rank] = written.get(chunk.rank, b"") + chunk.data
        words = {rank: data.decode(errors="replace") for rank, data in sorted(written.items())}
        if len(words) <= 1:
            return "".join(words.values())
        return "".join(
            f"[{rank}] {line}\n" for rank, said in words.items() for line in said.splitlines()
        )

    def metrics(self, *names: str, rank: int | None = None) -> pd.DataFrame:
        """Its points: name, step, rank, phase, value, time; rank is NA for the whole gang.

        Without names all of them. Memory is in bytes and time in seconds: a name ends in its unit.
        """
        return read_metrics(self._api, self._view, names, rank)

    def plot(
        self,
        metric: str = "loss",
        *,
        over_time: bool = False,
        log: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """The curve of a metric, by matplotlib; of one that each rank has a curve for each."""
        return plot([self], metric, over_time=over_time, log=log, ax=ax)

    def __repr__(self) -> str:
        return f"<job {self.id} {self.name}: {facts(self.view)}>"

    def _repr_html_(self) -> str:
        view = self.view
        message = f"<br>{html.escape(view.message)}" if view.message else ""
        title = f"<b>{html.escape(view.name)}</b> ({html.escape(view.id)})"
        return f"{title}: {html.escape(facts(view))}{message}"


class JobList(list[Job]):
    """A list that notebooks show as a table."""

    def frame(self) -> pd.DataFrame:
        return pd.DataFrame([_row(job.view) for job in self])

    def _repr_html_(self) -> str:
        frame = pd.DataFrame([_cells(job.view) for job in self])
        return frame.to_html(index=False, justify="left")


class Group:
    """The jobs of a lab file. A job of it is found by its name or place: group["lora"]."""

    def __init__(self, api: Api, group_id: str, name: str, jobs: JobList) -> None:
        self._api = api
        self.id = group_id
        self.name = name
        self.jobs = jobs

    def __iter__(self) -> Iterator[Job]:
        return iter(self.jobs)

    def __len__(self) -> int:
        return len(self.jobs)

    def __getitem__(self, key: str | int) -> Job:
        if isinstance(key, int):
            return self.jobs[key]
        for job in self.jobs:
            if key in (job.id, job.name):
                return job
        raise KeyError(f"{key!r}: the group's jobs are {', '.join(job.name for job in self.jobs)}")

    def wait(self, timeout: float | None = None, *, progress: bool = True) -> Group:
        """Follows all its jobs until they have ended, as Job.wait does."""
        views = _follow(self._api, self.id, timeout, progress)
        self.jobs = JobList(Job(self._api, views[job.id]) for job in self.jobs)
        return self

    def cancel(self) -> None:
        """Asks for the end of all its jobs."""
        self._api.cancel(self.id)

    def metrics(self, *names: str, rank: int | None = None) -> pd.DataFrame:
        """The points of all its jobs, as Job.metrics, with the column job."""
        frames = [job.metrics(*names, rank=rank).assign(job=job.name) for job in self.jobs]
        return pd.concat(frames, ignore_index=True)

    def compare(self, base: Job | str | None = None) -> Comparison:
        """Its jobs side by side, as Site.compare."""
        word = "" if base is None else base if isinstance(base, str) else base.id
        return Comparison.of(self._api.compare(pb.CompareRequest(jobs=[self.id], base=word)), word)

    def plot(
        self,
        metric: str = "loss",
        *,
        over_time: bool = False,
        log: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """The curves of its jobs over each other, as Site.plot."""
        return plot(self.jobs, metric, over_time=over_time, log=log, ax=ax)

    def __repr__(self) -> str:
        return f"<group {self.id} {self.name} of {len(self)} jobs>"

    def _repr_html_(self) -> str:
        title = f"<b>{html.escape(self.name)}</b> ({html.escape(self.id)})"
        return title + self.jobs._repr_html_()


def _follow(api: Api, word: str, timeout: float | None, progress: bool) -> dict[str, pb.JobView]:
    views: dict[str, pb.JobView] = {}
    live = Progress() if progress else None
    try:
        for view in api.watch(word, timeout):
            views[view.id] = view
            if live is not None:
                live.update(view)
    except KeyboardInterrupt:
        if live is not None:
            live.note(f"detached: {word} goes on, wait() follows it again")
        raise
    finally:
        if live is not None:
            live.finish()
    if not views or any(view.state != "FINISHED" for view in views.values()):
        raise TimeoutError(f"{word} has not ended after {timeout} s, and goes on")
    return views


def _cells(view: pb.JobView) -> dict[str, str]:
    """As people read them."""
    peak = view.peak_allocated_bytes
    return {
        "job": f"{view.name} ({view.id})",
        "state": view.outcome or view.state,
        "step": f"{view.step:,}/{view.steps:,}" if view.steps else "",
        "loss": text.number(view.loss) if view.HasField("loss") else "",
        "tokens/s": (
            text.number(view.tokens_per_second) if view.HasField("tokens_per_second") else ""
        ),
        "peak": text.size(peak) if peak else "",
        "why": view.reason or ("" if view.outcome == "SUCCEEDED" else view.message),
    }


def _row(view: pb.JobView) -> dict[str, object]:
    return {
        "id": view.id,
        "name": view.name,
        "state": view.outcome or view.state,
        "step": view.step,
        "steps": view.steps,
        "loss": view.loss if view.HasField("loss") else None,
        "tokens_per_second": (
            view.tokens_per_second if view.HasField("tokens_per_second") else None
        ),
        "peak_allocated_bytes": view.peak_allocated_bytes or None,
        "owner": view.owner,
        "submitted_at": pd.to_datetime(view.submitted_at, unit="us", utc=True),
        "message": view.message or view.reason,
    }
