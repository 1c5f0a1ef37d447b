"""Whatever Python is read: no crash, no hang, and the same answer each time."""

from __future__ import annotations

import ast
import copy
import random
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from exportlint.engine.source.parsed import FileStore
from exportlint.engine.source.symbols import ProjectIndex
from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static.check_file import check_file

if TYPE_CHECKING:
    from exportlint.static.judgement import Judgement


RULES = tuple(all_rules().values())
HEAD = "import torch\nfrom torch import nn\nclass M(nn.Module):\n  def forward(self, x):\n"
DEEP = {
    "calls": "    return x" + ".abs()" * 150,
    "sums": "    return x" + " + x" * 500,
    "items": "    return x" + "[0]" * 500,
    "texts": "    return " + "'a' " * 800,
    "lambdas": "    return " + "lambda: " * 300 + "x",
    "nots": "    return " + "not " * 500 + "x",
    "choices": "    return " + "x if x.sum() > 0 else " * 100 + "x",
    "loops": "".join("    " + " " * i + "for i in x:\n" for i in range(60)) + " " * 64 + "x = x + i",
    "branches": "".join("    " + " " * i + "if x.sum() > 0:\n" for i in range(60)) + " " * 64 + "x = x.item()",
    "itself": "    return self.forward(x) + M()(x)",
}


def judged(text: str) -> Judgement:
    return check_file(SourceFile(Path("/nowhere/net.py"), "net.py", text), ProjectIndex(FileStore()), RULES)


@pytest.mark.parametrize("name", DEEP)
def test_depth_is_no_obstacle(name: str) -> None:
    """What is twice as deep must not take twice as long for each level: these would run for years."""
    judgement = judged(HEAD + DEEP[name] + "\n")
    assert (judgement.failed, judgement.wrong) == ((), ())


def test_what_is_too_deep_for_python_is_reported() -> None:
    assert "cannot be parsed" in judged(HEAD + "    return x" + ".abs()" * 50_000).wrong[0][1]


@cache
def parts() -> tuple[list[ast.stmt], list[ast.expr]]:
    """Statements and expressions that the fixtures' authors wrote, as material for programs that nobody wrote."""
    trees = [ast.parse(rule.fixture.read_text("utf-8")) for rule in RULES]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    loads = (n for n in nodes if isinstance(n, ast.expr) and isinstance(getattr(n, "ctx", ast.Load()), ast.Load))
    kept = [n for n in loads if not isinstance(n, ast.Starred | ast.Slice | ast.JoinedStr | ast.FormattedValue)]
    return [n for n in nodes if isinstance(n, ast.stmt) and not isinstance(n, ast.ImportFrom)], kept


class Mixed(ast.NodeTransformer):
    """A fixture with some statements and expressions taken from others."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - not a secret

    def generic_visit(self, node: ast.AST) -> ast.AST:
        node = super().generic_visit(node)
        statements, expressions = parts()
        for name in ("value", "test", "iter", "left", "operand", "func"):
            if isinstance(getattr(node, name, None), ast.expr) and self.random.random() < 0.05:
                setattr(node, name, copy.deepcopy(self.random.choice(expressions)))
        body = getattr(node, "body", None)
        if isinstance(body, list) and self.random.random() < 0.2:
            body.insert(self.random.randrange(len(body) + 1), copy.deepcopy(self.random.choice(statements)))
        return node


def mixed(rule: int, seed: int) -> str | None:
    """The imports of a fixture and three of its classes, mixed."""
    tree = ast.parse(RULES[rule].fixture.read_text("utf-8"))
    head = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    rest = [node for node in tree.body if node not in head]
    tree.body = [*head, *random.Random(seed).sample(rest, min(3, len(rest)))]  # noqa: S311 - not a secret
    try:
        text = ast.unparse(ast.fix_missing_locations(Mixed(seed).visit(tree)))
        ast.parse(text)
    except (ValueError, SyntaxError):  # a mixture that is no Python
        return None
    return text


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(RULES) - 1), st.integers(0, 10**6))
def test_programs_that_nobody_wrote(rule: int, seed: int) -> None:
    text = mixed(rule, seed)
    if text is not None:
        first = judged(text)
        assert first.failed == ()
        assert judged(text).suspicions == first.suspicions


@pytest.mark.slow
@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.integers(0, len(RULES) - 1), st.integers(0, 10**9))
def test_many_programs_that_nobody_wrote(rule: int, seed: int) -> None:
    text = mixed(rule, seed)
    assert text is None or judged(text).failed == ()
