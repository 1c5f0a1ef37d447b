"""What another torch version changes, place by place, the worst first: as text, as Markdown, and as JSON
(upgrade-1.json beside this file describes it)."""

from __future__ import annotations

import json
import textwrap
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from exportlint.output.markdown import cell, table
from exportlint.version import __version__
from exportlint.version_change import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.finding import Problem
    from exportlint.output.report import RenderOptions
    from exportlint.version_change import Change, Did, WayChange


@dataclass(frozen=True, slots=True)
class ChangedPlace:
    """A place in the sources, or a class of a rule's fixture, with what changes there.

    message  what the code does, and what each version does with it
    instead  what to write instead; "" where that is not asked
    counts   is it worse, and sure enough to be told from a note?
    """

    rule: str
    case: str
    path: str
    line: int
    column: int
    message: str
    instead: str
    counts: bool
    change: Change

    @property
    def kind(self) -> Kind:
        return self.change.kind

    @property
    def is_listed(self) -> bool:
        """In text; JSON has all. What fails as before is a matter of `exportlint check`, and of what is not known and
        cannot be worse there is nothing to do."""
        if self.kind is Kind.NOT_KNOWN:
            return any(one.may_be_worse for one in self.change.ways)
        return self.kind is not Kind.STILL_FAILS

    @property
    def sort_key(self) -> tuple[int, bool, str, int, int, str, str]:
        return (self.kind.rank, not self.counts, self.path, self.line, self.column, self.rule, self.case)


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """From one torch version to another.

    before, after  as people call them
    judged_by      of each of both, the measured versions that stand for it
    between        the measured versions on the way
    unit           what a place is: "place", or "class" of a fixture
    silenced       of how many places that get worse nothing is said, for a comment or per-file-ignores silence them
    """

    before: str
    after: str
    judged_by: tuple[tuple[str, ...], tuple[str, ...]]
    between: tuple[str, ...]
    is_downgrade: bool
    purpose: str
    ways: tuple[str, ...]
    places: tuple[ChangedPlace, ...]
    files: int
    unit: str = "place"
    silenced: int = 0
    problems: tuple[Problem, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def gets_worse(self) -> bool:
        return any(place.counts for place in self.places)

    def count(self, kind: Kind) -> int:
        return sum(place.kind is kind for place in self.places)

    @property
    def title(self) -> str:
        """Which versions are compared, and for what."""
        modes = [way for way in self.ways if way != "compile"]
        of = [f"torch.export ({' and '.join(modes)} mode)"] if modes else []
        of += ["torch.compile"] if "compile" in self.ways else []
        how = "downgrade" if self.is_downgrade else "upgrade"
        return f"{how} from torch {self.before} to {self.after}: what changes for {' and '.join(of)}"

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        worse = sum(place.counts for place in self.places)
        listed = [f"{_number(worse, self.unit)} {'gets' if worse == 1 else 'get'} worse"]
        listed += [f"{number} {words[number > 1]}" for kind, words in _COUNTED.items() if (number := self.count(kind))]
        listed += [f"{self.silenced} worse silenced by comments or per-file-ignores"] if self.silenced else []
        files = f" ({_number(self.files, 'file')})" if self.unit == "place" else ""
        return "; ".join(listed) + files


def _number(number: int, unit: str) -> str:
    """
    >>> _number(0, "place"), _number(1, "class"), _number(2, "class")
    ('no places', '1 class', '2 classes')
    """
    return f"{number or 'no'} {unit if number == 1 else _plural(unit)}"


def _plural(unit: str) -> str:
    return unit + ("es" if unit.endswith("s") else "s")


_HEADS = {
    Kind.SILENT: "gives something else than eager, silently",
    Kind.FAILS: "begins to fail",
    Kind.FAILS_OTHERWISE: "fails in another way",
    Kind.AGREES: "gives what eager gives, where it silently did not",
    Kind.HEALS: "heals",
    Kind.DEPRECATED: "begins to warn that it will end",
    Kind.NOT_KNOWN: "not known, and may get worse",
}
_COUNTED = {
    Kind.SILENT: ("begins to give something else silently", "begin to give something else silently"),
    Kind.FAILS: ("begins to fail", "begin to fail"),
    Kind.FAILS_OTHERWISE: ("fails in another way", "fail in another way"),
    Kind.AGREES: ("begins to give what eager gives", "begin to give what eager gives"),
    Kind.HEALS: ("heals", "heal"),
    Kind.DEPRECATED: ("begins to warn", "begin to warn"),
    Kind.STILL_FAILS: ("fails in both alike", "fail in both alike"),
    Kind.NOT_KNOWN: ("is not known", "are not known"),
}


def _by_kind(report: UpgradeReport) -> Iterator[tuple[Kind, list[ChangedPlace]]]:
    for kind, places in groupby(report.places, key=lambda place: place.kind):
        if listed := [place for place in places if place.is_listed]:
            yield kind, listed


def _facts(place: ChangedPlace) -> Iterator[tuple[str, str]]:
    """What is told below a place, as label and text."""
    for one in _told_ways(place.change):
        if one.after.says and not one.after.is_right:
            yield _who_says(one.after, place.case), one.after.says
    if place.instead:
        yield "instead", place.instead


def _told_ways(change: Change) -> list[WayChange]:
    """Those that changed, the worst first."""
    changed = [one for one in change.ways if one.kind not in {Kind.NOT_KNOWN, Kind.STILL_FAILS}]
    return sorted(changed, key=lambda one: one.kind.rank)


def _who_says(did: Did, case: str) -> str:
    """Where a program differs, nobody said anything: it was seen on the model of the rule's fixture."""
    release = _release(did.torch)
    return f"seen with torch {release} on {case}" if did.outcome == "differs" else f"torch {release} says"


def _release(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _counted_only(report: UpgradeReport) -> str:
    """The places that are told as numbers, and why."""
    certain = sum(place.kind is Kind.NOT_KNOWN and not place.is_listed for place in report.places)
    if not certain:
        return ""
    more = f"{_number(certain, report.unit)} more"
    return f"{more}: not known with torch {report.before}, and torch {report.after} does it right"


# Text.


def as_text(report: UpgradeReport, options: RenderOptions) -> str:
    """Ends with a line end. What a place shares with the one above is not said again."""
    lines = [report.title, ""]
    for kind, places in _by_kind(report):
        lines.append(f"{_HEADS[kind]} ({len(places)})")
        lines += _unknown_lines(places, options) if kind is Kind.NOT_KNOWN else _changed_lines(places, options)
        lines.append("")
    if counted := _counted_only(report):
        lines += [counted]
    return "\n".join([*lines, report.headline]) + "\n"


def _changed_lines(places: Sequence[ChangedPlace], options: RenderOptions) -> Iterator[str]:
    above: set[tuple[str, str]] = set()
    for place in places:
        yield from _hanging("  ", f"{_where(place)} [{place.rule}] {place.message}", options.width)
        facts = dict.fromkeys(_facts(place))
        for label, text in facts:
            if (label, text) not in above:
                yield from _hanging("      ", f"{label}: {text}", options.width)
        above.update(facts)


def _unknown_lines(places: Sequence[ChangedPlace], options: RenderOptions) -> Iterator[str]:
    """Places of which the same is known, together: there is nothing to do for each of them but to try it."""
    alike: dict[tuple[str, str], list[str]] = {}
    for place in places:
        alike.setdefault((place.rule, _what_is_known(place)), []).append(_where(place))
    for (rule, known), where in sorted(alike.items(), key=lambda item: (item[0], len(item[1]))):
        yield from _hanging("  ", f"[{rule}] {known}: {', '.join(where)}", options.width)


def _what_is_known(place: ChangedPlace) -> str:
    ways = [one for one in place.change.ways if one.kind is Kind.NOT_KNOWN]
    said = (f"torch {_release(did.torch)} {did.words}" for one in ways for did in (one.before, one.after))
    return "; ".join(dict.fromkeys(said))


def _where(place: ChangedPlace) -> str:
    return f"{place.path}:{place.line}:{place.column}" if place.column else place.case


def _hanging(indent: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=indent,
        subsequent_indent=indent + "  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


# Markdown.


def as_markdown(report: UpgradeReport) -> str:
    """A page: a table for each kind of change."""
    blocks = [f"## {cell(report.title)}", cell(report.headline)]
    for kind, places in _by_kind(report):
        blocks.append(f"### {_HEADS[kind].capitalize()} ({len(places)})")
        blocks.append(table(["place", "rule", "what", "torch's words", "instead"], [*map(_row, places)]))
    blocks += [counted] if (counted := _counted_only(report)) else []
    blocks += [table(["not checked", "why"], [(p.path, p.message) for p in report.problems])] if report.problems else []
    return "\n\n".join([*blocks, *map(cell, report.remarks)]) + "\n"


def _row(place: ChangedPlace) -> tuple[str, ...]:
    says = "; ".join(dict.fromkeys(text for label, text in _facts(place) if label != "instead"))
    return f"`{_where(place)}`", place.rule, place.message, says, place.instead


# JSON.


def as_json(report: UpgradeReport) -> str:
    """All places, also those that the text only counts."""
    data = {
        "version": 1,
        "exportlint": __version__,
        "from": {"torch": report.before, "judged_by": list(report.judged_by[0])},
        "to": {"torch": report.after, "judged_by": list(report.judged_by[1])},
        "between": list(report.between),
        "downgrade": report.is_downgrade,
        "for": report.purpose,
        "modes": [way for way in report.ways if way != "compile"],
        "gets_worse": report.gets_worse,
        _plural(report.unit): [_place(one, is_source=report.unit == "place") for one in report.places],
        "summary": {
            **({"files": report.files} if report.unit == "place" else {}),
            "worse": sum(place.counts for place in report.places),
            **{kind.value: report.count(kind) for kind in Kind},
            "silenced": report.silenced,
        },
        "problems": [asdict(problem) for problem in report.problems],
        "remarks": list(report.remarks),
    }
    return json.dumps(data, indent=2) + "\n"


def _place(place: ChangedPlace, *, is_source: bool) -> dict[str, Any]:
    return {
        "rule": place.rule,
        "case": place.case,
        "path": place.path,
        "line": place.line,
        **({"column": place.column} if is_source else {}),
        "kind": place.kind.value,
        "worse": place.counts,
        "message": place.message,
        "instead": place.instead or None,
        "ways": [_way(one) for one in place.change.ways],
    }


def _way(one: WayChange) -> dict[str, Any]:
    return {
        "kind": one.kind.value,
        "worse": one.is_worse,
        "from": _did(one.before),
        "to": _did(one.after),
        "changed": {"after": one.since[0], "by": one.since[1]} if one.since else None,
    }


def _did(did: Did) -> dict[str, Any]:
    return {
        "way": did.way,
        "outcome": did.outcome or None,
        "words": did.words,
        "says": did.says or None,
        "later": list(did.later),
        "deprecated": did.deprecated or None,
        "graph_breaks": list(did.graph_breaks),
    }
