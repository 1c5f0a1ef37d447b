"""Which functions a model runs: its forward, what that calls, and the forwards of its submodules, over all files."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import ClassInfo, FunctionInfo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


_MOST = 300


def functions_below(entries: Iterable[ClassInfo | FunctionInfo]) -> list[FunctionInfo]:
    """The functions, and the forwards of the classes; then what they call on themselves, on submodules and by name.

    A submodule is what `__init__` keeps on self, alone or in a container; what it is given from outside is not known.

    >>> from exportlint.testing import code_of
    >>> module = code_of('''
    ... from torch import nn
    ... class Gate(nn.Module):
    ...     def forward(self, x): return clamp(x)
    ... class Net(nn.Module):
    ...     def __init__(self): self.gates = nn.ModuleList([Gate(), Gate()])
    ...     def forward(self, x): return self.run(x)
    ...     def run(self, x): return self.gates[0](x)
    ... def clamp(x): return x
    ... ''').module
    >>> [function.name for function in functions_below([module.classes["Net"]])]
    ['forward', 'run', 'forward', 'clamp']
    """
    found: dict[FunctionInfo | ast.AST, FunctionInfo] = {}
    given = (entry if isinstance(entry, FunctionInfo) else _entered(entry) for entry in entries)
    waiting = [function for function in given if function]
    while waiting and len(found) < _MOST:
        function = waiting.pop(0)
        if function.node not in found:
            found[function.node] = function
            waiting += _led_to(function)
    return list(found.values())


def _entered(cls: ClassInfo) -> FunctionInfo | None:
    """The forward, in the name of the class that runs it: what it finds on self is that class's."""
    forward = cls.method("forward")
    return FunctionInfo(forward.name, forward.node, forward.module, cls) if forward else None


def _led_to(function: FunctionInfo) -> Iterator[FunctionInfo]:
    project = function.module.project
    for node in walked(function.node):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Load()) if function.cls:
                yield from _on_self(function.cls, name)
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr=name)) if function.cls:
                inherited = function.cls.method(name, after=_home(function))
                yield from _in_name_of(function.cls, inherited)
            case ast.Call(func=ast.Name() | ast.Attribute() as called):
                found = project.find(function.module.dotted(called) or "")
                if isinstance(found, FunctionInfo) and found.cls is None:
                    yield found


def _home(function: FunctionInfo) -> ClassInfo | None:
    """The class whose body the method stands in."""
    line = function.cls.lineage if function.cls else ()
    return next((cls for cls in line if any(m.node is function.node for m in cls.methods.values())), None)


def _in_name_of(cls: ClassInfo, method: FunctionInfo | None) -> Iterator[FunctionInfo]:
    if method:
        yield FunctionInfo(method.name, method.node, method.module, cls)


def _on_self(cls: ClassInfo, name: str) -> Iterator[FunctionInfo]:
    """A method; or the forwards of the modules that are kept under the name."""
    yield from _in_name_of(cls, cls.method(name))
    for base in cls.lineage:
        init = base.methods.get("__init__")
        for node in walked(init.node) if init else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value and _keeps(node, name):
                made = (part.func for part in walked(node.value) if isinstance(part, ast.Call))
                classes = (base.module.project.find(base.module.dotted(func) or "") for func in made)
                yield from (f for c in classes if isinstance(c, ClassInfo) and c.is_module and (f := _entered(c)))


def _keeps(node: ast.Assign | ast.AnnAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(
        isinstance(t, ast.Attribute) and t.attr == name and isinstance(t.value, ast.Name) and t.value.id == "self"
        for t in targets
    )
