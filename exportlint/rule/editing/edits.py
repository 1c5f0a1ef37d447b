"""Make edits of a file from the changes that a repair names."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import takewhile
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.rule.editing.repair import (
    Beside,
    Change,
    Derived,
    Elsewhere,
    InClass,
    InInit,
    ModuleImport,
    Undecorated,
    Where,
)
from exportlint.rule.suspicion import Replacement, SuspectedRewrite

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rule.code import CodePiece
    from exportlint.rule.editing.repair import AnyChange, Repair, Rewrite


_STATEMENTS = (cst.BaseStatement, cst.BaseSmallStatement)


def suspected_rewrites(repair: Repair, code: CodePiece, node: cst.CSTNode, case: str) -> Iterator[SuspectedRewrite]:
    """The rewrites of what a rule reported, each as replacements in the file of the code."""
    editing = _Editing(code)
    for rewrite in repair.rewrites(node, case):
        if (found := editing.replacements(rewrite)) is not None and _parses(code, found):
            yield SuspectedRewrite(rewrite.description, rewrite.applicability, found, rewrite.needs_both_sides)


def _parses(code: CodePiece, replacements: Sequence[Replacement]) -> bool:
    """Is the file still Python? A repair that makes something else of it has met what it was not written for."""
    try:
        ast.parse(edited(code.source.text, replacements))
    except (SyntaxError, OverlappingEditsError):
        return False
    return True


class _NoRoomError(Exception):
    """The file has no place for a change."""


@dataclass
class _Editing:
    code: CodePiece

    def replacements(self, rewrite: Rewrite) -> tuple[Replacement, ...] | None:
        """None where one of the changes has no place in this file."""
        try:
            return tuple(sorted({one for change in rewrite.changes for one in self._of(change)}))
        except _NoRoomError:
            return None

    def _of(self, change: AnyChange) -> Iterable[Replacement]:
        match change:
            case ModuleImport(name):
                return self._import(name)
            case InInit(text):
                return [self._in_init(text)]
            case Elsewhere(node, text):
                return [self._elsewhere(node, text)]
            case InClass(cls, text):
                return [self._in_class(cls, text)]
            case Beside(node, text, where):
                return [self._near(node, text, where)]
            case Undecorated(decorator):
                return [self._undecorated(decorator)]
            case Derived(cls, base):
                return self._derived(cls, base)
            case Change(node, text, Where.INSTEAD):
                return [self._instead(node, text)]
            case Change(node, text, where):
                return [self._beside(node, text, where)]
        raise AssertionError(change)

    def _instead(self, node: cst.CSTNode, text: str) -> Replacement:
        place = self.code.place(node)
        if isinstance(node, _STATEMENTS) and not text:
            return self._without(node)
        if self._is_printed(node):
            raise _NoRoomError
        lines = text.split("\n")
        if isinstance(node, _STATEMENTS):
            lines[1:] = _indented(lines[1:], self._indent(place.line))
        return Replacement((place.line, place.column), (place.end_line, place.end_column), "\n".join(lines))

    def _is_printed(self, node: cst.CSTNode) -> bool:
        """Is its source a part of a text, as that of `{len(x)=}`?"""
        now: cst.CSTNode | None = node
        while now is not None and not isinstance(now, _STATEMENTS):
            if isinstance(now, cst.FormattedStringExpression) and now.equal is not None:
                return True
            now = self.code.parent(now)
        return False

    def _without(self, node: cst.CSTNode) -> Replacement:
        """The lines of a statement go; one that is alone in its block leaves a `pass`."""
        line = self._line_of(node)
        place = self.code.place(line)
        if isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1:
            raise _NoRoomError  # `a; b`
        block = self.code.parent(line)
        if not isinstance(block, cst.IndentedBlock | cst.Module) or len(block.body) == 1:
            return Replacement((place.line, place.column), (place.end_line, place.end_column), "pass")
        return Replacement((place.line, 1), (place.end_line + 1, 1), "")

    def _beside(self, node: cst.CSTNode, text: str, where: Where) -> Replacement:
        line = self._line_of(node)
        if not isinstance(self.code.parent(line), cst.IndentedBlock | cst.Module):
            raise _NoRoomError  # `if a: b`
        place = self.code.place(line)
        at = place.line if where is Where.BEFORE else place.end_line + 1
        lines = _indented(text.split("\n"), self._indent(place.line))
        return Replacement((at, 1), (at, 1), "\n".join(lines) + "\n")

    def _line_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """The statement, with all of its line, that the node is in."""
        while not isinstance(node, cst.BaseStatement):
            above = self.code.parent(node)
            if above is None:
                raise _NoRoomError
            node = above
        return node

    def _indent(self, line: int) -> str:
        text = self.code.source.lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    def _import(self, name: str) -> Iterator[Replacement]:
        """Below the imports that the file begins with."""
        tree = self.code.module.parsed.tree
        if _imports(tree, name):
            return
        if any(
            isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Store) for one in ast.walk(tree)
        ):
            raise _NoRoomError  # it is something else here
        docstring = tree.body[:1] if ast.get_docstring(tree, clean=False) is not None else []
        imports = takewhile(lambda one: isinstance(one, ast.Import | ast.ImportFrom), tree.body[len(docstring) :])
        above = [*docstring, *imports]
        line = (above[-1].end_lineno or 0) + 1 if above else 1
        yield Replacement((line, 1), (line, 1), f"import {name}\n")

    def _in_init(self, text: str) -> Replacement:
        cls = self.code.cls
        if cls is None or cls.module is not self.code.module:
            raise _NoRoomError
        own = next((one for one in cls.node.body if getattr(one, "name", "") == "__init__"), None)
        if own is None:
            return self._new_init(cls, text)
        if isinstance(own, ast.FunctionDef) and own.body[0].lineno > own.lineno:
            last = own.body[-1]
            at = (last.end_lineno or last.lineno) + 1
            lines = _indented(text.split("\n"), " " * own.body[0].col_offset)
            return Replacement((at, 1), (at, 1), "\n".join(lines) + "\n")
        raise _NoRoomError

    def _new_init(self, cls: ClassInfo, text: str) -> Replacement:
        """Above the first method, whose indent it takes along: of two of them, one has to wait for the next round."""
        first = next((one for one in cls.node.body if isinstance(one, ast.FunctionDef)), None)
        if first is None:
            raise _NoRoomError
        plain = len(cls.lineage) == 1 and cls.base_names == ("torch.nn.Module",)
        taken, given = ("self", "") if plain else ("self, *args, **kwargs", "*args, **kwargs")
        whole = [f"def __init__({taken}):", f"    super().__init__({given})", *_indented(text.split("\n"), "    "), ""]
        at = min([first.lineno, *(one.lineno for one in first.decorator_list)])
        indent = " " * first.col_offset
        return Replacement((at, 1), (at, 1 + len(indent)), "\n".join(_indented(whole, indent)) + "\n" + indent)

    def _elsewhere(self, node: ast.stmt | ast.expr, text: str) -> Replacement:
        end_line = node.end_lineno or node.lineno
        if not text and self.code.source.lines[node.lineno - 1].lstrip().startswith("@"):
            return Replacement((node.lineno, 1), (end_line + 1, 1), "")
        if isinstance(node, ast.stmt) and not text:
            alone = self.code.source.lines[node.lineno - 1].split(";")[0].rstrip()
            if len(alone.encode()) != (node.end_col_offset or 0) and end_line == node.lineno:
                raise _NoRoomError  # `a; b`, or a comment that would go with it
            return Replacement((node.lineno, 1), (end_line + 1, 1), "")
        lines = text.split("\n")
        if isinstance(node, ast.stmt):
            lines[1:] = _indented(lines[1:], self._indent(node.lineno))
        start, end = self._column(node.lineno, node.col_offset), self._column(end_line, node.end_col_offset or 0)
        return Replacement((node.lineno, start), (end_line, end), "\n".join(lines))

    def _near(self, node: ast.stmt, text: str, where: Where) -> Replacement:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        end = node.end_lineno or node.lineno
        if self._indent(first) != self.code.source.lines[first - 1][: node.col_offset]:
            raise _NoRoomError  # `if a: b`
        lines = _indented(text.split("\n"), self._indent(first))
        at = first if where is Where.BEFORE else end + 1
        return Replacement((at, 1), (at, 1), "\n".join(lines) + "\n")

    def _undecorated(self, decorator: ast.expr) -> Replacement:
        if not self.code.source.lines[decorator.lineno - 1].lstrip().startswith("@"):
            raise _NoRoomError
        return Replacement((decorator.lineno, 1), ((decorator.end_lineno or decorator.lineno) + 1, 1), "")

    def _derived(self, cls: ast.ClassDef, base: str) -> Iterator[Replacement]:
        line = self.code.source.lines[cls.lineno - 1]
        head = re.match(rf"\s*class\s+{cls.name}\s*(\(\s*\))?\s*:", line)
        init = next((one for one in cls.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        body = init.body[ast.get_docstring(init, clean=False) is not None :] if init else []
        if head is None or not body or init is None or body[0].lineno == init.lineno:
            raise _NoRoomError
        name_ends = line.index(cls.name) + len(cls.name) + 1
        yield Replacement((cls.lineno, name_ends), (cls.lineno, head.end()), f"({base})")
        at = body[0].lineno
        yield Replacement((at, 1), (at, 1), " " * body[0].col_offset + "super().__init__()\n")

    def _column(self, line: int, before: int) -> int:
        """The column of libcst for one of ast, which counts bytes."""
        return len(self.code.source.lines[line - 1].encode()[:before].decode()) + 1

    def _in_class(self, cls: ast.ClassDef, text: str) -> Replacement:
        own = next((one for one in cls.body if getattr(one, "name", "") == "__init__"), cls.body[-1])
        at = (own.end_lineno or own.lineno) + 1
        lines = _indented(text.split("\n"), " " * cls.body[0].col_offset)
        return Replacement((at, 1), (at, 1), "\n" + "\n".join(lines) + "\n")


def _imports(tree: ast.Module, name: str) -> bool:
    """Does the file's top level import the module under its name, behind a `try` or `if`, too?"""
    todo: list[ast.AST] = [tree]
    while todo:
        one = todo.pop()
        if isinstance(one, ast.Import) and any(name == (a.asname or a.name.partition(".")[0]) for a in one.names):
            return True
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            todo += ast.iter_child_nodes(one)
    return False


def _indented(lines: Iterable[str], indent: str) -> list[str]:
    return [indent + line if line.strip() else line for line in lines]
