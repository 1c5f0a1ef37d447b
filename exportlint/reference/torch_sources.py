"""Read ExportDB and the graph-break registry from torch's own files. torch is not imported."""

from __future__ import annotations

import ast
import inspect
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExportDBCase:
    """One file of torch/_export/db/examples. `supported` is torch's own label; some labels are stale."""

    name: str
    summary: str
    tags: tuple[str, ...]
    supported: bool
    source: str


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """One id of torch's registry, in the newest wording that is text and not raw source."""

    id: str
    title: str
    context: str
    explanation: str
    hints: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """What one torch version knows about its own limits."""

    torch: str
    cases: dict[str, ExportDBCase]
    graph_breaks: dict[str, GraphBreak]


def read_torch(folder: Path) -> Reference:
    """`folder` is torch's package folder; a version without one of the two sources gives an empty part."""
    examples = sorted((folder / "_export/db/examples").glob("[!_]*.py"))
    registry = folder / "_dynamo/graph_break_registry.json"
    entries = json.loads(registry.read_text("utf-8")) if registry.is_file() else {}
    return Reference(
        torch=str(_constants(ast.parse((folder / "version.py").read_text("utf-8"))).get("__version__", "unknown")),
        cases={path.stem: _case(path) for path in examples},
        graph_breaks={gb_id: _graph_break(gb_id, wordings) for gb_id, wordings in sorted(entries.items())},
    )


def _case(path: Path) -> ExportDBCase:
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    assigned = _assigned(tree)
    level = assigned.get("support_level")
    return ExportDBCase(
        name=path.stem,
        summary=_model_docstring(tree, assigned["model"]),
        tags=tuple(sorted(_constants(tree).get("tags", ()))),
        supported=not (isinstance(level, ast.Attribute) and level.attr == "NOT_SUPPORTED_YET"),
        source=source,
    )


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    return {
        target.id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }


def _constants(tree: ast.Module) -> dict[str, Any]:
    return {name: ast.literal_eval(value) for name, value in _assigned(tree).items() if _is_literal(value)}


def _is_literal(value: ast.expr) -> bool:
    parts = (ast.Constant, ast.Tuple, ast.List, ast.Set, ast.Dict, ast.Load)
    return all(isinstance(node, parts) for node in ast.walk(value))


def _model_docstring(tree: ast.Module, model: ast.expr) -> str:
    name = model.func.id if isinstance(model, ast.Call) and isinstance(model.func, ast.Name) else ""
    classes = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)
    return next((ast.get_docstring(node) or "" for node in classes), "")


def _graph_break(gb_id: str, wordings: list[dict[str, Any]]) -> GraphBreak:
    """`wordings` is newest first; some newer strings are the source of an expression, where an older one is text."""
    return GraphBreak(
        id=gb_id,
        title=_first_text(wordings, "Gb_type"),
        context=_first_text(wordings, "Context"),
        explanation=_first_text(wordings, "Explanation"),
        hints=next((hints for w in wordings if (hints := _hints(w["Hints"]))), ()),
    )


def _first_text(wordings: list[dict[str, Any]], key: str) -> str:
    return next((text for w in wordings if (text := _text(w[key]))), "")


def _hints(hints: list[str]) -> tuple[str, ...]:
    return tuple(text for hint in hints if (text := _text(hint)))


# Where the registry was made from code, a string can be the name of a variable instead of its text.
_VARIABLES = frozenset({"_gb_type", "_explanation", "explanation", "msg", "observed_exn_gb_explanation"})


def _text(raw: str) -> str:
    """The text of a registry string: of an expression's source only its literal parts, which may be none."""
    text = inspect.cleandoc(raw)
    try:
        expression = ast.parse(text, mode="eval").body
    except SyntaxError:
        return text
    match expression:
        case ast.Name(id=name) if name in _VARIABLES:
            return ""
        case ast.BinOp() | ast.JoinedStr() | ast.Constant() | ast.Call(func=ast.Name()):
            literals = (n.value for n in ast.walk(expression) if isinstance(n, ast.Constant))
            return " ".join(" ".join(text for text in literals if isinstance(text, str)).split())
    return text
