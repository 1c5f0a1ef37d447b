"""What torch.compile does with a target, as reports show it. JSON holds these rows as they are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """A place where Dynamo ends a graph and goes on in Python.

    path, line, function  the user's own; None and "" where torch names none
    frames                the calls that lead there, the outermost first, as "model.py:12 in forward"
    reason                torch's, in one line
    id, url               of torch's registry of graph breaks; None where it has none
    rule                  the rule that knows it
    times                 how often it was met over all calls
    kind                  break, skipped (the whole function runs in Python), disabled, foreign (C, or a library)
    """

    path: str | None
    line: int | None
    function: str
    frames: tuple[str, ...]
    reason: str
    id: str | None
    url: str | None
    rule: str | None
    times: int
    kind: str


@dataclass(frozen=True, slots=True)
class Graph:
    """What lies between two breaks.

    operators        how many calls the graph has
    share            of the time of a warm call, from 0 to 1; None where it was not measured
    path, line       of its first operator
    inputs, outputs  how many values come in, parameters included, and go out
    """

    operators: int
    share: float | None
    path: str | None
    line: int | None
    inputs: int
    outputs: int


@dataclass(frozen=True, slots=True)
class Recompile:
    """What is compiled again each time that something changes.

    path, line   what the guard was made for; None where torch names none
    guard        that fails
    changed      what did, in words
    times        how many calls compiled again
    mend         what to write instead
    over_limit   Dynamo gives the function up, which then runs in Python
    mend_tried   was the mend tried, and did it end it?
    """

    path: str | None
    line: int | None
    guard: str
    changed: str
    times: int
    mend: str | None
    over_limit: bool
    mend_tried: bool


@dataclass(frozen=True, slots=True)
class CompilationReport:
    """Everything about torch.compile that a trial found out.

    order   in which breaks and graphs came: ("break", index) or ("graph", index)
    cost    see the stage `cost`; None where it was not measured
    """

    graph_breaks: tuple[GraphBreak, ...] = ()
    graphs: tuple[Graph, ...] = ()
    recompiles: tuple[Recompile, ...] = ()
    order: tuple[tuple[str, int], ...] = ()
    cost: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data: "graph_breaks", "graphs", "recompiles" and "cost"."""
        rows = ("graph_breaks", "graphs", "recompiles")
        return {name: [asdict(row) for row in getattr(self, name)] for name in rows} | {"cost": self.cost}


NOT_COMPILED = CompilationReport()
