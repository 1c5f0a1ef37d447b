"""What a rewrite changes, as a diff, and a block of code of Markdown to show it in."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from exportlint.edited_source import OverlappingEditsError, edited

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from exportlint.finding import Edit, Fix

_CONTEXT = 2  # unchanged lines around a change: whoever reads it has the file, or the function, at hand


def diff_of(fix: Fix, line: Callable[[str, int], str | None]) -> tuple[str, ...]:
    """The lines of the diff; none where its edits do not fit the files. `line`: a line of a file, None where there is
    none."""
    texts = {path: text_of(path, line) for path in {edit.path for edit in fix.edits}}
    return diff_between(texts, edited_texts(fix.edits, texts))


def text_of(path: str, line: Callable[[str, int], str | None]) -> str:
    """The file as a whole, from its lines; "" where there are none."""
    lines: list[str] = []
    while (found := line(path, len(lines) + 1)) is not None:
        lines.append(found)
    return "\n".join(lines)


def edited_texts(edits: Sequence[Edit], texts: Mapping[str, str]) -> dict[str, str]:
    """The texts after the edits; empty where they do not fit them."""
    try:
        return {path: edited(text, [edit for edit in edits if edit.path == path]) for path, text in texts.items()}
    except (OverlappingEditsError, IndexError):
        return {}


def diff_between(texts: Mapping[str, str], new_texts: Mapping[str, str]) -> tuple[str, ...]:
    """What became of the texts, line by line."""
    lines: list[str] = []
    for path, new in sorted(new_texts.items()):
        old, names = texts[path], (f"a/{path}", f"b/{path}")
        lines += difflib.unified_diff(old.split("\n"), new.split("\n"), *names, lineterm="", n=_CONTEXT)
    return tuple(lines)


def fenced(language: str, lines: Iterable[str]) -> Iterator[str]:
    """A block of code of Markdown; its fence is longer than any in it."""
    lines = list(lines)
    fence = "```"
    while any(line.lstrip(" +->|").startswith(fence) for line in lines):
        fence += "`"
    yield f"{fence}{language}"
    yield from lines
    yield fence
