"""Live models: `exportlint.diagnose` in a notebook, `exportlint.testing.assert_exports` in a project's own tests."""

from __future__ import annotations

import json
import linecache
import subprocess
import sys
import threading
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
import torch
from rich.console import Console

import exportlint
from exportlint.testing import assert_exports

if TYPE_CHECKING:
    from exportlint import Diagnosis


pytestmark = pytest.mark.slow

CELL = """
import torch

class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls

class NeverRun(torch.nn.Module):
    def forward(self, x):
        return x.item()
"""


def run_cell(path: Path) -> dict[str, Any]:
    """What Jupyter does: the cell has a name like a file, and its text is only in memory."""
    linecache.cache[str(path)] = len(CELL), None, CELL.splitlines(keepends=True), str(path)
    names = {"__name__": "__main__"}
    exec(compile(CELL, str(path), "exec"), names)  # noqa: S102
    return names


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Diagnosis:
    cell = run_cell(tmp_path_factory.mktemp("ipykernel") / "5.py")
    return exportlint.diagnose(cell["Counts"](), (torch.ones(2, 3),))


def test_a_class_of_a_notebook_is_tried_and_found_at_its_line(counts: Diagnosis) -> None:
    assert not counts.ok
    (finding,) = counts.findings
    assert (Path(finding.path).name, finding.line, finding.evidence.value) == ("5.py", 10, "discovered")
    statuses = {stage.name: stage.status for stage in counts.ladder}
    assert (statuses["export-non-strict"], statuses["soundness"]) == ("passed", "differs")


def test_a_diagnosis_is_shown_as_text_as_html_and_as_data(counts: Diagnosis) -> None:
    text = str(counts)
    assert "target Counts" in text
    assert "10 |         self.calls += 1" in text
    assert "self.calls += 1" in counts._repr_html_()
    assert "<span style=" in counts._repr_html_()
    console = Console(width=60)
    with console.capture() as capture:
        console.print(counts)
    assert "target Counts" in capture.get()
    schema = json.loads((files("exportlint.output") / "schema-1.json").read_text("utf-8"))
    jsonschema.validate(counts.to_dict(), schema)


class Table(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.tied = self.weight
        self.scale = lambda x: x * 2

    def rows(self, x: torch.Tensor, *, bias: torch.Tensor) -> torch.Tensor:
        return self.scale(x) * self.weight + self.tied + bias

    forward = rows


def test_what_exports_passes_with_everything_that_torch_export_takes() -> None:
    batch = torch.export.Dim("batch")
    shapes = {"x": {0: batch}, "bias": {0: batch}}
    diagnosis = assert_exports(Table(), (torch.rand(2, 3),), {"bias": torch.rand(2, 3)}, shapes)
    assert diagnosis.ok
    assert diagnosis.report.targets[0].dynamic_shapes
    assert {stage.status for stage in diagnosis.ladder} == {"passed", "skipped"}


def test_what_does_not_export_fails_the_test_with_the_findings_as_text() -> None:
    with pytest.raises(AssertionError) as raised:
        assert_exports(Table(), (torch.ones(2, 4),), {"bias": torch.ones(3)}, name="the table")
    message = str(raised.value)
    assert "the model does not export as it is" in message
    assert "target the table" in message
    assert "eager itself raises" in message


def test_what_cannot_leave_the_process_is_named() -> None:
    model = Table()
    model.guard = threading.Lock()
    with pytest.raises(exportlint.UserError, match=r"the model's attribute `guard` .lock. cannot be handed"):
        exportlint.diagnose(model, (torch.ones(3),))


def test_importing_exportlint_imports_no_torch() -> None:
    code = (
        "import sys, exportlint; exportlint.diagnose, exportlint.lint; assert not {'torch', 'rich'} & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_lint_gives_findings_and_refuses_what_does_not_parse(tmp_path: Path) -> None:
    (tmp_path / "cell.py").write_text(CELL, "utf-8")
    assert {finding.line for finding in exportlint.lint(tmp_path)} >= {10}
    assert exportlint.lint([tmp_path / "cell.py"], select=["tensor-data-access"]) == []
    (tmp_path / "cell.py").write_text("def (", "utf-8")
    with pytest.raises(exportlint.UserError, match=r"cell.py:1"):
        exportlint.lint(tmp_path)
