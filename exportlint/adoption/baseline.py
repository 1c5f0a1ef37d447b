"""The findings that a code base has accepted for now, in a file; and which of a run's findings are none of them.

An entry and a finding are the same where they fit in one of some steps, the strictest first: a line that was moved, a
statement that was reformatted, one that went to another definition, one that went with its definition to another file.
Each entry fits one finding at most, so that what is one more than before is new however much it looks like the others.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from exportlint.adoption.statements import Statements
from exportlint.errors import UserError
from exportlint.files import shown, write_whole
from exportlint.finding import Evidence, Finding, fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence


VERSION = 1
_NAMED = 3


@dataclass(frozen=True, slots=True)
class Entry:
    """One accepted finding.

    path         relative to the folder of the baseline, with forward slashes
    within       the qualified name of the definition that it stands in
    line         the text of the line
    statement    a digest of the statement, the same however that is formatted
    fingerprint  of the rule, the path, the line, and which of its equals in the file it is
    target       the target of the trial that alone found it; None: the static pass finds it
    """

    rule: str
    path: str
    within: str
    line: str
    statement: str
    fingerprint: str
    message: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class JudgedFor:
    """What a run judged for, on which depends what it finds."""

    torch: str | None
    mode: str
    purpose: str
    lower: tuple[str, ...] = ()

    def __str__(self) -> str:
        lower = f", --lower {','.join(self.lower)}" if self.lower else ""
        return f"torch {self.torch}, {self.mode}, --for {self.purpose}{lower}"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Accepted findings, the file that they stand in, and what they were judged for."""

    file: Path
    judged_for: JudgedFor
    entries: tuple[Entry, ...]


@dataclass(frozen=True, slots=True)
class Ran:
    """What a run did, and so what it can say of entries that nothing fits.

    judged      the real paths of the files that were judged
    rules       the rules that they were judged by
    targets     the targets that were tried
    still       findings that it does not count for a reason of its own: cleared, or where no target ran
    """

    judged_for: JudgedFor
    judged: Collection[str]
    rules: Collection[str]
    targets: Collection[str] = ()
    still: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class Compared:
    """new, known: the findings of a run, in their order. healed: the entries that nothing fits any more; none are told
    where the run judged for something else. left: the baseline without them, as the files are now."""

    new: tuple[Finding, ...]
    known: tuple[Finding, ...]
    healed: tuple[Entry, ...]
    left: Baseline


def read_baseline(file: Path) -> Baseline:
    """The baseline in the file. Raises UserError, one sentence, where there is none, or one that cannot be read."""
    try:
        data = json.loads(file.read_text("utf-8"))
    except FileNotFoundError as error:
        raise UserError(
            f"the baseline {shown(file)} does not exist: --write-baseline {shown(file)} writes it"
        ) from error
    except OSError as error:
        raise UserError(f"the baseline {shown(file)} cannot be read: {error.strerror}") from error
    except ValueError as error:  # of JSON or of UTF-8
        raise UserError(
            f"the baseline {shown(file)} is no JSON ({error}): mend it, or write it anew with --write-baseline"
        ) from error
    version = data.get("version") if isinstance(data, dict) else None
    if type(version) is not int or version != VERSION:  # True is 1, too
        what = f"is of version {version}" if type(version) is int else "has no version"
        raise UserError(
            f"the baseline {shown(file)} {what}, and this exportlint reads version {VERSION}: write it anew with "
            "--write-baseline"
        )
    try:
        found = msgspec.convert(data, _Document)
    except msgspec.ValidationError as error:
        raise UserError(
            f"the baseline {shown(file)} is damaged: {error}; write it anew with --write-baseline"
        ) from error
    return Baseline(file, found.judged_for, found.findings)


@dataclass(frozen=True, slots=True)
class _Document:
    judged_for: JudgedFor
    findings: tuple[Entry, ...]


def write_baseline(baseline: Baseline) -> None:
    """Write its file, all of it or nothing. Raises UserError where it cannot be written."""
    entries = sorted(baseline.entries, key=lambda one: (one.path, one.rule, one.within, one.line, one.fingerprint))
    data: dict[str, Any] = {"version": VERSION, "judged_for": asdict(baseline.judged_for), "findings": []}
    for one in entries:
        plain = asdict(one)
        data["findings"].append({key: value for key, value in plain.items() if value is not None})
    try:
        text = json.dumps(data, indent=2, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # a name of a file that is no text
        text = json.dumps(data, indent=2).encode()
    try:
        write_whole(baseline.file.resolve(), text + b"\n")
    except OSError as error:
        raise UserError(
            f"the baseline {shown(baseline.file)} cannot be written: {error.strerror}; name a file in a folder that "
            "exists"
        ) from error


def entries_of(findings: Sequence[Finding], file: Path, text_of: Callable[[str], str]) -> list[Entry]:
    """The findings as a baseline in `file` holds them, in their order.

    `text_of`: the text of a file, by the path that findings show.
    """
    folder = str(file.resolve().parent)
    parsed: dict[str, tuple[list[str], Statements]] = {}
    seen: Counter[tuple[str, str, str]] = Counter()
    found = []
    for finding in findings:
        if finding.path not in parsed:
            text = text_of(finding.path)
            parsed[finding.path] = (text.split("\n"), Statements(text))
        lines, statements = parsed[finding.path]
        path = _relative(os.path.realpath(finding.path), folder)
        line = lines[finding.line - 1].strip() if finding.line <= len(lines) else ""
        at = statements.at(finding.line, finding.column)
        print_of = fingerprint(finding.rule, path, line, seen[finding.rule, path, line])
        seen[finding.rule, path, line] += 1
        target = finding.target if finding.evidence is Evidence.DISCOVERED else None
        found.append(Entry(finding.rule, path, at.within, line, at.digest, print_of, finding.message, target))
    return found


def _relative(path: str, folder: str) -> str:
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive of a Windows machine
        return path.replace(os.sep, "/")


def compare(baseline: Baseline, findings: Sequence[Finding], ran: Ran, text_of: Callable[[str], str]) -> Compared:
    """Which of the findings are new, which the baseline knows, and which of its entries are gone.

    findings   what counts of the run, in the order of places
    ran        what the run did
    text_of    the text of a file, by the path that findings show
    """
    folder = baseline.file.resolve().parent
    state = {path: _state(folder / path, ran.judged) for path in {one.path for one in baseline.entries}}
    movable = [state[one.path] != _UNJUDGED for one in baseline.entries]
    now = entries_of(findings, baseline.file, text_of)
    fits = _fitted(baseline.entries, movable, now)
    still = entries_of(ran.still, baseline.file, text_of)
    rest = [number for number in range(len(baseline.entries)) if number not in fits]
    kept = _fitted([baseline.entries[n] for n in rest], [movable[n] for n in rest], still)
    silent = {rest[number] for number in kept}
    same = ran.judged_for == baseline.judged_for
    healed, left = [], []
    for number, entry in enumerate(baseline.entries):
        if number in fits:
            left.append(_renewed(entry, now[fits[number]]))
        elif same and number not in silent and movable[number] and _would_be_found(entry, ran):
            healed.append(entry)
        else:
            left.append(entry)
    known = set(fits.values())
    return Compared(
        tuple(one for number, one in enumerate(findings) if number not in known),
        tuple(one for number, one in enumerate(findings) if number in known),
        tuple(healed),
        Baseline(baseline.file, baseline.judged_for, tuple(left)),
    )


def _renewed(entry: Entry, now: Entry) -> Entry:
    """Messages name lines: where nothing else is another, the file does not change for them."""
    return entry if replace(now, message=entry.message) == entry else now


_UNJUDGED, _JUDGED, _GONE = "not judged", "judged", "gone"


def _state(path: Path, judged: Collection[str]) -> str:
    if os.path.realpath(path) in judged:
        return _JUDGED
    return _UNJUDGED if path.exists() else _GONE


def _would_be_found(entry: Entry, ran: Ran) -> bool:
    return entry.rule in ran.rules if entry.target is None else entry.target in ran.targets


# What two have in common where they are the same, the strictest first. Where the line alone is the same, its statement
# was edited elsewhere; that tells something only in the definition where it stood.
_STEPS: tuple[Callable[[Entry], Hashable], ...] = (
    lambda one: (one.fingerprint, one.within, one.statement),
    lambda one: (one.rule, one.path, one.within, one.statement),
    lambda one: (one.rule, one.path, one.within, one.line),
    lambda one: (one.rule, one.path, one.statement or one.line),
)


def _moved(one: Entry) -> Hashable:
    """What goes with a definition to another file, or with a file that is renamed."""
    return (one.rule, one.within, one.statement)


def _fitted(old: Sequence[Entry], movable: Sequence[bool], new: Sequence[Entry]) -> dict[int, int]:
    """Places of old ones -> the place of the new one that is the same; each stands for one at most."""
    fits: dict[int, int] = {}
    taken: set[int] = set()
    for key in (*_STEPS, _moved):
        waiting: Mapping[Hashable, list[int]] = defaultdict(list)
        for number, entry in enumerate(old):
            if number not in fits and (key is not _moved or (movable[number] and entry.within and entry.statement)):
                waiting[key(entry)].append(number)
        for number, entry in enumerate(new):
            if number not in taken and waiting.get(key(entry)):
                fits[waiting[key(entry)].pop(0)] = number
                taken.add(number)
    return fits


def in_words(entries: Iterable[Entry]) -> str:
    """Some of them, for one line of text.

    >>> in_words([Entry("a-rule", "net.py", "Net.forward", "x.data", "", "", "…")])
    'a-rule in net.py'
    """
    told = list(dict.fromkeys(f"{one.rule} in {one.path}" for one in entries))
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return ", ".join(told[:_NAMED]) + more
