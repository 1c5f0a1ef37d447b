"""Places in a text: lines and characters from 1, as findings have them, and the code units of the protocol."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lsprotocol import types

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygls.workspace import PositionCodec

# Those of the protocol and of Python; `str.splitlines` breaks at form feeds too, and would count other lines.
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True)
class Sheet:
    """A text as an editor has it, with its own line ends, and the unit that its columns are counted in."""

    text: str
    codec: PositionCodec

    @cached_property
    def plain(self) -> str:
        """With \\n line ends, as it is judged."""
        return _LINE_END.sub("\n", self.text)

    @cached_property
    def lines(self) -> list[str]:
        return self.plain.split("\n")

    @property
    def line_end(self) -> str:
        """That of its first line."""
        found = _LINE_END.search(self.text)
        return found[0] if found else "\n"

    def position(self, line: int, column: int) -> types.Position:
        """Of a line and a character, both from 1; what lies beyond the text is its end."""
        if line > len(self.lines):
            return self.position(len(self.lines), len(self.lines[-1]) + 1)
        before = self.lines[line - 1][: column - 1]
        return types.Position(line - 1, self.codec.client_num_units(before))

    def range(self, start: tuple[int, int], end: tuple[int, int]) -> types.Range:
        return types.Range(self.position(*start), self.position(*end))

    def place(self, position: types.Position) -> tuple[int, int]:
        """The line and the character from 1; what lies beyond a line is its end."""
        if position.line >= len(self.lines):
            return len(self.lines), len(self.lines[-1]) + 1
        line = self.lines[position.line]
        return position.line + 1, self._characters(line, position.character) + 1

    def after(self, changes: Sequence[types.TextDocumentContentChangeEvent]) -> Sheet:
        """The text after changes of the protocol, made one after the other."""
        sheet = self
        for change in changes:
            text = change.text
            if isinstance(change, types.TextDocumentContentChangePartial):
                start, end = (sheet._offset(place) for place in (change.range.start, change.range.end))
                text = f"{sheet.text[:start]}{text}{sheet.text[end:]}"
            sheet = Sheet(text, self.codec)
        return sheet

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(found.end() for found in _LINE_END.finditer(self.text))]

    def _offset(self, position: types.Position) -> int:
        line, column = self.place(position)
        return self._starts[line - 1] + column - 1

    def _characters(self, line: str, units: int) -> int:
        """How many characters so many units are."""
        if line.isascii():
            return min(units, len(line))
        done = 0
        for count, character in enumerate(line):
            if done >= units:
                return count
            done += self.codec.client_num_units(character)
        return len(line)
