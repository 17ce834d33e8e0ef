"""Runs side by side, as the coordinator compares them: nothing is computed here."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pandas as pd

from . import text
from .proto import trainctl_pb2 as pb

Value = float | int | str | None


class Comparison(pd.DataFrame):
    """A row for each key, a column for each job, with the values as numbers, or texts.

    Notebooks show it as trainctl compare does. What is made of it by pandas is a plain frame.
    """

    _metadata = ["_response", "_base"]
    _response: pb.CompareResponse
    _base: str

    @classmethod
    def of(cls, response: pb.CompareResponse, base: str = "") -> Comparison:
        frame = cls(_cells(response, lambda row, value: _value(value)))
        frame._response = response
        frame._base = base
        return frame

    @property
    def _constructor(self) -> Any:
        return pd.DataFrame

    @property
    def units(self) -> pd.Series[str]:
        """Of each row: "s", "bytes", "tokens/s", …"""
        return self._of_rows(lambda row: row.unit)

    @property
    def labels(self) -> pd.Series[str]:
        """Of each row, for people: "median seconds per step"."""
        return self._of_rows(lambda row: row.label)

    @property
    def sections(self) -> pd.Series[str]:
        """Of each row: changed, outcome, time, memory, device, loss."""
        return self._of_rows(lambda row: row.section)

    @property
    def deltas(self) -> pd.DataFrame:
        """Relative to the base's values: (value − base) / base."""
        return _cells(self._response, lambda row, value: _delta(value)).astype("float64")

    @property
    def best(self) -> pd.DataFrame:
        """Which values are the best of the runs that succeeded."""
        return _cells(self._response, lambda row, value: value.best).astype(bool)

    @property
    def notes(self) -> pd.DataFrame:
        """What stands behind a value in brackets: the spread over ranks, a phase."""
        return _cells(self._response, lambda row, value: value.note)

    @property
    def text(self) -> pd.DataFrame:
        """Every value as trainctl compare prints it."""
        return _cells(self._response, _text)

    @property
    def same(self) -> list[str]:
        """What all the runs have in common."""
        return list(self._response.same)

    @property
    def warnings(self) -> list[str]:
        """Why the runs are not comparable; none where they are."""
        return list(self._response.warnings)

    @property
    def warning_sections(self) -> list[list[str]]:
        """Of each warning: the sections whose numbers it makes doubtful."""
        told = [list(names.sections) for names in self._response.warning_sections]
        return told + [[]] * (len(self._response.warnings) - len(told))

    def _doubt(self, section: str) -> str:
        """What stands behind the section's name, as trainctl compare has it."""
        doubt = self._response.doubtful_sections.get(section)
        return f" ({doubt})" if doubt else ""

    def _of_rows(self, fact: Callable[[pb.CompareRow], str]) -> pd.Series[str]:
        rows = self._response.rows
        return pd.Series([fact(row) for row in rows], index=[row.key for row in rows], dtype=str)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(heading)}</th>" for heading in self.columns)
        lines = [f"<table><thead><tr><th></th>{head}</tr></thead><tbody>"]
        section = ""
        for row in self._response.rows:
            doubt = self._doubt(row.section)
            if row.section != section and (doubt or row.section != row.label):
                span = len(self.columns) + 1
                title = f'<th colspan="{span}" style="text-align:left">'
                lines.append(f"<tr>{title}{html.escape(row.section + doubt)}</th></tr>")
            section = row.section
            cells = "".join(_html_cell(row, value) for value in row.values)
            label = f'<td style="text-align:left">{html.escape(row.label)}</td>'
            lines.append(f"<tr>{label}{cells}</tr>")
        lines.append("</tbody></table>")
        if self.same:
            lines.append(f"<p>Same: {html.escape(', '.join(self.same))}.</p>")
        for why, names in zip(self.warnings, self.warning_sections, strict=True):
            where = f" ({html.escape(', '.join(names))})" if names else ""
            lines.append(f"<p><b>Not comparable</b>{where}: {html.escape(why)}.</p>")
        base = self._base_heading()
        lines.append(
            "<p><small>* best of the runs that succeeded; percentages are against "
            f"{html.escape(base)}.</small></p>"
        )
        return "\n".join(lines)

    def _base_heading(self) -> str:
        headings = _headings(self._response)
        for job, heading in zip(self._response.jobs, headings, strict=True):
            if self._base in (job.id, job.name):
                return heading
        return headings[0] if headings else "the first"


def _headings(response: pb.CompareResponse) -> list[str]:
    """Names; of jobs that share one with their ids."""
    names = [job.name for job in response.jobs]
    return [
        job.name if names.count(job.name) == 1 else f"{job.name} ({job.id})"
        for job in response.jobs
    ]


def _cells(
    response: pb.CompareResponse, cell: Callable[[pb.CompareRow, pb.CompareValue], object]
) -> pd.DataFrame:
    return pd.DataFrame(
        [[cell(row, value) for value in row.values] for row in response.rows],
        index=[row.key for row in response.rows],
        columns=_headings(response),
        dtype=object,
    )


def _value(value: pb.CompareValue) -> Value:
    which = value.WhichOneof("value")
    if which is None:
        return None
    return value.text if which == "text" else value.number


def _delta(value: pb.CompareValue) -> float | None:
    return value.delta if value.HasField("delta") else None


def _text(row: pb.CompareRow, value: pb.CompareValue) -> str:
    """As client/show/compare_cell.cc has it."""
    if value.HasField("text"):
        words = value.text
    elif value.HasField("number"):
        # "tokens per second" says its unit.
        words = text.with_unit(value.number, "" if row.unit.endswith("/s") else row.unit)
    else:
        words = "none" if row.section == "changed" else "–"
    if value.HasField("delta"):
        words += "  " + text.delta(value.delta)
    if value.best:
        words += " *"
    if value.note:
        words += f" ({value.note})"
    return words


def _html_cell(row: pb.CompareRow, value: pb.CompareValue) -> str:
    words = html.escape(_text(row, value))
    return f"<td>{f'<b>{words}</b>' if value.best else words}</td>"
