"""Comments that silence findings, written into their files with a reason; what the code says stays as it was."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.files import SourceError, SourceFile, decode
from exportlint.finding import Problem
from exportlint.repair.edition import Edition
from exportlint.static.suppressions import UNUSED, read, silencing

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from exportlint.finding import Finding


@dataclass(frozen=True, slots=True)
class Added:
    """silenced: how many findings the new comments silence; files: those that were written; problems: what could not
    be silenced, each with why."""

    silenced: int
    files: tuple[str, ...]
    problems: tuple[Problem, ...]


def checked_reason(reason: str) -> str:
    """A reason as it can stand in a comment. Raises UserError for one that cannot."""
    plain = reason.strip()
    if not plain or not plain.isprintable():
        raise UserError("--add-suppressions: say in one line why, as in --add-suppressions 'the flag never changes'")
    return plain


def add_suppressions(
    findings: Iterable[Finding], files: Iterable[SourceFile], reason: str, silent: Sequence[Finding] = ()
) -> Added:
    """Write a comment for each of the findings that stand in the files. Each file is written at once, or left.

    findings   those that count; complaints about comments are left out, since another comment is no answer
    files      which may be written
    reason     what each comment says, in one line
    silent     findings that are silenced already, and stay so

    >>> add_suppressions([], [], "measured").files
    ()
    """
    wanted: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.rule != UNUSED:
            wanted.setdefault(finding.path, []).append(finding)
    by_name = {file.shown: file for file in files if file.text is None}
    silenced, written, problems = 0, [], []
    for path, found in wanted.items():
        if path not in by_name:
            problems.append(Problem(path, None, "holds findings, and is no file that was named: it is left as it is"))
            continue
        try:
            number = _written(by_name[path], found, reason, [one for one in silent if one.path == path])
        except (UserError, OSError, SourceError) as error:
            problems.append(Problem(path, None, f"gets no comments, and is left as it is: {error}"))
            continue
        silenced += number
        written += [path] if number else []
        problems += [
            Problem(path, one.line, f"no comment fits at the statement of this {one.rule}")
            for one in (found if number < len(found) else ())
            if not _covered(by_name[path].read(), one)
        ]
    return Added(silenced, tuple(written), tuple(problems))


def _written(file: SourceFile, found: Sequence[Finding], reason: str, silent: Sequence[Finding]) -> int:
    """How many of the findings the file's new comments silence."""
    data = file.absolute.read_bytes()
    before = decode(data)
    after = before
    for finding in sorted(found, key=lambda one: (one.line, one.column, one.rule)):
        if not _covered(after, finding):  # by a comment that another one of them got
            after = _with_comment(after, finding, reason)
    if after == before:
        return 0
    if not _same_code(before, after):
        raise UserError("the comments would change what its code says")
    for one in silent:
        if _covered(before, one) and not _covered(after, one):  # by a noqa, which is not read beside a comment of ours
            raise UserError(f"what silences {one.rule} on line {one.line} would do so no longer")
    key = str(file.absolute)
    Edition({key: data}, {key: after}).write()
    return sum(_covered(after, one) for one in found)


def _with_comment(text: str, finding: Finding, reason: str) -> str:
    insertion = silencing(text, finding.line, finding.rule, reason)
    if insertion is None:
        return text
    lines = text.split("\n")
    line, at = lines[insertion.line - 1], insertion.column - 1
    lines[insertion.line - 1] = line[:at] + insertion.text + line[at:]
    edited = "\n".join(lines)
    return edited if _covered(edited, finding) else text


def _covered(text: str, finding: Finding) -> bool:
    return any(one.covers(finding) for one in read(text))


def _same_code(before: str, after: str) -> bool:
    """Comments are no code: the tree is the same, places included."""
    try:
        return ast.dump(ast.parse(before), include_attributes=True) == ast.dump(
            ast.parse(after), include_attributes=True
        )
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UserError(f"it does not parse: {error}") from error
