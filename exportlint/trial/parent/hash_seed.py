"""Choose another PYTHONHASHSEED, under which the sets of strings in some files have another order.

The order of a set of strings is drawn anew in every process of Python. Of two strings every second seed gives the same
order, so the seed is looked for.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from exportlint.trial.protocol.syntax_tree import syntax_tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


VARIABLE = "PYTHONHASHSEED"
_USUAL = "0"
_MOST_SEEDS = 20
_SETS = frozenset({"set", "frozenset", "hash"})
_ORDERS = "import json, sys; print(json.dumps([list(set(group)) for group in json.load(sys.stdin)]))"


def hash_seed() -> str:
    """That of the processes that try a model: a fixed one, unless the caller's environment says another."""
    given = os.environ.get(VARIABLE, "")
    return given if given.isdigit() else _USUAL


def other_hash_seed(files: Iterable[Path], python: Path | None) -> str | None:
    """One under which as many sets of strings in the files as possible are ordered otherwise; None: they have no set.

    `python`: the interpreter that tries the model, whose hashes count.
    """
    trees = [tree for file in files if (tree := _tree(file)) is not None]
    if not any(_has_set(tree) for tree in trees):
        return None
    groups = [group for tree in trees for group in _groups_of_strings(tree)]
    usual = _orders(groups, hash_seed(), python)
    others = [str(number) for number in range(1, _MOST_SEEDS + 1) if str(number) != hash_seed()]
    best, most = others[0], -1
    for seed in others:
        moved = sum(a != b for a, b in zip(usual, _orders(groups, seed, python), strict=False))
        if moved > most:
            best, most = seed, moved
        if most == len(groups):
            break
    return best


def reorders_every_set(files: Iterable[Path], seed: str, python: Path | None) -> bool:
    """Are the files' sets all displays of strings, and does the seed order each of them otherwise? Else a process with
    it may have shown nothing."""
    trees = [tree for file in files if (tree := _tree(file)) is not None]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    if any(isinstance(node, ast.SetComp) or (isinstance(node, ast.Name) and node.id in _SETS) for node in nodes):
        return False
    groups = [sorted(_strings(node.elts)) for node in nodes if isinstance(node, ast.Set)]
    if any(len(group) != len(node.elts) for group, node in zip(groups, _displays(nodes), strict=True)):
        return False
    pairs = zip(_orders(groups, hash_seed(), python), _orders(groups, seed, python), strict=True)
    return all(a != b for a, b in pairs)


def what_follows_seed(files: Iterable[Path]) -> list[str]:
    """What in the files another seed changes: `sets`, which it orders, `hash`, which it computes."""
    nodes = [node for file in files if (tree := _tree(file)) is not None for node in ast.walk(tree)]
    named = {node.id for node in nodes if isinstance(node, ast.Name)}
    sets = any(isinstance(node, (ast.Set, ast.SetComp)) for node in nodes) or bool(named & {"set", "frozenset"})
    return [*(["sets"] if sets else []), *(["hash"] if "hash" in named else [])]


def _displays(nodes: Iterable[ast.AST]) -> Iterator[ast.Set]:
    return (node for node in nodes if isinstance(node, ast.Set))


def _strings(parts: Iterable[ast.expr | None]) -> set[str]:
    return {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}


def _tree(file: Path) -> ast.Module | None:
    try:
        return syntax_tree(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return None


def _has_set(tree: ast.Module) -> bool:
    return any(
        isinstance(node, (ast.Set, ast.SetComp)) or (isinstance(node, ast.Name) and node.id in _SETS)
        for node in ast.walk(tree)
    )


def _groups_of_strings(tree: ast.Module) -> Iterator[list[str]]:
    """The strings of each display: of a set, or of a list, a tuple or a dict that a set may be made of."""
    for node in ast.walk(tree):
        match node:
            case ast.Set(elts=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Dict(keys=parts):
                if len(texts := _strings(parts)) > 1:
                    yield sorted(texts)


def _orders(groups: list[list[str]], seed: str, python: Path | None) -> list[list[str]]:
    command = [str(python or sys.executable), "-S", "-c", _ORDERS]
    environment = {**os.environ, VARIABLE: seed}
    done = subprocess.run(
        command, input=json.dumps(groups), env=environment, capture_output=True, text=True, check=False
    )
    return list(json.loads(done.stdout)) if done.returncode == 0 else []
