"""An exported program as the page shows it beside its source; `trial/child/stages/graph.py` describes what comes in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.output.full import graph_facts
from exportlint.trial.protocol.frames import from_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_AROUND = 2  # lines of source around one that the program has operations of


def program_data(graph: Mapping[str, Any], want: Callable[[str, int, int], None]) -> dict[str, Any]:
    """`want` is told of the lines, by path, first and last, that stand beside it."""
    graphs = [{"name": name, "blocks": list(_blocks(blocks))} for name, blocks in graph["graphs"]]
    if graph.get("written_out"):
        graphs.append({"name": "the functional graph", "blocks": list(_blocks(graph["written_out"]))})
    for one in graphs:
        for block in one["blocks"]:
            if block["path"]:
                want(block["path"], block["line"] - _AROUND, block["line"] + _AROUND)
    return {
        "mode": graph["mode"],
        "graphs": graphs,
        "around": _AROUND,
        "facts": [[label, items] for label, made in graph_facts(graph) if (items := list(made))],
    }


def _blocks(blocks: list[Any]) -> Iterator[dict[str, Any]]:
    for place, text, operations in blocks:
        path, line = (from_here(place[0]), place[1]) if place else (None, None)
        yield {"path": path, "line": line, "text": text, "operations": operations}
