"""Show what was rewritten: the ladder before and after, the diff with a reason for each hunk, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.output.console import printed, text_console
from exportlint.repair.improvement import breaking_lines, functions_left, operators_in_graphs
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.outcomes import SKIPPED
from exportlint.trial.protocol.stages import BREAKS, SAME_BEHAVIOUR, StageKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from exportlint.finding import Finding
    from exportlint.output.report import RenderOptions
    from exportlint.repair.rounds import Rejected
    from exportlint.trial.protocol.result import TargetReport


# These look for the cause of a failure; what they saw is no state of the model.
_LOOKING = (StageKind.INFORM, StageKind.DRAFT, StageKind.REFUSALS, StageKind.SEARCH, StageKind.REMEDIES)
_STYLES = {"+": "status.passed", "-": "status.refused", "@": "gutter", "#": "label"}


def ladders_text(
    before: Sequence[TargetReport],
    after: Sequence[TargetReport],
    options: RenderOptions,
    costs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]] = (),
) -> str:
    """The statuses of each target's stages, before and after; of torch.compile where it breaks the graph, and what a
    call takes, as far as that was measured."""
    console, file = text_console(options)
    for number, (old, new) in enumerate(zip(before, after, strict=True)):
        _print_both(console, old, new)
        if any(stage.name == BREAKS.name for stage in new.stages):
            lines, lines_left = (len(breaking_lines(one)) for one in (old, new))
            console.print(f"  lines that break the graph: {lines} -> {lines_left}", soft_wrap=True)
            functions, left = (len(functions_left(one)) for one in (old, new))
            if functions or left:  # fewer of them may show more lines that break
                console.print(
                    f"  lines at which a whole function is left to Python: {functions} -> {left}", soft_wrap=True
                )
            operators, less = (operators_in_graphs(one) for one in (old, new))
            if lines_left and less < operators:  # a break less, and Dynamo leaves the whole function for the next one
                console.print(f"  operators in graphs: {operators} -> {less}", soft_wrap=True)
        if number < len(costs):
            console.print(f"  {_times(*costs[number])}", soft_wrap=True)
    return printed(file)


def _times(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    was, now = (f"{one['compiled_ms']:.3g} ms ({one['ratio']:g} x eager)" for one in (old, new))
    return f"a compiled call ({new['backend']}): {was} -> {now}, measured here, on this CPU"


def _print_both(console: Console, old: TargetReport, new: TargetReport) -> None:
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    console.print(f"target {old.name}", style="headline", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    for head in ("  stage", "before", "after"):
        table.add_column(head, no_wrap=True)
    statuses = {stage.name: stage.status for stage in old.stages if stage.name != SAME_BEHAVIOUR.name}
    for stage in (one for one in new.stages if one.row.kind not in _LOOKING):
        was = statuses.get(stage.name, "")
        if {was, stage.status} - {SKIPPED, ""}:
            table.add_row(
                f"  {stage.name}",
                *(Text(status, style=f"status.{status}" if status else "") for status in (was, stage.status)),
            )
    console.print(table)


def diff_text(lines: Sequence[str], options: RenderOptions) -> str:
    """A unified diff; coloured where the options ask for it. Tabs and carriage returns stay, so that it applies."""
    if not options.color:
        return "".join(f"{line}\n" for line in lines)
    from rich.color import ColorSystem  # noqa: PLC0415 (50 ms)

    console, _ = text_console(options)
    styles = {mark: console.get_style(name) for mark, name in _STYLES.items()}
    return "".join(
        f"{styles[line[:1]].render(line, color_system=ColorSystem.STANDARD) if line[:1] in styles else line}\n"
        for line in lines
    )


def rejected_text(rejected: Sequence[Rejected]) -> str:
    """What was tried and not taken, and why."""
    lines = []
    for one in rejected:
        what = "; ".join(
            f"{finding.path}:{finding.line} [{finding.rule}] {fix.description}" for finding, fix in one.proposal.parts
        )
        lines += [f"tried, and not taken: {what}", f"    {one.why}"]
    return "\n".join(lines) + "\n" if lines else ""


def left_text(findings: Sequence[Finding]) -> str:
    """What is left for a person: a line a finding, and what to write instead."""
    lines = []
    for finding in findings:
        lines.append(f"{finding.path}:{finding.line}: {finding.severity.value}[{finding.rule}] {finding.message}")
        if is_installed(str(Path(finding.path).absolute())):
            lines.append("    the line is in an installed package, which is not rewritten")
        elif finding.fix:
            lines.append(f"    {finding.fix.description}")
    return "\n".join(lines) + "\n" if lines else ""
