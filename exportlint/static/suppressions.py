"""Comments that silence findings, ours (`exportlint: ignore[rule] reason`) and noqa, and those that silence nothing.

A comment speaks for the statement it stands in: a finding is suppressed by a comment on any line of the logical line
(the statement, or the head of a compound statement) that the finding starts in.
"""

from __future__ import annotations

import io
import re
import tokenize
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.errors import nearest
from exportlint.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence


UNUSED = "unused-suppression"

_OURS = re.compile(r"#\s*exportlint:\s*(?P<verb>[\w-]*)\s*(?:\[(?P<rules>[^\]]*)\])?(?P<open>\[)?", re.IGNORECASE)
_NOQA = re.compile(r"#\s*noqa(?P<codes>:[\s,]*(?P<rules>[\w-]+(?:[\s,]+[\w-]+)*))?", re.IGNORECASE)
# Where nothing was found, only a comment about one of our rules can be wrong; those of other tools are left unread.
_NOQA_OF_OURS = re.compile(r"noqa:[^\n]*[a-z]-[a-z]")


@dataclass(slots=True)
class Suppression:
    """One comment. `rules` None means every rule; `used` collects the names that suppressed something."""

    line: int
    column: int
    end_column: int
    first_line: int  # of the logical line it stands in; 0 and `last_line` None: the whole file
    last_line: int | None
    rules: tuple[str, ...] | None
    written_for_us: bool  # False for noqa, which speaks to other tools too
    wrong: str | None = None
    used: set[str] = field(default_factory=set)

    def covers(self, finding: Finding) -> bool:
        """Does it silence `finding`?"""
        named = self.rules is None or finding.rule in self.rules
        return named and self.wrong is None and self.first_line <= finding.line <= (self.last_line or finding.line)


@dataclass(frozen=True, slots=True)
class Applied:
    """What is left, what the comments silenced, and the complaints about the comments themselves."""

    kept: tuple[Finding, ...]
    suppressed: tuple[Finding, ...]
    complaints: tuple[Finding, ...]


def apply(
    findings: Iterable[Finding],
    sources: Mapping[str, str],
    *,
    known: Collection[str],
    judged: Collection[str],
    all_ran: bool,
) -> Applied:
    """Silence what the comments in `sources` (shown path -> text) ask for.

    known    every rule name there is; another name in a comment is a mistake
    judged   the rules that ran: only their suppressions can be called unused
    all_ran  nothing was deselected, so a suppression without rule names can be called unused too
    """
    findings = tuple(findings)
    hit = {finding.path for finding in findings}
    worth = ((path, text) for path, text in sources.items() if path in hit or _names_us(text))
    comments = {path: tuple(read(text)) for path, text in worth}
    kept: list[Finding] = []
    suppressed: list[Finding] = []
    for finding in findings:
        (suppressed if _silenced(finding, comments.get(finding.path, ())) else kept).append(finding)
    run = _Run(known, judged, all_ran)
    complaints = (c for path, found in comments.items() for one in found for c in run.complaints(path, one))
    loud = [c for c in complaints if not any(UNUSED in (s.rules or ()) and s.covers(c) for s in comments[c.path])]
    return Applied(tuple(kept), tuple(suppressed), tuple(loud))


def read(text: str) -> Iterator[Suppression]:
    """The suppressing comments of a file. Strings that merely hold such text do not count."""
    if "exportlint:" not in text.lower() and "noqa" not in text.lower():
        return
    for comment, (first, last) in _comments(text):
        if match := _OURS.search(comment.string):
            yield _ours(comment, match, first, last)
        elif match := _NOQA.search(comment.string):
            rules = tuple(re.split(r"[\s,]+", match["rules"])) if match["codes"] else None
            yield Suppression(*_place(comment, match), first, last, rules, written_for_us=False)


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text that goes into a line, at a column from 1."""

    line: int
    column: int
    text: str


def silencing(text: str, line: int, rule: str, reason: str) -> Insertion | None:
    """What makes a comment of the statement that begins or goes on in the line silence the rule; None: no comment fits.

    It goes into a comment of ours that stands there, else to the end of the first line from there that can have one:
    a string over several lines cannot.
    """
    for suppression in read(text):
        names_some = suppression.written_for_us and suppression.rules and suppression.wrong is None
        if names_some and suppression.first_line <= line <= (suppression.last_line or 0):
            own = text.split("\n")[suppression.line - 1]
            return Insertion(suppression.line, own.index("]", suppression.column - 1) + 1, f", {rule}")
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.NEWLINE, tokenize.NL) and token.start[0] >= line:
                end = len(text.split("\n")[token.start[0] - 1].rstrip())
                return Insertion(token.start[0], end + 1, f"  # exportlint: ignore[{rule}] {reason}")
    except (tokenize.TokenError, SyntaxError):  # the file does not parse, which is reported elsewhere
        pass
    return None


def may_name_us(source: bytes) -> bool:
    """Can a comment of the source speak to us? Every encoding that Python reads writes these letters in one way."""
    lower = source.lower()
    return b"exportlint:" in lower or b"noqa:" in lower


def _names_us(text: str) -> bool:
    lower = text.lower()  # plain search in lower case is ten times faster than re.IGNORECASE
    return "exportlint:" in lower or ("noqa:" in lower and bool(_NOQA_OF_OURS.search(lower)))


def _ours(comment: tokenize.TokenInfo, match: re.Match[str], first: int, last: int) -> Suppression:
    verb = match["verb"].lower()
    rules = None if match["rules"] is None else tuple(filter(None, re.split(r"[\s,]+", match["rules"])))
    wrong = None
    if verb not in ("ignore", "ignore-file"):
        wrong = f"`{match[0].strip()}` suppresses nothing: write `# exportlint: ignore[rule] reason`"
    elif match["open"] or rules == ():
        wrong = f"`{match[0].strip()}` names no rule: write `# exportlint: {verb}[rule] reason`"
    if verb == "ignore-file":
        return Suppression(*_place(comment, match), 0, None, rules, written_for_us=True, wrong=wrong)
    return Suppression(*_place(comment, match), first, last, rules, written_for_us=True, wrong=wrong)


def _place(comment: tokenize.TokenInfo, match: re.Match[str]) -> tuple[int, int, int]:
    line, column = comment.start
    return line, column + match.start() + 1, column + match.end() + 1


def _comments(text: str) -> Iterator[tuple[tokenize.TokenInfo, tuple[int, int]]]:
    """Every comment with the first and last line of the logical line it stands in."""
    held: list[tokenize.TokenInfo] = []
    first: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                held.append(token)
            elif token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT):
                first = first or token.start[0]
            if token.type == tokenize.NEWLINE or (token.type == tokenize.NL and first is None):
                lines = (first or token.start[0], token.start[0])
                yield from ((comment, lines) for comment in held)
                held, first = [], None
    except (tokenize.TokenError, SyntaxError):  # the file does not parse, which is reported elsewhere
        return


def _silenced(finding: Finding, comments: Sequence[Suppression]) -> bool:
    covering = [comment for comment in comments if comment.covers(finding)]
    for comment in covering:
        comment.used.add(finding.rule)
    return bool(covering)


@dataclass(frozen=True, slots=True)
class _Run:
    """What a comment may be measured against."""

    known: Collection[str]
    judged: Collection[str]
    all_ran: bool

    def complaints(self, path: str, comment: Suppression) -> Iterator[Finding]:
        for message in self._wrongs(comment):
            place = (comment.line, comment.column, comment.line, comment.end_column)
            yield Finding(UNUSED, path, *place, Severity.WARNING, message)

    def _wrongs(self, comment: Suppression) -> Iterator[str]:
        if comment.wrong:
            yield comment.wrong
        elif comment.rules is not None:
            yield from filter(None, (self._wrong_with(rule, comment) for rule in comment.rules))
        elif comment.written_for_us and self.all_ran and not comment.used:
            yield "This comment suppresses nothing: no rule finds anything here. Remove it"

    def _wrong_with(self, rule: str, comment: Suppression) -> str | None:
        if rule in self.known:
            unused = rule in self.judged and rule not in comment.used and rule != UNUSED
            return (
                f"This suppression of `{rule}` is not needed: the rule finds nothing here. Remove it"
                if unused
                else None
            )
        # `noqa` names the rules of other tools as well: there, only a near miss of one of ours is a mistake.
        near = nearest(rule, self.known, 0.6 if comment.written_for_us else 0.85)
        listed = "; `exportlint rules` lists them" if comment.written_for_us else ""
        return f"There is no rule `{rule}`{near or listed}" if near or listed else None
