"""A baseline as people use it: written, read from anywhere, silent about what is old, loud about one more."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from processes import exportlint
from sources import ROOT

from exportlint.adoption.baseline import Baseline, JudgedFor, Ran, compare, entries_of
from exportlint.adoption.statements import Statements
from exportlint.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, mask):
        if mask.any():
            x = x * 2
        y = x.data
        return y
"""
FOR = JudgedFor("2.13.0", "non-strict", "export")
DATA, BRANCH = "tensor-data-access", "data-dependent-branch"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/net.py").write_text(NET, "utf-8")
    assert exportlint(tmp_path, "pkg", "--write-baseline", "baseline.json").returncode == 0
    return tmp_path


def judged(folder: Path, *arguments: str) -> tuple[int, list[tuple[int, str]], str]:
    done = exportlint(folder, *(arguments or ("pkg", "--baseline", "baseline.json")), "--output-format", "json")
    found = [(one["line"], one["rule"]) for one in json.loads(done.stdout)["findings"]]
    return done.returncode, found, done.stderr


def edit(project: Path, *changes: tuple[str, str], path: str = "pkg/net.py") -> None:
    text = (project / path).read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    (project / path).write_text(text, "utf-8")


def test_what_it_holds_is_neither_reported_nor_counted(project: Path) -> None:
    assert judged(project, "pkg") == (1, [(6, BRANCH), (8, DATA)], "")
    assert judged(project) == (0, [], "")
    done = exportlint(project, "pkg", "--baseline", "baseline.json")
    assert done.stdout.startswith("Found nothing in 1 file (torch 2.")
    assert done.stdout.endswith("; 2 in the baseline\n")
    done = exportlint(project, "pkg", "--baseline", "baseline.json", "--output-format", "json")
    report = json.loads(done.stdout)
    assert report["summary"]["baselined"] == 2
    schema = json.loads((ROOT / "exportlint/output/schema-1.json").read_text("utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(report)) == []


def test_the_file_is_sorted_and_readable_in_a_diff(project: Path) -> None:
    text = (project / "baseline.json").read_text("utf-8")
    data = json.loads(text)
    assert (data["version"], data["judged_for"]["mode"]) == (1, "non-strict")
    assert [(one["path"], one["rule"], one["within"], one["line"]) for one in data["findings"]] == [
        ("pkg/net.py", BRANCH, "Net.forward", "if mask.any():"),
        ("pkg/net.py", DATA, "Net.forward", "y = x.data"),
    ]
    fingerprints = {
        one["rule"]: one["fingerprint"]
        for one in json.loads(exportlint(project, "pkg", "--output-format", "json").stdout)["findings"]
    }
    assert {one["rule"]: one["fingerprint"] for one in data["findings"]} == fingerprints, "those of the JSON contract"
    assert exportlint(project, "pkg", "--write-baseline", "baseline.json").returncode == 0
    assert (project / "baseline.json").read_text("utf-8") == text


def test_it_works_from_any_folder_and_wherever_the_file_lies(project: Path) -> None:
    (project / "elsewhere").mkdir()
    assert exportlint(project / "pkg", ".", "--write-baseline", "../elsewhere/b.json").returncode == 0
    for folder, paths, file in (
        (project, "pkg", "elsewhere/b.json"),
        (project / "elsewhere", "../pkg", "b.json"),
        (project / "pkg", "net.py", "../baseline.json"),
        (ROOT, str(project / "pkg"), str(project / "baseline.json")),
    ):
        assert judged(folder, paths, "--baseline", file) == (0, [], ""), folder
    (project / "link.json").symlink_to("elsewhere/b.json")
    assert judged(project, "pkg", "--baseline", "link.json") == (0, [], "")
    moved = project.rename(project.with_name("other"))
    assert judged(moved) == (0, [], ""), "the whole project is elsewhere"


@pytest.mark.parametrize(
    "changes",
    [
        [("import torch\n", "import math\n\nimport torch\n")],
        [("y = x.data", "y = (\n            x.data  # why\n        )"), ("if mask.any():", "if (mask.any()):  # so")],
        [("class Net", "class Network")],
        [("    def forward(self, x, mask):\n", "    def forward(self, x, mask):\n        x = x + 1\n")],
        [("        if mask.any():\n            x = x * 2\n", "        for _ in range(2):\n            if mask.any():\n                x = x * 2\n")],
    ],
    ids=["moved", "reformatted", "class renamed", "a line before", "indented"],
)  # fmt: skip
def test_an_edit_that_leaves_the_statement_makes_no_news(project: Path, changes: list[tuple[str, str]]) -> None:
    edit(project, *changes)
    code, found, said = judged(project)
    assert (code, found, said) == (0, [], "")


def test_an_edit_of_the_statement_is_news(project: Path) -> None:
    edit(project, ("y = x.data", "y = x.data + 1"))
    code, found, said = judged(project)
    assert (code, found) == (1, [(8, DATA)])
    assert said == (
        f"exportlint: 1 finding of baseline.json is gone ({DATA} in pkg/net.py); --prune-baseline takes it out\n"
    )


@pytest.mark.parametrize("place", ["before", "behind", "in another class", "in another file", "on the same line"])
def test_one_more_of_the_same_is_news(project: Path, place: str) -> None:
    other = NET.replace("class Net", "class Other").removeprefix("import torch\n")
    if place == "in another file":
        (project / "pkg/other.py").write_text(NET, "utf-8")
        expected = [(6, BRANCH), (8, DATA)]
    elif place == "in another class":
        (project / "pkg/net.py").write_text("import torch\n" + other + NET.removeprefix("import torch\n"), "utf-8")
        expected = [(6, BRANCH), (8, DATA)]  # the first class is the new one, though its lines come first
    else:
        new = {
            "before": ("        if mask.any():", "        y = x.data\n        if mask.any():"),
            "behind": ("        return y", "        y = x.data\n        return y"),
            "on the same line": ("y = x.data", "y = x.data; y = x.data"),
        }
        edit(project, new[place])
        expected = [({"before": 9, "behind": 9, "on the same line": 8}[place], DATA)]
    code, found, _ = judged(project)
    if place == "on the same line":  # two statements; one of them is the old one
        assert (code, [rule for _, rule in found]) == (1, [DATA])
    else:
        assert (code, found) == (1, expected)


CALL = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.add(
            x.data,
            1,
        )

    def other(self, x):
        return torch.add(
            x.data,
            1,
        )
"""


def beside(
    old: str, new: str, at_old: list[int], at_new: list[int], still: tuple[int, ...] = ()
) -> tuple[list[int], int]:
    """Findings of one rule on these lines of the old text, and of the new one: the lines that are told, and how many
    entries are gone."""

    def findings(lines: Sequence[int]) -> tuple[Finding, ...]:
        return tuple(Finding(DATA, "net.py", line, 9, line, 10, Severity.ERROR, "…") for line in lines)

    file = Path("baseline.json").absolute()
    known = Baseline(file, FOR, tuple(entries_of(findings(at_old), file, lambda _: old)))
    ran = Ran(FOR, {str(Path("net.py").absolute())}, {DATA}, still=findings(still))
    found = compare(known, findings(at_new), ran, lambda _: new)
    return [one.line for one in found.new], len(found.healed)


def test_each_step_finds_what_the_others_do_not() -> None:
    # Another line of the statement was edited; and the same line in another definition is another one.
    assert beside(CALL, CALL.replace("            1,", "            2,"), [7], [7]) == ([], 0)
    assert beside(CALL, CALL.replace("            1,", "            2,"), [7], [13]) == ([13], 1)
    # The definition decides which of two equals is the new one, whatever their order is.
    assert beside(CALL, CALL, [13], [7, 13]) == ([7], 0)
    assert beside(CALL, CALL.replace("torch.add(\n            x.data", "torch.add(x.data"), [13], [6, 11]) == ([6], 0)
    # Of a compound statement its head is compared.
    old, new = "def f(x):\n    if x.any():\n        return 1\n", "def f(x):\n    if (x.any()):\n        return 2\n"
    assert beside(old, new, [2], [2]) == ([], 0)
    # One finding is no more than one entry.
    twice = "def f(x):\n    y = x.data\n    y = x.data\n"
    assert beside(twice, twice.replace("    y = x.data\n", "", 1), [2, 3], [2]) == ([], 1)
    assert beside(twice, twice, [2], [2, 3]) == ([3], 0)
    # What a trial cleared is not gone, and where files do not parse their lines are compared.
    assert beside(twice, twice, [2, 3], [2], still=(3,)) == ([], 0)
    assert beside(twice + "def (", "\n" + twice + "def (", [2], [3]) == ([], 0)


def test_a_decorator_belongs_to_what_it_decorates() -> None:
    statements = Statements("class A:\n    @given(\n        1)\n    def f(self):\n        pass\n")
    assert [statements.at(line, 9).within for line in (1, 2, 3, 4, 5)] == ["A", "A.f", "A.f", "A.f", "A.f"]
    assert len({statements.at(line, 9).digest for line in (2, 3, 4)}) == 1


def test_a_file_that_is_renamed_or_a_class_that_moves_makes_no_news(project: Path) -> None:
    (project / "pkg/net.py").rename(project / "pkg/renamed.py")
    assert judged(project) == (0, [], "")
    text = (project / "pkg/renamed.py").read_text("utf-8")
    (project / "pkg/parts.py").write_text(text, "utf-8")
    (project / "pkg/renamed.py").write_text("from parts import Net\n", "utf-8")
    assert judged(project) == (0, [], ""), "to another file"
    (project / "pkg/net.py").write_text("from parts import Net\n", "utf-8")
    assert judged(project) == (0, [], ""), "its old file is still there, without it"
    # What was not judged may still be there: nothing moved from it.
    (project / "pkg/net.py").write_text(NET, "utf-8")
    assert judged(project, "pkg/parts.py", "--baseline", "baseline.json")[:2] == (1, [(6, BRANCH), (8, DATA)])


def test_what_is_gone_is_said_and_taken_out_on_demand(project: Path) -> None:
    edit(project, ("y = x.data", "y = x.detach()"), ("import torch\n", "import math\n\nimport torch\n"))
    before = (project / "baseline.json").read_bytes()
    (project / "baseline.json").chmod(0o640)
    assert "1 finding of baseline.json is gone (tensor-data-access in pkg/net.py)" in judged(project)[2]
    assert (project / "baseline.json").read_bytes() == before
    code, found, said = judged(project, "pkg", "--baseline", "baseline.json", "--prune-baseline")
    assert (code, found) == (0, [])
    assert said == "exportlint: 1 finding of baseline.json was gone and taken out: tensor-data-access in pkg/net.py\n"
    text = (project / "baseline.json").read_text("utf-8")
    assert [one["rule"] for one in json.loads(text)["findings"]] == [BRANCH]
    assert text.count("mask.any") == before.decode().count("mask.any"), "what stays is not written in another way"
    assert stat.S_IMODE((project / "baseline.json").stat().st_mode) == 0o640
    assert judged(project) == (0, [], "")


def test_nothing_is_called_gone_that_this_run_could_not_have_found(project: Path) -> None:
    edit(project, ("y = x.data", "y = x.detach()"))
    (project / "pkg/other.py").write_text("x = 1\n", "utf-8")
    (project / "pkg/broken.py").write_text("def f(:\n", "utf-8")
    base = ("--baseline", "baseline.json")
    assert judged(project, "pkg/other.py", *base) == (0, [], ""), "another file"
    assert judged(project, "pkg/net.py", "--select", BRANCH, *base) == (0, [], ""), "another rule"
    assert judged(project, "pkg/net.py", "--mode", "both", *base)[2] == "", "another mode"
    done = exportlint(project, "pkg/net.py", "--mode", "both", *base, "--prune-baseline")
    assert (done.returncode, done.stdout) == (2, "")
    assert "judge for the same, or write it anew" in done.stderr
    assert len(json.loads((project / "baseline.json").read_text("utf-8"))["findings"]) == 2
    (project / "pkg/net.py").write_text("def f(:\n", "utf-8")
    assert "gone" not in judged(project, "pkg/net.py", *base)[2], "a file that does not parse"
    (project / "pkg/net.py").unlink()
    assert "2 findings of baseline.json are gone" in judged(project, "pkg/other.py", *base)[2], "the file is gone"


def test_the_configuration_may_name_it(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.exportlint]\nbaseline = "baseline.json"\n', "utf-8")
    assert judged(project / "pkg", "net.py") == (0, [], "")
    (project / "empty.json").write_text((project / "baseline.json").read_text("utf-8"), "utf-8")
    data = json.loads((project / "empty.json").read_text("utf-8"))
    (project / "empty.json").write_text(json.dumps(data | {"findings": []}), "utf-8")
    assert judged(project, "pkg", "--baseline", "empty.json")[0] == 1, "the command line overrules it"
    edit(project, ("y = x.data", "y = x.data + 1"))
    assert exportlint(project, "pkg", "--write-baseline", "baseline.json").returncode == 0
    assert judged(project, "pkg") == (0, [], "")


def test_suppressed_findings_are_not_in_it(project: Path) -> None:
    edit(project, ("y = x.data", "y = x.data  # exportlint: ignore[tensor-data-access] measured"))
    assert exportlint(project, "pkg", "--write-baseline", "b.json").returncode == 0
    assert [one["rule"] for one in json.loads((project / "b.json").read_text("utf-8"))["findings"]] == [BRANCH]
    code, _, said = judged(project)
    assert code == 0
    assert "1 finding of baseline.json is gone (tensor-data-access" in said


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"version": 2, "findings": []}', "is of version 2, and this exportlint reads version 1"),
        ("[]", "has no version"),
        ('{"version": true, "findings": []}', "reads version 1"),
        ('{"version": 1, "findings": [', "is no JSON (Expecting value: line 1 column 29"),
        ("<<<<<<< HEAD\n{}", "is no JSON"),
        ('{"version": 1, "findings": [{"rule": 3}]}', "is damaged: "),
        ("\xff", "is no JSON"),
        (None, "does not exist: --write-baseline bad.json writes it"),
    ],
)
def test_a_baseline_that_cannot_be_read_is_one_sentence_and_2(project: Path, text: str | None, words: str) -> None:
    if text is not None:
        (project / "bad.json").write_text(text, "latin-1")
    done = exportlint(project, "pkg", "--baseline", "bad.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--write-baseline", "no/such/b.json"], "cannot be written: there is no folder"),
        (["--write-baseline", "pkg"], "cannot be written: it is a folder"),
        (["--write-baseline", "b.json", "--baseline", "baseline.json"], "give one of them"),
        (["--write-baseline", "b.json", "--diff-base", "HEAD"], "give one of them"),
        (["--write-baseline", "b.json", "--prune-baseline"], "nothing to prune"),
        (["--write-baseline", "b.json", "--add-suppressions", "so"], "give one of them"),
        (["--prune-baseline"], "--prune-baseline needs a baseline"),
        (["--baseline", "pkg"], "cannot be read: Is a directory"),
    ],
)
def test_what_cannot_be_done_is_one_sentence_and_nothing_is_written(
    project: Path, arguments: list[str], words: str
) -> None:
    before = snapshot_of(project)
    done = exportlint(project, "pkg", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert snapshot_of(project) == before


def test_a_baseline_in_a_folder_that_is_not_ours_is_refused_before_anything_is_judged(project: Path) -> None:
    """Root may write anywhere, so the system is asked to refuse: a read-only bind is not at hand, an append-only file
    system neither; /proc takes no new file from anybody."""
    done = exportlint(project, "pkg", "--write-baseline", "/proc/exportlint.json")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr


def snapshot_of(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and "cache" not in path.parts}


def test_a_trial_leaves_out_only_what_it_is_told_to(project: Path) -> None:
    """`exportlint trial` asks about one model: the project's baseline is not for it."""
    done = exportlint(project, "trial", "--help")
    assert "--baseline" in done.stdout
    assert "--fail-on" in done.stdout
    assert "--add-suppressions" not in done.stdout


@pytest.mark.slow
def test_a_failure_of_a_trial_is_accepted_too(project: Path) -> None:
    edit(
        project,
        ("        y = x.data\n", "        y = x\n"),
        (
            "        return y\n",
            "        return y\n\n\nmodel = Net()\nexample_args = (torch.ones(3), torch.ones(3) > 0)\n",
        ),
    )
    (project / "pyproject.toml").write_text('[tool.exportlint]\nbaseline = "baseline.json"\n', "utf-8")
    code, found, _ = judged(project, "trial", "pkg/net.py", "--quick")
    assert code == 1
    assert (6, BRANCH) in found
    assert exportlint(project, "trial", "pkg/net.py", "--quick", "--write-baseline", "t.json").returncode == 0
    assert judged(project, "trial", "pkg/net.py", "--quick", "--baseline", "t.json") == (0, [], "")
    code, found, _ = judged(project, "check", "pkg", "--trial", "--quick")
    assert (6, BRANCH) not in found, "check takes the configured one"


def test_it_may_hold_names_that_are_no_text(tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.py")
    (tmp_path / name).write_text(NET, "utf-8")
    (tmp_path / "naïve.py").write_text(NET.replace("y = x.data", "y = x.data + 'é'"), "utf-8")
    assert exportlint(tmp_path, ".", "--write-baseline", "b.json").returncode == 0
    done = exportlint(tmp_path, ".", "--baseline", "b.json")
    assert (done.returncode, done.stderr) == (0, "")


def test_two_runs_at_once_leave_one_whole_file(project: Path) -> None:
    command = ["python", "-m", "exportlint", "pkg", "--write-baseline", "b.json"]
    running = [subprocess.Popen(command, cwd=project, stdout=-3, stderr=-3) for _ in range(2)]
    assert [one.wait() for one in running] == [0, 0]
    assert len(json.loads((project / "b.json").read_text("utf-8"))["findings"]) == 2
    assert sorted(path.name for path in project.iterdir()) == ["b.json", "baseline.json", "pkg"]
