"""What transformations make of a text: the new texts of the file, the best one first."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

from exportlint.edited_source import edited
from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.parsed import Parsed
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import span_of
from exportlint.rewrite.transformation import proposed_rewrites


def proposed(text: str, at: str, *names: str, cause: str | None = None) -> list[str]:
    """The texts that the transformations of these names propose for the place where `at` stands, as a whole node or at
    its beginning. `cause`: what a trial saw there that breaks the graph."""
    text = textwrap.dedent(text).lstrip("\n")
    engine = Engine(Project())
    module = engine.project.add(Path("/nowhere/model.py"), Parsed(ast.parse(text), text))
    engine.run(module, ())
    start = text.index(at)
    line = text.count("\n", 0, start) + 1
    column = start - (text.rfind("\n", 0, start) + 1)
    nodes = [node for node in ast.walk(module.tree) if (span_of(node) or (0, 0))[:2] == (line, column)]
    exact = [node for node in nodes if ast.get_source_segment(text, node) == at]
    span = span_of((exact or nodes)[0])
    assert span is not None
    found = proposed_rewrites(names, module, engine.beliefs[Path("/nowhere/model.py")], None, span, cause)
    return [edited(text, one.replacements) for one in found]
