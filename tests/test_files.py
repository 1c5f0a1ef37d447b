"""Which files are checked, and what is reported about those that cannot be."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from exportlint.files import MAX_BYTES, SourceError, collect, decode, from_stdin

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n", "utf-8")


def shown(*paths: str, exclude: tuple[str, ...] = ()) -> list[str]:
    return [file.shown for file in collect(paths, exclude).files]


def problems(*paths: str) -> dict[str, str]:
    return {problem.path: problem.message for problem in collect(paths).problems}


def test_a_folder_is_read_recursively_in_one_order(here: Path) -> None:
    write(here, "b.py", "a/z.py", "a/y.py", "notes.txt", "a/data.csv")
    assert shown(".") == ["a/y.py", "a/z.py", "b.py"]


def test_tool_folders_are_left_out_unless_named(here: Path) -> None:
    write(here, "m.py", ".venv/lib.py", "__pycache__/c.py", "node_modules/n.py", "build/b.py", "pkg/.git/hook.py")
    assert shown(".") == ["m.py"]
    assert shown("build", ".venv/lib.py") == [".venv/lib.py", "build/b.py"]


def test_gitignore_holds_and_the_deepest_one_decides(here: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    (here / ".gitignore").write_text("generated/\n*_pb2.py\n", "utf-8")
    write(here, "m.py", "generated/g.py", "x_pb2.py", "keep/y_pb2.py", "sub/drop.py", "sub/deep/drop.py")
    (here / "keep/.gitignore").write_text("!*_pb2.py\n", "utf-8")
    (here / "sub/.gitignore").write_text("/drop.py\n", "utf-8")
    expected = ["keep/y_pb2.py", "m.py", "sub/deep/drop.py"]
    assert shown(".") == expected
    listed = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard", "*.py"], cwd=here, check=True, capture_output=True, text=True
    )
    assert sorted(listed.stdout.split()) == expected


def test_a_gitignore_above_the_folder_holds_inside_one_repository(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / ".gitignore").write_text("*.py\n", "utf-8")  # outside of the repository: not ours
    write(here, "repo/src/m.py", "repo/src/skip/s.py", "repo/src/x_gen.py")
    subprocess.run(["git", "init", "-q", "repo"], cwd=here, check=True)
    (here / "repo/.gitignore").write_text("src/skip/\n*_gen.py\n", "utf-8")
    monkeypatch.chdir(here / "repo/src")
    assert shown(".") == ["m.py"]
    assert shown("skip", "x_gen.py") == ["skip/s.py", "x_gen.py"], "what the user names is taken"


def test_exclude_takes_gitignore_patterns(here: Path) -> None:
    write(here, "m.py", "tests/t.py", "legacy/old.py", "legacy/keep.py")
    assert shown(".", exclude=("tests", "legacy/old.py")) == ["legacy/keep.py", "m.py"]
    assert shown("tests/t.py", exclude=("tests",)) == ["tests/t.py"], "what the user names is taken"


def test_globs_work_without_a_shell(here: Path) -> None:
    write(here, "src/a.py", "src/sub/b.py", "src/.venv/c.py", "src/a.txt")
    assert shown("src/*.py") == ["src/a.py"]
    assert shown("src/**/*.py") == ["src/a.py", "src/sub/b.py"]
    assert shown("s*") == ["src/a.py", "src/sub/b.py"]
    assert problems("nothing*.py") == {"nothing*.py": "does not exist"}


def test_a_file_is_taken_once_however_often_it_is_named(here: Path) -> None:
    write(here, "src/a.py")
    (here / "src/link.py").symlink_to("a.py")
    (here / "src/loop").symlink_to(here / "src", target_is_directory=True)
    assert shown("src/a.py", "src", "./src/../src/a.py", "src/*.py") == ["src/a.py"]


def test_a_file_named_as_such_needs_no_suffix(here: Path) -> None:
    write(here, "script")
    assert shown("script") == ["script"]


def test_what_cannot_be_checked_is_said_and_the_rest_is_taken(here: Path) -> None:
    write(here, "good.py")
    (here / "gone.py").symlink_to("nowhere.py")
    (here / "huge.py").write_text("#" * (MAX_BYTES + 1), "utf-8")
    assert shown(".") == ["good.py"]
    assert problems(".", "missing.py", "/dev/null") == {
        "gone.py": snapshot("is a broken link to nowhere.py"),
        "huge.py": snapshot("is skipped: 2.0 MB is more than the limit of 2 MB for one source file"),
        "missing.py": "does not exist",
        os.path.relpath("/dev/null"): snapshot("is not a regular file; pipe its content to `exportlint -` instead"),
    }


@pytest.mark.parametrize(
    ("data", "message", "line"),
    [
        (b"a = 1\nb = '\xff'\n", "is not UTF-8 at byte 0xff", 2),
        (b"a = '\xff'\n", "is not UTF-8 at byte 0xff", 1),
        (b"# coding: klingon\n", "unknown encoding: klingon", None),
        (b"# coding: ascii\n\n# \xc3\xa9\n", "is not ASCII at byte 0xc3", 3),
        (b"x = 1\n\0", "holds null bytes", 2),
    ],
)
def test_bytes_that_are_not_source(data: bytes, message: str, line: int | None) -> None:
    with pytest.raises(SourceError, match=message) as caught:
        decode(data)
    assert caught.value.line == line


def test_declared_encodings_byte_order_marks_and_line_ends_are_honoured() -> None:
    assert decode("# coding: latin-1\r\ns = 'é'\r".encode("latin-1")) == "# coding: latin-1\ns = 'é'\n"
    assert decode(b"\xef\xbb\xbfx = 1\n") == "x = 1\n"


def test_stdin_is_one_file_under_its_given_name(here: Path) -> None:
    assert [(f.shown, f.read()) for f in from_stdin(b"x = 1\n", "src/m.py").files] == [("src/m.py", "x = 1\n")]
    assert [p.path for p in from_stdin(b"\xff", "src/m.py").problems] == ["src/m.py"]
