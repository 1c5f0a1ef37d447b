"""Choose what to rewrite next: the most decisive findings that have a rewrite which was not refuted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.edited_source import overlap
from exportlint.finding import Applicability, Edit, Evidence, Finding, Fix, Severity
from exportlint.repair.edition import BY_CONSTRUCTION, HunkReason
from exportlint.trial.protocol.outcomes import DIFFERS
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.stages import BREAKS, stage_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.repair.edition import Edition


@dataclass(frozen=True, slots=True)
class Proposal:
    """Rewrites that are tried together."""

    parts: tuple[tuple[Finding, Fix], ...]

    @property
    def keys(self) -> tuple[tuple[str, str, str], ...]:
        """What is the same in the next round, however lines move."""
        return tuple((finding.fingerprint, finding.rule, fix.description) for finding, fix in self.parts)

    @property
    def in_words(self) -> str:
        return "; ".join(f"{one.path}:{one.line} {fix.description}" for one, fix in self.parts)

    @property
    def is_safe(self) -> bool:
        """Is all of it right by construction?"""
        return all(fix.applicability is Applicability.SAFE for _, fix in self.parts)

    @property
    def is_of_graph_breaks(self) -> bool:
        """Is all of it for lines that break the graph?"""
        return all(finding.stage == BREAKS.name for finding, _ in self.parts)

    def applied(self, edition: Edition) -> Edition:
        """Raises OverlappingEditsError."""
        edits = [edit for _, fix in self.parts for edit in fix.edits]
        why = [
            HunkReason(
                *_where(finding, fix),
                finding.rule,
                fix.description,
                BY_CONSTRUCTION if fix.applicability is Applicability.SAFE else "",
            )
            for finding, fix in self.parts
        ]
        return edition.with_edits(edits, why)


def _where(finding: Finding, fix: Fix) -> tuple[str, int]:
    """The line that is rewritten for the finding: its own, or where another file alone is edited, the first of that."""
    if not fix.edits or any(edit.path == finding.path for edit in fix.edits):
        return finding.path, finding.line
    return fix.edits[0].path, fix.edits[0].start[0]


def compatible(parts: Iterable[tuple[Finding, Fix]]) -> Proposal:
    """As many as fit together; of those that overlap, the first."""
    taken: list[tuple[Finding, Fix]] = []
    edits: defaultdict[str, list[Edit]] = defaultdict(list)
    for finding, fix in parts:
        own = {path: [one for one in fix.edits if one.path == path] for path in {one.path for one in fix.edits}}
        if not any(overlap([*edits[path], *new]) for path, new in own.items()):
            taken.append((finding, fix))
            for path, new in own.items():
                edits[path] += new
    return Proposal(tuple(taken))


def _parted_by_rule(together: Proposal) -> Iterator[Proposal]:
    """Without the rewrites of one rule, and those of one alone. Only of graph breaks, each of which counts: of an
    export, what is refused first hides whether the rest helps."""
    rules = list(dict.fromkeys(finding.rule for finding, _ in together.parts))
    breaks = all(finding.stage and stage_named(finding.stage).purpose == COMPILE for finding, _ in together.parts)
    if not breaks or len(rules) == 1:
        return
    for rule in rules:
        yield Proposal(tuple(part for part in together.parts if part[0].rule != rule))
    for rule in rules if len(rules) > 2 else ():  # noqa: PLR2004 - of two, the other one was left out just now
        yield Proposal(tuple(part for part in together.parts if part[0].rule == rule))


def _is_silent(finding: Finding) -> bool:
    """Is it known to be compiled wrong without a word? No trial shows that at a line, and what is mended beside it may
    hang on it: a mask of another shape, say."""
    return finding.evidence is Evidence.SUSPECTED and finding.effect.get(COMPILE) == DIFFERS


@dataclass
class Proposals:
    """Gives proposals for findings, and remembers what was refuted."""

    refuted: set[tuple[tuple[str, str, str], ...]] = field(default_factory=set)

    def of(self, findings: Sequence[Finding]) -> Iterator[Proposal]:
        """First all that a trial showed at once, again with others in place of those that were refuted meanwhile, then
        (of graph breaks) without those of one rule, and those of one rule, then each alone, in every way its rule
        knows; then what is only suspected, one by one."""
        loud = [one for one in findings if one.rewrites and one.severity is not Severity.NOTE]
        shown = [one for one in loud if one.evidence in (Evidence.CONFIRMED, Evidence.DISCOVERED) or _is_silent(one)]
        given_together = set[tuple[tuple[str, str, str], ...]]()
        while (together := compatible(self._first_ways(shown))).keys not in self.refuted | given_together:
            given_together.add(together.keys)
            if len(together.parts) > 1:
                yield together
        for several in _parted_by_rule(together):
            if len(several.parts) > 1 and several.keys not in self.refuted:
                yield several
        suspected = [one for one in loud if one.evidence is Evidence.SUSPECTED and not _is_silent(one)]
        given = set[tuple[Edit, ...]]()  # several findings may have the same rewrite
        for finding in (*shown, *suspected):
            for fix in finding.rewrites:
                if (one := Proposal(((finding, fix),))).keys not in self.refuted and fix.edits not in given:
                    given.add(fix.edits)
                    yield one

    def _first_ways(self, findings: Sequence[Finding]) -> Iterator[tuple[Finding, Fix]]:
        """The first way of each that was not refuted."""
        for finding in findings:
            ways = (fix for fix in finding.rewrites if Proposal(((finding, fix),)).keys not in self.refuted)
            if (fix := next(ways, None)) is not None:
                yield finding, fix
