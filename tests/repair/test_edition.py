"""Files keep everything that was not rewritten: encoding, line ends, permissions; and nothing is half written."""

import stat
import subprocess

import pytest

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.errors import UserError
from exportlint.finding import Edit
from exportlint.output.repair_text import diff_text
from exportlint.output.report import RenderOptions
from exportlint.repair.edition import Edition, HunkReason


def edition_of(path, start=(2, 5), end=(2, 11), text="x.detach()"):
    why = [HunkReason(str(path), start[0], "tensor-data-access", "read it with `.detach()`")]
    return Edition().with_edits([Edit(str(path), start, end, text)], why)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"import a\ny = x.data\nz = 1\n", b"import a\ny = x.detach()\nz = 1\n"),
        (b"import a\r\ny = x.data\r\nz = 1\r\n", b"import a\r\ny = x.detach()\r\nz = 1\r\n"),
        (b"import a\r\ny = x.data\nz = 1\n", b"import a\r\ny = x.detach()\nz = 1\n"),
        (b"\xef\xbb\xbfimport a\ny = x.data", b"\xef\xbb\xbfimport a\ny = x.detach()"),
        (b"# coding: latin-1\ny = x.data  # \xe9\n", b"# coding: latin-1\ny = x.detach()  # \xe9\n"),
    ],
    ids=["plain", "windows", "both ends", "mark and no end", "latin-1"],
)
def test_bytes_around_an_edit_stay(tmp_path, before, after):
    path = tmp_path / "net.py"
    path.write_bytes(before)
    path.chmod(0o754)
    assert [name.rpartition("/")[2] for name in edition_of(path).write()] == ["net.py"]
    assert path.read_bytes() == after
    assert stat.S_IMODE(path.stat().st_mode) == 0o754
    assert [one.name for one in tmp_path.iterdir()] == ["net.py"]


def test_a_file_that_changed_meanwhile_is_left(tmp_path):
    path = tmp_path / "net.py"
    path.write_bytes(b"import a\ny = x.data\n")
    edition = edition_of(path)
    path.write_bytes(b"import b\ny = x.data\n")
    with pytest.raises(UserError, match="changed since it was read; nothing is written"):
        edition.write()
    assert path.read_bytes() == b"import b\ny = x.data\n"


@pytest.mark.parametrize(
    ("data", "said"),
    [(b"# coding: ascii\ny = x.data\n", "which cannot hold the edited text")],
)
def test_what_cannot_be_written_as_it_was_is_said(tmp_path, data, said):
    path = tmp_path / "net.py"
    path.write_bytes(data)
    with pytest.raises(UserError, match=said):
        edition_of(path, text="x.détach()").write()
    assert path.read_bytes() == data


def test_each_hunk_says_why(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "net.py"
    path.write_text("import a\ny = x.data\n", "utf-8")
    assert list(edition_of(path).diff()) == [
        "# net.py:2 [tensor-data-access] read it with `.detach()`",
        "--- a/net.py",
        "+++ b/net.py",
        "@@ -1,2 +1,2 @@",
        " import a",
        "-y = x.data",
        "+y = x.detach()",
    ]


def test_edits_of_one_place_wait_for_the_next_round():
    text = "y = x.data + x.data\n"
    first, second = Edit("n.py", (1, 5), (1, 11), "a"), Edit("n.py", (1, 8), (1, 15), "b")
    with pytest.raises(OverlappingEditsError):
        edited(text, [first, second])
    assert edited(text, [first, first, Edit("n.py", (1, 14), (1, 20), "b")]) == "y = a + b\n"


@pytest.mark.parametrize(
    "before",
    [
        b"import a\n\ty = x.data\n\tz = 1\n",
        b"import a\r\n\ty = x.data\r\n\tz = 1\r\n",
        b"import a\r\n\ty = x.data\n\tz = 1\r\n",
        b"\xef\xbb\xbfimport a\r\n\ty = x.data",
        b"import a\n\ty = x.data",
    ],
    ids=["tabs", "windows", "both ends", "mark", "no end"],
)
@pytest.mark.parametrize("command", [["git", "apply"], ["patch", "-p1"], ["patch", "net.py"]])
def test_the_diff_is_taken_by_git_and_patch_and_gives_what_is_written(tmp_path, monkeypatch, before, command):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "net.py"
    path.write_bytes(before)
    edition = edition_of(path, (2, 6), (2, 12))
    text = diff_text(list(edition.diff()), RenderOptions(color=False, width=100))
    subprocess.run(command, input=text.encode(), cwd=tmp_path, check=True)
    applied = path.read_bytes()
    assert applied == before.replace(b"x.data", b"x.detach()")
    path.write_bytes(before)
    edition.write()
    assert path.read_bytes() == applied


@pytest.mark.parametrize("repository", [True, False])
def test_a_file_outside_of_the_working_directory_has_a_path_that_can_be_applied(tmp_path, monkeypatch, repository):
    own, other = tmp_path / "own", tmp_path / "other"
    own.mkdir()
    other.mkdir()
    if repository:
        subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    monkeypatch.chdir(own)
    path = other / "net.py"
    path.write_text("import a\ny = x.data\n", "utf-8")
    edition = edition_of(path)
    text = "\n".join(edition.diff()) + "\n"
    assert ".." not in text
    assert edition.root == (tmp_path if repository else other).resolve()
    subprocess.run(["patch", "-p1", "-d", str(edition.root)], input=text, text=True, check=True)
    assert path.read_text("utf-8") == "import a\ny = x.detach()\n"
    if repository:
        path.write_text("import a\ny = x.data\n", "utf-8")
        subprocess.run(["git", "apply"], input=text, text=True, check=True, cwd=edition.root)
        assert path.read_text("utf-8") == "import a\ny = x.detach()\n"


def test_what_no_run_reached_is_told_at_the_nearest_rewrite(tmp_path):
    path = tmp_path / "net.py"
    path.write_text("class A:\n    def f(self, x):\n        if x:\n            y = x.data\n        return y\n")
    edition = edition_of(path, (4, 17), (4, 23))
    whole = edition.with_lines_not_run({str(path.resolve()): {2, 3, 5}})
    assert [one.caveat for one in whole.reasons] == ["no input that was tried runs line 4"]
    assert edition.with_lines_not_run({str(path.resolve()): {2, 3, 4, 5}}) == edition
