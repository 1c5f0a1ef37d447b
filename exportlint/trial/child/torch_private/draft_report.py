"""The report of draft_export: each issue with its type, its data and its frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from torch._logging import structured

from exportlint.trial.protocol.frames import Frame

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Issue(NamedTuple):
    kind: str
    data: Mapping[str, Any]
    frames: list[Frame]


def issues(program: Any) -> Iterator[Issue]:
    """Of a program that draft_export gave."""
    report = getattr(program, "_report", None)
    # The report lists only the files that no earlier export of this process has met.
    met = {number: name for name, number in structured.INTERN_TABLE.items()}
    names = met | getattr(report, "str_to_filename", {})
    for failure in getattr(report, "failures", ()):
        stack = failure.data.get("user_stack") or failure.data.get("stack") or ()
        yield Issue(failure.failure_type.name, failure.data, [_frame(entry, names) for entry in stack])


def _frame(entry: Any, names: Mapping[Any, str]) -> Frame:
    name = entry.get("filename")
    path = names.get(str(name), names.get(name, str(name)))
    return Frame(path, int(entry.get("line") or 0), entry.get("name") or "", (entry.get("loc") or "").strip())
