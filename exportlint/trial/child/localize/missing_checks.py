"""Read in a refusal which `torch._check` torch lacks: what must hold of a number, or of a size, that is data."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.protocol.frames import Frame, is_installed, is_user_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.dynamic_shapes.shape_decisions import ShapeDecisions
    from exportlint.trial.protocol.observation import Observation


@dataclass(frozen=True)
class Check:
    """A statement to be written behind the line that reads the number; `source` is that line.

    `cuts`: the line of a `return` that is not reached any more with it.
    """

    path: str
    line: int
    text: str
    source: str
    cuts: int | None = None


_ASKED = re.compile(r"Could not guard on data-dependent expression (?P<expr>.+?) \(unhinted", re.DOTALL)
_SYMBOL = re.compile(r"\b[a-z]+\d+\b")


def missing_checks(seen: Observation, decisions: ShapeDecisions) -> list[Check]:
    """What may be written, the likeliest first: what torch asked, or its opposite, of the name that holds the number.

    Nothing where the number decides a branch of the model with two ways on, which a check would cut off.
    """
    found = _ASKED.search(seen.text)
    symbols = set(_SYMBOL.findall(found["expr"])) if found else set()
    if found is None or len(symbols) != 1 or _has_two_ways(seen.user):
        return []
    symbol = symbols.pop()
    place = _reading_line(symbol, decisions)
    if place is None:
        return []
    relations = list(_relations(found["expr"]))
    holders = _holders(place, *_position(symbol, place, decisions))
    texts = [re.sub(rf"\b{symbol}\b", holder, relation) for holder in holders for relation in relations]
    cuts = _answered_at(seen.user)
    return [Check(place.path, place.line, f"torch._check({text})", place.text, cuts) for text in texts]


def _reading_line(symbol: str, decisions: ShapeDecisions) -> Frame | None:
    """Where the project's own code reads an integer from data."""
    frames = decisions.read_at.get(symbol, ()) if symbol.startswith("u") else ()
    is_own = frames and is_user_path(frames[-1].path) and not is_installed(frames[-1].path)
    return frames[-1] if is_own else None


def _position(symbol: str, place: Frame, decisions: ShapeDecisions) -> tuple[int, int]:
    """Which of the numbers that the line reads it is, and how many there are: `tolist()` reads several."""
    here = [one for one, frames in decisions.read_at.items() if frames and frames[-1][:2] == place[:2]]
    return here.index(symbol), len(here)


def _holders(place: Frame, index: int, several: int) -> list[str]:
    """How Python may call the number behind the statement of the line, which assigns it or the tensor of that size."""
    for node in _nodes(place.path):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno <= place.line <= (node.end_lineno or 0):
            match node.targets if isinstance(node, ast.Assign) else [node.target]:
                case [ast.Name(id=name)]:
                    return [name, f"{name}.shape[0]"] if several == 1 else [f"{name}[{index}]"]
                case [ast.Tuple(elts=names)] if len(names) == several and isinstance(names[index], ast.Name):
                    return [ast.unparse(names[index])]
    return []


_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def _has_two_ways(place: Frame | None) -> bool:
    """Is the line a branch, both ways of which go on?"""
    node = _branch(place) if place else None
    return node is not None and not (isinstance(node, ast.If) and isinstance(node.body[-1], _LEAVES))


def _answered_at(place: Frame | None) -> int | None:
    """The line of the `return` with which the branch of the line ends, and which a check cuts off."""
    node = _branch(place) if place else None
    last = node.body[-1] if isinstance(node, ast.If) else None
    return last.lineno if isinstance(last, ast.Return) else None


def _branch(place: Frame) -> ast.If | ast.While | ast.IfExp | None:
    for node in _nodes(place.path):
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            test = node.test
            if test.lineno <= place.line <= (test.end_lineno or test.lineno):
                return node
    return None


def _nodes(path: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(source_of(path)))
    except (OSError, SyntaxError, ValueError):
        return iter(())


_COMPARED = {"Eq": "==", "Ne": "!="}
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_ALLOWED = (
    ast.Expression,
    ast.Compare,
    ast.BinOp,
    ast.Name,
    ast.Constant,
    ast.Load,
    ast.operator,
    ast.cmpop,
    ast.UnaryOp,
    ast.USub,
)
_MOD = re.compile(r"\b(?:Python)?Mod\((\w+), (\w+)\)")


def _relations(expr: str) -> Iterator[str]:
    """The relation as Python, and its opposite; of a size that is not 0, that it is larger comes first."""
    text = _MOD.sub(r"(\1 % \2)", expr.strip())
    if called := re.fullmatch(r"(Eq|Ne)\((.+), (-?\w+)\)", text):
        text = f"{called[2]} {_COMPARED[called[1]]} {called[3]}"
    match = re.fullmatch(r"(?P<left>.+?) (?P<op>==|!=|<=|>=|<|>) (?P<right>.+)", text)
    try:
        plain = all(isinstance(node, _ALLOWED) for node in ast.walk(ast.parse(text, mode="eval")))
    except SyntaxError:
        return
    if match is None or not plain:
        return
    left, op, right = match["left"], match["op"], match["right"]
    left = re.sub(r"^[1-9]\d*\*(?=\w+$)", "", left) if right == "0" else left  # 4*n > 0 where n > 0
    if op in ("==", "!=") and right == "0":
        yield f"{left} > 0"
    yield f"{left} {op} {right}"
    yield f"{left} {_OPPOSITE[op]} {right}"
