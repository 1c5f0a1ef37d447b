"""The hook through pre-commit itself, on a small git repository."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml
from sources import ROOT

if TYPE_CHECKING:
    from pathlib import Path

BAD = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.data * 2\n"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.invalid", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    (folder / "src/net.py").write_text(BAD, "utf-8")
    (folder / "notes.txt").write_text("x.data\n", "utf-8")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    return folder


@pytest.mark.slow
def test_pre_commit_installs_the_hook_without_torch_and_runs_it(repository: Path, tmp_path: Path) -> None:
    """The hook of the last commit, as a project that uses it would have it."""
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True)
    source = {
        "repo": ROOT.as_uri(),
        "rev": head.stdout.strip(),
        "hooks": [{"id": "exportlint"}, {"id": "exportlint-fix"}],
    }
    (repository / ".pre-commit-config.yaml").write_text(yaml.safe_dump({"repos": [source]}), "utf-8")
    home = tmp_path / "home"
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"],
        cwd=repository,
        capture_output=True,
        text=True,
        env={**os.environ, "PRE_COMMIT_HOME": str(home)},
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "src/net.py:6:16" in done.stdout, done.stdout
    assert "notes.txt" not in done.stdout
    assert "x.detach() * 2" in (repository / "src/net.py").read_text("utf-8"), "the other hook has mended it"
    installed = {path.name for path in home.glob("*/py_env-*/lib/python*/site-packages/*")}
    assert "libcst" in installed
    assert not {"torch", "numpy", "executorch"} & installed


def test_the_hook_and_the_action_call_commands_that_exist() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    assert [hook["entry"].split()[:2] for hook in hooks] == [["exportlint", "check"], ["exportlint", "fix"]]
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    assert set(action["inputs"]) == {"paths", "args", "version"}
    scripts = [step["run"] for step in action["runs"]["steps"] if "run" in step]
    assert all("${{" not in script for script in scripts), "text of inputs must not become part of a script"


@pytest.mark.slow
def test_the_script_of_the_action_annotates(repository: Path, tmp_path: Path) -> None:
    """The last step as GitHub would run it, with this environment in the place of the installed one."""
    step = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["runs"]["steps"][-1]
    folder = tmp_path / "temp/exportlint/bin"
    folder.mkdir(parents=True)
    script = folder / "exportlint"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m exportlint "$@"\n', "utf-8")
    script.chmod(0o755)
    environment = {
        **os.environ,
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "PATHS": "src/*.py",
        "ARGS": "--mode both",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_WORKSPACE": str(repository),
    }
    bash = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
    done = subprocess.run(bash, cwd=repository, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("::error file=src/net.py,line=6,")
    assert "## exportlint" in (tmp_path / "summary.md").read_text("utf-8")
