"""Write docs/coverage.md: each clause of the founding texts, and the test that shows it.

    python tests/founding/coverage_page.py

A row is a file `test_ROW_name.py`; its docstring is the situation, each `@pytest.mark.clause(text)` a clause. What no
test shows yet stands in the file's `LATER`: the clause, and what will close it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
PAGE = HERE.parents[1] / "docs" / "coverage.md"
FILE = re.compile(r"test_([a-z])(\d+)_\w+\.py")
PARTS = {
    "M": "Models that export only after a change",
    "L": "The language of export",
    "A": "Soundness, and what comes after export",
    "T": "Coming from TorchScript",
}
HEAD = """\
# What exportlint was asked to cover

Written by `python tests/founding/coverage_page.py` from the tests in tests/founding/. A clause works when the
test beside it passes, and all of them run in CI.
"""


@dataclass(frozen=True, slots=True)
class Clause:
    """One thing that was asked for; `shown_by` is a test's name, or "" with what will close it in `later`."""

    text: str
    shown_by: str = ""
    later: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One situation of the founding texts."""

    letter: str
    number: int
    situation: str
    clauses: tuple[Clause, ...]
    file: Path


def rows() -> list[Row]:
    """In the order of the founding texts."""
    found = [row(file) for file in HERE.glob("test_*.py") if FILE.fullmatch(file.name)]
    return sorted(found, key=lambda one: (list(PARTS).index(one.letter), one.number))


def row(file: Path) -> Row:
    """What a file of tests says of its row."""
    tree = ast.parse(file.read_text("utf-8"))
    match = FILE.fullmatch(file.name)
    assert match
    situation = " ".join((ast.get_docstring(tree) or "").split())
    return Row(match[1].upper(), int(match[2]), situation, (*_shown(tree), *_later(tree)), file)


def _shown(tree: ast.Module) -> Iterator[Clause]:
    for test in tree.body:
        if isinstance(test, ast.FunctionDef):
            for mark in test.decorator_list:
                match mark:
                    case ast.Call(func=ast.Attribute(attr="clause"), args=[ast.Constant(value=str(text))]):
                        yield Clause(text, shown_by=test.name)


def _later(tree: ast.Module) -> Iterator[Clause]:
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="LATER")], value=ast.Dict() as value):
                yield from (Clause(text, later=why) for text, why in ast.literal_eval(value).items())


def page(found: list[Row]) -> str:
    """The whole page."""
    parts = [HEAD]
    for letter, title in PARTS.items():
        parts += [f"## {title}\n", *(_section(one) for one in found if one.letter == letter)]
    return "\n".join(parts)


def _section(one: Row) -> str:
    link = f"../tests/founding/{one.file.name}"
    lines = [f"### {one.letter}{one.number}\n", f"{one.situation}\n", "| clause | shown by |", "| --- | --- |"]
    for clause in one.clauses:
        how = f"[{clause.shown_by[5:].replace('_', ' ')}]({link})" if clause.shown_by else f"not yet: {clause.later}"
        lines.append(f"| {clause.text.replace('|', chr(92) + '|')} | {how} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    PAGE.write_text(page(rows()), "utf-8")
