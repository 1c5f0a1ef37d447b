"""`exportlint trial` and `check --trial` on small models, through the command line."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from inline_snapshot import snapshot
from processes import exportlint

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.slow
SCHEMA = json.loads((files("exportlint.output") / "schema-1.json").read_text("utf-8"))

NET = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


def inputs():
    return (torch.ones(3, 2),)
"""
EXPORTS = NET.replace("x.sum() > 0", "x.shape[0] > 1")
DECLARED = "\nmodel = Net()\nexample_args = inputs()\n"


def report(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    more = () if "--output-format" in arguments else ("--output-format", "json")
    done = exportlint(folder, *arguments, *more)
    data = json.loads(done.stdout)
    jsonschema.validate(data, SCHEMA)
    return done.returncode, data


def statuses(data: dict[str, Any]) -> dict[str, str]:
    (target,) = data["targets"]
    return {stage["name"]: stage["status"] for stage in target["stages"]}


def test_a_refused_model_is_found_at_its_line(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET + DECLARED, "utf-8")
    code, data = report(tmp_path, "trial", "net.py")
    assert code == 1
    assert statuses(data)["eager"] == "passed"
    assert statuses(data)["export-non-strict"] == "refused"
    (branch,) = [f for f in data["findings"] if f["rule"] == "data-dependent-branch"]
    assert (branch["path"], branch["line"], branch["evidence"]) == ("net.py", 7, "confirmed")
    shown = exportlint(tmp_path, "trial", "net.py")
    assert "target net.py\n  is refused at 1 line in either mode\n  stage " in shown.stdout
    assert "confirmed: target net.py" in shown.stdout
    assert shown.stdout.endswith("\n  exportlint fix net.py\n")


def test_check_with_trial_tries_what_the_files_declare(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(EXPORTS + DECLARED, "utf-8")
    (tmp_path / "other.py").write_text(NET, "utf-8")
    code, data = report(tmp_path, "check", ".", "--trial", "--dynamic", "auto")
    assert statuses(data)["export-non-strict"] == "passed"
    assert statuses(data)["dynamic-shapes"] == "passed"
    assert "\ndynamic_shapes = {\n" in data["targets"][0]["dynamic_shapes"]
    loud = [one for one in data["findings"] if one["severity"] != "note"]
    assert [(f["path"], f["evidence"]) for f in loud] == [("other.py", "suspected")]
    assert code == 1


def test_callables_and_named_targets_are_tried(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(EXPORTS, "utf-8")
    (tmp_path / "pyproject.toml").write_text(
        "[tool.exportlint.targets.small]\nmodel = 'net.py:Net'\nargs = 'net.py:inputs'\n", "utf-8"
    )
    (tmp_path / "deep").mkdir()
    for folder, arguments in (
        (tmp_path, ["--model", "net.py:Net", "--args", "net.py:inputs"]),
        (tmp_path / "deep", ["--target", "small"]),
        (tmp_path, []),
    ):
        code, data = report(folder, "trial", *arguments)
        assert (code, statuses(data)["export-non-strict"]) == (0, "passed"), arguments
    assert data["targets"][0]["name"] == "small"


SCRIPT = """
import contextlib
import os
import sys

import torch
from net import Net

if not sys.argv[1:]:
    sys.exit("give a width")
os.chdir("/")
net = Net()
with contextlib.suppress(Exception):
    torch.export.export(net.forward, (torch.ones(2, int(sys.argv[1])),))
"""


def test_a_script_is_run_with_what_follows_the_dashes(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(EXPORTS, "utf-8")
    (tmp_path / "save.py").write_text(SCRIPT, "utf-8")
    code, data = report(tmp_path, "trial", "save.py", "--output-format", "json", "--", "5")
    script, target = data["targets"]
    assert script["stages"][0]["detail"] == snapshot("the script ended with exit code 0; gave 1 target")
    assert (target["name"], target["stages"][0]["detail"]) == (
        "save.py:14",
        snapshot("bound method Net.forward(float32[2, 5]), wrapped in a module, given to torch.export.export"),
    )
    (method,) = (one for one in data["findings"] if one["severity"] != "note")
    assert (method["rule"], method["path"], method["line"]) == ("export-of-non-module", "save.py", 14)
    assert (code, method["evidence"], method["stage"]) == (1, "confirmed", "export-non-strict")
    assert [s["status"] for s in target["stages"] if s["name"] == "export-strict"] == ["passed"]
    done = exportlint(tmp_path, "trial", "save.py")
    assert done.returncode == 2
    assert "printed at its end:\ngive a width\n" in done.stderr
    assert "the script ended with exit code 1, and never called torch.export.export" in done.stderr
    done = exportlint(tmp_path, "trial", "save.py", "net.py", "--", "5")
    assert "what follows `--` belongs to one script: name one before it, not 2" in done.stderr


def test_a_target_that_does_not_load_is_2_and_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET + DECLARED.replace("Net()", "Nett()"), "utf-8")
    done = exportlint(tmp_path, "trial", "net.py")
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "net.py" in done.stderr
    assert "Nett" in done.stderr


def test_an_unknown_zoo_is_refused_with_the_nearest(tmp_path: Path) -> None:
    done = exportlint(tmp_path, "trial", "transformer:bert")
    assert done.returncode == 2
    assert "there is no zoo `transformer`; the nearest is `transformers`; there are timm, torch" in done.stderr


def test_an_unknown_lowering_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(EXPORTS + DECLARED, "utf-8")
    done = exportlint(tmp_path, "trial", "net.py", "--lower", "executorc")
    assert done.returncode == 2
    assert "--lower: there is no `executorc`; the nearest is `executorch`" in done.stderr


def test_a_quick_trial_says_whether_it_exports_and_each_stage_as_it_ends(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(NET + DECLARED, "utf-8")
    shown = exportlint(tmp_path, "trial", "--quick", "net.py", afresh=True)  # more than a second, so that it is told
    assert "  is refused at 1 line in either mode\n" in shown.stdout
    assert "soundness" not in shown.stdout
    assert "exportlint: net.py: export-strict refused, " in shown.stderr
    both = exportlint(tmp_path, "trial", "--quick", "--dynamic", "auto", "net.py")
    assert both.returncode == 2
    assert "--quick leaves out the stage that --dynamic asks for" in both.stderr
