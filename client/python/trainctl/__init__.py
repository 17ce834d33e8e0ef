"""trainctl in Python: submit training jobs, watch them, and compare them, in notebooks and scripts.

    import trainctl

    site = trainctl.connect()
    job = site.submit("job.json", {"train.micro_batch_size": 8})
    job.wait()
    site.compare([job, "j1"])

It speaks to the coordinator as the program trainctl does. It needs grpcio, protobuf and pandas, and
matplotlib for plots: the wheel's extra "notebook".
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from .errors import Denied, Error, Invalid, NotFound, Unreachable
from .program import output_of

if TYPE_CHECKING:
    from .comparison import Comparison
    from .job import Group, Job, JobList
    from .site import Site

__all__ = [
    "Comparison",
    "Denied",
    "Error",
    "Group",
    "Invalid",
    "Job",
    "JobList",
    "NotFound",
    "Site",
    "Unreachable",
    "connect",
    "recipe",
]

_HOMES = {
    "Comparison": "comparison",
    "Group": "job",
    "Job": "job",
    "JobList": "job",
    "Site": "site",
}
_NEEDED = {"google", "grpc", "pandas"}


def connect(server: str | None = None, *, context: str | None = None) -> Site:
    """The site whose coordinator is at "HOST:PORT", or that trainctl context has by this name.

    Without either it is found as the program does: TRAINCTL_SERVER, TRAINCTL_CONTEXT, then the
    context in use or "server" in ~/.config/trainctl/config.json, then the coordinator of this
    machine. Raises Unreachable where none is named, or it does not answer.
    """
    site: Site = _import("site").Site(server, context)
    return site


def recipe(name: str) -> str:
    """The path of a job file that comes with trainctl. NotFound names those that there are."""
    return output_of("recipes", "path", name).strip()


def _import(module: str) -> Any:
    """What needs other packages is imported when it is used: the programs start without them."""
    try:
        return importlib.import_module(f"{__name__}.{module}")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in _NEEDED:
            raise
        raise ModuleNotFoundError(
            f"no module {error.name}: pip install grpcio protobuf pandas matplotlib",
            name=error.name,
        ) from None


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_import(_HOMES[name]), name)
