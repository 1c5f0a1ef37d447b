"""What the file of a lowering says in its constants: read, since importing it may bring a compiler that is not here."""

from __future__ import annotations

import ast
import importlib.util
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from exportlint.trial.protocol.stages import LOWERINGS


def constant_of_lowering(lowering: str, name: str) -> Any:
    """The value of `NAME = …` at the top of the lowering's file; None where it says none.

    >>> constant_of_lowering("executorch", "COMPILERS")
    ('executorch.exir',)
    """
    module = next((point.module for point in entry_points(group=LOWERINGS) if point.name == lowering), "")
    return constant_of_module(module, name)


def constant_of_module(module: str, name: str) -> Any:
    """The same of any module that can be found."""
    spec = importlib.util.find_spec(module) if module else None
    tree = ast.parse(Path(spec.origin).read_bytes()) if spec and spec.origin else ast.Module([], [])
    for node in tree.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return ast.literal_eval(node.value)
    return None
