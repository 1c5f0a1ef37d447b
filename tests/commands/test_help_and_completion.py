"""What `--help` shows, and what a shell completes: bash on a terminal is the judge."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from processes import exportlint
from terminal import Terminal

from exportlint.cli import COMMANDS, _cli

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_groups_and_every_default(name: str) -> None:
    done = exportlint(None, name, "--help", COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.splitlines() if len(line) > 80] == []
    assert f"\nExamples:\n  {'exportlint ' + name if name != 'mcp' else ''}" in done.stdout
    assert "(default" not in done.stdout
    # What is in no group is for all commands.
    rest = done.stdout.partition("Other options:")[2]
    assert re.findall(r"(?<!\S)--[\w-]+", rest) == ["--help"]


@pytest.mark.parametrize("name", COMMANDS)
def test_an_option_that_takes_a_value_says_what_holds_without_it(name: str) -> None:
    """But for those that name something, and do nothing where they are not given."""
    command = _cli.get_command(click.Context(_cli), name)
    assert command
    silent = {"--stdin-filename", "--model", "--args", "--kwargs", "--dynamic-shapes", "--other-args", "--ignore",
              "--dynamic", "--decompose", "--read-with", "--save-repro", "--artifacts", "--show", "--patch",
              "--baseline", "--write-baseline", "--diff-base", "--add-suppressions", "--from", "--to"}  # fmt: skip
    options = [one for one in command.params if isinstance(one, click.Option) and not one.is_flag]
    told = [one for one in options if isinstance(one.show_default, str) or one.default not in (None, ())]
    plain = {one.opts[0] for one in options if one not in told or repr(one.default).startswith("Sentinel")}
    assert {name for name in plain if not _is_told(command, name)} <= silent


def _is_told(command: click.Command, name: str) -> bool:
    context = click.Context(command, show_default=True)
    option = next(one for one in command.params if name in one.opts)
    record = option.get_help_record(context)
    return record is not None and "default: " in record[1]


def test_the_commands_are_told_in_groups_by_a_line_each(tmp_path: Path) -> None:
    done = exportlint(tmp_path, "--help", COLUMNS="80")
    assert "…" not in done.stdout.partition("To begin:")[2].replace("trial, fix …", "")
    assert "..." not in done.stdout.partition("To begin:")[2]
    for name in COMMANDS:
        assert re.search(rf"^  {name} +\S.*\.$|^  {name} +\S.*\)\.$", done.stdout, re.MULTILINE), name


@pytest.fixture
def bash(tmp_path: Path) -> Terminal:
    """With `exportlint` on the PATH, and its completion loaded."""
    found = shutil.which("bash")
    version = subprocess.run(["bash", "--version"], capture_output=True, text=True, check=False).stdout if found else ""
    if not (match := re.search(r"version (\d+)\.(\d+)", version)) or (int(match[1]), int(match[2])) < (4, 4):
        pytest.skip("click completes for bash 4.4 and newer")
    program = tmp_path / "bin" / "exportlint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m exportlint "$@"\n', "utf-8")
    program.chmod(0o755)
    here = tmp_path / "here"
    here.mkdir()
    (here / "model_of_mine.py").write_text("", "utf-8")
    (here / "pyproject.toml").write_text('[tool.exportlint.targets.encoder]\nmodel = "m:b"\nargs = "m:i"\n', "utf-8")
    terminal = Terminal(["bash", "--norc", "--noprofile", "-i"], here, PS1="ready> ", INPUTRC="/dev/null")
    terminal.until("ready> ")
    terminal.send(f'PATH={program.parent}:$PATH; bind "set enable-bracketed-paste off"\n')
    terminal.send('eval "$(_EXPORTLINT_COMPLETE=bash_source exportlint)"; echo loaded-$?\n')
    terminal.until("loaded-0")
    terminal.until("ready> ")
    return terminal


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("exportlint doc", "tor "),
        ("exportlint model_", "of_mine.py"),
        ("exportlint trial model_", "of_mine.py"),
        ("exportlint trial --dynamic-sh", "apes "),
        ("exportlint trial --target enc", "oder "),
        ("exportlint trial --lower tvm,openv", "ino "),
        ("exportlint check --output-format json-", "lines "),
        ("exportlint check --ignore data-dependent-b", "ranch "),
    ],
)
def test_a_real_bash_completes(bash: Terminal, typed: str, completed: str) -> None:
    with bash:
        bash.send(f"{typed}\t")
        bash.until(f"{typed}{completed}")
