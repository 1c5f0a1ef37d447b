"""What else the functions that were edited serve than what was tried, by their text: other settings, other classes.

A rewrite that leaves a step of a loop or a special case out may be right for the numbers and truth values that the
model was made with alone; and one that gives a tensor for a number, for the model's own classes alone.
"""

from __future__ import annotations

import ast
import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

# The qualified name of a class and an attribute of its objects, or "" and a name; and the texts it is compared with.
Read = tuple[str, str, tuple[str, ...]]
_Function = ast.FunctionDef | ast.AsyncFunctionDef


def settings_read(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Read, ...]:
    """Attributes of the object and parameters that edited functions read, before the edit or after it. Not those that
    an edited `__init__` makes something of: another value of the attribute would not reach that.

    >>> old = "class A:\\n    def forward(self, x):\\n        return x if self.plain else -x\\n"
    >>> settings_read({"a.py": old}, {"a.py": old.replace(" if self.plain else -x", "")})
    (('', 'x', ()), ('A', 'plain', ()))
    """
    found: dict[tuple[str, str], set[str]] = {}
    for path, text in after.items():
        old, new = _functions(before[path]), _functions(text)
        edited = {name for name in {*old, *new} if _texts(old, name) != _texts(new, name)}
        made = {name for one in edited if one.endswith("__init__") for name in _made_of(old, new, one)}
        for name in edited:
            owner = name.rpartition(".")[0]
            for function in [one[name] for one in (old, new) if name in one]:
                for place, node in _read(function, owner):
                    if place[1].partition(".")[0] not in made:
                        found.setdefault(place, set()).update(_compared(function, node))
    return tuple((*place, tuple(sorted(texts))) for place, texts in sorted(found.items()))


def users_not_tried(before: Mapping[str, str], after: Mapping[str, str], tried: Collection[str]) -> list[str]:
    """Classes and functions of edited files that are no part of the model, whose classes are `tried`, and that inherit
    from an edited class or call an edited function.

    >>> old = "def f(x):\\n    return 1\\nclass A:\\n    y = f(2)\\nclass B:\\n    z = f(3)\\n"
    >>> users_not_tried({"a.py": old}, {"a.py": old.replace("return 1", "return 2")}, ["A"])
    ['B']
    """
    found = list[str]()
    for path, text in after.items():
        old, new = _functions(before[path]), _functions(text)
        edited = {name.partition(".")[0] for name in {*old, *new} if _texts(old, name) != _texts(new, name)}
        units = {one.name: one for one in ast.parse(text).body if isinstance(one, ast.ClassDef | _Function)}
        named = {name: {n.id for n in ast.walk(one) if isinstance(n, ast.Name)} for name, one in units.items()}
        run = {name.partition(".")[0] for name in tried}
        heirs = edited & units.keys()
        for _ in units:
            run |= {other for name in run & units.keys() for other in named[name]}
            heirs |= {name for name, one in units.items() if isinstance(one, ast.ClassDef) and _bases(one) & heirs}
        calls = {name for name in units if named[name] & {one for one in edited if not _is_class(units.get(one))}}
        found += [name for name in units if name in (heirs | calls) - run - edited]
    return found


def lines_not_run(before: str, after: str, run: Collection[int]) -> list[int]:
    """Where statements begin that an edit changed and that no call of the model ran, by the lines `before`. Not those
    of constructors and of what these call, which run once, and of functions that are no methods and run nowhere.

    >>> old = "class A:\\n    def f(self, x):\\n        if x:\\n            y = 1\\n        return y\\n"
    >>> lines_not_run(old, old.replace("y = 1", "y = 2"), [3, 5])
    [4]
    """
    old, new = before.split("\n"), after.split("\n")
    spans = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changed = {line for tag, first, end, _, _ in spans if tag != "equal" for line in range(first + 1, end + 1)}
    functions = _functions(before)
    made = {n.attr for name, one in functions.items() if name.endswith("__init__") for n in ast.walk(one)
            if isinstance(n, ast.Attribute)} | {"__init__"}  # fmt: skip
    found = set[int]()
    for name, function in functions.items():
        is_run = any(function.lineno < line <= (function.end_lineno or 0) for line in run)
        is_made = name.rpartition(".")[2] in made or any(map(_is_static, function.decorator_list))
        for node in ast.walk(function) if is_run or ("." in name and not is_made) else ():
            if isinstance(node, ast.stmt) and node is not function and not isinstance(node, _NEVER_RUN):
                end = _first_line_below(node) - 1
                lines = set(range(node.lineno, max(end, node.lineno) + 1))
                if lines & changed and not lines & set(run):
                    found.add(node.lineno)
    return sorted(found)


def _first_line_below(statement: ast.stmt) -> int:
    """Of what is nested in it; else the line after its end.

    >>> [_first_line_below(one) for one in ast.parse("if a:\\n    b\\nmatch c:\\n    case 1:\\n        d\\ne").body]
    [2, 4, 7]
    """
    match statement:
        case ast.Match(cases=[first, *_]):
            return first.pattern.lineno
        case ast.stmt(body=[ast.stmt() as first, *_]):  # type: ignore[misc] # only some statements have a body
            return first.lineno
    return (statement.end_lineno or statement.lineno) + 1


def _is_static(decorator: ast.expr) -> bool:
    return ast.unparse(decorator) in {"staticmethod", "classmethod"}


# What leaves no trace in a run: a `try` begins with what is in it, and names are declared before anything runs.
_NEVER_RUN = (ast.Try, ast.Global, ast.Nonlocal, ast.Pass, ast.FunctionDef, ast.ClassDef)


def _bases(cls: ast.ClassDef) -> set[str]:
    return {one.id for one in cls.bases if isinstance(one, ast.Name)}


def _is_class(unit: ast.stmt | None) -> bool:
    return isinstance(unit, ast.ClassDef)


def _functions(text: str) -> dict[str, _Function]:
    """By qualified name; those inside of functions are parts of these."""

    def inside(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, _Function]]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                yield from inside(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, _Function):
                yield f"{prefix}{node.name}", node

    return dict(inside(ast.parse(text).body, ""))


def _texts(functions: Mapping[str, _Function], name: str) -> str | None:
    return ast.unparse(functions[name]) if name in functions else None


def _compared(function: _Function, read: ast.expr) -> Iterator[str]:
    """The texts that the function compares it with."""
    path = ast.unparse(read)
    for node in ast.walk(function):
        match node:
            case ast.Compare(left=left, comparators=others) if path in map(ast.unparse, (left, *others)):
                inside: ast.AST = node
            case ast.Match(subject=subject) if ast.unparse(subject) == path:
                inside = ast.Module([ast.Expr(one.value) for case in node.cases for one in ast.walk(case.pattern)
                                     if isinstance(one, ast.MatchValue)], [])  # fmt: skip
            case _:
                continue
        texts = (one.value for one in ast.walk(inside) if isinstance(one, ast.Constant))
        yield from (text for text in texts if isinstance(text, str))


def _read(function: _Function, owner: str) -> Iterator[tuple[tuple[str, str], ast.expr]]:
    own = function.args.args[0].arg if function.args.args else ""
    parameters = {one.arg for one in (*function.args.args, *function.args.kwonlyargs, *function.args.posonlyargs)}
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            path = ast.unparse(node)
            if owner and path.startswith(f"{own}.") and path.replace(".", "").isidentifier():
                yield (owner, path.removeprefix(f"{own}.")), node
        elif isinstance(node, ast.Name) and node.id in parameters - ({own} if owner else set()):
            yield ("", node.id), node


def _made_of(old: Mapping[str, _Function], new: Mapping[str, _Function], name: str) -> set[str]:
    """The names in the statements of `__init__` that were not there."""
    if name not in new:
        return set()
    known = {ast.unparse(one) for one in old[name].body} if name in old else set()
    nodes = [node for one in new[name].body if ast.unparse(one) not in known for node in ast.walk(one)]
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }
