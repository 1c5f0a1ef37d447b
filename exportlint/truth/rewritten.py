"""What the rewrites of its findings make of each Bad class of a fixture: text in, text out; nothing is tried."""

from __future__ import annotations

import ast
import hashlib
import json
import re
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.repair.proposals import compatible
from exportlint.static.static_pass import StaticOptions, check
from exportlint.trial.protocol.outcomes import MODES
from exportlint.truth.fixture import read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.finding import Edit, Finding
    from exportlint.repair.proposals import Proposal
    from exportlint.truth.fixture import FixtureClass


_MOST_EDITIONS = 3


@dataclass(frozen=True)
class RewrittenClass:
    """A Bad class with the findings that have rewrites: in it, and in the file's functions that it names."""

    cls: FixtureClass
    source: str
    findings: tuple[Finding, ...]

    @cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        """First the best rewrite of every finding, then the second ones. Of those that overlap, the first."""
        most = max((len(one.rewrites) for one in self.findings), default=0)
        return tuple(
            compatible((one, one.rewrites[min(number, len(one.rewrites) - 1)]) for one in self.findings)
            for number in range(min(most, _MOST_EDITIONS))
        )

    @property
    def digest(self) -> str:
        """The same as long as the same is written for the same source, wherever it stands; empty where nothing is."""
        edits = [
            (edit.start[0] - self.cls.line, edit.start[1], edit.end[0] - self.cls.line, edit.end[1], _placeless(edit))
            for proposal in self.proposals
            for _, fix in proposal.parts
            for edit in fix.edits
        ]
        return hashlib.sha256(json.dumps([self.source, edits]).encode()).hexdigest()[:12] if edits else ""

    @property
    def key(self) -> tuple[str, str]:
        """By which a measurement of it is found again."""
        return self.cls.name, self.digest


def _placeless(edit: Edit) -> str:
    """Its text with the file as a module at the top: in an installed exportlint it stands in a package.

    Where the file is named, also without white space: how long the package's name is decides where lines are broken.
    """
    file = re.escape(Path(edit.path).stem)
    text, named = re.subn(rf"(?:\w+\.)*{file}\.", f"{file}.", edit.text)
    return "".join(text.split()) if named else text


def rewritten_classes(fixture: Path, torch: str) -> list[RewrittenClass]:
    """Every Bad class of the fixture, as that torch version's findings say."""
    options = StaticOptions(torch, tuple(MODES))
    found = check([SourceFile(fixture, str(fixture))], tuple(all_rules().values()), options).findings
    plain = (replace(one, rewrites=tuple(fix for fix in one.rewrites if not fix.both_sides_of)) for one in found)
    fixable = [one for one in plain if one.rewrites]
    text = fixture.read_text("utf-8")
    functions = _Functions(ast.parse(text))
    lines = text.split("\n")
    return [
        RewrittenClass(cls, "\n".join(lines[cls.line - 1 : cls.end_line]), tuple(_belonging(cls, fixable, functions)))
        for cls in read_fixture(fixture).classes
        if not cls.good
    ]


def _belonging(cls: FixtureClass, findings: Sequence[Finding], functions: _Functions) -> Iterator[Finding]:
    lines = set(chain(range(cls.line, cls.end_line + 1), functions.lines_named_by(cls.name)))
    return (one for one in findings if one.line in lines)


class _Functions:
    """The functions and classes at the top of a file, and which of them name which."""

    def __init__(self, tree: ast.Module) -> None:
        kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
        self._nodes = {node.name: node for node in tree.body if isinstance(node, kinds)}

    def lines_named_by(self, name: str) -> Iterator[int]:
        """The lines of all that the class runs of the file, however far down; other fixture classes left out."""
        todo, done = [name], {name}
        while todo:
            node = self._nodes[todo.pop()]
            named = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)} & self._nodes.keys()
            new = {one for one in named - done if not one.startswith(("Bad", "Good"))}
            done |= new
            todo += sorted(new)
            if node.name != name:
                yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
