"""ExportDB cases and graph breaks by name, id or tag, and the links to their pages; offline."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.finding import Link
from exportlint.reference.stored import installed, stored

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.reference.torch_sources import ExportDBCase, GraphBreak, Reference


EXPORTDB_URL = "https://pytorch.org/docs/main/generated/exportdb/index.html#"
GRAPH_BREAK_URL = "https://meta-pytorch.github.io/compile-graph-break-site/gb/"


def exportdb_case(name: str) -> ExportDBCase | None:
    """The case of that name; dashes and underscores are the same. None when torch has no such case."""
    name = name.replace("-", "_")
    return next((r.cases[name] for r in _references() if name in r.cases), None)


def cases_by_tag(tag: str) -> tuple[ExportDBCase, ...]:
    """All cases with the tag, by name; `cond` finds `torch.cond`, since the part before the dot is a family."""
    wanted = tag.lower()
    cases = stored().cases.values()
    return tuple(c for c in cases if any(wanted in (t, t.partition(".")[2]) for t in c.tags))


def tags() -> tuple[str, ...]:
    """Every tag that a case carries, in alphabetical order."""
    return tuple(sorted({tag for case in stored().cases.values() for tag in case.tags}))


_ID = re.compile(r"gb[ _-]?(\d{1,4})", re.IGNORECASE)


def is_graph_break_id(text: str) -> bool:
    """Has it the form of one, in the registry or not?"""
    return _ID.fullmatch(text) is not None


def graph_break(gb_id: str) -> GraphBreak | None:
    """The entry of an id such as GB0170, `gb170` too; None when the registry has no such id."""
    found = _ID.fullmatch(gb_id)
    wanted = f"GB{int(found[1]):04}" if found else gb_id.upper()
    return next((r.graph_breaks[wanted] for r in _references() if wanted in r.graph_breaks), None)


def link_for_case(name: str) -> Link | None:
    """The case's page, or None: torch's own errors name cases that do not exist."""
    case = exportdb_case(name)
    return Link("exportdb", case.name, EXPORTDB_URL + case.name.replace("_", "-")) if case else None


def link_for_graph_break(gb_id: str) -> Link | None:
    """The id's page, or None when the registry has no such id."""
    entry = graph_break(gb_id)
    return Link("graph-break", entry.id, f"{GRAPH_BREAK_URL}{entry.id.lower()}.html") if entry else None


def _references() -> Iterator[Reference]:
    """The copy first: it is read in milliseconds and knows nearly everything."""
    yield stored()
    if (found := installed()) is not None:
        yield found
