"""The format `json-lines`: the contract of `json`, an object a line, for programs that read while they are written to.

The first line is the report, then come its findings and its targets; `kind` tells them apart.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exportlint.output.json_report import as_data

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.output.report import RenderOptions, Report


def render(report: Report, options: RenderOptions) -> str:
    del options  # the same on a terminal and in a file
    return "".join(f"{json.dumps(line)}\n" for line in _lines(as_data(report)))


def _lines(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"kind": "report", **{key: value for key, value in data.items() if key not in _ROWS}}
    for rows, kind in _ROWS.items():
        yield from ({"kind": kind, **row} for row in data[rows])


_ROWS = {"findings": "finding", "targets": "target"}
