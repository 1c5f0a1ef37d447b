"""Join what the static pass suspects of torch.compile with what trials found of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence
from exportlint.trial.findings.classify import shown
from exportlint.trial.findings.deduplicate import findings_of
from exportlint.trial.findings.never_ran import coverage_findings
from exportlint.trial.protocol.outcomes import PASSED, Compiled
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.stages import BREAKS, RECOMPILES, SCRIPT
from exportlint.trial.protocol.torch_messages import DISABLED, SKIPPED_FRAME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.finding import Finding, Fix
    from exportlint.trial.findings.trial_finding import TrialFinding
    from exportlint.trial.protocol.result import TargetReport


def merge_compiled(findings: Sequence[Finding], reports: Sequence[TargetReport], *, root: Path) -> list[Finding]:
    """Each place and reason once: a break at a line that is suspected to break confirms that, of several suspicions the
    one of its rule. A suspicion is cleared where its line ran in a target whose graph broke at other lines only.

    `findings` is what the static pass suspects for torch.compile; paths are relative to `root`.
    """
    root = root.resolve()
    joined = list(findings)
    discovered: dict[tuple[str, int, str, str], Finding] = {}
    for report in reports:
        for found in findings_of(report, root, ()):
            index = None if report.stage(SCRIPT.name) else _suspected(joined, found)
            if index is None:
                discovered.setdefault((found.path, found.line, found.name, found.family), found.finding())
            else:
                joined[index] = _confirmed(joined[index], found)
    for index, one in enumerate(joined):
        clearing = next((report for report in reports if _clears(report, one, root)), None)
        if one.evidence is Evidence.SUSPECTED and clearing is not None:
            joined[index] = replace(one, evidence=Evidence.CLEARED, target=clearing.name)
    unrun = coverage_findings(reports, root)
    return sorted([*joined, *discovered.values(), *unrun], key=lambda finding: finding.sort_key)


def _suspected(findings: Sequence[Finding], found: TrialFinding) -> int | None:
    """The suspicion at the place of what a trial found there of torch.compile: of several that of its rule, then one
    that knows this graph break. What compiles again, or differs, is not what a break confirms, nor the other way
    round."""
    if not (found.of_compile and found.placed):
        return None
    pages = {link.id for link in found.links}
    here = [
        (one.rule != found.name, pages.isdisjoint(link.id for link in one.links), index)
        for index, one in enumerate(findings)
        if one.path == found.path and one.line <= found.line <= one.end_line and _is_of_its_kind(one, found)
    ]
    return min(here)[-1] if here else None


def _is_of_its_kind(static: Finding, found: TrialFinding) -> bool:
    if static.evidence is Evidence.CONFIRMED:
        return static.stage == found.stage.name
    runs_in_graph = static.effect.get(COMPILE) in (Compiled.RECOMPILES.value, Compiled.DIFFERS.value)
    return static.rule == found.name or runs_in_graph == (found.stage != BREAKS)


def _confirmed(static: Finding, found: TrialFinding) -> Finding:
    tried = found.finding()
    if static.evidence is Evidence.CONFIRMED:
        return static
    return replace(
        static,
        evidence=Evidence.CONFIRMED,
        severity=min(static.severity, tried.severity, key=lambda severity: severity.rank),
        message=f"{static.message}; tried: {tried.message}",
        target=tried.target,
        stage=tried.stage,
        links=tuple(dict.fromkeys((*tried.links, *static.links))),
        fix=_better_advice(static, tried),
    )


def _better_advice(static: Finding, tried: Finding) -> Fix | None:
    """What ends compiling again and again a trial says of the guard that failed, and it tried that."""
    if tried.stage == RECOMPILES.name and tried.fix and static.fix:
        return replace(static.fix, description=tried.fix.description)
    return static.fix or tried.fix


def _clears(report: TargetReport, static: Finding, root: Path) -> bool:
    """Did its line run inside of the model, in a trial that would have shown the break? A function that Dynamo gave up,
    or that is kept out of the graph, hides what is in it."""
    breaks = report.stage(BREAKS.name)
    if static.effect.get(COMPILE) != Compiled.BREAKS.value or breaks is None or breaks.status != PASSED:
        return False
    if any(seen.details.get("kind") in (SKIPPED_FRAME, DISABLED) for seen in breaks.observations):
        return False
    lines = range(static.line, static.end_line + 1)
    ran = (some for path, some in report.called.items() if shown(str(Path(path).resolve()), root) == static.path)
    return any(line in some for some in ran for line in lines)
