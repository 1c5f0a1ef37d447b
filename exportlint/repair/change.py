"""Read an edit that somebody else made: the Python files before it and after it, from a patch or from git."""

from __future__ import annotations

import codecs
import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.files import SourceError, decode, shown
from exportlint.git import git, known_commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


@dataclass(frozen=True, slots=True)
class Change:
    """The texts of the Python files that an edit concerns, by real path.

    before, after  the texts, of the same files; one that the edit adds is empty before it
    deleted        files that it takes away, which stay as they are while it is tried
    others         files that it changes and that are no Python source, or cannot be read as such
    """

    before: Mapping[str, str] = field(default_factory=dict)
    after: Mapping[str, str] = field(default_factory=dict)
    deleted: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    @property
    def changed(self) -> list[str]:
        """The Python files of which the text is another one after it, or that are new."""
        return sorted(path for path, text in self.after.items() if self.before[path] != text)


def edit_of(patch: bytes | None, base: str | None, revision: str | None, here: Path) -> Change:
    """The edit that a patch of the files below `here` says, or without one, what git has between two revisions: by
    default the parent of `revision`, else HEAD, and the working tree.

    Raises UserError, one sentence, where it cannot be read or does not fit.
    """
    if patch is None:
        return of_git(base or (parent_of(revision, here) if revision else "HEAD"), revision, here)
    if base or revision:
        raise UserError("a patch is an edit of the files as they are: leave out --base and --revision")
    return of_patch(text_of_patch(patch), here)


def text_of_patch(data: bytes) -> str:
    """What a patch says; bytes that are no UTF-8 stay what they are, for its files may declare another encoding.

    Raises UserError where it is no text.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError("the patch is no UTF-8 text: it is UTF-16")
    text = data.removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
    if "\0" in text or (not _is_utf8(text) and not _HEADER.search(text)):
        raise UserError("the patch is no UTF-8 text")
    return text


def _is_utf8(text: str) -> bool:
    return not any("\udc80" <= one <= "\udcff" for one in text)


_HEADER = re.compile(r"^(--- |diff --git )", re.MULTILINE)
_CHANGES = re.compile(r"^(@@|rename |copy |old mode|new file|deleted file|GIT binary|Binary files)", re.MULTILINE)


def of_patch(text: str, here: Path) -> Change:
    """A unified diff, with paths that are relative to `here` or to the repository, applied to the files as they are.

    Line ends do not count, in the patch or in the files: a patch that went through another system has others.

    Raises UserError where it is none, or does not apply.
    """
    if not _HEADER.search(text):
        raise UserError("the patch holds no unified diff: give what `git diff` or `diff -u` prints")
    if not _CHANGES.search(text):
        raise UserError("the patch names a file and changes nothing of it: there is no line that begins with `@@`")
    text = text.replace("\r\n", "\n")
    has_prefixes = re.search(r"^(--- |diff --git )\"?a/", text, re.MULTILINE)
    level = 1 if has_prefixes or "\n--- /dev/null\n+++ b/" in f"\n{text}" else 0
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        copy = Path(folder).resolve()
        names = _names_in(text, level, copy)
        root = _root_of(names, here)
        before = {name: _with_plain_ends((root / name).read_bytes()) for name in names if (root / name).is_file()}
        for name in names:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            if name in before:
                (copy / name).write_bytes(before[name])
        elsewhere = f"the patch does not apply, and none of its files is below {root}, where its paths begin"
        what = "the patch does not apply" if before else elsewhere
        _apply(["--whitespace=nowarn"], level, copy, text, what=what)
        after = {name: (copy / name).read_bytes() for name in names if (copy / name).is_file()}
    try:
        return _change(before, after, root)
    except UserError as error:
        if _is_utf8(text):
            raise
        raise UserError(f"the patch is no UTF-8 text: {error}") from error


def _with_plain_ends(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n")


def _apply(arguments: Sequence[str], level: int, folder: Path, text: str, *, what: str) -> str:
    # To copies in a folder of its own, wherever that lies.
    alone = {"GIT_CEILING_DIRECTORIES": str(folder.parent)}
    return git(["apply", f"-p{level}", *arguments, "-"], folder, given=text, what=what, environment=alone)


def _names_in(text: str, level: int, folder: Path) -> list[str]:
    told = _apply(["--numstat", "-z"], level, folder, text, what="the patch cannot be read")
    names = [name for one in told.split("\0") if (name := one.split("\t", 2)[-1])]
    names += re.findall(r"^(?:rename|copy) from (.+)$", text, re.MULTILINE)  # git tells the new name alone
    for name in names:
        if Path(name).is_absolute() or ".." in Path(name).parts:
            raise UserError(f"the patch writes outside of the project: {name}")
    return names


def _root_of(names: Sequence[str], here: Path) -> Path:
    """The working directory, or the folder of the repository, whichever has more of the files."""
    above = [here, *(one for one in (here, *here.parents) if (one / ".git").exists())][:2]
    return max(above, key=lambda root: sum((root / name).is_file() for name in names))


def of_git(base: str, revision: str | None, here: Path) -> Change:
    """What changed from the revision `base` to another one; None: to the working tree, new files included.

    Raises UserError where `here` is in no repository, or has no such revision.
    """
    none = "there is no git repository, so give the edit as `--patch FILE`"
    top = Path(git(["rev-parse", "--show-toplevel"], here, what=none).strip())
    for one in (base, revision):
        if one is not None:
            known_commit(one, top)
    asked = ["diff", "--name-only", "--no-renames", "-z", base, *([revision] if revision else []), "--"]
    names = [name for name in git(asked, top, what="git diff failed").split("\0") if name]
    if revision is None:
        new = git(["ls-files", "--others", "--exclude-standard", "-z"], top, what="git ls-files failed")
        names += [name for name in new.split("\0") if name]
    before = dict(_at(base, names, top))
    after = dict(_at(revision, names, top) if revision else _on_disk(names, top))
    return _change(before, after, top)


def parent_of(revision: str, here: Path) -> str:
    """The first parent, as what came before a commit."""
    git(["rev-parse", "--show-toplevel"], here, what="there is no git repository")
    known_commit(revision, here)
    return git(["rev-parse", "--verify", "--quiet", f"{revision}^1"], here, what=f"`{revision}` has no parent").strip()


def _at(revision: str, names: Sequence[str], top: Path) -> Iterator[tuple[str, bytes]]:
    for name in names:
        done = subprocess.run(
            ["git", "show", f"{revision}:{name}"],  # noqa: S607 - the git that the user's shell finds
            cwd=top,
            capture_output=True,
            check=False,
        )
        if done.returncode == 0:
            yield name, done.stdout


def _on_disk(names: Sequence[str], top: Path) -> Iterator[tuple[str, bytes]]:
    for name in names:
        if (top / name).is_file():
            yield name, (top / name).read_bytes()


def _change(before: Mapping[str, bytes], after: Mapping[str, bytes], root: Path) -> Change:
    names = sorted({*before, *after})
    texts: tuple[dict[str, str], dict[str, str]] = ({}, {})
    others, deleted = [], []
    for name in names:
        path = (root / name).resolve()
        if before.get(name) == after.get(name):
            continue
        if path.suffix != ".py":
            others.append(shown(path))
            continue
        if name not in after:
            deleted.append(shown(path))
        for found, side in zip((before, after), texts, strict=True):
            if name in found:
                side[str(path)] = _text(path, found[name])
    old, new = texts
    # No process can be shown that a file is not there: one that the edit adds is empty before it, and one that it takes
    # away stays.
    return Change({**dict.fromkeys(new, ""), **old}, {**old, **new}, tuple(deleted), tuple(others))


def _text(path: Path, data: bytes) -> str:
    try:
        return decode(data)
    except SourceError as error:
        raise UserError(f"{shown(path)} cannot be read: {error}") from error
