"""What `exportlint fix` found, in the format `agent`: what was rewritten, and of what is left all that is known.

Of what is left the rewrites that were tried say most: each with why it was not taken.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.output.agent import loud_causes, not_looked_at, sections
from exportlint.output.background import KnownRewrite
from exportlint.output.rewrite_diff import diff_between, edited_texts, fenced, text_of
from exportlint.output.verdict import verdict
from exportlint.repair.improvement import is_shown
from exportlint.trial.protocol.outcomes import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.finding import Finding, Fix
    from exportlint.output.report import Report
    from exportlint.repair.edition import Edition
    from exportlint.repair.rounds import Rejected, Repaired


def repair_for_agents(
    edition: Edition, left: Sequence[Finding], report: Report, done: Repaired[Report] | None = None
) -> str:
    """The whole text. `left`: at the lines of the files as they were found; `report`: of these files, with what stands
    behind it; `done`: None where nothing was tried."""
    return "\n".join(_lines(edition, left, report, done)) + "\n"


def _lines(edition: Edition, left: Sequence[Finding], report: Report, done: Repaired[Report] | None) -> Iterator[str]:
    shown = _report_of_what_is_left(edition, left, report, done)
    causes, rewritten = loud_causes(shown), list(edition.diff())
    ending = "; ".join(_counts(len(causes), edition, done, rewritten))
    if not causes and not rewritten:
        yield f"Nothing to rewrite: {ending}; {not_looked_at(shown)}."
        return
    yield "# What was rewritten, and what is known of the failures that are left"
    if done is not None:
        yield ""
        yield from _targets(done)
    if rewritten:
        yield from ("", "## Rewritten", "")
        yield _of_what_is_rewritten(done)
        yield from fenced("diff", rewritten)
        yield from _gone(done)
    if rewritten and causes:
        yield ""
        yield "Below, places and sources are those of the files before this diff; torch's words are of the edited ones."
    yield from sections(causes, shown)
    yield ""
    yield f"{ending}; {not_looked_at(shown)}."


def _report_of_what_is_left(
    edition: Edition, left: Sequence[Finding], report: Report, done: Repaired[Report] | None
) -> Report:
    found = {path: text.split("\n") for path, text in edition.found.items()}

    def source(path: str, line: int) -> str | None:
        lines = found.get(str(Path(path).resolve()))
        if lines is None:
            return report.source(path, line)
        return lines[line - 1] if 0 < line <= len(lines) else None

    background = report.background
    if done is not None:
        background = replace(background, tried=lambda finding: _tried(finding, done, source))
    targets = done.after.targets if done is not None else report.targets
    return replace(
        report, findings=tuple(left), cleared=(), suppressed=(), unreached=(), targets=targets, source=source,
        background=background,
    )  # fmt: skip


# The rewrites of a finding that were tried.


def _tried(finding: Finding, done: Repaired[Report], source: Callable[[str, int], str | None]) -> list[KnownRewrite]:
    """Those by themselves first; of the same one for the same reason, the first."""
    found: dict[tuple[str, str], KnownRewrite] = {}
    for one in sorted(done.rejected, key=lambda rejected: len(rejected.proposal.parts)):
        others = len(one.proposal.parts) - 1
        together = f" together with {others} other{'' if others == 1 else 's'}" if others else ""
        for own, fix in one.proposal.parts:
            if _same(own, finding):
                outcome = f"not taken{together}: {one.why}"
                known = KnownRewrite(fix.description, outcome, _diff(fix, one, source))
                found.setdefault((fix.description, one.why), known)
    taken = [fix for one in done.taken for own, fix in one.parts if _same(own, finding)]
    return [*(KnownRewrite(fix.description, "taken, in the diff above") for fix in taken), *found.values()]


def _same(one: Finding, other: Finding) -> bool:
    """However its line moved."""
    return (one.rule, one.path, one.fingerprint) == (other.rule, other.path, other.fingerprint)


def _diff(fix: Fix, rejected: Rejected, source: Callable[[str, int], str | None]) -> tuple[str, ...]:
    """Of the texts that it was tried on."""
    if rejected.on is None:
        return ()
    texts = {}
    for path in {edit.path for edit in fix.edits}:
        known = rejected.on.texts.get(str(Path(path).resolve()))
        texts[path] = known if known is not None else text_of(path, source)
    return diff_between(texts, edited_texts(fix.edits, texts))


# What was rewritten.


def _of_what_is_rewritten(done: Repaired[Report] | None) -> str:
    if done is None:
        return (
            "Nothing was run; what is known of each rewrite stands behind it, and where nothing does, it was not tried:"
        )
    return "Tried as a whole, in eager and in the stages above; what is known of each rewrite stands behind it:"


def _targets(done: Repaired[Report]) -> Iterator[str]:
    for old, new in zip(done.before.targets, done.after.targets, strict=True):
        before, after = verdict(old, done.before.findings), verdict(new, done.after.findings)
        yield f"- target {old.name}: {before}{f'; after the rewrites: {after}' if done.edition.texts else ''}"
        was = {stage.name: stage.status for stage in old.stages}
        pairs = [(one.name, was.get(one.name, SKIPPED), one.status) for one in new.stages]
        moved = [f"{name} {status} -> {now}" for name, status, now in pairs if status != now]
        if moved:
            yield f"- stages that changed: {', '.join(moved)}"


def _gone(done: Repaired[Report] | None) -> Iterator[str]:
    if done is None:
        return
    before = (one for one in done.before.findings if is_shown(one))
    gone = [one for one in before if not any(_same(one, other) for other in done.after.findings)]
    if gone:
        yield ""
        yield from (f"- no more shown after it: {one.rule}, {one.path}:{one.line}:{one.column}" for one in gone)


def _counts(left: int, edition: Edition, done: Repaired[Report] | None, rewritten: Sequence[str]) -> Iterator[str]:
    yield f"{left} cause{'' if left == 1 else 's'} left"
    number = len(edition.reasons) if rewritten else 0
    yield f"{number} rewrite{'' if number == 1 else 's'} in the diff"
    if done is None:
        yield "no rewrite was tried"
        return
    yield f"{done.tried} trial{'' if done.tried == 1 else 's'} of edited files, {len(done.rejected)} rewrites not taken"
    if done.out_of_time:
        yield "the time was spent before all were tried: `--budget SECONDS` gives more"
    suspected = [one.path for one in done.after.findings if not is_shown(one)]
    if suspected:
        paths = " ".join(shlex.quote(path) for path in dict.fromkeys(suspected))
        yield f"{len(suspected)} more that no trial shows: `exportlint check {paths} --output-format agent` has them"
