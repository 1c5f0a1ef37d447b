"""The walk, and a visitor that is defined without libcst, meet what libcst's own visit meets, in the same order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
import pytest

from exportlint.registry import all_rules
from exportlint.rule.syntax.walk import Visitor, Walk

if TYPE_CHECKING:
    from pathlib import Path


FIXTURES = sorted({rule.fixture for rule in all_rules().values()})[::3]


class Recording:
    def __init__(self) -> None:
        super().__init__()
        self.met: list[tuple[str, int]] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.met.append(("call", id(node)))

    def leave_Call(self, original_node: cst.Call) -> None:
        self.met.append(("left call", id(original_node)))

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        self.met.append(("lambda", id(node)))
        return False

    def visit_If_body(self, node: cst.If) -> None:
        self.met.append(("if body", id(node)))

    def leave_If_body(self, node: cst.If) -> None:
        self.met.append(("left if body", id(node)))

    def visit_Name(self, node: cst.Name) -> None:
        self.met.append(("name", id(node)))


class Recorder(Recording, cst.CSTVisitor):
    pass


class OurRecorder(Recording, Visitor):
    pass


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_same_nodes_in_the_same_order(path: Path) -> None:
    tree = cst.parse_module(path.read_text("utf-8"))
    walked, ours, theirs = Recorder(), OurRecorder(), Recorder()
    Walk(tree).run(walked)
    assert tree.visit(ours) is tree
    tree.visit(theirs)
    assert walked.met == ours.met == theirs.met
    assert len(theirs.met) > 50
