"""Live progress of jobs: a line a job that is redrawn, in Jupyter and in a terminal; elsewhere a
line at each phase and every ten seconds."""

from __future__ import annotations

import html
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any

from . import text
from .proto import trainctl_pb2 as pb

LINE_EVERY_SECONDS = 10.0
BAR_COLUMNS = 24


def facts(view: pb.JobView) -> str:
    """ "step 12/16, evaluating 3/40, loss 0.8313, 51.07 tokens/s, peak 2.22 GiB, 1:47"."""
    said = [view.outcome if view.state == "FINISHED" else view.state.lower()]
    if view.HasField("as_expected"):
        said.append("as expected" if view.as_expected else "not as expected")
    if view.steps and view.started_at:
        said.append(f"step {view.step:,}/{view.steps:,}")
    if view.reason and view.state != "FINISHED":
        said.append(view.reason)
    if view.HasField("loss"):
        said.append(f"loss {text.number(view.loss)}")
    if view.HasField("tokens_per_second"):
        said.append(f"{text.number(view.tokens_per_second)} tokens/s")
    if view.peak_allocated_bytes:
        said.append(f"peak {text.size(view.peak_allocated_bytes)}")
    if view.started_at:
        end = view.ended_at / 1e6 or time.time()
        said.append(text.clock(end - view.started_at / 1e6))
    if view.remaining_seconds and view.state != "FINISHED":
        said.append(f"{text.clock(view.remaining_seconds)} left")
    return ", ".join(said)


class Progress:
    """Views of the jobs that are followed, each drawn as it comes."""

    def __init__(self) -> None:
        self._views: dict[str, pb.JobView] = {}
        self._draw = _JupyterLines() if _in_jupyter() else _lines_of(sys.stdout)

    def update(self, view: pb.JobView) -> None:
        self._views[view.id] = view
        self._draw.draw(list(self._views.values()))

    def note(self, words: str) -> None:
        self._draw.note(words)

    def finish(self) -> None:
        """The last lines stay."""
        self._draw.finish()


class _PlainLines:
    """For files and pipes."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._phases: dict[str, tuple[str, ...]] = {}
        self._times: dict[str, float] = {}

    def draw(self, views: list[pb.JobView]) -> None:
        for view in views:
            # "loading 1.20 of 13.50 GiB" is the phase "loading".
            phase = (view.state, str(view.attempt), view.reason.split(" ")[0])
            now = time.monotonic()
            recent = now - self._times.get(view.id, -LINE_EVERY_SECONDS) < LINE_EVERY_SECONDS
            ended = view.state == "FINISHED"
            if phase == self._phases.get(view.id) and (recent or ended):
                continue
            self._phases[view.id], self._times[view.id] = phase, now
            self.note(f"{view.name} ({view.id}): {facts(view)}")
            if ended and view.message and view.outcome != "SUCCEEDED":
                self.note(f"  {view.message}")

    def note(self, words: str) -> None:
        print(text.visible(words), file=self._out, flush=True)

    def finish(self) -> None:
        pass


class _TerminalLines:
    """Redrawn in place: the cursor goes up to the first of them, which is never above the top."""

    def __init__(self, out: Any) -> None:
        self._out = out
        self._drawn = 0

    def draw(self, views: list[pb.JobView]) -> None:
        columns, rows = shutil.get_terminal_size()
        lines = [text.first_columns(line, columns - 1) for line in _fitting(views, rows - 1)]
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        # What was drawn below, in a higher terminal, is erased.
        down = "\x1b[J" if len(lines) < self._drawn else ""
        self._out.write(up + "".join(f"\r\x1b[2K{line}\n" for line in lines) + down)
        self._out.flush()
        self._drawn = len(lines)

    def note(self, words: str) -> None:
        print(text.visible(words), file=self._out, flush=True)

    def finish(self) -> None:
        self._drawn = 0


class _JupyterLines:
    """One display that is updated, with a bar of the browser's own."""

    def __init__(self) -> None:
        from IPython.display import display

        self._display: Callable[..., Any] = display
        self._handle: Any = None

    def draw(self, views: list[pb.JobView]) -> None:
        plain = "\n".join(text.visible(f"{v.name} ({v.id}): {facts(v)}") for v in views)
        rich = "".join(f"<div>{_html_line(view)}</div>" for view in views)
        self._show({"text/plain": plain, "text/html": rich})

    def note(self, words: str) -> None:
        self._display({"text/plain": text.visible(words)}, raw=True)

    def finish(self) -> None:
        self._handle = None

    def _show(self, data: dict[str, str]) -> None:
        if self._handle is None:
            self._handle = self._display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _html_line(view: pb.JobView) -> str:
    name = f"<b>{_escape(view.name)}</b> ({_escape(view.id)})"
    bar = f'<progress value="{view.step}" max="{view.steps}"></progress> ' if view.steps else ""
    failed = view.message if view.outcome not in ("", "SUCCEEDED") else ""
    return f"{name} {bar}{_escape(facts(view))} {_escape(failed)}"


def _escape(words: str) -> str:
    return html.escape(text.visible(words))


def _fitting(views: list[pb.JobView], rows: int) -> list[str]:
    """A line a job, in their order; where there are too many, those that go on before others."""
    shown = views
    if len(views) > rows:
        first = sorted(range(len(views)), key=lambda i: views[i].state == "FINISHED")
        shown = [views[i] for i in sorted(first[: max(0, rows - 1)])]
    lines = [text.visible(f"{v.name} ({v.id}) {_bar(v)} {facts(v)}") for v in shown]
    if len(shown) < len(views):
        lines.append(f"… {len(views) - len(shown):,} more")
    return lines


def _bar(view: pb.JobView) -> str:
    share = min(1.0, view.step / view.steps) if view.steps else 0.0
    full = int(share * BAR_COLUMNS)
    return "[" + ("=" * full + (">" if full < BAR_COLUMNS else "")).ljust(BAR_COLUMNS) + "]"


def _lines_of(out: Any) -> _PlainLines | _TerminalLines:
    return _TerminalLines(out) if out.isatty() else _PlainLines(out)


def _in_jupyter() -> bool:
    """Whether a kernel runs this, which has displays."""
    module = sys.modules.get("IPython")
    shell = module.get_ipython() if module else None
    return getattr(shell, "kernel", None) is not None
