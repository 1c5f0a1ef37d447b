"""Leave out of a fixture what some torch version cannot even define; the rest can still be measured there."""

from __future__ import annotations

import ast


def without(source: str, line: int) -> str | None:
    """The source with the top-level statement at that line blank, and with it all that needs a name which it binds.

    The other lines keep their numbers. None: no statement stands there.
    """
    body = ast.parse(source).body
    broken = next((node for node in body if line in _lines(node)), None)
    if broken is None:
        return None
    gone = {number for node in _lost(body, broken) for number in _lines(node)}
    return "\n".join("" if number in gone else text for number, text in enumerate(source.split("\n"), 1))


def _lines(node: ast.stmt) -> range:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return range(first, (node.end_lineno or node.lineno) + 1)


def _lost(body: list[ast.stmt], broken: ast.stmt) -> list[ast.stmt]:
    lost, names = [broken], _given(body, broken)
    while more := [node for node in body if node not in lost and names & _read(node)]:
        lost += more
        names = names.union(*(_given(body, node) for node in more))
    return lost


def _given(body: list[ast.stmt], node: ast.stmt) -> set[str]:
    """What the others miss without it. A call for its effect, such as a registration, gives it to what it names."""
    own = (other for other in body if not isinstance(other, ast.Import | ast.ImportFrom))
    return _bound(node) or _read(node) & {name for other in own for name in _bound(other)}


def _bound(node: ast.stmt) -> set[str]:
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return {name}
        case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
            return {(alias.asname or alias.name).partition(".")[0] for alias in aliases}
    stored = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored.union(*(_bound(n) for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt)))


def _read(node: ast.stmt) -> set[str]:
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
