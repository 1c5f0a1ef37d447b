"""Places and edits of texts that editors count in other units and lines than Python does."""

from __future__ import annotations

import pytest
from lsprotocol import types
from pygls.workspace import PositionCodec

from exportlint.language_server.positions import Sheet

UTF_16, UTF_8 = (PositionCodec(kind) for kind in (types.PositionEncodingKind.Utf16, types.PositionEncodingKind.Utf8))


def edit(start: tuple[int, int], end: tuple[int, int], text: str) -> types.TextDocumentContentChangePartial:
    return types.TextDocumentContentChangePartial(types.Range(types.Position(*start), types.Position(*end)), text)


@pytest.mark.parametrize(("codec", "units"), [(UTF_16, 4), (UTF_8, 7)])
def test_a_column_is_counted_in_the_units_that_were_agreed_on(codec: PositionCodec, units: int) -> None:
    sheet = Sheet("é😋 x", codec)
    assert sheet.position(1, 4) == types.Position(0, units)
    assert sheet.place(types.Position(0, units)) == (1, 4)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_edits_are_made_where_they_stand_whatever_ends_a_line(end: str) -> None:
    sheet = Sheet(end.join(["a = 1", "\fb = 2\u2028", "c = 3"]), UTF_16)
    after = sheet.after([edit((2, 4), (2, 5), "4"), edit((0, 0), (1, 0), "")])
    assert after.plain == "\fb = 2\u2028\nc = 4"
    assert sheet.line_end == end


def test_a_place_beyond_the_text_is_its_end() -> None:
    sheet = Sheet("ab\nc", UTF_16)
    assert sheet.place(types.Position(0, 99)) == (1, 3)
    assert sheet.place(types.Position(9, 9)) == (2, 2)
    assert sheet.position(9, 1) == types.Position(1, 1)
    assert sheet.after([edit((9, 0), (9, 0), "\n")]).text == "ab\nc\n"
    assert Sheet("", UTF_16).after([edit((0, 0), (0, 0), "x")]).text == "x"


def test_changes_follow_one_another_and_one_without_a_range_is_the_whole_text() -> None:
    whole = types.TextDocumentContentChangeWholeDocument("x\ny")
    assert Sheet("old", UTF_16).after([whole, edit((1, 0), (1, 1), "z")]).text == "x\nz"
