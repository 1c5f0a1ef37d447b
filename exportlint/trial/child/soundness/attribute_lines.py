"""Where the class of a module sets an attribute while it runs, as its source shows it."""

from __future__ import annotations

import ast
import inspect
import textwrap
import tokenize
from typing import TYPE_CHECKING

from exportlint.trial.protocol.frames import Frame, is_user_path

if TYPE_CHECKING:
    from collections.abc import Iterator


def attribute_frame(owner: object, name: str) -> list[Frame]:
    """The one line outside of `__init__` that sets it, `register_buffer` included; empty where there are several."""
    frames = {frame for cls in type(owner).__mro__ for frame in _frames(cls, name)}
    return list(frames) if len(frames) == 1 else []


def _frames(cls: type, name: str) -> Iterator[Frame]:
    try:
        path, (lines, first) = inspect.getsourcefile(cls), inspect.getsourcelines(cls)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):  # a builtin, or made by code
        return
    if path is None or not is_user_path(path):
        return
    for method in (one for top in tree.body if isinstance(top, ast.ClassDef) for one in top.body):
        if isinstance(method, ast.FunctionDef) and method.name != "__init__":
            for node in ast.walk(method):
                if isinstance(node, ast.expr) and _sets(node, name):
                    yield Frame(path, first + node.lineno - 1, method.name, "")


def _sets(node: ast.expr, name: str) -> bool:
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=attribute, ctx=ast.Store()):
            return attribute == name
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr="register_buffer"), args=[first, *_]):
            return isinstance(first, ast.Constant) and first.value == name
        case ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id="self"), ast.Constant(value=attribute), _]):
            return bool(attribute == name)
    return False
