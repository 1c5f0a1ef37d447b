"""The messages of docs/troubleshooting.md are torch's: a model was measured to raise each, or torch's own files have it."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from sources import ROOT

from exportlint.reference.stored import stored
from exportlint.registry import all_rules

PAGE = ROOT / "docs/troubleshooting.md"
# Of a message: what is of the model, and what differs from case to case.
OF_THE_MODEL = re.compile(r"\\<[^>]*>|`[^`]*`|'[^']*'|\d+|\b(?:temperature|Constant t)\b")
IN_TORCH = ("export/__init__.py", "export/_trace.py", "_export/utils.py", "_library/fake_impl.py")


def headings() -> list[str]:
    lines = PAGE.read_text("utf-8").split("\n")
    return [
        line.removeprefix("## ")
        for line in lines
        if line.startswith("## ") and line != "## No message, and another answer"
    ]


@cache
def said() -> str:
    """What the models of the fixtures raised, the titles of graph breaks, and the files of torch that raise the rest."""
    measured = [
        str(record)
        for info in all_rules().values()
        for classes in info.truth().values()
        for modes in classes.values()
        for record in modes.values()
    ]
    spec = find_spec("torch")
    assert spec
    files = [Path(spec.origin or "").parent / name for name in IN_TORCH]
    titles = [gap.title for gap in stored().graph_breaks.values()]
    return "\n".join([*measured, *titles, *(file.read_text("utf-8") for file in files if file.exists())])


@pytest.mark.parametrize("heading", headings())
def test_torch_says_so(heading: str) -> None:
    parts = [part.strip(" .,:()") for part in OF_THE_MODEL.split(heading)]
    of_torch = [part for part in parts if len(part) > 3]
    assert of_torch
    assert [part for part in of_torch if part not in said()] == []
