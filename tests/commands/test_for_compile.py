"""`--for compile` as people call it: check, trial, fix, the configuration, and the JSON that others read."""

from __future__ import annotations

import json
import re
import subprocess
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from processes import EXPORTLINT, WARM, exportlint

NET = """\
import logging

import torch
from torch import nn

log = logging.getLogger(__name__)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.inner = nn.Linear(4, 4)

    def forward(self, x):
        x = self.inner(x)
        mean = x.mean().item()
        log.info("mean %s", mean)
        if x.sum() > 0:
            x = x * 2
        else:
            x = x - 1
        return x


model = Net().eval()
example_args = (torch.ones(3, 4),)
"""
SCHEMA = json.loads(files("exportlint.output").joinpath("schema-1.json").read_text("utf-8"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    return tmp_path


def told(folder: Path, *arguments: str) -> dict[str, Any]:
    done = exportlint(folder, *arguments, "--output-format", "json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_static_pass_says_what_torch_compile_was_measured_to_do(folder: Path) -> None:
    done = exportlint(folder, "check", "--for", "compile", "net.py", "--output-format", "concise")
    assert done.returncode == 1
    assert "net.py:19:12: warning[data-dependent-branch]" in done.stdout
    assert "torch.compile in torch 2.13 breaks the graph at it (GB0170)" in done.stdout
    (found,) = [one for one in told(folder, "check", "--for", "compile", "net.py")["findings"] if one["line"] == 19]
    assert found["effect"] == {"compile": "breaks"}
    jsonschema.validate(told(folder, "check", "--for", "both", "net.py"), SCHEMA)


def test_the_purpose_can_stand_in_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.exportlint]\nfor = "compile"\n', "utf-8")
    assert "torch.compile in torch" in exportlint(folder, "check", "net.py").stdout
    (folder / "pyproject.toml").write_text('[tool.exportlint]\nfor = "compiling"\n', "utf-8")
    done = exportlint(folder, "check", "net.py")
    assert done.returncode == 2
    assert "tool.exportlint.for: there is no `compiling`; the nearest is `compile`" in done.stderr


def test_another_purpose_is_refused_with_the_nearest(folder: Path) -> None:
    done = exportlint(folder, "trial", "--for", "compiled", "net.py")
    assert (done.returncode, "--for: there is no `compiled`" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--for", "compile", "--lower", "all"), "--lower is about the exported program"),
        (("--for", "compile", "--dynamic", "auto"), "use --for both"),
        (("--backend", "eager"), "--backend is about torch.compile"),
    ],
)
def test_what_the_purpose_leaves_nothing_for_is_refused(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    done = exportlint(folder, "trial", *arguments, "net.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in " ".join(done.stderr.split())


@pytest.mark.slow
def test_where_nobody_says_what_for_a_trial_is_about_export(folder: Path) -> None:
    (target,) = told(folder, "trial", "net.py")["targets"]
    names = [stage["name"] for stage in target["stages"]]
    assert {"explain", "export-strict"} <= {*names}
    assert {"breaks", "cost"}.isdisjoint(names)
    assert {one["line"] for one in target["graph_breaks"]} == {17, 18, 19}


@pytest.mark.slow
def test_a_trial_for_compile_has_breaks_graphs_and_cost_in_json(folder: Path) -> None:
    found = told(folder, "trial", "--for", "compile", "--backend", "eager", "net.py")
    jsonschema.validate(found, SCHEMA)
    (target,) = found["targets"]
    assert [stage["name"] for stage in target["stages"]] == [
        "load",
        "eager",
        "breaks",
        "recompiles",
        "agreement",
        "cost",
    ]
    assert {one["line"] for one in target["graph_breaks"]} == {17, 18, 19}
    assert target["graphs"]
    assert target["cost"]["backend"] == "eager"
    (branch,) = [one for one in found["findings"] if one["line"] == 19]
    assert (branch["rule"], branch["evidence"]) == ("data-dependent-branch", "confirmed")


@pytest.mark.slow
def test_fix_for_compile_makes_one_graph_of_it(folder: Path) -> None:
    done = exportlint(folder, "fix", "--for", "compile", "--write", "net.py")
    assert "lines that break the graph: 3 -> 0" in done.stdout
    text = (folder / "net.py").read_text("utf-8")
    assert "if not torch.compiler.is_compiling():\n            mean = x.mean().item()\n" in text
    assert "torch.where(x.sum() > 0, x * 2, x - 1)" in text
    after = told(folder, "trial", "--for", "compile", "--backend", "eager", "net.py")["targets"][0]
    assert (after["graph_breaks"], len(after["graphs"])) == ([], 1)


@pytest.mark.slow
def test_who_ends_fix_while_it_times_a_call_gets_what_was_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WARM)  # it ends its own processes, as where no test runs
    command = [*EXPORTLINT, "fix", "--for", "compile", "--output-format", "json", "net.py"]
    with subprocess.Popen(command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stderr is not None
        assert run.stdout is not None
        told = []
        for line in run.stderr:
            told.append(line)
            if "cost passed" in line:  # of the unedited model; that of the edited one is measured next
                run.terminate()
                break
        rest = run.stderr.read()
        found = json.loads(run.stdout.read())
    assert len(found["rewrites"]) > 1, "".join(told)
    assert "this is what was found by then" in rest


READS = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        return x[x > 1].sum() * x.max().item()


model = Net().eval()
example_args = (torch.arange(4.0),)
"""


@pytest.mark.slow
def test_fix_for_compile_sets_what_torch_takes_into_the_graph(folder: Path) -> None:
    (folder / "net.py").write_text(READS, "utf-8")
    done = exportlint(folder, "fix", "--for", "compile", "--backend", "eager", "--write", "net.py")
    assert done.returncode == 0, done.stderr
    assert "lines that break the graph: 1 -> 0" in done.stdout
    text = (folder / "net.py").read_text("utf-8")
    assert "torch._dynamo.config.capture_dynamic_output_shape_ops = True" in text
    assert "torch._dynamo.config.capture_scalar_outputs = True" in text


SILENT = """\
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x):
        counts = torch.FloatTensor(x.size()).fill_(1.0)
        return x.sum() / counts.sum()


model = Net().eval()
example_args = (torch.ones(3, 4),)
"""


@pytest.mark.slow
def test_fix_for_compile_mends_what_is_compiled_wrong_in_silence(folder: Path) -> None:
    """The trial shows that it differs, and no line: the static pass knows one of which torch.compile makes that."""
    (folder / "net.py").write_text(SILENT, "utf-8")
    done = exportlint(folder, "fix", "--for", "compile", "--backend", "eager", "--write", "net.py")
    assert done.returncode == 0, done.stderr
    assert re.search(r"agreement +differs +passed", done.stdout)
    assert "counts = torch.empty(x.size(), dtype=torch.float32).fill_(1.0)" in (folder / "net.py").read_text("utf-8")


@pytest.mark.slow
def test_fix_takes_a_script_s_arguments_and_what_it_only_compiles_for_compile(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        "import sys\nimport torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        print(x.shape)\n"
        "        return x + 1\n\n\nfast = torch.compile(Net(), backend='eager')\n"
        "fast(torch.ones(int(sys.argv[sys.argv.index('--rows') + 1]), 3))\n",
        "utf-8",
    )
    done = exportlint(tmp_path, "fix", "script.py", "--backend", "eager", "--", "--rows", "2")
    assert "judged for torch.compile" in done.stderr
    assert "lines that break the graph: 1 -> 0" in done.stdout


WORDS = """\
import torch
from torch import nn


class Speaks(nn.Module):
    def forward(self, x, language):
        return x * 2 if language == "de" else x + len(language)


def others():
    return [(torch.ones(2, 4), word) for word in ("fr", "svenska", "en")]


def one_list():
    return [torch.ones(2, 4), "fr"]


def inputs():
    return torch.ones(2, 4), "de"
"""


@pytest.mark.slow
def test_several_other_inputs_come_one_after_the_other(tmp_path: Path) -> None:
    """Each word has a graph of its own: two others show that, where one could be a flag with two values."""
    (tmp_path / "net.py").write_text(WORDS, "utf-8")
    given = ("--model", "net.py:Speaks", "--args", "net.py:inputs", "--backend", "eager", "--for", "compile")
    done = exportlint(tmp_path, "trial", *given, "--other-args", "net.py:others", "--output-format", "json")
    (again,) = json.loads(done.stdout)["targets"][0]["recompiles"]
    assert (again["line"], again["changed"]) == (7, "the other inputs")
    wrong = exportlint(tmp_path, "trial", *given, "--other-args", "net.py:one_list")
    assert "other-args must give a tuple of arguments, or a list of such tuples" in " ".join(wrong.stdout.split())
