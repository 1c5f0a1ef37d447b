"""`exportlint doctor` where packages are missing, crash, hang or do not fit: they are told, and hurt nothing."""

from __future__ import annotations

import json
import os
import shlex
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import psutil
import pytest
from processes import all_end, exportlint

from exportlint.doctor.asking import ask

if TYPE_CHECKING:
    from subprocess import CompletedProcess

SCHEMA = json.loads((files("exportlint.output") / "doctor-1.json").read_text("utf-8"))
GONE = "raise ModuleNotFoundError(name={!r})\n"
NET = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1


def build():
    return Net().eval()


def inputs():
    return (torch.ones(3),)
"""


def package(site: Path, name: str, text: str, version: str = "", needs: str = "", points: str = "") -> None:
    """A real package on PYTHONPATH, with the metadata that pip writes where it has a version."""
    folder = site / name
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(text, "utf-8")
    if version:
        about = site / f"{name}-{version}.dist-info"
        about.mkdir()
        wants = f"Requires-Dist: {needs}\n" if needs else ""
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{wants}", "utf-8")
        if points:
            (about / "entry_points.txt").write_text(points, "utf-8")


def doctor(folder: Path, *arguments: str) -> CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(folder / "site"), os.environ.get("PYTHONPATH")]))
    return exportlint(folder, "doctor", *arguments, PYTHONPATH=path, EXPORTLINT_CACHE_DIR=str(folder / "cache"))


def checks(done: CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    told = json.loads(done.stdout)
    jsonschema.validate(told, SCHEMA)
    return {check["name"]: check for check in told["checks"]}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> CompletedProcess[str]:
    """One run where each runtime is broken in its own way, and so is what the configuration names."""
    here = tmp_path_factory.mktemp("broken")
    site = here / "site"
    package(site, "executorch", "import os\nprint('noise')\nos.abort()\n", "1.0")
    package(site, "tvm", "import sys\nsys.exit(3)\n")
    package(site, "openvino", "", "2020.1", "numpy>=99")
    package(site, "onnxscript", "raise RuntimeError('built for another torch')\n")
    package(site, "chip", "import chip.lost\n", "0.1", points="[exportlint.lowerings]\nchip = chip:Chip\n")
    (here / "net.py").write_text(NET, "utf-8")
    (here / "pyproject.toml").write_text(
        '[tool.exportlint]\nlower = ["executorch"]\n'
        '[tool.exportlint.targets.net]\nmodel = "net.py:biuld"\nargs = "net.py:inputs"\n'
        '[tool.exportlint.targets.old]\nmodel = "old.py:build"\nargs = "net.py:inputs"\n',
        "utf-8",
    )
    return doctor(here, "--output-format", "json")


@pytest.mark.slow
def test_what_the_configuration_asks_for_and_is_broken_is_exit_1(broken: CompletedProcess[str]) -> None:
    found = checks(broken)
    assert (broken.returncode, broken.stderr) == (1, "")
    assert {name for name, check in found.items() if check["needed"] and check["state"] in ("broken", "missing")} == {
        "configuration",
        "lower-executorch",
    }
    assert "targets.net.model: net.py defines no `biuld`" in found["configuration"]["text"]
    assert "targets.old.model: there is no file old.py" in found["configuration"]["text"]
    assert json.loads(broken.stdout)["verdict"].startswith("not ready: mend configuration and lower-executorch")


@pytest.mark.slow
def test_each_runtime_says_how_it_fails_and_the_others_go_on(broken: CompletedProcess[str]) -> None:
    found = checks(broken)
    assert "import of executorch crashed the process (SIGABRT)" in found["lower-executorch"]["text"]
    assert found["lower-executorch"]["remedy"].startswith("pip install 'exportlint[executorch]'")
    assert found["lower-tvm"]["text"].endswith(
        "import of tvm ended the process with exit code 3: `--lower tvm` is skipped"
    )
    assert "raised RuntimeError: built for another torch" in found["lower-onnxruntime"]["text"]
    assert "No module named 'chip.lost'" in found["lower-chip"]["text"]
    assert found["lower-chip"]["remedy"] == "pip uninstall chip"
    assert found["torch"]["state"] == found["trial packages"]["state"] == "ok"


@pytest.mark.slow
def test_a_package_that_wants_another_version_is_told_with_both(broken: CompletedProcess[str]) -> None:
    openvino = checks(broken)["lower-openvino"]
    assert (openvino["state"], openvino["needed"]) == ("note", False)
    assert "openvino needs numpy>=99, and " in openvino["text"]


@pytest.mark.slow
def test_what_is_not_there_and_nobody_asked_for_is_exit_0_with_the_command_that_brings_it(tmp_path: Path) -> None:
    for name in ("executorch", "tvm", "openvino", "onnxscript"):
        package(tmp_path / "site", name, GONE.format(name))
    done = doctor(tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert "    pip install 'exportlint[executorch]'\n" in done.stdout
    assert "configuration             absent" in done.stdout
    assert "    exportlint init\n" in done.stdout
    skipped = "Trials can run; skipped with --lower all: executorch, executorch-xnnpack,\nonnxruntime, openvino, tvm."
    assert done.stdout.endswith(f"{skipped}\n")
    assert not (tmp_path / "cache").exists()


def test_without_torch_trials_cannot_run_and_a_plugin_of_rules_that_fails_is_named(tmp_path: Path) -> None:
    package(tmp_path / "site", "torch", GONE.format("torch"))
    package(tmp_path / "site", "house", "1 / 0\n", "2.0", points="[exportlint.rules]\nhouse = house\n")
    done = doctor(tmp_path, "--output-format", "json")
    found = checks(done)
    assert done.returncode == 1
    assert (found["torch"]["state"], found["torch"]["remedy"]) == ("missing", "pip install 'exportlint[torch]'")
    assert "raised ZeroDivisionError: division by zero" in found["plug-in house"]["text"]
    assert found["plug-in house"]["remedy"] == "pip uninstall house"
    assert found["lower-aotinductor"]["state"] == "absent"
    zoo = found["zoo transformers"]
    assert (zoo["state"], zoo["text"]) == ("absent", "not looked at: it needs a torch that can be imported")


def test_a_torch_that_does_not_load_is_broken(tmp_path: Path) -> None:
    package(tmp_path / "site", "torch", "raise ImportError('libc10.so: cannot open shared object file')\n", "2.13.0")
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'one.cpp:1: error: no such thing' >&2\nexit 1\n", "utf-8")
    compiler.chmod(0o755)
    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    done = exportlint(tmp_path, "doctor", "--output-format", "json", PYTHONPATH=path, CXX=shlex.quote(str(compiler)))
    found = checks(done)
    assert done.returncode == 1
    told = "2.13.0: import of torch raised ImportError: libc10.so: cannot open shared object file"
    assert (found["torch"]["state"], found["torch"]["text"]) == ("broken", told)
    assert found["torch"]["remedy"] == "pip install --force-reinstall torch==2.13.0"
    assert (found["compiler"]["state"], found["compiler"]["needed"]) == ("broken", False)
    assert "does not compile a file of one line: one.cpp:1: error: no such thing" in found["compiler"]["text"]


def test_a_configuration_that_cannot_be_read_is_told_and_not_raised(tmp_path: Path) -> None:
    package(tmp_path / "site", "torch", GONE.format("torch"))
    (tmp_path / "pyproject.toml").write_text('[tool.exportlint]\nmodes = "both"\n', "utf-8")
    found = checks(doctor(tmp_path, "--output-format", "json"))
    assert found["configuration"]["state"] == "broken"
    assert "there is no key `modes`; the nearest is `mode`" in found["configuration"]["text"]


def test_an_import_that_hangs_is_ended_with_all_that_it_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "pid"
    started = f"child = subprocess.Popen(['sleep', '60'])\nopen({str(mark)!r}, 'w').write(str(child.pid))\n"
    package(tmp_path, "sleeper", f"import subprocess, time\n{started}time.sleep(60)\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])))
    assert ask(modules=["sleeper"], seconds=2).wrong == "import of sleeper did not end in 2 seconds"
    pid = int(mark.read_text("utf-8"))
    # A killed process takes a moment to go.
    assert not psutil.pid_exists(pid) or all_end([psutil.Process(pid)])


def test_the_working_directory_is_no_place_to_import_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A user's own `onnx.py` is not the package."""
    (tmp_path / "a_file_of_the_user.py").write_text("", "utf-8")
    monkeypatch.chdir(tmp_path)
    assert ask(modules=["a_file_of_the_user"]).absent == "a_file_of_the_user"


def test_wrong_use_is_one_sentence_and_2(tmp_path: Path) -> None:
    done = exportlint(tmp_path, "doctor", "--output-format", "jsn")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("exportlint: error: --output-format: there is no `jsn`; the nearest is `json`")
