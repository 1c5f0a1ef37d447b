"""For a person: the source line with a caret, why, what to write instead, links, and the ladder of each target."""

from __future__ import annotations

from io import StringIO
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.text import Text

    from exportlint.output.report import Look, Report, Target


def render(report: Report, look: Look) -> str:
    if not (report.shown or report.targets):
        return report.headline + "\n"  # the common case on every commit needs no rich
    console = _console(look)
    for finding in report.shown:
        _print_finding(console, finding, report)
    for target in report.targets:
        _print_ladder(console, target)
    console.print(report.headline, style="headline", soft_wrap=True)
    if look.statistics:
        for rule, number in report.per_rule():
            console.print(f"{number:>6}  {rule}")
    file = console.file
    assert isinstance(file, StringIO)  # noqa: S101 (for mypy: _console made it)
    return "\n".join(line.rstrip() for line in file.getvalue().splitlines()) + "\n"


def _console(look: Look) -> Console:
    from rich.console import Console  # noqa: PLC0415 (50 ms)
    from rich.theme import Theme  # noqa: PLC0415

    from exportlint.output.styles import STYLES  # noqa: PLC0415

    return Console(
        file=StringIO(),
        force_terminal=look.color,
        color_system="standard" if look.color else None,
        width=look.width,
        theme=Theme(STYLES),
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def _print_finding(console: Console, finding: Finding, report: Report) -> None:
    from rich.text import Text  # noqa: PLC0415

    severity = (finding.severity.value, f"severity.{finding.severity.value}")
    title = f"[{finding.rule}]{report.aside(finding)} "
    _print_hanging(console, "", Text.assemble(severity, title, (finding.message, "label")))
    gutter = " " * len(str(finding.line))
    console.print(Text.assemble((f"{gutter}--> ", "gutter"), f"{finding.path}:{finding.line}:{finding.column}"))
    _print_source(console, finding, report.source(finding.path, finding.line))
    for label, text in _facts(finding, report):
        _print_hanging(console, f"{gutter} = ", Text.assemble((f"{label}: ", "label"), text))
    console.print()


def _print_source(console: Console, finding: Finding, line: str | None) -> None:
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if line is None:
        return
    number = str(finding.line)
    end = finding.end_column - 1 if finding.end_line == finding.line else len(line.rstrip())
    before, marked = line[: finding.column - 1], line[finding.column - 1 : end]
    # The same tabs below as above, so that the caret stands right whatever a tab is worth.
    pad = "".join("\t" if char == "\t" else " " * cell_len(char) for char in before)
    caret = (pad + "^" * max(1, cell_len(marked)), f"severity.{finding.severity.value}")
    for head, body in ((" " * len(number), ""), (number, line.rstrip()), (" " * len(number), caret)):
        text = Text.assemble((f"{head} | ", "gutter"), body, tab_size=4)
        console.print(text, soft_wrap=True)


def _facts(finding: Finding, report: Report) -> Iterator[tuple[str, str]]:
    """What is known beside the message, each as label and text."""
    if finding.effect:
        outcomes = ", ".join(f"{outcome} in {mode}" for mode, outcome in finding.effect.items())
        yield f"torch {report.torch}" if report.torch else "torch", outcomes
    if finding.evidence is not Evidence.SUSPECTED:
        where = [f"target {finding.target}"] if finding.target else []
        where += [f"stage {finding.stage}"] if finding.stage else []
        yield finding.evidence.value, ", ".join(where) or "by a trial"
    if finding.fix:
        tried = "" if finding.fix.tried == "not tried" else f" ({finding.fix.tried})"
        yield "instead", finding.fix.description + tried
    for link in finding.links:
        yield "see", f"{link.kind} {link.id} {link.url}"


def _print_hanging(console: Console, prefix: str, text: Text) -> None:
    """Print `text` after `prefix`, later lines indented under the first; links and long names stay whole."""
    for number, line in enumerate(text.wrap(console, max(40, console.width - len(prefix)), overflow="ignore")):
        line.rstrip()
        console.print(prefix if not number else " " * len(prefix), line, sep="", soft_wrap=True)


def _print_ladder(console: Console, target: Target) -> None:
    from rich.table import Table  # noqa: PLC0415

    console.print(f"target {target.name}", style="headline", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("  stage", no_wrap=True)
    table.add_column("status", no_wrap=True)
    table.add_column("seconds", justify="right", no_wrap=True)
    table.add_column("detail", overflow="fold")
    for stage in target.stages:
        status = _styled(stage.status, f"status.{stage.status}")
        table.add_row(f"  {stage.name}", status, f"{stage.seconds:.2f}", _styled(stage.detail))
    console.print(table)
    if target.dynamic_shapes:
        console.print(f"  dynamic shapes: {target.dynamic_shapes}", soft_wrap=True)
    console.print()


def _styled(text: str, style: str = "") -> Text:
    from rich.text import Text  # noqa: PLC0415

    return Text(text, style=style)
