"""The matrix as Markdown, for a page, and as JSON, for programs; matrix-1.json beside schema-1.json describes it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from exportlint.output.lowerings.matrix import Matrix, column
from exportlint.output.markdown import cell, table
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator


VERSION = 1


def as_markdown(matrix: Matrix) -> str:
    """The table, and the reasons in another one."""
    return "\n\n".join(_blocks(matrix)) + "\n"


def _blocks(matrix: Matrix) -> Iterator[str]:
    rows = [[row.name, *(row.statuses.get(stage, "") for stage in matrix.stages)] for row in matrix.rows]
    yield table(["target", *map(column, matrix.stages)], rows)
    reasons = [
        (row.name, ", ".join(map(column, why.stages)), why.status, f"`{why.place}`" if why.place else "", why.text)
        for row in matrix.rows
        for why in row.reasons
    ]
    if reasons:
        yield table(["target", "stages", "status", "place", "why"], reasons)
    yield from map(cell, matrix.unmet_in_words())
    yield cell(matrix.headline)


def as_json(matrix: Matrix) -> str:
    """The contract that other programs build on."""
    targets = [
        {
            "name": row.name,
            "stages": [
                {"name": stage, "status": status, "seconds": round(row.seconds.get(stage, 0.0), 3)}
                for stage in matrix.stages
                if (status := row.statuses.get(stage))
            ],
            "reasons": [asdict(why) for why in row.reasons],
        }
        for row in matrix.rows
    ]
    unmet = [{"target": target, "stage": stage, "status": status} for target, stage, status in matrix.unmet]
    data = {"version": VERSION, "exportlint": __version__, "torch": matrix.torch, "stages": list(matrix.stages)}
    return json.dumps({**data, "targets": targets, "required": list(matrix.required), "unmet": unmet}, indent=2) + "\n"
