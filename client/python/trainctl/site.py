"""A site: the coordinator, its jobs and workers."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd

from . import program
from .address import resolve
from .api import Api
from .comparison import Comparison
from .curves import plot
from .errors import Invalid
from .job import Group, Job, JobList
from .program import JobFile
from .proto import trainctl_pb2 as pb

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What names a job or a group: itself, its id or its name. Of a name the newest is meant.
Named = Job | Group | str


class Site:
    """Made by trainctl.connect()."""

    def __init__(self, server: str | None = None, context: str | None = None) -> None:
        self._address = resolve(server, context)
        self.server = self._address.text
        self._api = Api(self._address)
        workers = self._api.workers()
        self.version = workers.version
        self.id = workers.site

    def submit(
        self,
        job: JobFile,
        overrides: Mapping[str, object] | None = None,
        *,
        name: str | None = None,
        force: bool = False,
    ) -> Job | Group:
        """Submits a job, or a lab as a group of jobs: a dict, or the path of a file.

        The overrides are settings by their keys: {"train.micro_batch_size": 8}. Relative paths in a
        file are relative to the file, those in a dict to the current folder. Raises Invalid with
        every fault at once. force submits what is predicted to fit no device of the site.
        """
        arguments, stdin = program.submit_arguments(self._address, job, overrides)
        arguments += ["--name", name] if name else []
        arguments += ["--force"] if force else []
        answer = json.loads(program.output_of(*arguments, stdin=stdin))
        if "group" in answer:
            return self.group(answer["group"])
        return self.job(answer["id"])

    def dry_run(
        self, job: JobFile, overrides: Mapping[str, object] | None = None
    ) -> list[dict[str, Any]]:
        """What would happen: of each job the record that submit --dry-run -o json has of it."""
        arguments, stdin = program.submit_arguments(self._address, job, overrides)
        # Each record has its notes.
        text = program.output_of(
            *arguments,
            "--dry-run",
            stdin=stdin,
            accepted=(0, program.WOULD_NOT_RUN),
            notes=False,
        )
        records: list[dict[str, Any]] = json.loads(text)["jobs"]
        return records

    def job(self, word: str) -> Job:
        """By its id or name. NotFound where there is none, Invalid where it is a group's."""
        response = self._api.get(word)
        if response.group:
            ids = ", ".join(detail.view.id for detail in response.jobs)
            raise Invalid(f"'{word}' is a group: name one of its jobs, {ids}")
        return Job(self._api, response.jobs[0].view)

    def group(self, word: str) -> Group:
        """By its id or name. NotFound where there is none, Invalid where it is a job's."""
        response = self._api.get(word)
        if not response.group:
            raise Invalid(f"'{word}' is a job, no group")
        jobs = JobList(Job(self._api, detail.view) for detail in response.jobs)
        return Group(self._api, response.group, response.group_name, jobs)

    def jobs(
        self,
        *,
        states: Iterable[str] = (),
        outcomes: Iterable[str] = (),
        users: Iterable[str] = (),
        tags: Iterable[str] = (),
        names: Iterable[str] = (),
        limit: int = 0,
    ) -> JobList:
        """The newest first; none named: all. Of states and outcomes one, of tags all must fit."""
        request = pb.ListRequest(
            states=states, outcomes=outcomes, users=users, tags=tags, names=names, limit=limit
        )
        return JobList(Job(self._api, view) for view in self._api.list(request).jobs)

    def workers(self) -> pd.DataFrame:
        """Every device of the site, who holds it, and why it is not to be had."""
        return pd.DataFrame(
            [
                {
                    "name": worker.name,
                    "state": worker.state,
                    "job": worker.job,
                    "device": worker.device.name,
                    "memory_bytes": worker.device.memory_bytes,
                    "reason": worker.reason,
                }
                for worker in self._api.workers().workers
            ]
        )

    def compare(self, jobs: Iterable[Named] = (), base: Named | None = None) -> Comparison:
        """Jobs and groups side by side; none: the latest group. The base is else the first."""
        request = pb.CompareRequest(
            jobs=[_word(job) for job in _listed(jobs)], base=_word(base) if base else ""
        )
        return Comparison.of(self._api.compare(request), request.base)

    def plot(
        self,
        jobs: Iterable[Job | str],
        metric: str = "loss",
        *,
        over_time: bool = False,
        log: bool = False,
        ax: Axes | None = None,
    ) -> Axes:
        """The jobs' curves of a metric over each other, by step or by seconds since the start."""
        found = [job if isinstance(job, Job) else self.job(job) for job in _listed(jobs)]
        return plot(found, metric, over_time=over_time, log=log, ax=ax)

    def __repr__(self) -> str:
        return f"<trainctl site at {self.server}, coordinator {self.version}>"

    def _repr_html_(self) -> str:
        return f"trainctl site at <code>{html.escape(self.server)}</code>"


def _word(job: Named) -> str:
    return job if isinstance(job, str) else job.id


def _listed(jobs: Iterable[Any]) -> list[Any]:
    """One alone is taken for a list of it."""
    return [jobs] if isinstance(jobs, (str, Job, Group)) else list(jobs)
