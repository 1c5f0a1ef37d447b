"""Which lines of the working tree are new since a revision, as git tells it."""

from __future__ import annotations

import ast
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.git import git, known_commit

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.finding import Finding


# Whatever the user has set, the output is read here: no colours, no other program, prefixes that are known.
_DIFF = (
    "-c", "core.quotePath=true", "diff", "--no-color", "--no-ext-diff", "--no-textconv", "--text", "--no-relative",
    "--unified=0", "--inter-hunk-context=0", "--find-renames", "--ignore-submodules", "--src-prefix=a/",
    "--dst-prefix=b/",
)  # fmt: skip
_HUNK = re.compile(r"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Hunk:
    """Lines from `first`, `number` of them, that a file has in place of others; none: `first` stands before a cut."""

    first: int
    number: int

    def touches(self, line: int, end_line: int) -> bool:
        """Is one of these lines new, or was something between them taken away?"""
        if not self.number:
            return line <= self.first < end_line
        return line < self.first + self.number and end_line >= self.first


@dataclass(frozen=True, slots=True)
class ChangedLines:
    """What a working tree changes.

    root     the real path of its folder
    hunks    of the files that git knows, by their path from there; one that is not there did not change
    tracked  the Python files that git knows; all of another one is new
    """

    root: str
    hunks: Mapping[str, tuple[Hunk, ...]] = field(default_factory=dict)
    tracked: frozenset[str] = frozenset()

    def concern(self, finding: Finding) -> bool:
        """Does the finding stand on a changed line, or come from one that its trail names?

        >>> from exportlint.finding import Finding, Severity
        >>> changed = ChangedLines("/", {"net.py": (Hunk(3, 2),)}, frozenset({"net.py"}))
        >>> [changed.has("/net.py", line, line) for line in (2, 3, 4, 5)]
        [False, True, True, False]
        """
        places = [(finding.path, finding.line, finding.end_line)]
        places += [(step.path, step.line, step.line) for step in finding.trail]
        return any(self.has(path, line, end) for path, line, end in places)

    def has(self, path: str, line: int, end_line: int) -> bool:
        """Did one of the lines of the file change? What lies outside of the working tree did not."""
        real = os.path.realpath(path)
        if not real.startswith(os.path.join(self.root, "")):  # noqa: PTH118 - a prefix of text
            return False
        name = os.path.relpath(real, self.root).replace(os.sep, "/")
        if name not in self.tracked:
            return True
        return any(hunk.touches(line, end_line) for hunk in self.hunks.get(name, ()))


def changed_since(revision: str, folder: Path) -> ChangedLines:
    """What the working tree around the folder changes since it left the revision (the merge base of that and HEAD):
    committed, staged, unstaged, and files that git does not know yet.

    Raises UserError where there is no repository, no git, no such revision, or nothing that both come from.
    """
    root = git(["rev-parse", "--show-toplevel"], folder, what=f"--diff-base asks git about {folder}").removesuffix("\n")
    commit = known_commit(revision, Path(root))
    none = f"--diff-base: `{revision}` and HEAD have nothing in common (of a shallow clone, fetch more)"
    base = git(["merge-base", commit, "HEAD"], Path(root), what=none).split()[0]
    told = git([*_DIFF, base, "--"], Path(root), what="git diff failed")
    hunks: dict[str, tuple[Hunk, ...]] = {}
    for name, hunk in _hunks(told):
        hunks[name] = (*hunks.get(name, ()), hunk)
    tracked = git(["ls-files", "-z", "--", "*.py"], Path(root), what="git ls-files failed").split("\0")
    # What is intended to be added (`git add -N`) is tracked, and all of it stands in the diff.
    return ChangedLines(os.path.realpath(root), hunks, frozenset(tracked))


def _hunks(diff: str) -> Iterator[tuple[str, Hunk]]:
    """The name of the file after the change, and each hunk of it.

    unidiff and whatthepatch leave the names as git quotes them, and a name is all that is wanted beside three numbers.
    """
    name, skip = "", 0
    for line in diff.split("\n"):
        if skip:  # the text of a hunk, whatever it looks like
            skip -= not line.startswith("\\")
        elif line.startswith("+++ "):
            name = _unquoted(line[4:].removesuffix("\t"))
        elif match := _HUNK.match(line):
            old, new = (1 if count is None else int(count) for count in (match[1], match[3]))
            skip = old + new
            if name.startswith("b/"):  # else the file is gone
                yield name[2:], Hunk(int(match[2]), new)


def _unquoted(name: str) -> str:
    """A name as git writes it where it holds other than plain characters: "b/caf\\303\\251.py"."""
    if not name.startswith('"'):
        return name
    try:
        value: bytes = ast.literal_eval(f"b{name}")
    except (SyntaxError, ValueError) as error:
        raise UserError(f"git names a file that cannot be read: {name}") from error
    return os.fsdecode(value)
