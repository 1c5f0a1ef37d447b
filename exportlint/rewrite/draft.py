"""A new version of a file: changes of its syntax tree in, edits of its text out.

A transformation works on the `ast` of the file, which the engine has judged, and never changes a node of it: it names
statements and expressions that others take the place of. New nodes may hold old ones, in any depth. Where a node is
as the author wrote it, its text is the author's: the names, the quotes, the parentheses, and the comments that stand
above and behind a statement that moves. Only what is new is worded by `ast.unparse`. So a diff shows what changed and
nothing else.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import defaultdict
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise, takewhile
from typing import TYPE_CHECKING, Any, TypeVar, cast

from exportlint.engine.source.parsed import walked
from exportlint.rule.suspicion import Replacement

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import ModuleInfo

_Node = TypeVar("_Node", bound=ast.AST)
_Definition = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NARROW, _WIDE = 88, 120


class NoRoomError(Exception):
    """The file has no place for a change: two statements share a line, a name means something else there."""


# -- New nodes ---------------------------------------------------------------------------------------------------------


def expression(template: str, **parts: ast.expr | str | float) -> ast.expr:
    """A new expression: the template, with nodes, other names or numbers in the place of names in it.

    >>> x = ast.parse("scores - 1", mode="eval").body
    >>> ast.unparse(expression("torch.where(TEST, X, OTHER)", TEST="mask", X=x, OTHER=0.0))
    'torch.where(mask, scores - 1, 0.0)'
    """
    return cast("ast.Expression", _filled(_parsed(template, "eval"), parts)).body


def statements(template: str, **parts: ast.expr | str | float) -> list[ast.stmt]:
    """New statements, likewise. A name that is set may be given as text, or as a node that can be set.

    >>> print(*map(ast.unparse, statements("NAME = NAME + 1; return NAME", NAME="count")), sep="; ")
    count = count + 1; return count
    """
    return cast("ast.Module", _filled(_parsed(template, "exec"), parts)).body


@cache
def _parsed(template: str, mode: str) -> ast.AST:
    return ast.parse(template, mode=mode)


def _filled(node: ast.AST, parts: dict[str, Any]) -> ast.AST:
    """A copy; nodes that are given stay themselves, so that the draft knows them again."""
    match node:
        case ast.Name(id=name, ctx=context) if name in parts:
            given = parts[name]
            if isinstance(given, str):
                return ast.Name(given, context)
            if not isinstance(given, ast.AST):
                return ast.Constant(given)
            return as_target(cast("ast.expr", given)) if isinstance(context, ast.Store) else given
        case ast.arg(arg=name) if isinstance(parts.get(name), str):
            return ast.arg(parts[name])
        case ast.FunctionDef(name=name) if isinstance(parts.get(name), str):
            return _with(_copied(node, parts), name=parts[name])
    return _copied(node, parts)


def _copied(node: _Node, parts: dict[str, Any]) -> _Node:
    new = type(node)()
    for name, value in ast.iter_fields(node):
        if isinstance(value, list):
            setattr(new, name, [_filled(one, parts) if isinstance(one, ast.AST) else one for one in value])
        else:
            setattr(new, name, _filled(value, parts) if isinstance(value, ast.AST) else value)
    return ast.copy_location(new, node)


def _with(node: _Node, **fields: Any) -> _Node:
    for name, value in fields.items():
        setattr(node, name, value)
    return node


def changed_copy(node: _Node, **fields: Any) -> _Node:
    """A new node like this one with other fields; a statement takes the comments of the old one along.

    >>> ast.unparse(changed_copy(ast.parse("x = 1").body[0], value=ast.Constant(2)))
    'x = 2'
    """
    new = ast.copy_location(type(node)(**{**dict(ast.iter_fields(node)), **fields}), node)
    return stands_for(new, node) if isinstance(new, ast.stmt) else new


class Copying(ast.NodeTransformer):
    """Copies what it changes; the rest stays the author's."""

    def other(self, node: ast.AST) -> ast.AST | None:
        """What stands there instead of the node; None for the node itself, with its parts changed."""
        raise NotImplementedError

    def visit(self, node: ast.AST) -> ast.AST:
        return self.with_parts(node) if (other := self.other(node)) is None else other

    def with_parts(self, node: ast.AST, **given: ast.AST) -> ast.AST:
        """The node with its parts changed; `given`: those that are known already."""
        changes: dict[str, object] = dict(given)
        for name, value in ast.iter_fields(node):
            if name in given:
                continue
            if isinstance(value, ast.AST):
                new: object = self.visit(value)
                if new is not value:
                    changes[name] = new
            elif isinstance(value, list):
                news = [self.visit(one) if isinstance(one, ast.AST) else one for one in value]
                if any(a is not b for a, b in zip(news, value, strict=True)):
                    changes[name] = news
        return changed_copy(node, **changes) if changes else node


class Swapped(Copying):
    """Puts other expressions into the places of nodes, which are given by identity."""

    def __init__(self, others: Mapping[int, ast.expr]) -> None:
        self.others = others

    def other(self, node: ast.AST) -> ast.AST | None:
        return self.others.get(id(node))


def stands_for(new: _Node, old: ast.AST) -> _Node:
    """`new` is what became of the statement `old`, whose comments go with it."""
    new.origin = getattr(old, "origin", old)  # type: ignore[attr-defined] # ours, beside ast's own fields
    return new


def as_target(node: ast.expr) -> ast.expr:
    """The same place, to be set.

    >>> type(as_target(ast.parse("self.n", mode="eval").body).ctx).__name__
    'Store'
    """
    match node:
        case ast.Name(id=name):
            return ast.Name(name, ast.Store())
        case ast.Attribute(value=owner, attr=attribute):
            return ast.Attribute(owner, attribute, ast.Store())
        case ast.Subscript(value=owner, slice=index):
            return ast.Subscript(owner, index, ast.Store())
        case ast.Tuple(elts=elements):
            return ast.Tuple([as_target(one) for one in elements], ast.Store())
    return node


def as_value(node: ast.expr) -> ast.expr:
    """The place that is set, to be read."""
    match node:
        case ast.Name(id=name):
            return ast.Name(name, ast.Load())
        case ast.Attribute(value=owner, attr=attribute):
            return ast.Attribute(owner, attribute, ast.Load())
        case ast.Subscript(value=owner, slice=index):
            return ast.Subscript(owner, index, ast.Load())
        case ast.Tuple(elts=elements):
            return ast.Tuple([as_value(one) for one in elements], ast.Load())
    return node


def snake_case(name: str) -> str:
    """A class's name as a function's.

    >>> snake_case("ImageModel"), snake_case("_load_table")
    ('image_model', 'load_table')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower().strip("_")


# -- The draft ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Comment:
    line: int
    column: int
    text: str
    is_alone: bool  # nothing else stands in its line


class Draft:
    """A file of the project while it is rewritten; the file itself stays as it is.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... from torch import nn
    ... class Net(nn.Module):
    ...     def forward(self, x):
    ...         if x.sum() > 0:  # loud
    ...             x = x / x.max()
    ...         return x
    ... ''', "forward")
    >>> draft = Draft(code.module)
    >>> decision = code.function.node.body[0]
    >>> draft.replace(decision, statements("x = torch.where(TEST, A, x)", TEST=decision.test, A=decision.body[0].value))
    >>> for edit in draft.edits():
    ...     print(edit.start, edit.end, repr(edit.text))
    (3, 1) (3, 1) 'import torch\\n'
    (5, 9) (6, 28) '# loud\\n        x = torch.where(x.sum() > 0, x / x.max(), x)'
    """

    def __init__(self, module: ModuleInfo) -> None:
        self.module = module
        self.tree = module.tree
        self.text = module.parsed.text
        self.lines = module.parsed.lines
        self._instead: dict[int, list[ast.stmt]] = {}
        self._swapped: dict[int, ast.expr] = {}
        self._above: defaultdict[int, list[ast.stmt]] = defaultdict(list)
        self._below: defaultdict[int, list[ast.stmt]] = defaultdict(list)
        self._new_inits: defaultdict[int, list[ast.stmt]] = defaultdict(list)
        self._methods: defaultdict[int, list[ast.stmt]] = defaultdict(list)
        self._bases: dict[int, str] = {}
        self._imported: dict[str, None] = {}
        self._undecorated: list[ast.expr] = []
        self._moved: set[int] = set()
        self._inside_own: set[int] = set()  # what is replaced by an expression with itself in it, while that is worded
        self._printed: set[int] = set()  # lines of comments that went along with what moved
        self._kept: list[tuple[str, str]] = []  # stand-ins of one text, and what they stand for
        self._touched: frozenset[int] = frozenset()

    # What is changed.

    def replace(self, old: ast.stmt, new: Sequence[ast.stmt]) -> None:
        """Other statements in the place of one, which may be among them; none of them: it goes."""
        self._instead[id(old)] = list(new)

    def move(self, old: ast.stmt, new: Sequence[ast.stmt]) -> None:
        """As `replace`, of a statement that also stands inside of what is new elsewhere, where it is what it was."""
        self.replace(old, new)
        self._moved.add(id(old))

    def swap(self, old: ast.expr, new: ast.expr) -> None:
        """Another expression in the place of one, which may be a part of it. Inside of what else is changed, this holds
        too."""
        self._swapped[id(old)] = new

    def above(self, statement: ast.stmt, new: Iterable[ast.stmt]) -> None:
        """Lines of their own above a statement."""
        self._above[id(statement)] += new

    def below(self, statement: ast.stmt, new: Iterable[ast.stmt]) -> None:
        """Lines of their own below a statement."""
        self._below[id(statement)] += new

    def in_init(self, cls: ast.ClassDef, new: Iterable[ast.stmt]) -> None:
        """Lines at the end of the class's `__init__`, which is made where it has none."""
        init = next((one for one in cls.body if getattr(one, "name", "") == "__init__"), None)
        if isinstance(init, ast.FunctionDef):
            self.below(init.body[-1], new)
        else:
            self._new_inits[id(cls)] += new

    def add_method(self, cls: ast.ClassDef, method: ast.FunctionDef) -> None:
        """A further method, above the first one behind `__init__`."""
        self._methods[id(cls)].append(method)

    def undecorate(self, decorator: ast.expr) -> None:
        """A function or class without this decorator."""
        self._undecorated.append(decorator)

    def derive(self, cls: ast.ClassDef, base: str) -> None:
        """The class, which has no bases, derives from one; it is no record any more."""
        self._bases[id(cls)] = base

    def add_import(self, module: str) -> None:
        """The file imports the module under its own name. What is new and says `torch.…` is imported without this."""
        self._imported[module] = None

    def instead(self, old: ast.stmt) -> Sequence[ast.stmt] | None:
        """What takes the place of the statement so far; None where it stays."""
        return self._instead.get(id(old))

    # What is known of the file.

    @property
    def originals(self) -> frozenset[int]:
        """The identities of all nodes that the author wrote."""
        return self.module.parsed.kept(self.tree, _identities)

    @property
    def parents(self) -> dict[int, ast.AST]:
        """By the identities of their children."""
        return self.module.parsed.kept(self.tree, _parents)

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self.parents.get(id(node))

    def statement_of(self, node: ast.AST) -> ast.stmt | None:
        """The innermost statement that the node stands in; itself where it is one."""
        now: ast.AST | None = node
        while now is not None and not isinstance(now, ast.stmt):
            now = self.parent(now)
        return now

    def source(self, node: ast.expr | ast.stmt) -> str:
        """The author's text of a node of the file."""
        start, end = self._offsets(node)
        return self.text[start:end]

    def free_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """The name itself where the file does not use it, else with a number behind it."""
        known = self.module.parsed.kept(self.tree, _names) | set(taken)
        name, number = wanted, 2
        while name in known:
            name, number = f"{wanted}_{number}", number + 1
        return name

    @property
    def _comments(self) -> list[_Comment]:
        return self.module.parsed.kept(self.tree, _comments)

    @cached_property
    def _width(self) -> int:
        """How long the author lets lines become."""
        return min(max([_NARROW, *map(len, self.lines)]), _WIDE)

    @cached_property
    def _unit(self) -> str:
        """By what the file indents: tabs, or some blanks."""
        indents = (line[: len(line) - len(line.lstrip())] for line in self.lines if line.strip())
        first = next(filter(None, indents), "    ")
        return "\t" if first[0] == "\t" else first

    def _indent(self, node: ast.stmt) -> str | None:
        """What stands before a statement in its line; None where that is code."""
        line = self.lines[_first_line(node) - 1]
        before = line[: self._column(_first_line(node), _first_column(node))]
        return before if not before.strip() else None

    def _column(self, line: int, offset: int) -> int:
        """Characters for `ast`'s bytes."""
        text = self.lines[line - 1]
        return offset if text.isascii() else len(text.encode()[:offset].decode())

    def _offsets(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        end_line = node.end_lineno or node.lineno
        start = self._starts[node.lineno - 1] + self._column(node.lineno, node.col_offset)
        return start, self._starts[end_line - 1] + self._column(end_line, node.end_col_offset or 0)

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for line in self.lines:
            starts.append(starts[-1] + len(line) + 1)
        return starts

    # What comes out.

    def edits(self) -> tuple[Replacement, ...]:
        """The edits that make the new version of the file; raises NoRoomError where one has no place."""
        self._printed.clear()
        self._touched = self._find_touched()
        found = [edit for node in self.tree.body for edit in self._of_statement(node, self.tree.body)]
        found += self._imports()
        found += (Replacement((d.lineno, 1), ((d.end_lineno or d.lineno) + 1, 1), "") for d in self._undecorated)
        return tuple(sorted(set(found)))

    def _of_statement(self, node: ast.stmt, block: Sequence[ast.stmt]) -> Iterator[Replacement]:
        above, below = self._above.get(id(node), []), self._below.get(id(node), [])
        if above:
            yield self._lines_at(_first_line(node), above, node)
        new = self._instead.get(id(node))
        if new is not None:
            yield from self._replacement(node, new, block)
        else:
            yield from self._inside(node)
        if below:
            yield self._lines_at((node.end_lineno or node.lineno) + 1, below, node)

    def _inside(self, node: ast.stmt) -> Iterator[Replacement]:
        """Edits of parts of a statement that stays."""
        if isinstance(node, ast.ClassDef):
            yield from self._of_class(node)
        if id(node) not in self._touched:
            return
        for child in ast.iter_child_nodes(node):
            yield from self._below_node(child, node)

    def _below_node(self, node: ast.AST, above: ast.AST) -> Iterator[Replacement]:
        if isinstance(node, ast.stmt):
            block = next(b for b in _lists(above) if any(one is node for one in b))
            yield from self._of_statement(node, cast("Sequence[ast.stmt]", block))
        elif id(node) in self._swapped:
            yield self._swap_in_place(cast("ast.expr", node), self._swapped[id(node)])
        elif id(node) in self._touched or isinstance(node, (ast.ExceptHandler, ast.match_case)):
            if isinstance(node, ast.JoinedStr):  # before Python 3.12 the places inside are not those of the file
                yield self._swap_in_place(node, node)
                return
            for child in ast.iter_child_nodes(node):
                yield from self._below_node(child, node)

    def _swap_in_place(self, old: ast.expr, new: ast.expr) -> Replacement:
        start, end = self._place(old.lineno, old.col_offset), self._place(old.end_lineno or 0, old.end_col_offset or 0)
        parent = self.parent(old)
        self._inside_own.add(id(old))
        text = self._expression(new)
        self._inside_own.remove(id(old))
        if _needs_parentheses(new, parent, old) and not self._stands_in_parentheses(old):
            text = f"({text})"
        return Replacement(start, end, text)

    def _stands_in_parentheses(self, node: ast.expr) -> bool:
        start, end = self._offsets(node)
        return self.text[:start].rstrip().endswith("(") and self.text[end:].lstrip().startswith(")")

    def _place(self, line: int, offset: int) -> tuple[int, int]:
        return line, self._column(line, offset) + 1

    def _replacement(self, node: ast.stmt, new: Sequence[ast.stmt], block: Sequence[ast.stmt]) -> Iterator[Replacement]:
        first, last = _first_line(node), node.end_lineno or node.lineno
        indent = self._indent(node)
        behind = self.lines[last - 1][self._column(last, node.end_col_offset or 0) :].strip()
        if indent is None or (behind and not behind.startswith("#")):
            raise NoRoomError  # `a; b`, or `if a: b`
        if not new and len(block) > 1 and not all(self._instead.get(id(one)) == [] for one in block):
            yield Replacement((first, 1), (last + 1, 1), "")
            return
        self._printed |= self._lines_beside(first, last)  # they stay where they are
        self._inside_own.add(id(node))
        lines = self._block(new, "") if new else (["pass"] if block[-1] is node else [])
        self._inside_own.remove(id(node))
        if not lines:
            while (
                first > 1
                and not self.lines[first - 2].strip()
                and last < len(self.lines)
                and not self.lines[last].strip()
            ):
                last += 1  # the blank lines around it become those of one gap
            yield Replacement((first, 1), (last + 1, 1), "")
            return
        lost = [
            c for c in self._comments
            if (first, self._column(first, _first_column(node))) <= (c.line, c.column)
            and (c.line, c.column) < (last, self._column(last, node.end_col_offset or 0))
            and c.line not in self._printed
        ]  # fmt: skip
        text = "\n".join(_indented([*(c.text for c in lost), *lines], indent)).removeprefix(indent)
        start = self._place(first, _first_column(node))
        yield Replacement(start, self._place(last, node.end_col_offset or 0), text)

    def _lines_beside(self, first: int, last: int) -> set[int]:
        """The lines of the comments right above some lines, and of the one behind the last."""
        alone = {c.line for c in self._comments if c.is_alone}
        above = takewhile(lambda line: line in alone, range(first - 1, 0, -1))
        return {*above, *(c.line for c in self._comments if c.line == last and not c.is_alone)}

    def _lines_at(self, line: int, new: Sequence[ast.stmt], beside: ast.stmt) -> Replacement:
        indent = self._indent(beside)
        if indent is None:
            raise NoRoomError
        gap = ["", ""] if not indent else [""]
        lines = self._block(new[:1], "")
        for above, one in pairwise(new):
            is_apart = isinstance(above, _Definition) or isinstance(one, _Definition)
            lines += [*(gap if is_apart and not indent else []), *self._block([one], "")]
        if isinstance(new[-1], _Definition) or isinstance(beside, _Definition):
            lines = [*lines, *gap] if line == _first_line(beside) else [*gap, *lines]
        return Replacement((line, 1), (line, 1), "\n".join(_indented(lines, indent)) + "\n")

    def _of_class(self, cls: ast.ClassDef) -> Iterator[Replacement]:
        if id(cls) in self._bases:
            start = self._place(_first_line(cls), _first_column(cls))
            head = re.compile(rf"class\s+{cls.name}\s*(\(\s*(object)?\s*\))?\s*(?=:)").search(
                self.text, self._starts[cls.lineno - 1]
            )
            if head is None:
                raise NoRoomError
            line = cls.lineno + self.text.count("\n", self._starts[cls.lineno - 1], head.end())
            yield Replacement(
                start, (line, head.end() - self._starts[line - 1] + 1), f"class {cls.name}({self._bases[id(cls)]})"
            )
        new: list[ast.stmt] = []
        if id(cls) in self._new_inits:
            new.append(self._made_init(cls, self._new_inits[id(cls)]))
        new += self._methods.get(id(cls), [])
        if not new:
            return
        methods = [one for one in cls.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef))]
        beside = next((one for one in methods if one.name != "__init__"), None)
        if beside is None:
            raise NoRoomError
        indent = self._indent(beside)
        if indent is None:
            raise NoRoomError
        lines = [line for one in new for line in (*self._statement(one), "")]
        line = _first_line(beside)
        while line > 1 and self.lines[line - 2].strip().startswith("#"):
            line -= 1
        yield Replacement((line, 1), (line, 1), "\n".join(_indented(lines, indent)) + "\n")

    def _made_init(self, cls: ast.ClassDef, new: list[ast.stmt]) -> ast.FunctionDef:
        known = self.module.classes.get(cls.name)
        plain = known is not None and len(known.lineage) == 1 and known.base_names == ("torch.nn.Module",)
        own = "self" if plain else "self, *args, **kwargs"
        given = "" if plain else "*args, **kwargs"
        (init,) = statements(f"def __init__({own}):\n    super().__init__({given})")
        return _with(cast("ast.FunctionDef", init), body=[*cast("ast.FunctionDef", init).body, *new])

    def _imports(self) -> Iterator[Replacement]:
        missing = [name for name in self._imported if self._local_name(name) is None]
        if not missing:
            return
        body = self.tree.body
        docstring = body[:1] if ast.get_docstring(self.tree, clean=False) is not None else []
        imports = takewhile(lambda one: isinstance(one, ast.Import | ast.ImportFrom), body[len(docstring) :])
        last = [*docstring, *imports]
        line = (last[-1].end_lineno or 0) + 1 if last else 1
        if any(name in self._names_set for name in missing):
            raise NoRoomError  # it is something else here
        yield Replacement((line, 1), (line, 1), "".join(f"import {name}\n" for name in missing))

    @cached_property
    def _names_set(self) -> frozenset[str]:
        stored = (n.id for n in walked(self.tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
        return frozenset(stored)

    def _local_name(self, module: str) -> str | None:
        """What the top of the file calls a module."""
        todo: list[ast.stmt] = list(self.tree.body)
        for node in todo:
            if isinstance(node, ast.Import):
                for one in node.names:
                    if one.name == module and (one.asname or "." not in module):
                        return one.asname or one.name
                    if one.asname is None and one.name.partition(".")[0] == module:
                        return module
            elif isinstance(node, ast.Try | ast.If):
                todo += node.body
        return None

    # How nodes are written.

    def _block(self, body: Sequence[ast.stmt], indent: str) -> list[str]:
        return _indented([line for node in body for line in self._statement(node)], indent)

    def _statement(self, node: ast.stmt) -> list[str]:
        """The lines of a statement from column 0, with the comments that belong to it."""
        replaced = self._instead.get(id(node))
        if replaced is not None and id(node) not in self._inside_own | self._moved:
            self._inside_own.add(id(node))
            lines = self._block(replaced, "")
            self._inside_own.remove(id(node))
            return lines
        origin = getattr(node, "origin", node)
        above, behind = self._comments_of(origin) if id(origin) in self.originals else ([], "")
        if id(node) in self.originals and self._is_unchanged(node):
            return [*above, *self._own_lines(node, behind)]
        lines = self._worded(node)
        if behind and len(lines) == 1 and len(lines[0] + behind) < self._width:
            lines[0] += f"  {behind}"
        elif behind:
            above.append(behind)
        return [*above, *lines]

    def _comments_of(self, node: ast.stmt) -> tuple[list[str], str]:
        """Those in the lines right above the statement, and the one behind its last line (of a compound one: behind
        its head)."""
        alone = {c.line: c for c in self._comments if c.is_alone}
        line, above = _first_line(node) - 1, list[str]()
        while line in alone and line not in self._printed:
            above.insert(0, alone[line].text)
            self._printed.add(line)
            line -= 1
        ends = _head_end(node)
        behind = next((c for c in self._comments if c.line == ends and not c.is_alone), None)
        if behind is None or ends in self._printed:
            return above, ""
        self._printed.add(ends)
        return above, behind.text

    def _own_lines(self, node: ast.stmt, behind: str) -> list[str]:
        """The author's lines, from column 0."""
        first, last = _first_line(node), node.end_lineno or node.lineno
        column = self._column(first, _first_column(node))
        end = self._column(last, node.end_col_offset or 0)
        lines = self.lines[first - 1 : last]
        lines[-1] = lines[-1][:end]
        lines[0] = lines[0][column:]
        self._printed |= set(range(first, last + 1))
        indent = self.lines[first - 1][:column]
        lines[1:] = [line.removeprefix(indent) if line.startswith(indent) else line.lstrip() for line in lines[1:]]
        if behind and (first == last or not isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try))):
            lines[-1] += f"  {behind}"
        return lines

    def _worded(self, node: ast.stmt) -> list[str]:
        """A statement that is new, or has parts that are."""
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                lines = [f"if {self._expression(test)}:", *self._block(body, self._unit)]
                if len(orelse) == 1 and isinstance(orelse[0], ast.If) and self._instead.get(id(orelse[0])) is None:
                    first, *rest = self._worded(orelse[0])
                    return [*lines, f"el{first}", *rest]
                return [*lines, *(["else:", *self._block(orelse, self._unit)] if orelse else [])]
            case ast.For(target=target, iter=over, body=body, orelse=orelse):
                names = self._expression(target)
                names = names[1:-1] if isinstance(target, ast.Tuple) and _closes_at_end(names) else names
                head = f"for {names} in {self._expression(over)}:"
            case ast.While(test=test, body=body, orelse=orelse):
                head = f"while {self._expression(test)}:"
            case ast.With(body=body):
                head, orelse = self._head(node), []
            case ast.FunctionDef(body=body) | ast.ClassDef(body=body):
                head, orelse = self._head(node), []
            case _:
                text = self._unparsed(self._copy(node))
                lines = [line.replace("    ", self._unit) for line in text.split("\n")]
                return [part for line in lines for part in _wrapped(line, self._width - 8, self._unit)]
        heads = (_wrapped(one, self._width, self._unit) if one.startswith("@") else [one] for one in head.split("\n"))
        lines = [*(line for one in heads for line in one), *self._block(body[:1], self._unit)]
        for one in body[1:]:
            lines += [*([""] if isinstance(node, ast.ClassDef) and isinstance(one, _Definition) else []),
                      *self._block([one], self._unit)]  # fmt: skip
        return [*lines, *(["else:", *self._block(orelse, self._unit)] if orelse else [])]

    def _head(self, node: ast.stmt) -> str:
        """All but the block."""
        new = type(node)(**dict(ast.iter_fields(node)))
        for name, value in ast.iter_fields(node):
            setattr(new, name, [ast.Pass()] if name == "body" else self._copy_value(value))
        return self._unparsed(new).removesuffix("\n    pass")

    def _expression(self, node: ast.expr) -> str:
        return self._unparsed(self._copy(node))

    def _unparsed(self, copy: ast.AST) -> str:
        """The text of a copy, with the author's texts in it."""
        text = ast.unparse(ast.fix_missing_locations(copy))
        for pattern, own in self._kept:
            text = re.sub(pattern, own.replace("\\", r"\\"), text)
        self._kept.clear()
        return text

    def _copy(self, node: _Node) -> _Node:
        """A copy to be unparsed, with stand-ins for the author's expressions."""
        if isinstance(node, ast.expr):
            if id(node) in self._swapped and id(node) not in self._inside_own:
                self._inside_own.add(id(node))
                new = self._copy(cast("_Node", self._swapped[id(node)]))
                self._inside_own.remove(id(node))
                return new
            if id(node) in self.originals and self._is_unchanged(node) and not isinstance(node, _PASSED_THROUGH):
                return cast("_Node", self._stand_in(node))
        if isinstance(node, ast.Constant) and self._quotes_twice(node):
            name = f"kept_{len(self._kept)}a_"
            self._kept.append((name, f'"{node.value!s}"'))
            return cast("_Node", ast.Name(name, ast.Load()))
        if isinstance(node, ast.JoinedStr) and id(node) not in self.originals:
            name, quote = f"kept_{len(self._kept)}a_", '"' if self.text.count('"') >= self.text.count("'") else "'"
            own = ast.unparse(ast.fix_missing_locations(node))
            self._kept.append((name, f"f{quote}{own[2:-1]}{quote}" if quote not in own[2:-1] else own))
            return cast("_Node", ast.Name(name, ast.Load()))
        if isinstance(node, ast.Name) and node.id == "torch" and id(node) not in self.originals:
            self.add_import("torch")
            return cast("_Node", ast.Name(self._local_name("torch") or "torch", node.ctx))
        new = type(node)(**dict(ast.iter_fields(node)))
        for name, value in ast.iter_fields(node):
            setattr(new, name, self._copy_value(value))
        return new

    def _quotes_twice(self, node: ast.Constant) -> bool:
        """Is it new text, which the author would put in double quotes?"""
        plain = isinstance(node.value, str) and re.fullmatch(r"[^\"'\\\n]*", node.value) is not None
        return plain and id(node) not in self.originals and self.text.count('"') >= self.text.count("'")

    def _is_unchanged(self, node: ast.expr | ast.stmt) -> bool:
        """Also of what stands in its own replacement, as `x` in `(x,)` for `x`: only its parts count."""
        if id(node) not in self._inside_own | self._moved:
            return id(node) not in self._touched
        return not any(id(child) in self._touched for child in ast.iter_child_nodes(node))

    def _copy_value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._copy(new) if isinstance(new, ast.AST) else new for one in value
                    for new in self._instead.get(id(one), [one])]  # fmt: skip
        return self._copy(value) if isinstance(value, ast.AST) else value

    def _stand_in(self, node: ast.expr) -> ast.expr:
        """An expression of the same precedence, which is replaced by the author's text once the whole is text: so
        `ast.unparse` sets the parentheses that are needed, and no others."""
        a, b, c = (f"kept_{len(self._kept)}{letter}_" for letter in "abc")
        own = self._on_one_line(node)
        new: ast.expr
        match node:
            case ast.BinOp(op=operator):
                new, pattern = ast.BinOp(ast.Name(a), operator, ast.Name(b)), rf"{a} \S+ {b}"
            case ast.Compare(ops=[operator, *_]):
                new, pattern = ast.Compare(ast.Name(a), [operator], [ast.Name(b)]), rf"{a} \S+( \S+)? {b}"
            case ast.BoolOp(op=operator):
                new, pattern = ast.BoolOp(operator, [ast.Name(a), ast.Name(b)]), rf"{a} \S+ {b}"
            case ast.UnaryOp(op=operator):
                new, pattern = ast.UnaryOp(operator, ast.Name(a)), rf"(not |[-~+]){a}"
            case ast.IfExp():
                new = ast.IfExp(ast.Name(a), ast.Name(b), ast.Name(c))
                pattern = rf"{b} if {a} else {c}|{a} if {b} else {c}"
            case ast.Lambda():
                new, pattern = ast.Lambda(_NO_ARGUMENTS, ast.Name(a)), rf"lambda: {a}"
            case ast.NamedExpr():
                new, pattern = ast.NamedExpr(ast.Name(a, ast.Store()), ast.Name(b)), rf"{a} := {b}"
            case ast.Tuple(elts=[_, *_]):
                new, pattern = ast.Tuple([ast.Name(a), ast.Name(b)], node.ctx), rf"{a}, {b}"
                if own.startswith("(") and _closes_at_end(own):
                    own = own[1:-1].strip()
            case _:
                new, pattern = ast.Name(a), a
        self._kept.append((pattern, own))
        return new

    def _on_one_line(self, node: ast.expr) -> str:
        own = self.source(node)
        if "\n" not in own:
            return own
        if "#" in own or '"""' in own or "'''" in own or isinstance(node, ast.Constant | ast.JoinedStr):
            return own if own[0] in "([{" or isinstance(node, ast.Call | ast.Subscript) else f"({own})"
        text = " ".join(line.strip().removesuffix("\\").rstrip() for line in own.split("\n"))
        return re.sub(r",?\s+(?=[)\]}])", "", re.sub(r"(?<=[(\[{])\s+", "", text))

    def _find_touched(self) -> frozenset[int]:
        """Every node of the author's that is changed, or something inside of which is."""
        changed = {
            *self._instead,
            *self._swapped,
            *self._above,
            *self._below,
            *self._new_inits,
            *self._methods,
            *self._bases,
        }
        touched = set[int]()
        for one in changed:
            now: int | None = one
            while now is not None and now not in touched:
                touched.add(now)
                above = self.parents.get(now)
                now = id(above) if above is not None else None
        return frozenset(touched)


# What all drafts of a file share: a finding has many, and a tree is walked for each of these.


def _identities(_file: Parsed, tree: ast.AST) -> frozenset[int]:
    return frozenset(id(node) for node in walked(tree) if hasattr(node, "lineno"))


def _parents(_file: Parsed, tree: ast.AST) -> dict[int, ast.AST]:
    return {id(child): node for node in walked(tree) for child in ast.iter_child_nodes(node)}


def _names(_file: Parsed, tree: ast.AST) -> frozenset[str]:
    found = {node.id for node in walked(tree) if isinstance(node, ast.Name)}
    found |= {node.arg for node in walked(tree) if isinstance(node, ast.arg)}
    return frozenset(found | {node.name for node in walked(tree) if isinstance(node, _Definition)})


def _comments(file: Parsed, _tree: ast.AST) -> list[_Comment]:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(file.text).readline))
    except (tokenize.TokenError, SyntaxError):
        return []
    return [
        _Comment(t.start[0], t.start[1], t.string, is_alone=not t.line[: t.start[1]].strip())
        for t in tokens
        if t.type == tokenize.COMMENT
    ]


# A part of something else in any case, or a node that has no text of its own.
_PASSED_THROUGH = (ast.Starred, ast.Slice, ast.Await, ast.Yield, ast.YieldFrom)
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])
_OPERATORS = (ast.BinOp, ast.BoolOp, ast.Compare, ast.UnaryOp, ast.IfExp, ast.Lambda, ast.NamedExpr)
_OPEN = (
    ast.Call, ast.keyword, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr, ast.If, ast.While, ast.For,
    ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Assert, ast.Slice, ast.Subscript, ast.withitem, ast.arg,
)  # fmt: skip


def _needs_parentheses(new: ast.expr, parent: ast.AST | None, old: ast.expr) -> bool:
    """Does the new expression bind looser than what stands around the place of the old one?"""
    if isinstance(new, ast.Tuple) or not isinstance(new, _OPERATORS):
        return False
    if isinstance(parent, ast.Call | ast.Subscript | ast.Attribute) and _owner(parent) is old:
        return True
    return not isinstance(parent, _OPEN)


def _owner(node: ast.Call | ast.Subscript | ast.Attribute) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node.value


def _closes_at_end(text: str) -> bool:
    """Is the bracket that a text begins with closed by its last character?"""
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if depth == 0:
            return place == len(text) - 1
    return False


def _wrapped(line: str, width: int, unit: str) -> list[str]:
    """A statement that is too long, broken at its last brackets as formatters do, and its parts likewise."""
    body = line.rstrip(",")
    if len(line) <= width or "\n" in line or not body or body[-1] not in ")]}":
        return [line]
    # Of texts only the quotes count.
    code = re.sub(r"([\"'])(?:\\.|(?!\1).)*\1", lambda found: found[1] * len(found[0]), body)
    code = re.sub(r"\blambda\b[^:]*:", lambda found: found[0].replace(",", " "), code)
    depth, start = 0, len(code)
    while start:
        start -= 1
        depth += (code[start] in ")]}") - (code[start] in "([{")
        if depth == 0:
            break
    head, inner, tail = line[: start + 1], line[start + 1 : len(body) - 1], line[len(body) - 1 :]
    if not inner or re.search(r"\bfor\b", code):
        return [line]
    if len(inner) + len(unit) <= width:
        return [head, unit + inner, tail]
    parts, depth, begun = list[str](), 0, 0
    for place, letter in enumerate(code[start + 1 : len(body) - 1]):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append(inner[begun : place + 1].strip())
            begun = place + 1
    parts.append(inner[begun:].strip() + ("," if parts else ""))
    lines = (one for part in parts if part.strip(",") for one in _wrapped(part, width - len(unit), unit))
    return [head, *(unit + one for one in lines), tail]


def _lists(node: ast.AST) -> Iterator[list[ast.AST]]:
    yield from (value for _, value in ast.iter_fields(node) if isinstance(value, list))


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _first_column(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min(one.col_offset for one in decorators) - 1 if decorators else node.col_offset


def _head_end(node: ast.stmt) -> int:
    """The last line of what runs first: of a compound statement the one above its block."""
    body = getattr(node, "body", None)
    if isinstance(body, list) and body and not isinstance(node, _Definition):
        test = getattr(node, "test", None) or getattr(node, "iter", None)
        return (test.end_lineno or node.lineno) if test is not None else node.lineno
    return node.end_lineno or node.lineno


def _indented(lines: Iterable[str], indent: str) -> list[str]:
    return [indent + line if line.strip() else line for line in lines]
