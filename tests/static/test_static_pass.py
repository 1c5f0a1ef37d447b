"""What the static pass says of a file rests on what the file leads to: on no neighbour, no order, no process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from processes import EXPORTLINT

from exportlint.engine.source.parsed import FileStore
from exportlint.engine.source.symbols import ProjectIndex
from exportlint.files import SourceFile, collect
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static import static_pass
from exportlint.static.check_file import check_file
from exportlint.static.static_pass import StaticOptions, StaticReport, check

if TYPE_CHECKING:
    from pathlib import Path

RULES = tuple(all_rules().values())
HELPER = """
def pick(x):
    if x.sum() > 0:
        return x
    return -x
"""
MODEL = """
from torch import nn
from pkg.helper import pick
import extra


class Net(nn.Module):
    def forward(self, x):
        return pick(extra.norm(x))
"""
OTHER = """
from torch import nn


class Other(nn.Module):
    def forward(self, x):
        return x.data * 2
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    package = tmp_path / "pkg"
    package.mkdir()
    for name, text in {"__init__": "", "helper": HELPER, "model": MODEL, "other": OTHER}.items():
        (package / f"{name}.py").write_text(text, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*paths: str, **options: object) -> StaticReport:
    return check(collect(paths).files, RULES, StaticOptions(rewrites=Wanted.FIRST, **options))  # type: ignore[arg-type]


def judged(folder: Path, *paths: str) -> int:
    """How many files a run of `exportlint check`, which makes the first rewrite of a finding, could not remember."""
    calls: list[int] = []
    options = StaticOptions(cache=folder, rewrites=Wanted.FIRST)
    check(collect(paths or ["pkg"]).files, RULES, options, lambda done, _: calls.append(done))
    return len(calls)


def places(report: StaticReport) -> list[tuple[str, int, str]]:
    return [(f.path, f.line, f.rule) for f in report.findings]


IN_HELPER = ("pkg/helper.py", 3, "data-dependent-branch")
IN_OTHER = ("pkg/other.py", 7, "tensor-data-access")


def test_a_helper_is_judged_through_the_files_that_run_it(project: Path) -> None:
    assert places(checked("pkg")) == [IN_HELPER, IN_OTHER]
    assert places(checked("pkg/helper.py")) == []
    assert places(checked("pkg/model.py")) == [], "findings are reported for the files that were named"


def test_only_what_depends_on_a_change_is_judged_again(project: Path) -> None:
    cache = project / "cache"
    assert judged(cache) == 4
    assert judged(cache) == 0
    (project / "pkg/helper.py").write_text(HELPER + "\n", "utf-8")
    assert judged(cache) == 2, "the helper, and the model that runs it"
    (project / "extra.py").write_text("", "utf-8")
    assert judged(cache) == 1, "an import of the model leads somewhere now"
    (project / "pkg/other.py").write_text(OTHER.replace(".data", ""), "utf-8")
    assert judged(cache) == 1
    assert places(checked("pkg", cache=cache)) == [IN_HELPER]


def test_what_is_remembered_is_what_would_be_reported(project: Path) -> None:
    cache = project / "cache"
    assert checked("pkg", cache=cache) == checked("pkg", cache=cache) == checked("pkg")
    assert judged(cache, "pkg/model.py") == 0
    fewer = check(collect(["pkg"]).files, RULES[:3], StaticOptions(cache=cache))
    assert fewer.findings == (), "other rules, other judgements"


def test_a_file_alone_first_and_with_its_helper_later(project: Path) -> None:
    """Alone, the helper's functions are not judged: nobody asked about them."""
    cache = project / "cache"
    assert judged(cache, "pkg/model.py") == 1
    assert judged(cache, "pkg/model.py") == 0
    assert places(checked("pkg", cache=cache)) == [IN_HELPER, IN_OTHER]


def test_a_cache_that_is_broken_or_cannot_be_written_is_none(project: Path) -> None:
    cache = project / "cache"
    judged(cache)
    (cache / "judgements.sqlite").write_bytes(b"no database at all" * 100)
    assert checked("pkg", cache=cache) == checked("pkg")
    assert judged(cache) == 0, "made anew"
    (project / "file").write_text("", "utf-8")
    assert checked("pkg", cache=project / "file") == checked("pkg")


def test_the_number_of_processes_decides_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(static_pass, "BYTES_WORTH_A_PROCESS", 1)
    (project / "pkg/broken.py").write_text("def forward(:\n", "utf-8")
    (project / "pkg/deep.py").write_text(f"import torch\nx = {'-' * 100_000}1\n", "utf-8")
    one = checked("pkg", jobs=1)
    assert [problem.path for problem in one.problems] == ["pkg/broken.py", "pkg/deep.py"]
    assert checked("pkg", jobs=3) == one


def test_rewrites_for_a_function_are_made_for_the_file_that_speaks_of_it(project: Path) -> None:
    """Of three models that run it the first one in the order of paths does."""
    for number in (2, 3):
        (project / f"pkg/model{number}.py").write_text(MODEL.replace("Net", f"Net{number}"), "utf-8")
    index, asked = ProjectIndex(FileStore()), frozenset(str(path) for path in (project / "pkg").iterdir())
    for name in ("model", "model2", "model3"):
        judged_alone = check_file(SourceFile(project / f"pkg/{name}.py", name), index, RULES, asked)
        assert [(one.unmade, one.rewrites) for one in judged_alone.suspicions] == [(True, ())]
    all_of_it, one_model = checked("pkg"), checked("pkg/helper.py", "pkg/model.py")
    assert all_of_it.findings[0].fix is not None
    assert all_of_it.findings[0].fix.edits
    assert all_of_it.findings[0] == one_model.findings[0]


def test_another_file_speaks_of_a_function_when_the_first_one_is_edited(project: Path) -> None:
    cache = project / "cache"
    (project / "pkg/model2.py").write_text(MODEL.replace("Net", "Net2"), "utf-8")
    before = checked("pkg", cache=cache)
    (project / "pkg/model.py").write_text(MODEL.replace("pick(extra.norm(x))", "x"), "utf-8")
    after = checked("pkg", cache=cache)
    assert [one.fix for one in after.findings] == [one.fix for one in before.findings]
    assert after == checked("pkg") == checked("pkg", cache=cache)
    assert judged(cache) == 0


@pytest.fixture
def rules_that_fail(tmp_path: Path) -> dict[str, str]:
    """A package with one rule that raises and one that kills its process, and the environment that has it."""
    site = tmp_path / "site"
    for folder in ("failing_rules/fixtures", "failing-1.0.dist-info"):
        (site / folder).mkdir(parents=True)
    head = '"""A rule."""\nimport os\nfrom exportlint import Rule\nclass R(Rule):\n'
    body = "    words = {!r}\n    def visit_Module(self, node):\n        {}\n"
    rules = {"raises": ("raise_me", "raise KeyError('what')"), "ends": ("kill_me", "os.kill(os.getpid(), 9)")}
    for name, (word, statement) in rules.items():
        (site / f"failing_rules/{name}.py").write_text(head + body.format(word, statement), "utf-8")
    for package in ("failing_rules", "failing_rules/fixtures"):
        (site / package / "__init__.py").touch()
    info = site / "failing-1.0.dist-info"
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: failing\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[exportlint.rules]\nfailing = failing_rules\n", "utf-8")
    return {**os.environ, "PYTHONPATH": str(site)}


def test_a_rule_that_raises_or_kills_costs_the_one_file(project: Path, rules_that_fail: dict[str, str]) -> None:
    (project / "pkg/raising.py").write_text(OTHER.replace("return", "raise_me = 1; return"), "utf-8")
    (project / "pkg/killing.py").write_text(OTHER.replace("return", "kill_me = 1; return"), "utf-8")
    code = (
        "from exportlint.static import static_pass; static_pass.BYTES_WORTH_A_PROCESS = 1\n"
        "from exportlint.cli import main; main(['pkg', '--jobs', '2', '--output-format', 'concise'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=rules_that_fail
    )
    assert done.returncode == 2
    for path in ("pkg/other.py:7", "pkg/raising.py:7", "pkg/helper.py:3"):
        assert path in done.stdout
    assert "pkg/killing.py" not in done.stdout
    reported = [line for line in done.stderr.splitlines() if "please report it" in line]
    assert len(reported) == 2, done.stderr
    assert "pkg/killing.py: judging this file ended the process (signal 9)" in reported[0]
    assert "pkg/raising.py: the rule raises failed on this file" in reported[1]
    assert "KeyError: 'what' (raises.py:" in reported[1]


def test_runs_side_by_side_and_runs_that_are_killed_leave_the_cache_whole(project: Path) -> None:
    for n in range(40):
        (project / f"pkg/copy{n}.py").write_text(MODEL, "utf-8")
    command = [*EXPORTLINT, "pkg", "--output-format", "json"]
    environment = {**os.environ, "EXPORTLINT_CACHE_DIR": str(project / "cache")}
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(3)]
    while not (project / "cache/judgements.sqlite").exists():
        time.sleep(0.01)
    runs[0].send_signal(signal.SIGKILL)
    printed = [process.communicate()[0] for process in runs]
    assert printed[1] == printed[2]
    assert runs[1].returncode == 1
    assert judged(project / "cache") == 0


@pytest.mark.parametrize(
    ("parameter", "given", "found"),
    [
        ("step", "torch.ones(3), 2", ["step"]),
        ("step", "torch.ones(3), 0.5", ["step"]),
        ("step=1", "torch.ones(3), 2", ["step"]),
        ("step: int = 1", "torch.ones(3), 2", ["step"]),
        ("step: int = 1", "torch.ones(3),", []),
        ("step", "torch.ones(3), torch.tensor(2)", []),
        ("step", "torch.ones(3), None", []),
        ("step", "2, torch.ones(3), torch.ones(3)", []),
    ],
)
def test_a_number_among_the_inputs_that_the_file_makes_is_told(
    tmp_path: Path, parameter: str, given: str, found: list[str]
) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x, "
        f"{parameter}):\n        return x + step\n\n\ndef get_model():\n    return Net().eval()\n\n\n"
        f"def get_inputs():\n    return {given}\n",
        "utf-8",
    )
    reported = [one for one in checked(str(path)).findings if one.rule == "python-scalar-input"]
    assert [one.message.split("`")[1] for one in reported] == found


@pytest.mark.parametrize(
    ("tried", "handler", "catches"),
    [
        ("if x.sum() > 0:\n                return x", "except Exception", True),
        ("if x.sum() > 0:\n                return x", "except KeyError", False),
        ("if x.sum() > 0:\n                return x", "except RuntimeError as no", True),
    ],
)
def test_a_refusal_that_a_handler_catches_does_not_end_the_export(
    tmp_path: Path, tried: str, handler: str, catches: bool
) -> None:
    path = tmp_path / "model.py"
    path.write_text(
        "import torch\nfrom torch import nn\n\n\nclass Net(nn.Module):\n    def forward(self, x):\n        try:\n"
        f"            {tried}\n        {handler}:\n            pass\n        return -x\n",
        "utf-8",
    )
    (branch,) = [one for one in checked(str(path)).findings if one.rule == "data-dependent-branch"]
    assert ("in non-strict mode line 10 catches that, and the export goes on there" in branch.message) == catches
    assert ("non-strict" in branch.effect) != catches
    assert branch.effect["strict"] == "refused"
