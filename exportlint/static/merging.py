"""Join the suspicions of several files into findings: where several run one function, those of one file are taken."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from exportlint.files import shown as shown_path
from exportlint.finding import DOUBT, Applicability, Edit, Finding, Fix, Severity, TrailStep, fingerprint
from exportlint.trial.protocol.outcomes import NON_STRICT, REFUSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exportlint.engine.source.parsed import FileStore
    from exportlint.finding import Link
    from exportlint.rule.suspicion import SuspectedRewrite, Suspicion
    from exportlint.static.judgement import Judgement


class CaseJudge(Protocol):
    """What was measured of the cases of a rule, and so how a suspicion is told."""

    def severity(self, case: str) -> Severity | None:
        """None: there is nothing to report."""

    def message(self, suspicion: Suspicion) -> str:
        """The rule's, in words of what is judged for."""
        ...

    def sentence(self, case: str) -> str:
        """What torch, or a target of deployment, does with it."""

    def suggestion(self, suspicion: Suspicion) -> str:
        """The rule's suggestion as far as it was tried; "" where it helps nobody."""

    def effect(self, case: str) -> dict[str, str]:
        """Mode -> outcome."""

    def lowerings(self, case: str) -> dict[str, str]:
        """Target of deployment -> outcome."""

    def graph_breaks(self, case: str) -> tuple[str, ...] | None:
        """The ids under which torch refused it; None: it was not measured, so any of the rule's may be it."""

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:
        """Mode -> what a trial has to run to show the harm."""


_Key = tuple[str, int, int, int, int, str]  # absolute path, lines and columns, rule
_Judged = tuple[Severity, "Suspicion"]


class MergedSuspicions:
    """Collects the suspicions of all judgements by place, and makes findings of them.

    shown      absolute path of a checked file -> how reports name it; what stands in other files is left out
    measured   what torch did with the cases of a rule, by the rule's name; and, where it is True, where torch.compile
               has left the graph before
    """

    def __init__(self, shown: dict[str, str], measured: Callable[[str, bool], CaseJudge], files: FileStore) -> None:
        self._shown = shown
        self._measured = measured
        self._files = files
        self._at: dict[_Key, dict[str, list[_Judged]]] = defaultdict(dict)

    def add(self, judgement: Judgement) -> None:
        for suspicion in judgement.suspicions:
            severity = self._measured(suspicion.rule, suspicion.in_python).severity(suspicion.case)
            if severity is not None and suspicion.path in self._shown:
                capped = max(severity, suspicion.at_most, key=lambda s: s.rank)
                place = suspicion.place
                where = (place.line, place.column, place.end_line, place.end_column)
                key = (suspicion.path, *where, suspicion.rule)
                self._at[key].setdefault(judgement.path, []).append((capped, suspicion))

    def unmade(self) -> dict[str, dict[str, frozenset[int]]]:
        """Judged files that speak of places in other files without having made the rewrites -> all of these places, as
        the lines of each of the other files."""
        places: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        waiting: set[str] = set()
        for key, chosen_file in self._chosen():
            if chosen_file != key[0]:
                places[chosen_file][key[0]].add(key[1])
                if any(suspicion.unmade for _, suspicion in self._at[key][chosen_file]):
                    waiting.add(chosen_file)
        return {file: {path: frozenset(lines) for path, lines in places[file].items()} for file in waiting}

    def _chosen(self) -> Iterator[tuple[_Key, str]]:
        """The file whose judgement speaks of each place: where it is worst, and there the one that it stands in."""
        for key in sorted(self._at):
            by_file = self._at[key]
            yield key, min(by_file, key=lambda path: (_rank(by_file[path]), path != key[0], path))

    def findings(self) -> Iterator[Finding]:
        seen: Counter[tuple[str, str, str]] = Counter()
        for key, chosen_file in self._chosen():
            by_case: dict[str, _Judged] = {}
            for severity, suspicion in self._at[key][chosen_file]:
                by_case.setdefault(suspicion.case, (severity, suspicion))
            yield from (self._finding(severity, suspicion, seen) for severity, suspicion in by_case.values())

    def _finding(self, severity: Severity, suspicion: Suspicion, seen: Counter[tuple[str, str, str]]) -> Finding:
        measured = self._measured(suspicion.rule, suspicion.in_python)
        shown = self._shown[suspicion.path]
        line = self._files.line(suspicion.path, suspicion.place.line)
        same_line = (suspicion.rule, suspicion.path, line.strip())
        seen[same_line] += 1
        place, advice = suspicion.place, measured.suggestion(suspicion)
        rewrites = tuple(fix_of(one, shown) for one in suspicion.rewrites)
        doubt = DOUBT if severity is not measured.severity(suspicion.case) else ""
        effect, caught = measured.effect(suspicion.case), ""
        if suspicion.caught_at and effect.get(NON_STRICT) == REFUSED:
            effect = {mode: outcome for mode, outcome in effect.items() if mode != NON_STRICT}
            caught = f"; in non-strict mode line {suspicion.caught_at} catches that, and the export goes on there"
        predicted = f"{doubt}{measured.sentence(suspicion.case)}{caught}"
        return Finding(
            suspicion.rule,
            shown,
            place.line,
            place.column,
            place.end_line,
            place.end_column,
            severity,
            f"{measured.message(suspicion)}: {predicted}",
            effect=effect,
            links=_of_this_break(suspicion.links, measured.graph_breaks(suspicion.case)),
            fix=_offered(advice, rewrites),
            fingerprint=fingerprint(suspicion.rule, shown, line, seen[same_line] - 1),
            shown_by=measured.shown_by(suspicion.case),
            lowerings=measured.lowerings(suspicion.case),
            rewrites=rewrites,
            trail=tuple(TrailStep(text, self._named(path), line) for text, line, path in suspicion.trail),
            case=suspicion.case,
            predicted=predicted,
            in_python=suspicion.in_python,
        )

    def _named(self, path: str) -> str:
        return self._shown.get(path) or shown_path(Path(path))


def _of_this_break(links: tuple[Link, ...], measured: tuple[str, ...] | None) -> tuple[Link, ...]:
    """The pages of the rule, without those of breaks that other code of its kind makes."""
    if measured is None:
        return links
    from exportlint.reference.lookup import link_for_graph_break  # noqa: PLC0415 (only for files with findings)

    cases, docs = ([link for link in links if link.kind == kind] for kind in ("exportdb", "docs"))
    return (*cases, *(link for gb_id in measured if (link := link_for_graph_break(gb_id))), *docs)


def fix_of(rewrite: SuspectedRewrite, named: str) -> Fix:
    """As findings carry it: a rewrite of the file that is `named` so, or of the one that it names itself."""
    name = shown_path(Path(rewrite.path)) if rewrite.path else named
    edits = tuple(Edit(name, one.start, one.end, one.text) for one in rewrite.replacements)
    sides, python = rewrite.both_sides_of, rewrite.needs_python
    return Fix(rewrite.description, rewrite.applicability, edits, both_sides_of=sides, needs_python=python)


def _offered(advice: str, rewrites: Iterable[Fix]) -> Fix | None:
    """The advice, with the edits of a rewrite that is right whatever the inputs are, or of the best one."""
    plain = (one for one in rewrites if not one.both_sides_of)
    best = min(plain, key=lambda one: one.applicability is not Applicability.SAFE, default=None)
    if best:
        return replace(best, description=advice or best.description)
    return Fix(advice) if advice else None


def _rank(judged: Iterable[_Judged]) -> int:
    return min(severity.rank for severity, _ in judged)
