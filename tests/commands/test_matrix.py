"""`exportlint matrix`, on real trials; the lowerings are those of a package of somebody else."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path

import jsonschema
import pytest
from plugin_lowering import LINE, NET, install
from processes import exportlint

pytestmark = pytest.mark.slow
SCHEMA = json.loads((files("exportlint.output") / "matrix-1.json").read_text("utf-8"))
TABLE = """
[tool.exportlint]
lower = ["saved", "elsewhere"]

[tool.exportlint.lowerings.elsewhere]
refuses = "aten.cumsum.default"

[tool.exportlint.targets.small]
model = "branch.py:make"
args = "branch.py:inputs"
"""
BRANCH = """
import torch


class Branch(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def make():
    return Branch().eval()


def inputs():
    return (torch.ones(3),)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("matrix")
    for name, text in (("net.py", NET), ("branch.py", BRANCH), ("pyproject.toml", TABLE)):
        (folder / name).write_text(text, "utf-8")
    install(folder / "site")
    return folder


def run(project: Path, *arguments: str) -> tuple[int, str, str]:
    variables = {"PYTHONPATH": str(project / "site"), "COMPILATIONS": str(project / "compilations")}
    done = exportlint(project, "matrix", *arguments, EXPORTLINT_CACHE_DIR=str(project / "cache"), **variables)
    return done.returncode, done.stdout, done.stderr


def test_files_and_configured_targets_meet_every_stage_with_the_reasons(project: Path) -> None:
    code, out, err = run(project, "net.py", "small", "--output-format", "json", "--require", "saved")
    data = json.loads(out)
    jsonschema.validate(data, SCHEMA)
    net, small = data["targets"]
    statuses = {stage["name"]: stage["status"] for stage in net["stages"]}
    assert (net["name"], statuses["save-load"], statuses["lower-saved"]) == ("net.py", "passed", "passed")
    assert statuses["lower-elsewhere"] == "refused"
    (why,) = net["reasons"]
    assert (why["stages"], why["path"], why["line"]) == (["lower-elsewhere"], "net.py", LINE)
    assert "cannot take aten.cumsum.default" in why["text"]
    refused, skipped = small["reasons"]
    assert (small["name"], refused["path"], refused["line"]) == ("small", "branch.py", 7)
    assert refused["stages"] == ["export-non-strict", "export-strict"]
    assert (skipped["stages"], skipped["text"]) == (["lower-saved", "lower-elsewhere"], "no export passed")
    assert (code, data["unmet"]) == (1, [{"target": "small", "stage": "lower-saved", "status": "skipped"}])
    assert "exportlint: net.py: lower-saved passed, " in err


def test_what_is_required_decides_the_exit_code(project: Path) -> None:
    code, out, _ = run(project, "net.py", "--require", "saved")
    assert code == 0
    assert f"net.py:{LINE}: lower-elsewhere refused: compile: NotImplementedError: cannot take" in out
    assert out.endswith("1 target (torch 2.13.0+cpu); 1 of 2 lowerings passed\n")
    code, out, _ = run(project, "net.py", "--require", "elsewhere", "--output-format", "markdown")
    assert code == 1
    assert "required and not passed: elsewhere of net.py (refused)" in out
    assert out.startswith("| target")


def test_what_cannot_be_tried_is_2(project: Path) -> None:
    (project / "broken.py").write_text("model = nothing\nexample_args = ()\n", "utf-8")
    code, out, err = run(project, "broken.py", "--lower", "none")
    assert code == 2
    assert "importing it raised NameError" in err
    assert "broken.py:1: load refused" in out
    for arguments, sentence in (
        (["net.py", "--require", "savd"], "--require: there is no `savd`; the nearest is `saved`"),
        (["nowhere.py"], "nowhere.py: no such file or folder"),
    ):
        code, _, err = run(project, *arguments)
        assert (code, sentence in err) == (2, True), err


def test_for_compile_the_columns_are_what_torch_compile_does(project: Path) -> None:
    code, out, err = run(project, "small", "--for", "compile", "--output-format", "json")
    assert code == 0, err
    data = json.loads(out)
    jsonschema.validate(data, SCHEMA)
    assert data["stages"] == ["eager", "breaks", "recompiles", "agreement", "cost"]
    (small,) = data["targets"]
    stages = {stage["name"]: stage for stage in small["stages"]}
    assert (stages["breaks"]["status"], stages["breaks"]["figure"]) == ("passed", "1")
    assert stages["cost"]["figure"].endswith(" x")
    (why,) = small["reasons"]
    assert (why["stages"], why["path"], why["line"]) == (["breaks"], "branch.py", 7)


def test_lowerings_are_not_of_what_is_compiled(project: Path) -> None:
    code, _, err = run(project, "small", "--for", "compile", "--require", "saved")
    assert (code, "--require is about the exported program, which --for compile does not make" in err) == (2, True)
