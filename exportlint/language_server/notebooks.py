"""Notebooks: their Python cells as one text, since a cell uses what others define; diagnostics back in the cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# What IPython runs and Python cannot parse: `%matplotlib inline`, `!pip install …`, `?name`; and whole cells of others.
_MAGIC = re.compile(r"^(\s*)[%!?].*$", re.MULTILINE)
_OTHER_LANGUAGE = re.compile(r"\s*%%")
SYNCED = types.NotebookDocumentSyncOptions(
    [types.NotebookDocumentFilterWithCells([types.NotebookCellLanguage("python")])]
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The lines of the whole text, from 0, that are a cell's."""

    uri: str
    lines: range


def joined(cells: Iterable[tuple[str, str]]) -> tuple[str, tuple[Cell, ...]]:
    """The text of cells, by uri and source, and where each stands in it.

    >>> text, (first, second) = joined([("a", "%pip install x\\nimport x"), ("b", "x.y")])
    >>> text, second.lines
    ('pass\\nimport x\\nx.y', range(2, 3))
    """
    found: list[Cell] = []
    texts: list[str] = []
    line = 0
    for uri, source in cells:
        lines = re.split(r"\r\n|\r|\n", source)
        other = _OTHER_LANGUAGE.match(source)
        texts.append("\n".join("#" for _ in lines) if other else _MAGIC.sub(r"\1pass", "\n".join(lines)))
        found.append(Cell(uri, range(line, line + len(lines))))
        line += len(lines)
    return "\n".join(texts), tuple(found)


def in_cells(
    cells: Sequence[Cell], diagnostics: Iterable[types.Diagnostic]
) -> Iterator[tuple[str, list[types.Diagnostic]]]:
    """The diagnostics of the whole text, each in the cell that it begins in."""
    diagnostics = tuple(diagnostics)
    for cell in cells:
        yield cell.uri, [_within(cell, one) for one in diagnostics if one.range.start.line in cell.lines]


def _within(cell: Cell, diagnostic: types.Diagnostic) -> types.Diagnostic:
    start, end = diagnostic.range.start, diagnostic.range.end
    first = cell.lines.start
    moved = types.Range(
        types.Position(start.line - first, start.character), types.Position(end.line - first, end.character)
    )
    return types.Diagnostic(
        moved,
        diagnostic.message,
        diagnostic.severity,
        diagnostic.code,
        diagnostic.code_description,
        diagnostic.source,
    )
