"""Files keep everything that was not rewritten: encoding, line ends, permissions; and nothing is half written."""

import stat

import pytest

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.errors import UserError
from exportlint.finding import Edit
from exportlint.repair.edition import Edition, HunkReason


def edition_of(path, start=(2, 5), end=(2, 11), text="x.detach()"):
    why = [HunkReason(str(path), start[0], "tensor-data-access", "read it with `.detach()`")]
    return Edition().with_edits([Edit(str(path), start, end, text)], why)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"import a\ny = x.data\nz = 1\n", b"import a\ny = x.detach()\nz = 1\n"),
        (b"import a\r\ny = x.data\r\nz = 1\r\n", b"import a\r\ny = x.detach()\r\nz = 1\r\n"),
        (b"\xef\xbb\xbfimport a\ny = x.data", b"\xef\xbb\xbfimport a\ny = x.detach()"),
        (b"# coding: latin-1\ny = x.data  # \xe9\n", b"# coding: latin-1\ny = x.detach()  # \xe9\n"),
    ],
    ids=["plain", "windows", "mark and no end", "latin-1"],
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
    [(b"# coding: ascii\ny = x.data\n", "which cannot hold the edited text"), (b"a\r\ny = x.data\n", "of both kinds")],
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
