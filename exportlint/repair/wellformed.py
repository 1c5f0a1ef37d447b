"""Does edited source compile, and keep the names that it had? What does not is never tried."""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_OF_MODULES = frozenset({"__file__", "__name__", "__doc__", "__path__", "__spec__", "__package__", "__builtins__"})
_KNOWN = frozenset(dir(builtins)) | _OF_MODULES
_REGISTERING = frozenset({"register_buffer", "register_parameter", "add_module", "register_module", "__setattr__"})
_SETTING = frozenset({"setattr"})


def what_is_broken(before: Mapping[str, str], after: Mapping[str, str]) -> str | None:
    """What is wrong with the first file (path -> text) that the edits broke, as a sentence; None where none is.

    >>> what_is_broken({"a.py": "import torch\\n"}, {"a.py": "import torch\\nx = numpy.ones(3)\\n"})
    'the edited file reads `numpy`, which nothing defines'
    """
    return next((why for path, text in after.items() if (why := _broken(path, before[path], text))), None)


def _broken(path: str, before: str, after: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(after, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        return f"the edited file does not compile: {error}"
    if missing := sorted(_undefined(after) - _undefined_before(before)):
        return f"the edited file reads `{missing[0]}`, which nothing defines"
    new = ast.parse(after)
    read = {node.attr for node in ast.walk(new) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    if lost := sorted(read & (_attributes_before(before) - _attributes(new))):
        return f"the edited file reads the attribute `{lost[0]}`, which nothing sets any more"
    return None


# One file has many rewrites, each of which is an edit of the same text.


@lru_cache(maxsize=8)
def _undefined_before(text: str) -> frozenset[str]:
    return frozenset(_undefined(text))


@lru_cache(maxsize=8)
def _attributes_before(text: str) -> frozenset[str]:
    return frozenset(_attributes(ast.parse(text)))


def lost_names(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """What the edited files no longer define, and other files may read: names of the module, attributes of objects.

    >>> lost_names({"a.py": "x = 1\nfactor = 2\n"}, {"a.py": "x = 1\n"})
    ['factor']
    """
    pairs = [(ast.parse(before[path]), ast.parse(text)) for path, text in after.items()]
    lost = {name for old, new in pairs for name in _defined(old, imports=False) - _defined(new, imports=True)}
    lost |= {name for old, new in pairs for name in _attributes(old) - _attributes(new)}
    return sorted(name for name in lost if not name.startswith("_"))


def _undefined(text: str) -> set[str]:
    """Names that some scope reads as global, and that neither the module nor Python defines."""
    module = symtable.symtable(text, "", "exec")
    scopes = list(_scopes(module))
    if any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(ast.parse(text))):
        return set()
    defined = {one.get_name() for one in module.get_symbols() if one.is_assigned() or one.is_imported()}
    defined |= {child.get_name() for child in module.get_children()}
    defined |= {
        one.get_name()
        for scope in scopes
        for one in scope.get_symbols()
        if one.is_declared_global() and (one.is_assigned() or one.is_imported())
    }
    read = {
        one.get_name() for scope in scopes for one in scope.get_symbols() if one.is_global() and one.is_referenced()
    } | {one.get_name() for one in module.get_symbols() if one.is_referenced()}
    return read - defined - _KNOWN


def _scopes(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _scopes(child)


def _defined(module: ast.Module, *, imports: bool) -> set[str]:
    found: set[str] = set()
    for node in module.body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Import(names=names) | ast.ImportFrom(names=names) if imports:
                found |= {(one.asname or one.name).partition(".")[0] for one in names}
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.If() | ast.Try() | ast.With():
                stores = (one for one in ast.walk(node) if isinstance(one, ast.Name))
                found |= {one.id for one in stores if isinstance(one.ctx, ast.Store)}
    return found


def _attributes(module: ast.Module) -> set[str]:
    """Those that something sets, or registers by name, in a class; methods are attributes too."""
    found: set[str] = set()
    for cls in (node for node in ast.walk(module) if isinstance(node, ast.ClassDef)):
        for node in ast.walk(cls):
            match node:
                case ast.Attribute(value=ast.Name(id="self"), attr=attr, ctx=ast.Store()):
                    found.add(attr)
                case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                    found.add(name)
                case ast.Call(func=ast.Attribute(attr=call), args=[ast.Constant(value=str(name)), *_]) if (
                    call in _REGISTERING
                ):
                    found.add(name)
                case ast.Call(func=ast.Name(id=call), args=[_, ast.Constant(value=str(name)), *_]) if call in _SETTING:
                    found.add(name)
        values = [node for node in cls.body if isinstance(node, ast.Assign | ast.AnnAssign)]
        names = (one for node in values for one in ast.walk(node) if isinstance(one, ast.Name))
        found |= {one.id for one in names if isinstance(one.ctx, ast.Store)}
    return found
