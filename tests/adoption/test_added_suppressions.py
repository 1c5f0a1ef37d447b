"""--add-suppressions: each finding gets a comment, and the code says what it said."""

from __future__ import annotations

import ast
import json
import stat
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

from exportlint.adoption.added_suppressions import add_suppressions
from exportlint.files import SourceFile
from exportlint.finding import Finding, Severity
from exportlint.static.suppressions import Insertion

if TYPE_CHECKING:
    from pathlib import Path

DATA = "tensor-data-access"
SOURCE = '''\
import torch


class Net(torch.nn.Module):
    def forward(self, x, mask):
        y = x.data  # shows where it is
        if (
            mask.any()
            and True
        ):
            y = y + 1
        z = y.data + \\
            y.data
        text = f"""
{x.data}
""" + str(x.data)
        w = x.data; v = x.data  # noqa: E702
        if x.sum() > 0: return x.data
        print(float(x.data.sum()))  # exportlint: ignore[tensor-data-access] seen before
        return z, text, w, v'''


def found(folder: Path, *arguments: str) -> list[tuple[int, str]]:
    done = exportlint(folder, *(arguments or (".",)), "--output-format", "json")
    return [(one["line"], one["rule"]) for one in json.loads(done.stdout)["findings"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["unix", "windows", "old mac"])
def test_every_finding_gets_one_and_the_code_stays(tmp_path: Path, end: str) -> None:
    path = tmp_path / "net.py"
    path.write_bytes(SOURCE.replace("\n", end).encode())
    path.chmod(0o754)
    before = found(tmp_path)
    assert len(before) >= 9
    assert len({rule for _, rule in before}) >= 3
    done = exportlint(tmp_path, ".", "--add-suppressions", "accepted on adoption")
    assert done.returncode == 0, done.stdout
    assert f"exportlint: new comments in 1 file silence {len(before)} of the findings\n" == done.stderr
    assert f"{len(before) + 1} suppressed" in done.stdout
    data = path.read_bytes()
    text = data.decode()
    assert found(tmp_path) == []
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert ast.dump(ast.parse(data)) == ast.dump(ast.parse(SOURCE.replace("\n", end).encode()))
    plain = text.replace(end, "\n")
    assert plain.count("\n") == SOURCE.count("\n")
    assert end == "\n" or text.count(end) == SOURCE.count("\n")
    assert not plain.endswith("\n"), "as it was"
    for old, new in zip(SOURCE.split("\n"), plain.split("\n"), strict=True):
        assert new == old or new.startswith(old) or "seen before" in new
    assert "y = x.data  # shows where it is  # exportlint: ignore[tensor-data-access] accepted on adoption\n" in plain
    assert "tensor-data-access, tensor-data-access" not in plain, "once for two of a statement"
    assert plain.count("# exportlint: ignore[") == len(
        {tuple(line.split("#")[:1]) for line in plain.split("\n") if "exportlint" in line}
    )
    again = exportlint(tmp_path, ".", "--add-suppressions", "once more")
    assert (again.returncode, path.read_bytes()) == (0, data), "once is enough"
    assert again.stderr == "exportlint: new comments in 0 files silence 0 of the findings\n"


def test_several_rules_of_a_statement_share_a_comment(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(SOURCE, "utf-8")
    both = {rule for line, rule in found(tmp_path) if line == 18}
    assert len(both) == 2
    exportlint(tmp_path, ".", "--add-suppressions", "so")
    (line,) = [one for one in (tmp_path / "net.py").read_text("utf-8").split("\n") if "if x.sum() > 0" in one]
    assert line.count("exportlint:") == 1
    assert all(rule in line for rule in both)


def test_what_is_left_out_gets_none(tmp_path: Path) -> None:
    path = tmp_path / "net.py"
    path.write_text(SOURCE, "utf-8")
    exportlint(tmp_path, ".", "--write-baseline", "b.json")
    done = exportlint(tmp_path, ".", "--baseline", "b.json", "--add-suppressions", "new")
    assert (done.returncode, path.read_text("utf-8")) == (0, SOURCE)
    path.write_text(
        SOURCE + "\n\n\nclass More(torch.nn.Module):\n    def forward(self, x):\n        return x.data * 7\n", "utf-8"
    )
    exportlint(tmp_path, ".", "--baseline", "b.json", "--add-suppressions", "new")
    added = [line for line in path.read_text("utf-8").split("\n") if line.endswith("] new")]
    assert added == ["        return x.data * 7  # exportlint: ignore[tensor-data-access] new"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8-sig"])
def test_the_encoding_stays_and_a_reason_that_does_not_fit_it_leaves_the_file(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "net.py"
    head = "# -*- coding: latin-1 -*-\nNAME = 'é'\n" if encoding == "latin-1" else "NAME = 'é'\n"
    data = (head + SOURCE).encode(encoding)
    path.write_bytes(data)
    done = exportlint(tmp_path, "net.py", "--add-suppressions", "→ later")
    if encoding == "latin-1":
        assert path.read_bytes() == data
        assert "net.py: gets no comments, and is left as it is: net.py is iso-8859-1" in done.stderr
        assert done.returncode == 1, "what was found still counts"
    assert exportlint(tmp_path, "net.py", "--add-suppressions", "später").returncode == 0
    assert "NAME = 'é'" in path.read_bytes().decode(encoding)
    assert path.read_bytes()[:3] == data[:3]


def test_a_comment_that_would_silence_less_is_not_written(tmp_path: Path) -> None:
    """Beside a comment of ours a `noqa` of the same line is not read."""
    path = tmp_path / "net.py"
    text = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        if x.data.sum() > 0:  # noqa: tensor-data-access\n            return x\n        return -x\n"
    path.write_text(text, "utf-8")
    assert found(tmp_path) == [(6, "data-dependent-branch")]
    done = exportlint(tmp_path, ".", "--add-suppressions", "so")
    assert (done.returncode, path.read_text("utf-8")) == (1, text)
    assert "what silences tensor-data-access on line 6 would do so no longer" in done.stderr


def test_a_comment_that_silences_nothing_is_not_silenced(tmp_path: Path) -> None:
    text = "x = 1  # exportlint: ignore[tensor-data-access] why\n"
    (tmp_path / "net.py").write_text(text, "utf-8")
    assert exportlint(tmp_path, ".", "--add-suppressions", "so").returncode == 1
    assert (tmp_path / "net.py").read_text("utf-8") == text


@pytest.mark.parametrize(
    "wrong", [" + 1  # exportlint: ignore[tensor-data-access] so", "(  # exportlint: ignore[tensor-data-access] so"]
)
def test_the_code_is_compared_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    path = tmp_path / "net.py"
    path.write_text("y = x.data\n", "utf-8")
    monkeypatch.setattr("exportlint.adoption.added_suppressions.silencing", lambda *_: Insertion(1, 11, wrong))
    finding = Finding(DATA, str(path), 1, 5, 1, 11, Severity.ERROR, "…")
    done = add_suppressions([finding], [SourceFile(path, str(path))], "so")
    assert (done.silenced, done.files, path.read_text("utf-8")) == (0, (), "y = x.data\n")
    assert len(done.problems) == 1


def test_a_place_without_room_for_a_comment_is_said(tmp_path: Path) -> None:
    """A finding that points where no code is: a file that a trial read before it was edited, say."""
    path = tmp_path / "net.py"
    path.write_text("x = 1\n", "utf-8")
    nowhere = Finding(DATA, str(path), 9, 1, 9, 2, Severity.ERROR, "…")
    elsewhere = Finding(DATA, "site-packages/other.py", 1, 1, 1, 2, Severity.ERROR, "…")
    done = add_suppressions([nowhere, elsewhere], [SourceFile(path, str(path))], "so")
    assert (done.silenced, done.files, path.read_text("utf-8")) == (0, (), "x = 1\n")
    assert [one.message for one in done.problems] == [
        f"no comment fits at the statement of this {DATA}",
        "holds findings, and is no file that was named: it is left as it is",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([".", "--add-suppressions", " "], "say in one line why"),
        ([".", "--add-suppressions", "one\ntwo"], "say in one line why"),
        (["-", "--add-suppressions", "so"], "what `-` reads is none"),
    ],
)
def test_what_cannot_be_written_is_one_sentence(tmp_path: Path, arguments: list[str], words: str) -> None:
    (tmp_path / "net.py").write_text(SOURCE, "utf-8")
    done = exportlint(tmp_path, *arguments, stdin=SOURCE.encode())
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr
    assert (tmp_path / "net.py").read_text("utf-8") == SOURCE


def test_a_file_that_does_not_parse_is_left_and_the_others_get_theirs(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("def f(:\n    x.data\n", "utf-8")
    (tmp_path / "net.py").write_text(SOURCE, "utf-8")
    done = exportlint(tmp_path, ".", "--add-suppressions", "so")
    assert done.returncode == 2
    assert (tmp_path / "broken.py").read_text("utf-8") == "def f(:\n    x.data\n"
    assert found(tmp_path, "net.py") == []
