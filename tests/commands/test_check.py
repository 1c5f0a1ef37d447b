"""`exportlint` as people call it: a process, its output, its exit code."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot
from processes import EXPORTLINT, exportlint

from exportlint import __version__
from exportlint.commands.reporting import exit_code
from exportlint.finding import Finding, Problem, Severity
from exportlint.output.report import Report

if TYPE_CHECKING:
    from pathlib import Path


CLEAN = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n"
BAD = CLEAN.replace("x * 2", "x.data * 2")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "bad.py").write_text(BAD, "utf-8")
    (tmp_path / "clean.py").write_text(CLEAN, "utf-8")
    return tmp_path


def found(done: subprocess.CompletedProcess[str]) -> list[tuple[str, int, str]]:
    return [(f["path"], f["line"], f["rule"]) for f in json.loads(done.stdout)["findings"]]


DATA = ("bad.py", 6, "tensor-data-access")


def test_clean_is_0_and_findings_are_1(project: Path) -> None:
    clean = exportlint(project, "clean.py")
    assert (clean.returncode, clean.stderr) == (0, "")
    assert clean.stdout.startswith("Found nothing in 1 file (torch 2.")
    bad = exportlint(project, "bad.py")
    assert bad.returncode == 1
    assert "error[tensor-data-access]" in bad.stdout
    assert " --> bad.py:6:16\n" in bad.stdout
    assert "6 |         return x.data * 2\n  |                ^^^^^^\n" in bad.stdout


def test_check_is_the_command_that_needs_no_name(project: Path) -> None:
    long, short, default = exportlint(project, "check", "."), exportlint(project, "."), exportlint(project, "check")
    assert long.stdout == short.stdout == default.stdout != ""
    assert exportlint(project, "--select", "unused-suppression", ".").returncode == 0


def test_exit_zero_and_machine_formats(project: Path) -> None:
    done = exportlint(project, ".", "--output-format", "json", "--exit-zero")
    assert done.returncode == 0
    assert found(done) == [DATA]
    concise = exportlint(project, ".", "--output-format", "concise", "--statistics").stdout.splitlines()
    assert concise[0].startswith("bad.py:6:16: error[tensor-data-access] ")
    assert concise[-1] == "     1  tensor-data-access"


def test_notes_alone_are_clean() -> None:
    severities = {Severity.NOTE: 0, Severity.WARNING: 1, Severity.ERROR: 1}
    for severity, code in severities.items():
        report = Report(None, "strict", 1, (Finding("r", "m.py", 1, 1, 1, 2, severity, "…"),))
        assert exit_code(report, exit_zero=False) == code
        assert exit_code(report, exit_zero=True) == 0
        assert exit_code(replace(report, problems=(Problem("n.py", None, "…"),)), exit_zero=True) == 2


def test_long_work_shows_a_sign_of_life_on_terminals_only(project: Path) -> None:
    """`script` gives the program a terminal; a pipe stays silent."""
    code = "import time; from exportlint.workflow.progress import spinner\nwith spinner('working'): time.sleep({})"
    shown = {}
    for seconds in (0, 1.5):
        command = [sys.executable, "-c", code.format(seconds)]
        piped = subprocess.run(command, cwd=project, capture_output=True, check=True)
        assert piped.stderr == b""
        terminal = subprocess.run(
            ["script", "-qec", shlex.join(command), "/dev/null"],
            env={**os.environ, "TERM": "xterm"},
            capture_output=True,
            check=True,
        )
        shown[seconds] = b"working" in terminal.stdout
    assert shown == {0: False, 1.5: True}


def test_stdin_has_a_name(project: Path) -> None:
    done = exportlint(project, "-", "--stdin-filename", "bad.py", "--output-format", "json", stdin=BAD.encode())
    assert (done.returncode, found(done)) == (1, [DATA])
    assert found(exportlint(project, "-", "--output-format", "json", stdin=BAD.encode())) == [("<stdin>", *DATA[1:])]
    silenced = BAD.replace("* 2", "* 2  # exportlint: ignore[tensor-data-access]").encode()
    assert exportlint(project, "-", stdin=silenced).returncode == 0


def test_a_file_that_cannot_be_checked_is_2_and_the_others_are_checked(project: Path) -> None:
    (project / "broken.py").write_text("def f(:\n", "utf-8")
    (project / "latin.py").write_bytes(b"x = '\xe9'\n")
    (project / "gone.py").symlink_to("nowhere")
    done = exportlint(project, ".", "nope", "--output-format", "json", "--exit-zero")
    assert done.returncode == 2
    assert found(done) == [DATA]
    lines = done.stderr.splitlines()
    assert len(lines) == 4, lines
    assert all(line.startswith("exportlint: ") for line in lines)
    assert any(line.startswith("exportlint: broken.py:1: ") for line in lines)
    assert any("latin.py" in line and "is not UTF-8" in line for line in lines)


def test_suppressed_findings_are_counted_and_shown_on_demand(project: Path) -> None:
    source = BAD.replace("* 2", "* 2  # exportlint: ignore[tensor-data-access] measured")
    (project / "bad.py").write_text(source, "utf-8")
    hidden = exportlint(project, "bad.py", "--output-format", "json")
    assert (hidden.returncode, found(hidden)) == (0, [])
    assert json.loads(hidden.stdout)["summary"]["suppressed"] == 1
    shown = exportlint(project, "bad.py", "--output-format", "json", "--show-suppressed")
    assert (shown.returncode, found(shown)) == (0, [DATA])
    assert "error[tensor-data-access] (suppressed) " in exportlint(project, "bad.py", "--show-suppressed").stdout


def test_an_unused_suppression_is_a_warning(project: Path) -> None:
    (project / "clean.py").write_text(CLEAN.replace("x * 2", "x  # exportlint: ignore[tensor-data-access]"), "utf-8")
    done = exportlint(project, "clean.py", "--output-format", "json")
    assert (done.returncode, found(done)) == (1, [("clean.py", 6, "unused-suppression")])
    assert exportlint(project, "clean.py", "--ignore", "unused-suppression").returncode == 0
    assert exportlint(project, "clean.py", "--ignore", "tensor-data-access").returncode == 0, "a rule that did not run"


def test_per_file_ignores_are_relative_to_the_configuration(project: Path) -> None:
    table = "[tool.exportlint.per-file-ignores]\n'legacy/*.py' = ['tensor-data-access']\n"
    (project / "pyproject.toml").write_text(table, "utf-8")
    (project / "legacy").mkdir()
    (project / "bad.py").rename(project / "legacy/bad.py")
    assert exportlint(project, ".").returncode == 0
    assert exportlint(project / "legacy", ".").returncode == 0
    assert "1 suppressed" in exportlint(project, ".").stdout


def test_an_output_file_is_written_whole_and_leaves_nothing_beside_it(project: Path) -> None:
    out = project / "report.json"
    done = exportlint(project, ".", "--output-format", "json", "--output-file", "report.json")
    assert (done.returncode, done.stdout) == (1, "")
    assert json.loads(out.read_text("utf-8"))["summary"]["files"] == 2
    assert sorted(p.name for p in project.iterdir()) == ["bad.py", "clean.py", "report.json"]
    assert out.stat().st_mode & 0o777 == (project / "bad.py").stat().st_mode & 0o777
    nowhere = exportlint(project, ".", "--output-file", "no/such/folder.txt")
    assert nowhere.returncode == 2
    assert "no/such/folder.txt cannot be written: " in nowhere.stderr


def test_an_unmeasured_torch_version_is_said_once(project: Path) -> None:
    done = exportlint(project, "clean.py", "--torch", "99.1", "--output-format", "json")
    assert done.returncode == 0
    assert done.stderr.count("torch 99.1 was not measured; the measurements of ") == 1
    assert json.loads(done.stdout)["torch"] in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["explian", "x"], "there is no command, file or folder `explian`; the nearest is `explain`"),
        (
            ["--select", "tensor-data-acess", "."],
            "there is no rule `tensor-data-acess`; the nearest is `tensor-data-access`",
        ),
        (["--mode", "stict", "."], "--mode: there is no `stict`; the nearest is `strict`"),
        (["--output-format", "jsn", "."], "--output-format: there is no `jsn`; the nearest is `json`"),
        (["--torch", "latest", "."], "torch version `latest`: write it as in 2.13"),
        (["--outptu-file", "x", "."], "--outptu-file"),
        (["-", "bad.py"], "`-` reads one source from stdin"),
        (["--timeout", "2", "."], "--timeout belongs to trials: add --trial"),
        (["explain", "kubernetes ingress controller"], "`kubernetes ingress controller`"),
        (["trial"], "there is no target: name a file"),
        (["trial", "--model", "m.py:make"], "--model needs --args beside it"),
        (["trial", "--target", "nte"], "pyproject.toml names no target `nte`"),
        (["trial", "nope.py"], "nope.py"),
        (["truth", "no-such-rule"], "no-such-rule"),
    ],
)
def test_bad_input_is_one_sentence_and_2(project: Path, arguments: list[str], sentence: str) -> None:
    done = exportlint(project, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stderr.startswith("exportlint: error: ")
    assert sentence in done.stderr


def test_a_folder_without_python_is_said(tmp_path: Path) -> None:
    done = exportlint(tmp_path, ".")
    assert (done.returncode, done.stderr) == (0, snapshot("exportlint: there is no Python file in .\n"))


def test_version_and_help(project: Path) -> None:
    assert exportlint(project, "--version").stdout == f"exportlint {__version__}\n"
    for arguments in (
        ["--help"],
        ["check", "-h"],
        ["trial", "-h"],
        ["explain", "-h"],
        ["rules", "-h"],
        ["truth", "-h"],
    ):
        done = exportlint(project, *arguments)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith("Usage: exportlint")


def test_a_reader_that_goes_away_is_no_error(project: Path) -> None:
    shell = f"'{sys.executable}' -m exportlint . --output-format json | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", shell], cwd=project, capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_an_internal_error_is_one_sentence(project: Path) -> None:
    """A rule package that cannot be imported stands for every bug."""
    package = project / "site/broken_rules"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('two\\nlines')\n", "utf-8")
    info = project / "site/broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[exportlint.rules]\nbroken = broken_rules\n", "utf-8")
    done = exportlint(project, "clean.py", PYTHONPATH=str(project / "site"))
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert "RuntimeError: two lines" in done.stderr


def listen_to_ctrl_c() -> None:
    """A shell starts background jobs deaf to it, and that is inherited."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_ctrl_c_ends_it_with_one_word(project: Path) -> None:
    command = [*EXPORTLINT, "-"]
    pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=project, preexec_fn=listen_to_ctrl_c, **pipes) as process:  # noqa: PLW1509 (no threads)
        assert process.stdin
        assert process.stderr
        process.stdin.write(b"#" * 200_000)  # more than a pipe holds: once it is written, the program is reading it
        process.stdin.flush()
        for _ in range(20):  # a signal that falls between two reads is only noticed at the next one
            process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2)
                break
        assert process.returncode == 130
        assert process.stderr.read().decode().split() == ["exportlint:", "stopped"]


def test_colour_is_for_terminals_only(project: Path) -> None:
    """`script` gives the program a terminal."""
    command = f"'{sys.executable}' -m exportlint bad.py"
    for environment, colourful in (({}, True), ({"NO_COLOR": "1"}, False)):
        done = subprocess.run(
            ["script", "-qec", command, "/dev/null"],
            cwd=project,
            capture_output=True,
            env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, "TERM": "xterm", **environment},
            check=False,
        )
        assert (b"\x1b[1;31merror" in done.stdout) is colourful, done.stdout
    assert "\x1b" not in exportlint(project, "bad.py").stdout


def test_output_survives_a_terminal_that_cannot_show_it(project: Path) -> None:
    (project / "名.py").write_text(BAD, "utf-8")
    done = exportlint(project, "名.py", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.returncode == 1
    assert "\\u540d.py:6:16" in done.stdout


def test_rules_are_listed(project: Path) -> None:
    assert "tensor-data-access" in exportlint(project, "rules").stdout
    listed = json.loads(exportlint(project, "rules", "--output-format", "json").stdout)
    keys = {"rule", "summary", "page", "exportdb", "graph_breaks", "docs", "measured", "compiled", "lowered"}
    assert keys == set(listed[0])
    by_name = {one["rule"]: one for one in listed}
    assert by_name["data-dependent-branch"]["compiled"]["2.13.0"].startswith("breaks ")


@pytest.mark.parametrize(
    ("word", "says"),
    [
        ("tensor-data-access", "All measured ways to fail"),
        ("tensor_data_access", "class BadDataWrite"),
        ("cond_predicate", "ExportDB case cond_predicate"),
        ("cond-predicate", "#cond-predicate"),
        ("torch.cond", "cond_operands"),
        ("gb0170", "Graph break GB0170: Data-dependent branching"),
        ("data-dependent-branch", "torch.compile: breaks at line "),
        ("gb0124", "Breaks ("),
        ("gb0124", "One graph ("),
    ],
)
def test_explain_knows_rules_cases_tags_and_graph_breaks(project: Path, word: str, says: str) -> None:
    done = exportlint(project, "explain", word)
    assert (done.returncode, done.stderr) == (0, "")
    assert says in done.stdout


def test_without_rules_nothing_is_called_clean(tmp_path: Path) -> None:
    file = tmp_path / "m.py"
    file.write_text("x = 1\n", "utf-8")
    code = (
        "import importlib.metadata as m\n"
        "m.entry_points = lambda **_: []\n"
        "from exportlint.cli import main\n"
        f"main(['check', {str(file)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no rules are installed" in done.stderr
    assert "Traceback" not in done.stderr


def test_rules_that_are_announced_and_not_installed_are_no_bug(tmp_path: Path) -> None:
    """As in a checkout with an old `egg-info`, run by a Python that it is not installed for."""
    file = tmp_path / "m.py"
    file.write_text("x = 1\n", "utf-8")
    code = (
        "import importlib.metadata as m\n"
        "m.entry_points = lambda **_: [m.EntryPoint('gone', 'rules_that_are_gone', 'exportlint.rules')]\n"
        "from exportlint.cli import main\n"
        f"main(['check', {str(file)!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "announced and not installed" in done.stderr
    assert "bug" not in done.stderr
