"""What is installed: every package and every file that the code reads, as a wheel and as an editable install."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest
from processes import exportlint
from sources import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SETUPTOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]
FOLDERS = SETUPTOOLS["package-dir"]
NET = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x.data * 2


model = Net()
example_args = (torch.ones(3, 2),)
"""


def test_the_list_of_packages_is_complete() -> None:
    """A folder that is not listed is missing from the wheel, and only there."""
    ours = {path.parent.relative_to(ROOT).parts for path in (ROOT / "exportlint").rglob("__init__.py")}
    rules = {"exportlint_rules", *(f"exportlint_rules.{one}" for one in ("fixtures", "fixtures.examples"))}
    assert set(SETUPTOOLS["packages"]) == {".".join(parts) for parts in ours} | rules
    assert len(SETUPTOOLS["packages"]) == len(set(SETUPTOOLS["packages"]))


def test_every_file_that_is_no_module_is_package_data() -> None:
    for package, folder in FOLDERS.items():
        patterns = SETUPTOOLS["package-data"].get(package, [])
        listed = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
        nested = [other for other in FOLDERS.values() if other != folder and other.startswith(f"{folder}/")]
        inside = (Path(name) for name in listed.stdout.split() if not any(name.startswith(f"{n}/") for n in nested))
        data = [path.relative_to(folder).as_posix() for path in inside if path.suffix != ".py"]
        assert [name for name in data if not any(fnmatch(name, pattern) for pattern in patterns)] == []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel installed in it, built from a copy of the checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    # What begins with a dot too: the README's own environment lies there, with all of torch.
    leave = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "tests")
    shutil.copytree(ROOT, folder / "source", ignore=leave)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder / "site")]
    subprocess.run([*pip, str(folder / "source")], check=True)
    return folder / "site"


@pytest.fixture(params=["editable", "wheel"])
def path(request: pytest.FixtureRequest) -> str:
    """What PYTHONPATH must be: nothing for the editable install that the tests run in."""
    return str(request.getfixturevalue("site")) if request.param == "wheel" else ""


@pytest.mark.slow
def test_the_processes_of_the_static_pass_are_found(tmp_path: Path, path: str) -> None:
    for number in range(8):
        (tmp_path / f"net{number}.py").write_text(NET + "# much text\n" * 5000, "utf-8")
    done = exportlint(tmp_path, ".", "--jobs", "2", "--no-cache", "--output-format", "json", PYTHONPATH=path)
    assert (done.stderr, len(json.loads(done.stdout)["findings"])) == ("", 8)


@pytest.mark.slow
def test_the_processes_of_a_trial_are_found_under_another_interpreter(
    tmp_path: Path, path: str, other_python: Path
) -> None:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    arguments = ("trial", "net.py", "--python", str(other_python), "--output-format", "json")
    done = exportlint(tmp_path, *arguments, PYTHONPATH=path)
    (target,) = json.loads(done.stdout)["targets"]
    stages = {stage["name"]: stage["status"] for stage in target["stages"]}
    assert (stages["eager"], stages["export-non-strict"]) == ("passed", "refused"), done.stderr
