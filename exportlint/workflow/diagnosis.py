"""What a trial of one live model found, as text, in colour, as HTML and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from exportlint.finding import Finding, Severity
from exportlint.output import full
from exportlint.output.json_report import as_data
from exportlint.output.report import RenderOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from exportlint.output.report import Report
    from exportlint.trial.protocol.result import StageResult


_WIDTH = 100


@dataclass(frozen=True)
class Diagnosis:
    """What the trial of one model found. Prints as text; a notebook shows it in colour.

    >>> import torch
    >>> from exportlint import diagnose
    >>> diagnosis = diagnose(torch.nn.Linear(3, 2).eval(), (torch.ones(4, 3),))
    >>> diagnosis.ok, [stage.status for stage in diagnosis.ladder if stage.name == "export-strict"]
    (True, ['passed'])
    """

    report: Report

    @property
    def ok(self) -> bool:
        """Nothing that is an error or a warning: `exportlint trial` would exit with 0."""
        return not (self.report.count(Severity.ERROR) or self.report.count(Severity.WARNING))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.report.findings

    @property
    def ladder(self) -> tuple[StageResult, ...]:
        """Each stage with its status, seconds and one line."""
        return self.report.targets[0].stages

    def to_dict(self) -> dict[str, Any]:
        """What `--output-format json` prints."""
        return as_data(self.report)

    def __str__(self) -> str:
        return full.render(self.report, RenderOptions(width=_WIDTH)).rstrip()

    __repr__ = __str__

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text  # noqa: PLC0415 (50 ms)

        text = full.render(self.report, RenderOptions(color=True, width=options.max_width)).rstrip()
        yield Text.from_ansi(text, no_wrap=True, overflow="ignore")

    def _repr_html_(self) -> str:
        from io import StringIO  # noqa: PLC0415

        from rich.console import Console  # noqa: PLC0415 (50 ms)

        console = Console(record=True, width=_WIDTH, file=StringIO(), legacy_windows=False)
        console.print(self)
        return console.export_html(inline_styles=True, code_format='<pre style="line-height: 1.2">{code}</pre>')
