"""The Python API: `exportlint.diagnose` tries a live model, `lint` checks files, `verify` judges an edit.

What a trial needs is imported inside of the functions, since whoever lints files needs no part of it.
"""

from __future__ import annotations

import linecache
import os
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError
from exportlint.files import Collected
from exportlint.finding import Evidence, Finding, Severity
from exportlint.output import full
from exportlint.output.json_report import as_data
from exportlint.output.report import RenderOptions
from exportlint.trial.protocol.frames import is_own_path
from exportlint.trial.protocol.options import DEFAULT_MEMORY_GB, DEFAULT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console, ConsoleOptions
    from rich.text import Text

    from exportlint.config.settings import Config
    from exportlint.output.report import Report
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import StageResult, TargetReport
    from exportlint.trial.protocol.target import Target


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


def diagnose(
    model: Any,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    dynamic_shapes: Any = None,
    *,
    other_args: Sequence[Any] | None = None,
    name: str | None = None,
    mode: str | None = None,
    lower: str | Sequence[str] | None = None,
    timeout: float = DEFAULT_SECONDS,
    memory_gb: float = DEFAULT_MEMORY_GB,
    save_repro: str | Path | None = None,
) -> Diagnosis:
    """Try a live model as `exportlint trial` would: every stage in a process of its own, on a copy of the model.

    model            an nn.Module, or a method or function, which is tried inside of a module that calls it
    args, kwargs     example inputs, as torch.export.export takes them; so is `dynamic_shapes`
    other_args       a second set of inputs that the same program must take
    name             what the report calls the target; by default the model's class
    mode             what severity follows: non-strict, strict or both; by default what pyproject.toml says
    lower            lowerings by name, each compiled, run and compared: "aotinductor", "executorch", or "all"; by
                     default what pyproject.toml says. Its settings for each hold here too
    timeout          seconds for each stage
    memory_gb        gigabytes of resident memory for each stage with everything it starts
    save_repro       a folder for a script of each failure, which fails in the same way without exportlint

    The model is tried on the CPU. Raises UserError, one sentence, where it cannot be tried.

    >>> import torch
    >>> class Clip(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.clamp(max=1) if x.sum() > 3 else x
    >>> diagnosis = diagnose(Clip(), (torch.ones(4),))
    >>> diagnosis.ok, diagnosis.findings[0].rule
    (False, 'data-dependent-branch')
    """
    from exportlint.workflow.live_model import live_target  # noqa: PLC0415 (torch, with the model that needs it)

    parts = {"model": model, "args": _tuple(args), "kwargs": dict(kwargs or {}), "dynamic_shapes": dynamic_shapes}
    place, others = _caller(), None if other_args is None else _tuple(other_args)
    name = name or str(getattr(model, "__qualname__", type(model).__name__))
    config = load_config(["."], CommandLine(mode=mode))
    options = _options(lower, config, timeout, memory_gb)
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        target = live_target({**parts, "other_args": others}, name, place, Path(folder))
        return _tried(target, config, options, None if save_repro is None else Path(save_repro))


def _options(lower: str | Sequence[str] | None, config: Config, timeout: float, memory_gb: float) -> TrialOptions:
    from exportlint.trial.protocol.options import TrialOptions  # noqa: PLC0415 (the trial's modules, for a trial only)
    from exportlint.workflow.lowering_choice import chosen_lowerings, lowering_options  # noqa: PLC0415 (as above)

    return TrialOptions(
        lower=chosen_lowerings(_words(lower), config),
        lowering=lowering_options(config),
        timeout=timeout,
        memory_mb=int(memory_gb * 1000),
        keep=True,
    )


def _words(lower: str | Sequence[str] | None) -> tuple[str, ...]:
    """An empty list asks for none; None asks nobody."""
    if lower is None:
        return ()
    return tuple(lower.split(",")) if isinstance(lower, str) else tuple(lower) or ("none",)


def _tuple(args: Any) -> Any:
    """A lone tensor is one argument; what is no sequence either is for the trial to refuse."""
    return tuple(args) if isinstance(args, (tuple, list)) else args


def _tried(target: Target, config: Config, options: TrialOptions, scripts: Path | None) -> Diagnosis:
    from exportlint.workflow.report_building import build_report  # noqa: PLC0415 (the trial's modules, as above)
    from exportlint.workflow.trials import examine  # noqa: PLC0415 (as above)

    examined = examine([target], Collected((), ()), config, options, save_repro=scripts, jobs=1)
    if broken := next((report.broken for report in examined.reports if report.broken), None):
        raise UserError(broken)
    made = build_report(examined.gathered, examined.config)
    own = tuple(finding for finding in made.findings if _is_about(finding, examined.reports[0]))
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
    while frame.f_back is not None and is_own_path(frame.f_code.co_filename):
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


@dataclass(frozen=True)
class Verification:
    """What `exportlint verify` says of an edit. Prints as text.

    verdict   "mends", "helps", "harmless", "no-help", "different", "worse" or "unproved"
    taken     is it one of the first three, so that the command would exit with 0?

    >>> print(Verification("mends", True, "the edit mends it", {}))
    the edit mends it
    """

    verdict: str
    taken: bool
    _text: str
    _data: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """What `--output-format json` prints; verification-1.json describes it."""
        return dict(self._data)

    def __str__(self) -> str:
        return self._text.rstrip()

    __repr__ = __str__


def verify(
    targets: str | Path | Sequence[str | Path],
    patch: str | bytes | None = None,
    *,
    base: str | None = None,
    revision: str | None = None,
    mode: str | None = None,
    lower: str | Sequence[str] | None = None,
    timeout: float = DEFAULT_SECONDS,
    memory_gb: float = DEFAULT_MEMORY_GB,
) -> Verification:
    """Say whether an edit of files below the folder of the process is right, as `exportlint verify` does.

    targets          what is run before the edit and after it, named as for `exportlint trial`: a file with `model` and
                     `example_args`, a script, `FILE.py:CLASS`, a target of pyproject.toml, or several of them
    patch            a unified diff of the files as they are
    base, revision   without a patch: the git revisions before and after; by default HEAD and the working tree
    mode, lower, timeout, memory_gb   as in `diagnose`

    Nothing is written. Raises UserError, one sentence, for an edit that cannot be read or does not fit.

    >>> from pathlib import Path
    >>> text = "import torch\\nmodel = torch.nn.Linear(3, 2).eval()\\nexample_args = (torch.ones(4, 3),)\\n"
    >>> _ = Path("linear.py").write_text(text)
    >>> patch = "--- a/linear.py\\n+++ b/linear.py\\n@@ -1,2 +1,3 @@\\n import torch\\n+torch.manual_seed(1)\\n"
    >>> verify("linear.py", patch + f" {text.splitlines()[1]}\\n").verdict
    'different'
    """
    from exportlint.output.verification_text import verification_data, verification_text  # noqa: PLC0415 (as for trials)
    from exportlint.repair.change import edit_of  # noqa: PLC0415 (as above)
    from exportlint.workflow.target_choice import chosen_by_name  # noqa: PLC0415 (as above)
    from exportlint.workflow.verifying import verify as tried  # noqa: PLC0415 (as above)

    # The process that has torch may have been started in another folder.
    names = [_absolute(str(one)) for one in ([targets] if isinstance(targets, (str, Path)) else targets)]
    data = patch.encode() if isinstance(patch, str) else patch
    change = edit_of(data, base, revision, Path.cwd().resolve())
    config = load_config([name.partition(".py:")[0] for name in names] or ["."], CommandLine(mode=mode))
    options = replace(_options(lower, config, timeout, memory_gb), modes=config.modes, purpose=config.purpose)
    done = tried(chosen_by_name(names, config), config, options, change)
    if problem := next(iter(done.after.problems), None):
        raise UserError(f"{problem.path}: {problem.message}")
    found = verification_data(done, change.changed)
    return Verification(found["verdict"], found["taken"], verification_text(done, RenderOptions(width=_WIDTH)), found)


def _absolute(target: str) -> str:
    """A file, or the file of FILE.py:CLASS; what is none, such as a name of pyproject.toml, stays."""
    file, suffix, rest = target.partition(".py")
    return f"{Path(file).absolute()}{suffix}{rest}" if suffix and Path(file + suffix).exists() else target


def lint(
    paths: str | Path | Sequence[str | Path],
    *,
    mode: str | None = None,
    torch: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    lower: str | Sequence[str] | None = None,
) -> list[Finding]:
    """What `exportlint check` finds in files and folders; nothing in them is imported or run, and torch is not needed.

    paths            a file or folder, or several
    mode             what severity follows: non-strict, strict or both; by default what pyproject.toml says
    torch            the version that is judged for, as in "2.13"; by default the installed one
    select, ignore   names of rules; by default what pyproject.toml says
    lower            targets of deployment that the code ships to, as in `diagnose`: what of it they refuse

    Raises UserError for a file that cannot be read or parsed, or a name that is no rule's.

    >>> from pathlib import Path
    >>> source = "from torch import nn\\nclass Net(nn.Module):\\n    def forward(self, x):\\n        return x.data\\n"
    >>> _ = Path("net.py").write_text(source)
    >>> [(finding.path, finding.line, finding.rule) for finding in lint("net.py", torch="2.13")]
    [('net.py', 4, 'tensor-data-access')]
    """
    from exportlint.workflow.linting import collect_files, lint_files  # noqa: PLC0415 (not for a diagnosis)
    from exportlint.workflow.lowering_choice import for_linting  # noqa: PLC0415 (as above)
    from exportlint.workflow.report_building import build_report  # noqa: PLC0415 (as above)

    names = [str(path) for path in ([paths] if isinstance(paths, (str, Path)) else paths)]
    config = for_linting(_words(lower), load_config(names, CommandLine(tuple(select), tuple(ignore), mode, torch)))
    gathered = lint_files(collect_files(names, None, config), config, jobs=1, cache=False)
    if problem := next(iter(gathered.problems), None):
        raise UserError(f"{problem.path}{f':{problem.line}' if problem.line else ''}: {problem.message}")
    return list(build_report(gathered, config).findings)
