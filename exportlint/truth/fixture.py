"""Read a fixture file without running it: its classes, and the comments that say which finding stands on which line."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# `# missed: rule` is a known miss: a test fails the day the rule catches it. `# compile: rule` marks what is found for
# torch.compile alone, where torch.export does it right.
KINDS = ("error", "warning", "note", "missed", "compile")
_MARK = re.compile(rf"#\s*(?P<kind>{'|'.join(KINDS)}):\s*(?P<rules>[a-z0-9-]+(?:\s*,\s*[a-z0-9-]+)*)\s*$")


@dataclass(frozen=True, slots=True)
class FixtureClass:
    """A `Bad…` or `Good…` class; lines from 1, the end included. The caption is its docstring."""

    name: str
    caption: str
    good: bool
    line: int
    end_line: int


@dataclass(frozen=True, slots=True)
class Mark:
    """`# error: rule, rule` gives one mark for each rule."""

    kind: str
    rule: str
    line: int


@dataclass(frozen=True, slots=True)
class Fixture:
    """`torch` is the version that the marks are for where it is not the one that all fixtures' marks are for."""

    path: Path
    classes: tuple[FixtureClass, ...]
    marks: tuple[Mark, ...]
    torch: str | None

    def marks_of(self, rule: str) -> list[Mark]:
        """Those of what the rule finds."""
        return [mark for mark in self.marks if mark.rule == rule and mark.kind != "missed"]

    def class_at(self, line: int) -> FixtureClass | None:
        """The Bad or Good class that the line stands in."""
        return next((c for c in self.classes if c.line <= line <= c.end_line), None)


def read_fixture(path: Path) -> Fixture:
    """Read the file; raises UserError where it cannot be parsed."""
    try:
        source = path.read_text("utf-8")
        tree = ast.parse(source)
    except OSError as exc:
        raise UserError(f"{path}: cannot read the fixture ({exc.strerror})") from exc
    except (SyntaxError, ValueError) as exc:
        raise UserError(f"{path}: the fixture does not parse ({exc})") from exc
    return Fixture(path, tuple(_classes(tree)), tuple(_marks(source)), _torch(tree))


def _classes(tree: ast.Module) -> Iterator[FixtureClass]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.startswith(("Bad", "Good")):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            caption = ast.get_docstring(node) or ""
            yield FixtureClass(node.name, caption, node.name.startswith("Good"), first, node.end_lineno or first)


def _marks(source: str) -> Iterator[Mark]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and (found := _MARK.search(token.string)):
            for rule in found["rules"].split(","):
                yield Mark(found["kind"], rule.strip(), token.start[0])


def _torch(tree: ast.Module) -> str | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            if "TORCH" in names:
                return str(node.value.value)
    return None
