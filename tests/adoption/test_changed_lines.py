"""--diff-base, on repositories of git's own making."""

from __future__ import annotations

import json
import os
import random
import subprocess
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator
from processes import exportlint
from sources import ROOT

from exportlint.adoption.changed_lines import changed_since

if TYPE_CHECKING:
    from pathlib import Path

NET = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x, mask):
        y = x.data
        z = y + 1
        return z.data
"""
IDENTITY = {
    "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A", "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}  # fmt: skip


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env={**os.environ, **IDENTITY}, capture_output=True, text=True, check=True
    )
    return done.stdout


def commit(folder: Path, message: str = "more") -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """On the branch `work`, which left `main` at its first commit."""
    git(tmp_path, "init", "-qb", "main")
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg/net.py").write_text(NET, "utf-8")
    (tmp_path / ".gitignore").write_text("ignored.py\n", "utf-8")
    commit(tmp_path, "first")
    git(tmp_path, "checkout", "-qb", "work")
    return tmp_path


def judged(folder: Path, *arguments: str, base: str = "main") -> list[tuple[str, int]]:
    done = exportlint(folder, *(arguments or (".",)), "--diff-base", base, "--output-format", "json")
    assert done.stderr == ""
    found = [(one["path"], one["line"]) for one in json.loads(done.stdout)["findings"]]
    assert done.returncode == bool(found)
    return found


def edit(project: Path, old: str, new: str, path: str = "pkg/net.py") -> None:
    text = (project / path).read_text("utf-8")
    assert old in text
    (project / path).write_text(text.replace(old, new), "utf-8")


def test_what_did_not_change_is_counted_only(project: Path) -> None:
    done = exportlint(project, ".", "--diff-base", "main")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("; 2 on unchanged lines\n")
    report = json.loads(exportlint(project, ".", "--diff-base", "main", "--output-format", "json").stdout)
    assert (report["findings"], report["summary"]["unchanged"]) == ([], 2)
    schema = json.loads((ROOT / "exportlint/output/schema-1.json").read_text("utf-8"))
    assert list(Draft202012Validator(schema).iter_errors(report)) == []


@pytest.mark.parametrize("how", ["unstaged", "staged", "committed", "staged, then edited above"])
def test_a_changed_line_counts_however_far_it_has_come(project: Path, how: str) -> None:
    edit(project, "        return z.data", "        return z.data + 1")
    if how != "unstaged":
        git(project, "add", "-A")
    if how == "committed":
        git(project, "commit", "-qm", "second")
    if "above" in how:
        edit(project, "import torch\n", "import torch\n\nSIZE = 3\n")
    assert judged(project) == [("pkg/net.py", 10 if "above" in how else 8)]


def test_files_that_git_does_not_know_are_new(project: Path) -> None:
    for name in ("new.py", "ignored.py", "staged.py", "intended.py", "naïve name.py", 'a "quote".py'):
        (project / "pkg" / name).write_text(NET, "utf-8")
    git(project, "add", "pkg/staged.py", "pkg/naïve name.py", 'pkg/a "quote".py')
    git(project, "add", "-N", "pkg/intended.py")
    names = ('a "quote".py', "intended.py", "naïve name.py", "new.py", "staged.py")
    assert judged(project) == [(f"pkg/{name}", line) for name in names for line in (6, 8)]
    assert judged(project, "pkg/ignored.py") == [("pkg/ignored.py", 6), ("pkg/ignored.py", 8)]
    git(project, "commit", "-qam", "some of them")
    assert judged(project) == [(f"pkg/{name}", line) for name in names for line in (6, 8)]


def test_names_with_odd_characters_are_compared_by_lines(project: Path) -> None:
    names = ('a "quote".py', "naïve name.py", "plain name.py", "tab\tname.py")
    for name in names:
        (project / name).write_text(NET, "utf-8")
    commit(project)
    for name in names:
        edit(project, "        return z.data", "        return z.data + 1", name)
    assert judged(project, base="HEAD") == [(name, 8) for name in names]


@pytest.mark.parametrize("committed", [False, True])
def test_a_renamed_file_keeps_what_it_had(project: Path, committed: bool) -> None:
    git(project, "mv", "pkg/net.py", "pkg/renamed.py")
    edit(project, "        return z.data", "        return z.data + 1", "pkg/renamed.py")
    if committed:
        commit(project)
    assert judged(project) == [("pkg/renamed.py", 8)]


def test_it_is_the_merge_base_as_in_git_diff(project: Path) -> None:
    """What others did on main meanwhile is not ours."""
    git(project, "checkout", "-q", "main")
    edit(project, "y = x.data", "y = x.data * 3")
    commit(project)
    git(project, "checkout", "-q", "work")
    edit(project, "        return z.data", "        return z.data + 1")
    commit(project)
    assert judged(project) == [("pkg/net.py", 8)]
    git(project, "merge", "-q", "main", "-m", "merged")
    assert judged(project) == [("pkg/net.py", 8)]
    assert judged(project, base="main~1") == [("pkg/net.py", 6), ("pkg/net.py", 8)]


def test_it_works_from_a_folder_below_and_from_outside(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    edit(project, "        return z.data", "        return z.data + 1")
    assert judged(project / "pkg") == [("net.py", 8)]
    outside = tmp_path_factory.mktemp("outside")
    (path, line), *others = judged(outside, str(project / "pkg"))
    assert (path.endswith("pkg/net.py"), line, others) == (True, 8, [])
    link = outside / "link"
    link.symlink_to(project)
    assert [line for _, line in judged(outside, "link/pkg")] == [8]
    (outside / "own").mkdir()
    git(outside / "own", "init", "-q")


def test_settings_of_the_user_change_nothing(project: Path) -> None:
    edit(project, "        return z.data", "        return z.data + 1")
    edit(project, "import torch\n", "import torch  # two hunks, and between them what did not change\n")
    for name, value in {
        "diff.noprefix": "true", "diff.mnemonicPrefix": "true", "color.ui": "always", "diff.external": "/bin/false",
        "diff.context": "20", "diff.interHunkContext": "20", "diff.renames": "false", "core.quotePath": "false",
        "diff.relative": "true",
    }.items():  # fmt: skip
        git(project, "config", name, value)
    (project / ".gitattributes").write_text("*.py -diff\n", "utf-8")
    assert judged(project) == judged(project, "pkg") == [("pkg/net.py", 8)]
    git(project, "mv", "pkg/net.py", "pkg/renamed.py")
    assert judged(project / "pkg") == [("renamed.py", 8)]


def test_lines_that_look_like_a_diff_are_text(project: Path) -> None:
    """Removed, `-- a` is the line `--- a` of the diff, and added `++ b/x` is `+++ b/x`."""
    edit(project, "import torch\n", 'import torch\n\nTEXT = """\n-- a/pkg/net.py\n++ b/other.py\n@@ -1 +1,99 @@\n"""\n')
    commit(project)
    edit(project, "-- a/pkg/net.py\n++ b/other.py\n@@ -1 +1,99 @@\n", "++ b/nothing.py\n@@ -0,0 +1,99 @@\r\n")
    assert judged(project, base="HEAD") == []
    edit(project, "        return z.data", "        return z.data + 1")
    assert judged(project, base="HEAD") == [("pkg/net.py", 13)]


def test_a_finding_counts_where_a_line_of_its_span_or_its_trail_changed(project: Path) -> None:
    long = NET.replace("z.data\n", "(\n            z\n            .data\n        )\n")
    branch = "import torch\n\n\nclass B(torch.nn.Module):\n    def forward(self, x):\n        m = x.mean()\n\n        if m > 0:\n            return x\n        return -x\n"
    (project / "pkg/net.py").write_text(long, "utf-8")
    (project / "pkg/branch.py").write_text(branch, "utf-8")
    commit(project)
    assert judged(project, base="HEAD") == []
    edit(project, "            .data\n", "            .data  # why\n")
    assert judged(project, base="HEAD") == [("pkg/net.py", 9)], "its second line"
    edit(project, "m = x.mean()", "m = x.amax()", "pkg/branch.py")
    assert judged(project, "pkg/branch.py", base="HEAD") == [("pkg/branch.py", 8)], "where its value comes from"


def test_what_is_taken_away_inside_of_a_finding_changes_it(project: Path) -> None:
    text = NET.replace("z.data\n", "(\n            z\n\n            .data\n        )\n")
    (project / "pkg/net.py").write_text(text, "utf-8")
    commit(project)
    edit(project, "            z\n\n", "            z\n")
    assert judged(project, base="HEAD") == [("pkg/net.py", 9)]
    git(project, "checkout", "-q", "pkg/net.py")
    edit(project, "import torch\n\n\n", "import torch\n\n")
    assert judged(project, base="HEAD") == [], "the lines moved, and are the same"


def test_with_a_baseline_both_hold(project: Path) -> None:
    assert exportlint(project, ".", "--write-baseline", "b.json").returncode == 0
    edit(project, "        return z.data", "        return z.data + 1")
    edit(project, "import torch\n", "import torch\n\n\ndef other(x):\n    return x.data\n")
    done = exportlint(project, ".", "--baseline", "b.json", "--diff-base", "main")
    assert done.returncode == 1
    assert "; 1 in the baseline" in done.stdout
    assert "pkg/net.py:12:16" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--diff-base", "nope"], "git knows no revision `nope`"),
        (["--diff-base", "--output=x"], "git knows no revision `--output=x`"),
        (["--diff-base", ""], "git knows no revision ``"),
        (["--diff-base", "orphan"], "`orphan` and HEAD have nothing in common"),
        (["--diff-base", "main", "-", "--stdin-filename", "pkg/net.py"], "what `-` reads is none"),
    ],
)
def test_a_base_that_is_none_is_one_sentence_and_2(project: Path, arguments: list[str], words: str) -> None:
    git(project, "checkout", "-q", "--orphan", "orphan")
    commit(project)
    git(project, "checkout", "-q", "work")
    done = exportlint(project, *([] if "-" in arguments else ["."]), *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr


def test_without_a_repository_or_without_git(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    alone = tmp_path_factory.mktemp("alone")
    (alone / "net.py").write_text(NET, "utf-8")
    done = exportlint(alone, "net.py", "--diff-base", "main", GIT_CEILING_DIRECTORIES=str(alone.parent))
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "not a git repository" in done.stderr
    empty = tmp_path_factory.mktemp("bin")
    done = exportlint(project, ".", "--diff-base", "main", PATH=str(empty))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "exportlint: error: git is not installed, which reads patches and revisions\n"
    git(alone, "init", "-q")
    done = exportlint(alone, "net.py", "--diff-base", "HEAD")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), "a repository without a commit"


def test_it_agrees_with_git_blame_over_random_edits(project: Path) -> None:
    """Of lines that are all unlike each other, blame says which are of no commit."""
    drawn = random.Random(0)  # noqa: S311 - edits, no secrets
    lines = [f"x{number} = {number}\n" for number in range(60)]
    (project / "lines.py").write_text("".join(lines), "utf-8")
    commit(project)
    seen = set()
    for turn in range(12):
        text = list(lines)
        for edited in range(4):
            at = drawn.randrange(len(text))
            kind = drawn.choice(("insert", "remove", "change"))
            text[at : at + (kind != "insert")] = [] if kind == "remove" else [f"y{turn}_{edited} = 1\n"]
        (project / "lines.py").write_text("".join(text), "utf-8")
        blamed = git(project, "blame", "-s", "lines.py").splitlines()
        expected = [number for number, line in enumerate(blamed, 1) if line.startswith("00000000")]
        changed = changed_since("HEAD", project)
        assert [n for n in range(1, len(text) + 1) if changed.has(str(project / "lines.py"), n, n)] == expected
        seen |= set(expected)
    assert len(seen) > 10
