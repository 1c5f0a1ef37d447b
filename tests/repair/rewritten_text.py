"""What the repairs make of a text, without trying it."""

from __future__ import annotations

import ast
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import dedent, indent
from typing import TYPE_CHECKING

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, check

if TYPE_CHECKING:
    from exportlint.finding import Finding

HEAD = "import torch\nfrom torch import nn\n\n\n"


def rewritten(source: str, *, which: int = 0) -> str:
    """After the rewrite number `which` of every finding; those that overlap with an earlier one are left out."""
    text = dedent(source)
    edits = []
    for finding in found_in(text):
        for fix in finding.rewrites[which : which + 1]:
            try:
                edited(text, [*edits, *fix.edits])
            except OverlappingEditsError:
                continue
            edits += fix.edits
    after = edited(text, edits)
    ast.parse(after)
    return after


def found_in(text: str) -> tuple[Finding, ...]:
    """The findings in a file of this text."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "net.py"
        path.write_text(text, "utf-8")
        return check([SourceFile(path, str(path))], tuple(all_rules().values()), _OPTIONS).findings


def forward(body: str, init: str = "pass") -> str:
    """A module with these bodies of `__init__` and `forward(self, x)`."""
    lines, own = (indent(dedent(text).strip("\n"), " " * 8) for text in (body, init))
    return (
        f"{HEAD}class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n{own}\n\n"
        f"    def forward(self, x: torch.Tensor):\n{lines}\n"
    )


_OPTIONS = StaticOptions("2.13", ("non-strict",), 1, None)
