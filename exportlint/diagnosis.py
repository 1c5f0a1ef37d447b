"""For notebooks and scripts what the command line is for a shell: `exportlint.diagnose` and `exportlint.lint`."""

from __future__ import annotations

import linecache
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint import config as configuration
from exportlint.errors import UserError
from exportlint.files import Collected
from exportlint.finding import Evidence, Finding, Severity
from exportlint.output import full
from exportlint.output.contract import as_data
from exportlint.output.report import Look

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from exportlint.output.report import Report, Stage
    from exportlint.trial.report import TargetReport, TrialOptions

_WIDTH = 100


@dataclass(frozen=True)
class Diagnosis:
    """What the trial of one model found. Prints as text; a notebook shows it in colour."""

    report: Report

    @property
    def ok(self) -> bool:
        """Nothing that is an error or a warning: `exportlint trial` would exit with 0."""
        return not (self.report.count(Severity.ERROR) or self.report.count(Severity.WARNING))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.report.findings

    @property
    def ladder(self) -> tuple[Stage, ...]:
        """Each stage with its status, seconds and one line."""
        return self.report.targets[0].stages

    def to_dict(self) -> dict[str, Any]:
        """What `--output-format json` prints."""
        return as_data(self.report)

    def __str__(self) -> str:
        return full.render(self.report, Look(width=_WIDTH)).rstrip()

    __repr__ = __str__

    def __rich_console__(self, _console: Console, options: ConsoleOptions) -> Iterator[Text]:
        from rich.text import Text  # noqa: PLC0415 (50 ms)

        text = full.render(self.report, Look(color=True, width=options.max_width)).rstrip()
        yield Text.from_ansi(text, no_wrap=True, overflow="ignore")

    def _repr_html_(self) -> str:
        from io import StringIO  # noqa: PLC0415

        from rich.console import Console  # noqa: PLC0415 (50 ms)

        console = Console(record=True, width=_WIDTH, file=StringIO(), legacy_windows=False)
        console.print(self)
        return console.export_html(inline_styles=True, code_format='<pre style="line-height: 1.2">{code}</pre>')


def diagnose(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    other_args: Sequence[Any] | None = None,
    name: str | None = None,
    mode: str | None = None,
    lower: Sequence[str] = (),
    timeout: float = 300.0,
    memory_gb: float = 16.0,
    save_repro: str | Path | None = None,
) -> Diagnosis:
    """Try a live model as `exportlint trial` would: every stage in a process of its own, on a copy of the model.

    `args`, `kwargs` and `dynamic_shapes` are those of torch.export.export; `other_args` is a second set of inputs that
    the same program must take; `mode` (non-strict, strict, both) is what severity follows; `lower` names targets to
    compile for; `timeout` and `memory_gb` hold for each stage; `save_repro` is a folder for a script of each failure,
    which fails in the same way without exportlint. The model is tried on the CPU.

    Raises UserError when it cannot be tried, with one sentence that says why.
    """
    from exportlint.commands import trying  # noqa: PLC0415 (the trial's modules, once there is a target)
    from exportlint.trial.handing import handed  # noqa: PLC0415 (torch, with the model that needs it)
    from exportlint.trial.report import TrialOptions  # noqa: PLC0415

    parts = {
        "model": model,
        "args": _tuple(args),
        "kwargs": dict(kwargs or {}),
        "dynamic_shapes": dynamic_shapes,
        "other_args": None if other_args is None else _tuple(other_args),
    }
    place = _caller()
    name = name or str(getattr(model, "__qualname__", type(model).__name__))
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        target = handed(parts, name, place, Path(folder))
        options = TrialOptions(
            lower=trying.lowerings(lower), timeout=timeout, memory_mb=int(memory_gb * 1000), keep=True
        )
        return _tried(target, mode, options, None if save_repro is None else Path(save_repro))


def _tuple(args: Any) -> Any:
    """A lone tensor is one argument; what is no sequence either is for the trial to refuse."""
    return tuple(args) if isinstance(args, (tuple, list)) else args


def _tried(target: Any, mode: str | None, options: TrialOptions, scripts: Path | None) -> Diagnosis:
    from exportlint.commands import reproducing, trying  # noqa: PLC0415 (the trial's modules, once there is a target)
    from exportlint.commands.gathering import report  # noqa: PLC0415

    config = configuration.load(["."], configuration.Asked(mode=mode))
    with reproducing.kept(scripts) as parts:
        options = replace(options, parts=parts)
        gathered, config, tried = trying.examined([target], Collected((), ()), config, options, jobs=1)
        if broken := next((one.broken for one in tried if one.broken), None):
            raise UserError(broken)
        gathered = reproducing.saved(gathered, tried, scripts)
    made = report(gathered, config, show_cleared=False, show_suppressed=False)
    own = tuple(finding for finding in made.findings if _is_about(finding, tried[0]))
    return Diagnosis(replace(made, findings=own, source=_source(made)))


def _is_about(finding: Finding, tried: TargetReport) -> bool:
    """Of what is only suspected, what the model ran: the files around it hold other models too."""
    if finding.evidence is not Evidence.SUSPECTED:
        return True
    ran = tried.executed.get(os.path.abspath(finding.path), frozenset())  # noqa: PTH100 - no links resolved
    return any(line in ran for line in range(finding.line, finding.end_line + 1))


def _source(made: Report) -> Any:
    """Lines of files, and of a notebook's cells, which are no files."""

    def line(path: str, number: int) -> str | None:
        cell = linecache.getline(os.path.abspath(path), number).rstrip("\n")  # noqa: PTH100 - no links resolved
        return made.source(path, number) or cell or None

    return line


def _caller() -> tuple[str | None, int | None]:
    """Who calls us: the innermost frame outside of this package."""
    frame = sys._getframe(1)  # noqa: SLF001 - what inspect.currentframe() does
    here = str(Path(__file__).parent)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(here):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


def lint(
    paths: str | Path | Sequence[str | Path],
    *,
    mode: str | None = None,
    torch: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> list[Finding]:
    """What `exportlint check` finds in files and folders; nothing in them is imported or run, and torch is not needed.

    Raises UserError for a file that cannot be read or parsed.
    """
    from exportlint.commands.gathering import report  # noqa: PLC0415
    from exportlint.commands.static import collected, static  # noqa: PLC0415

    names = [str(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    config = configuration.load(names, configuration.Asked(tuple(select), tuple(ignore), mode, torch))
    gathered = static(collected(names, None, config), config, jobs=1, cache=False)
    if problem := next(iter(gathered.problems), None):
        raise UserError(f"{problem.path}{f':{problem.line}' if problem.line else ''}: {problem.message}")
    return list(report(gathered, config, show_cleared=False, show_suppressed=False).findings)
