"""What a judgement rests on in a file: the definitions it looked up, so that an edit elsewhere leaves it standing.

A file that many import is edited all the time, and most of its importers use little of it. While a file is judged, each
file that it leads to notes what is asked of it (`Asked`). When one of these has another text later, what was asked is
asked again (`Dependence.holds`): the judgement stands where every answer is the same.

Whoever opens a file sees its interface: the names that it defines, in their order, its imports, and whatever else its
top level runs. The body of a function or class, or what a name is set to, counts only for those who looked it up. Lines
that moved count only for a judgement that says something about the file, as a place or in words.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from exportlint.engine.source.parsed import digest

if TYPE_CHECKING:
    from collections.abc import Callable, ItemsView, Iterable, Iterator, ValuesView

    from exportlint.engine.source.parsed import Parsed

_Definition = TypeVar("_Definition")
_DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True)
class Asked:
    """What was asked of a file so far.

    whole        somebody looked at all of its text, or may have
    definitions  the names of functions, classes and plain assignments of its top level that were looked up
    matches      regular expressions that its text was searched for -> is there a match?
    constants    names -> are they bound once in the file, by a plain statement of its top level?
    """

    whole: bool = False
    definitions: dict[str, None] = field(default_factory=dict)
    matches: dict[str, bool] = field(default_factory=dict)
    constants: dict[str, bool] = field(default_factory=dict)

    def add(self, other: Asked) -> None:
        """What somebody else asked."""
        self.whole = self.whole or other.whole
        self.definitions |= other.definitions
        self.matches |= other.matches
        self.constants |= other.constants


class Reading:
    """What was read while something was worked out: files that were opened, and paths that were looked for.

    asked    paths of files -> what was asked of them
    broken   paths of files that were found and could not be parsed
    probed   paths that were looked for -> were they there
    """

    __slots__ = ("_parts", "asked", "broken", "probed")

    def __init__(self) -> None:
        self.asked: dict[str, Asked] = {}
        self.broken: dict[str, None] = {}
        self.probed: dict[str, bool] = {}
        self._parts: dict[Reading, None] = {}

    def of(self, path: str) -> Asked:
        """What was asked of a file, to add to it."""
        found = self.asked.get(path)
        if found is None:
            found = self.asked[path] = Asked()
        return found

    def rests_on(self, other: Reading) -> None:
        """What was read for something else counts as read."""
        self._parts[other] = None

    def whole(self) -> tuple[dict[str, Asked], dict[str, None], dict[str, bool]]:
        """All of `asked`, `broken` and `probed`, with what it rests on."""
        asked: dict[str, Asked] = {}
        broken: dict[str, None] = {}
        probed: dict[str, bool] = {}
        todo, known = [self], {self}
        for one in todo:
            for path, what in one.asked.items():
                asked.setdefault(path, Asked()).add(what)
            broken |= one.broken
            probed |= one.probed
            new = [part for part in one._parts if part not in known]  # noqa: SLF001 - of the same class
            known.update(new)
            todo += new
        return asked, broken, probed


class Definitions(dict[str, _Definition]):
    """What a file defines, by name; what is looked up is noted in `asked()`. Whether a name is there, the interface
    tells."""

    def __init__(self, found: dict[str, _Definition], asked: Callable[[], Asked]) -> None:
        super().__init__(found)
        self._asked = asked

    def __getitem__(self, name: str) -> _Definition:
        self._asked().definitions[name] = None
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """As of a dict."""
        self._asked().definitions[name] = None
        return super().get(name, default)

    def values(self) -> ValuesView[_Definition]:  # type: ignore[override] # a view of the same kind
        """All of them are looked up."""
        self._asked().definitions.update(dict.fromkeys(self))
        return super().values()

    def items(self) -> ItemsView[str, _Definition]:  # type: ignore[override] # as above
        """All of them are looked up."""
        self._asked().definitions.update(dict.fromkeys(self))
        return super().items()


@dataclass(frozen=True, slots=True)
class Dependence:
    """What was asked of a file, with the answers as digests.

    content      of the whole file; None where nothing can be read
    interface    None where the judgement rests on the whole content
    definitions  name -> digest of the lines it stands in
    lines        of the lines at which these things begin; None for a judgement that names no place in the file
    """

    content: str | None
    interface: str | None = None
    definitions: tuple[tuple[str, str], ...] = ()
    matches: tuple[tuple[str, bool], ...] = ()
    constants: tuple[tuple[str, bool], ...] = ()
    lines: str | None = None

    def holds(self, content: str | None, parsed: Callable[[], Parsed | None]) -> bool:
        """Is every answer what it was? `parsed` gives the file as it is now, where its content is another."""
        if content == self.content:
            return True
        now = parsed() if self.interface is not None else None
        if now is None:
            return False
        outline = outline_of(now)
        return (
            outline.interface == self.interface
            and all(outline.definition(name) == digest for name, digest in self.definitions)
            and all(now.matches(pattern) is found for pattern, found in self.matches)
            and all(outline.is_constant(name) is once for name, once in self.constants)
            and (self.lines is None or outline.lines(name for name, _ in self.definitions) == self.lines)
        )


def dependence_on(parsed: Parsed, content: str | None, asked: Asked, *, places: bool) -> Dependence:
    """What a judgement rests on. `places`: does it name any place in the file?"""
    if asked.whole:
        return Dependence(content)
    outline = outline_of(parsed)
    # Sorted: who asked first depends on what was judged before.
    definitions = tuple((name, outline.definition(name)) for name in sorted(asked.definitions))
    lines = outline.lines(sorted(asked.definitions)) if places else None
    matches, constants = tuple(sorted(asked.matches.items())), tuple(sorted(asked.constants.items()))
    return Dependence(content, outline.interface, definitions, matches, constants, lines)


def outline_of(parsed: Parsed) -> Outline:
    """The outline of a file; made once for a text."""
    return parsed.kept(parsed.tree, Outline)


class Outline:
    """The top level of a file.

    >>> from exportlint.engine.source.parsed import Parsed
    >>> def outline(text):
    ...     return outline_of(Parsed(ast.parse(text), text))
    >>> one, other = outline("N = 1\\ndef f(): return 1\\n"), outline("N = 1\\n\\ndef f(): return 2\\n")
    >>> one.interface == other.interface, one.definition("f") == other.definition("f")
    (True, False)
    """

    def __init__(self, parsed: Parsed, tree: ast.AST) -> None:
        assert isinstance(tree, ast.Module)  # noqa: S101 - of whole files alone
        self._parsed = parsed
        self._tree = tree
        self._digests: dict[str, str] = {}

    @cached_property
    def interface(self) -> str:
        """A digest of what everybody sees who opens the file, wherever it stands."""
        imports = (self._text(node) for node in self._parsed.imports)
        return _digest_of(*self._levels, *imports)

    @cached_property
    def _levels(self) -> list[str]:
        return [self._level(node) for node in top_level(self._tree)]

    def _level(self, node: ast.stmt) -> str:
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                return f"{type(node).__name__} {node.name}"
            case ast.Assign() | ast.AnnAssign() if names := assigned_names(node):
                return f"{type(node).__name__} {' '.join(names)}"
            case ast.If():  # what is in it comes for itself
                return f"if {ast.dump(node.test)}, {len(node.body)}, {len(node.orelse)}"
            case ast.Try():
                handlers = [(ast.dump(one.type) if one.type else "", len(one.body)) for one in node.handlers]
                return f"try {len(node.body)}, {handlers}, {len(node.orelse)}; {[*map(self._text, node.finalbody)]}"
        return self._text(node)

    @cached_property
    def _definitions(self) -> dict[str, list[ast.stmt]]:
        """All that defines a name, of which the last counts."""
        by_name: dict[str, list[ast.stmt]] = {}
        for node in top_level(self._tree):
            for name in [node.name] if isinstance(node, _DEFINITIONS) else assigned_names(node):
                by_name.setdefault(name, []).append(node)
        return by_name

    def definition(self, name: str) -> str:
        """A digest of the lines in which the name is defined, decorators included."""
        if name not in self._digests:
            self._digests[name] = _digest_of(*map(self._text, self._definitions.get(name, ())))
        return self._digests[name]

    def is_constant(self, name: str) -> bool:
        """Is the name bound once in the file, by a plain statement of its top level?"""
        return self._times_bound.get(name) == 1 and name in self._plainly_assigned

    @cached_property
    def _times_bound(self) -> dict[str, int]:
        by_type = self._parsed.by_type(self._tree)
        found: dict[str, int] = {}
        for node in by_type.get(ast.Name, ()):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found[node.id] = found.get(node.id, 0) + 1
        for node in by_type.get(ast.Global, ()):
            for name in node.names if isinstance(node, ast.Global) else ():
                found[name] = found.get(name, 0) + 1
        return found

    @cached_property
    def _plainly_assigned(self) -> frozenset[str]:
        assigns = (node for node in self._tree.body if isinstance(node, ast.Assign))
        return frozenset(t.id for node in assigns for t in node.targets if isinstance(t, ast.Name))

    def lines(self, names: Iterable[str]) -> str:
        """A digest of where these definitions begin, and all that defines no name."""
        nodes = [node for name in names for node in self._definitions.get(name, ())]
        nodes += [n for n in top_level(self._tree) if not isinstance(n, _DEFINITIONS) and not assigned_names(n)]
        return _digest_of(*(str(node.lineno) for node in nodes))

    def _text(self, node: ast.stmt) -> str:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        return "\n".join(self._parsed.lines[first - 1 : node.end_lineno])


def assigned_names(node: ast.stmt) -> list[str]:
    """The names that a plain assignment sets; none where it sets anything besides."""
    match node:
        case ast.Assign(targets=targets) if all(isinstance(target, ast.Name) for target in targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
    return []


def top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """The statements of the top level, those under `if` and `try` included, in the order of the source."""
    todo = list(reversed(tree.body))
    while todo:
        node = todo.pop()
        yield node
        if isinstance(node, ast.If | ast.Try):
            inner = [*node.body, *(s for h in getattr(node, "handlers", []) for s in h.body), *node.orelse]
            todo.extend(reversed(inner))


def _digest_of(*words: str) -> str:
    return digest("\0".join(words).encode("utf-8", "surrogatepass"))
