"""An edit is read from a patch, from git revisions or from the working tree; what is none is told in one sentence."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

import pytest

from exportlint.errors import UserError
from exportlint.repair.change import of_git, of_patch, parent_of, text_of_patch

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = "x = 1\ny = 2\n", "x = 1\ny = 3\n"
PATCH = """\
--- a/src/net.py
+++ b/src/net.py
@@ -1,2 +1,2 @@
 x = 1
-y = 2
+y = 3
"""
ADDS = (
    PATCH
    + """\
diff --git a/src/more.py b/src/more.py
new file mode 100644
--- /dev/null
+++ b/src/more.py
@@ -0,0 +1 @@
+z = 1
"""
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/net.py").write_text(OLD, "utf-8")
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def git(folder: Path, *arguments: str) -> str:
    asked = ["git", "-c", "user.email=a@b", "-c", "user.name=a", *arguments]
    return subprocess.run(asked, cwd=folder, check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "a change")


@pytest.mark.parametrize("inside", ["", "src"])
def test_a_patch_is_laid_over_the_files_which_stay_as_they_are(project: Path, inside: str) -> None:
    change = of_patch(PATCH, project / inside)
    path = str(project / "src/net.py")
    assert (change.before, change.after) == ({path: OLD}, {path: NEW})
    assert (project / "src/net.py").read_text("utf-8") == OLD


def test_a_patch_of_diff_u_without_prefixes(project: Path) -> None:
    assert of_patch(PATCH.replace("a/src", "src").replace("b/src", "src"), project).changed


def test_a_file_that_is_added_is_empty_before(project: Path) -> None:
    change = of_patch(ADDS, project)
    more = str(project / "src/more.py")
    assert (change.before[more], change.after[more]) == ("", "z = 1\n")
    assert change.changed == [more, str(project / "src/net.py")]


def test_line_ends_are_those_of_the_file(project: Path) -> None:
    (project / "src/net.py").write_bytes(OLD.replace("\n", "\r\n").encode())
    patch = PATCH.replace("x = 1\n-y = 2\n+y = 3\n", "x = 1\r\n-y = 2\r\n+y = 3\r\n")
    assert list(of_patch(patch, project).after.values()) == [NEW]


@pytest.mark.parametrize("ends", ["\r\n", "\n"])
def test_line_ends_of_the_patch_do_not_count(project: Path, ends: str) -> None:
    other = "\n" if ends == "\r\n" else "\r\n"
    (project / "src/net.py").write_bytes(OLD.replace("\n", other).encode())
    assert list(of_patch(PATCH.replace("\n", ends), project).after.values()) == [NEW]


def test_a_mark_of_the_byte_order_is_no_part_of_the_patch(project: Path) -> None:
    assert of_patch(text_of_patch(b"\xef\xbb\xbf" + PATCH.encode()), project).changed


def test_a_patch_of_a_file_that_declares_its_encoding(project: Path) -> None:
    cookie = "# -*- coding: latin-1 -*-\n"
    (project / "src/net.py").write_bytes((cookie + OLD).encode("latin-1"))
    patch = PATCH.replace("@@\n", f"@@\n {cookie}").replace("1,2", "1,3").replace("+y = 3", "+y = 3  # é")
    (after,) = of_patch(text_of_patch(patch.encode("latin-1")), project).after.values()
    assert after == f"{cookie}x = 1\ny = 3  # é\n"
    (project / "src/net.py").write_text(OLD, "utf-8")
    patch = PATCH.replace("+y = 3", "+y = 3  # é")
    with pytest.raises(UserError, match=r"^the patch is no UTF-8 text: .*net\.py cannot be read: "):
        of_patch(text_of_patch(patch.encode("latin-1")), project)


@pytest.mark.parametrize("data", [bytes(range(256)), PATCH.encode("utf-16"), PATCH.replace("x", "\0").encode()])
def test_what_is_no_text(data: bytes) -> None:
    with pytest.raises(UserError, match=r"^the patch is no UTF-8 text"):
        text_of_patch(data)


def test_a_patch_of_modes_changes_no_text(project: Path) -> None:
    assert not of_patch("diff --git a/src/net.py b/src/net.py\nold mode 100644\nnew mode 100755\n", project).changed


def test_a_file_that_is_renamed_is_new_under_the_other_name(project: Path) -> None:
    git(project, "mv", "src/net.py", "src/gate.py")
    patch = git(project, "diff", "--find-renames", "HEAD")
    git(project, "mv", "src/gate.py", "src/net.py")
    change = of_patch(patch, project)
    assert change.changed == [str(project / "src/gate.py")]
    assert [one.rpartition("/")[2] for one in change.deleted] == ["net.py"]


@pytest.mark.parametrize(
    ("patch", "said"),
    [
        ("what somebody wrote", "the patch holds no unified diff"),
        (PATCH.replace("-y = 2", "-y = 7"), "the patch does not apply: patch failed: src/net.py:1"),
        (PATCH.replace("@@ -1,2 +1,2 @@", "@@ nothing @@"), "the patch cannot be read: "),
        (PATCH.partition("@@")[0], "the patch names a file and changes nothing of it"),
        (PATCH.replace("src/net.py", "../net.py"), "the patch writes outside of the project: ../net.py"),
    ],
)
def test_what_is_no_patch_of_the_project(project: Path, patch: str, said: str) -> None:
    with pytest.raises(UserError, match=f"^{said}"):
        of_patch(patch, project)


def test_the_working_tree_with_its_new_files(project: Path) -> None:
    (project / "src/net.py").write_text(NEW, "utf-8")
    (project / "src/more.py").write_text("z = 1\n", "utf-8")
    (project / "notes.txt").write_text("later", "utf-8")
    change = of_git("HEAD", None, project / "src")
    assert change.before == {str(project / "src/more.py"): "", str(project / "src/net.py"): OLD}
    assert change.after == {str(project / "src/more.py"): "z = 1\n", str(project / "src/net.py"): NEW}
    assert [one.rpartition("/")[2] for one in change.others] == ["notes.txt"]


def test_a_commit_beside_its_parent_whatever_the_disk_holds(project: Path) -> None:
    (project / "src/net.py").write_text(NEW, "utf-8")
    commit(project)
    (project / "src/net.py").write_text("x = 9\n", "utf-8")
    change = of_git(parent_of("HEAD", project), "HEAD", project)
    assert list(change.before.values()) == [OLD]
    assert list(change.after.values()) == [NEW]


def test_a_deleted_file_stays_and_is_told(project: Path) -> None:
    (project / "src/net.py").unlink()
    change = of_git("HEAD", None, project)
    assert not change.changed
    assert [one.rpartition("/")[2] for one in change.deleted] == ["net.py"]


def test_a_revision_that_git_does_not_know(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(UserError, match=r"^git knows no revision `v9`$"):
        of_git("v9", None, project)
    with pytest.raises(UserError, match=r"^git knows no revision `v9`$"):
        parent_of("v9", project)
    with pytest.raises(UserError, match=r"^`HEAD` has no parent$"):
        parent_of("HEAD", project)
    with pytest.raises(UserError, match=r"^there is no git repository"):
        of_git("HEAD", None, tmp_path_factory.mktemp("elsewhere"))


def test_a_patch_of_files_that_are_elsewhere_is_told_where_its_paths_begin(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=re.escape(f"none of its files is below {tmp_path}, where its paths begin")):
        of_patch(PATCH, tmp_path)
