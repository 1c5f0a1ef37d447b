"""Show an exported program by source line; `trial/child/stages/graph.py` describes the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import from_here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from rich.console import Console


LABEL = 12


def print_graph(console: Console, graph: Mapping[str, Any]) -> None:
    from rich.text import Text  # noqa: PLC0415 (50 ms)

    operations = [operation for _, blocks in graph["graphs"] for _, _, block in blocks for operation in block]
    head = f"  exported program ({graph['mode']}): {len(operations)} operations"
    console.print(head, style="headline", soft_wrap=True)
    for label, items in _facts(graph):
        for number, item in enumerate(items):
            start = "" if number else label
            console.print(Text.assemble((f"  {start:<{LABEL}}", "label"), item), soft_wrap=True)
    for name, blocks in graph["graphs"]:
        if name:
            console.print(f"  {name}", style="label", soft_wrap=True)
        for place, source, block in blocks:
            console.print(Text.assemble((f"  {_shown(place)}", "gutter"), f"  {source}"), soft_wrap=True)
            for operation in block:
                console.print(f"      {_operation(*operation)}", soft_wrap=True)
    console.print()


def _facts(graph: Mapping[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    yield "inputs", (_typed(*item) for item in graph["inputs"])
    yield "ranges", graph["ranges"]
    yield "lifted", (f"{kind} {_typed(name, type_)}{_at(place)}" for kind, name, type_, place in graph["lifted"])
    yield "mutated", (f"{kind} {name}{_at(place)}" for kind, name, place in graph["mutated"])
    replaced = ((old, f"becomes {new}" if new else "is not needed", place) for old, new, place in graph["functional"])
    yield "functional", (f"{old} {what}{_at(place)}" for old, what, place in replaced)
    yield "returns", (_typed(*item) for item in graph["outputs"])


def _typed(name: str, type_: str) -> str:
    return f"{name}: {type_}" if type_ else name


def _operation(name: str, type_: str, call: str, in_place: bool) -> str:
    return f"{_typed(name, type_)} = {call}{'  (in place)' if in_place else ''}"


def _at(place: list[Any] | None) -> str:
    return f" at {_shown(place)}" if place else ""


def _shown(place: list[Any] | None) -> str:
    return f"{from_here(place[0])}:{place[1]}" if place else "no line"
