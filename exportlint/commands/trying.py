"""What `exportlint trial` and `exportlint check --trial` share: try targets, lint what they ran, merge, print."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from exportlint.commands import reproducing
from exportlint.commands.advice import arguments
from exportlint.commands.options import Output, Trying, flat
from exportlint.commands.reporting import finish as finish_report
from exportlint.commands.reporting import say
from exportlint.commands.static import static
from exportlint.commands.waiting import waiting
from exportlint.config import Config, measured_version
from exportlint.errors import UserError, nearest
from exportlint.files import Collected, SourceFile, shown
from exportlint.finding import Problem
from exportlint.output import report as reports
from exportlint.trial.observation import is_user_path
from exportlint.trial.report import Event, TargetReport, TrialOptions, TrialUnavailable
from exportlint.trial.run import LOWERINGS, ZOOS, run_trials
from exportlint.trial.target import Target, TargetError, discover, from_callables, from_mapping, from_text, from_zoo

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.commands.gathering import Gathered

PARTS = ("args", "kwargs", "dynamic_shapes", "other_args")


def discovered(found: Collected) -> list[Target]:
    """The targets that the files declare, found by reading."""
    return discover([Path(file.shown) for file in found.files])


def chosen(
    paths: Sequence[str],
    parts: Mapping[str, str | None],
    names: Sequence[str],
    config: Config,
    arguments: Sequence[str] | None = None,
) -> list[Target]:
    """The targets that the arguments of `exportlint trial` name; with none, those of pyproject.toml.

    `arguments` is what stands after `--`: the one script's own.
    """
    if arguments is not None and len(paths) != 1:
        raise UserError(f"what follows `--` belongs to one script: name one before it, not {len(paths)}")
    try:
        targets = [target for path in paths for target in _of_path(path, arguments)]
        targets += _of_parts(parts)
        every = not targets and not names
        return targets + [_of_table(name, config) for name in (config.targets if every else names)]
    except TargetError as error:
        raise UserError(str(error)) from error


def _of_path(text: str, arguments: Sequence[str] | None) -> list[Target]:
    zoos = {point.name: point.value for point in entry_points(group=ZOOS)}
    if target := from_zoo(text, zoos):
        return [target]
    library, colon, _ = text.partition(":")
    if colon and library.isidentifier() and not Path(text).exists():
        raise UserError(f"{text}: there is no zoo `{library}`{nearest(library, zoos)}; there are {', '.join(zoos)}")
    return from_text(text, arguments)


def _of_parts(parts: Mapping[str, str | None]) -> list[Target]:
    if parts["model"] and parts["args"]:
        return [from_callables(parts["model"], parts["args"], **{key: parts[key] for key in PARTS[1:]})]
    if given := next((key for key in ("model", *PARTS) if parts[key]), None):
        missing = "args" if given == "model" else "model"
        raise UserError(f"--{given.replace('_', '-')} needs --{missing} beside it; both name FILE_OR_MODULE:NAME")
    return []


def _of_table(name: str, config: Config) -> Target:
    if name not in config.targets:
        known = ", ".join(config.targets) or "none"
        near = nearest(name, config.targets)
        raise UserError(f"--target: pyproject.toml names no target `{name}`{near}; its targets: {known}")
    table = msgspec.to_builtins(config.targets[name])
    return from_mapping(name, {key: _from_root(value, config.root) for key, value in table.items() if value})


def _from_root(source: str, root: Path) -> str:
    """Files in pyproject.toml are relative to it, wherever the command was started."""
    home, _, attribute = source.rpartition(":")
    return f"{shown(root / home)}:{attribute}" if (root / home).is_file() else source


def finish(
    targets: Sequence[Target], found: Collected, config: Config, output: Output, how: Trying, *, cache: bool = True
) -> int:
    """Try the targets, lint `found` and what they ran of the project, and print both kinds of evidence as one."""
    if how.show and output.output_format != "full":
        raise UserError(f"--show {how.show[0]} is for people: use it with `--output-format full`")
    with reproducing.kept(how.save_repro) as parts:
        options = replace(_options(how), parts=parts)
        gathered, config, tried = examined(targets, found, config, options, cache=cache)
        gathered = reproducing.saved(gathered, tried, how.save_repro)
    return finish_report(gathered, config, output)


def examined(
    targets: Sequence[Target],
    found: Collected,
    config: Config,
    options: TrialOptions,
    *,
    jobs: int | None = None,
    cache: bool = True,
) -> tuple[Gathered, Config, list[TargetReport]]:
    """Both kinds of evidence as one, the configuration for the torch that was there, and what each trial said.

    `jobs`: processes for the static pass; `cache`: may it remember what it said before?
    """
    from exportlint import verdict  # noqa: PLC0415

    tried = _tried(targets, options)
    installed = next((report.torch for report in tried if report.torch), None)
    if installed and not config.torch_chosen:
        config = replace(config, torch=measured_version(installed)[0])
    gathered = static(_with_executed(found, tried), config, jobs=jobs, cache=cache)
    findings = verdict.merge(gathered.findings, tried, mode=config.mode)
    broken = tuple(Problem(r.path or r.name, r.line, r.broken.removeprefix(f"{r.name}: ")) for r in tried if r.broken)
    problems = (*gathered.problems, *broken)
    ladders = tuple(_ladder(report) for report in tried)
    return replace(gathered, findings=tuple(findings), problems=problems, targets=ladders), config, tried


def _options(how: Trying) -> TrialOptions:
    lower = lowerings(how.lower)
    limits: dict[str, Any] = {"timeout": how.timeout, "jobs": how.jobs}
    limits["memory_mb"] = int(how.memory * 1000) if how.memory else None
    given = {name: value for name, value in limits.items() if value is not None}
    graph = "graph" in how.show
    return replace(TrialOptions(lower=lower, dynamic=how.dynamic, python=how.python, graph=graph), **given)


def lowerings(names: Sequence[str]) -> tuple[str, ...]:
    """The names that `--lower` gives, each of which must exist."""
    lower = tuple(name for name in flat(names) if name != "none")
    known = sorted(point.name for point in entry_points(group=LOWERINGS))
    if wrong := next((name for name in lower if name not in known), None):
        raise UserError(f"--lower: there is no `{wrong}`{nearest(wrong, known)}; choose none or of {', '.join(known)}")
    return lower


def _tried(targets: Sequence[Target], options: TrialOptions) -> list[TargetReport]:
    if not targets:
        say("the files declare no target (`model` and `example_args`), so there is nothing to try")
        return []
    with waiting(f"trying {len(targets)} target{'s' * (len(targets) > 1)}") as sign:
        ended: set[str] = set()

        def show(event: Event) -> None:
            ended.add(event.target)
            sign.says(f"target {len(ended)} of {len(targets)}, {event.target}: {event.stage} {event.status}")

        try:
            tried = run_trials(targets, options, show)
        except (TrialUnavailable, TargetError) as error:
            raise UserError(str(error)) from error
    for report in tried:
        _say_output(report)
    return tried


def _say_output(report: TargetReport) -> None:
    """What a script that failed said last."""
    script = report.stage("script")
    if script and not script.passed and script.data["output"]:
        said = "\n".join(script.data["output"].splitlines()[-20:])
        say(f"{report.name} printed at its end:\n{said}")


def _with_executed(found: Collected, tried: Sequence[TargetReport]) -> Collected:
    """`found`, the files that declare targets, and what eager ran of the project (not of installed packages)."""
    paths = [Path(report.path) for report in tried if report.path]
    paths += [Path(path) for report in tried for path in report.executed if is_user_path(path) and not _installed(path)]
    known = {file.path.resolve() for file in found.files}
    more = {path.resolve(): path for path in paths if path.is_file() and path.resolve() not in known}
    files = (*found.files, *(SourceFile(path, shown(path)) for path in more.values()))
    return Collected(tuple(sorted(files, key=lambda file: file.shown)), found.problems)


def _installed(path: str) -> bool:
    return "site-packages" in Path(path).parts or "dist-packages" in Path(path).parts


def _ladder(report: TargetReport) -> reports.Target:
    stages = (reports.Stage(s.name, s.status, s.seconds, " ".join(s.detail.split())) for s in report.stages)
    return reports.Target(
        report.name, tuple(stages), report.dynamic_shapes, arguments(report.target), report.graph, report.torch
    )
