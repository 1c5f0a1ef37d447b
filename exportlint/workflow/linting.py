"""Run the static pass over the files that somebody named."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.cores import cores
from exportlint.engine.entry.declared_target import DeclaredTarget
from exportlint.errors import UserError
from exportlint.files import Collected, collect, from_stdin
from exportlint.finding import Wanted
from exportlint.workflow.progress import progress, say
from exportlint.workflow.report_building import Gathered

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.static.static_pass import JudgeOfCases


def collect_files(paths: Sequence[str], stdin_filename: str | None, config: Config) -> Collected:
    """The files that the arguments name."""
    if "-" in paths:
        if len(paths) > 1:
            raise UserError("`-` reads one source from stdin: name no other path beside it")
        return from_stdin(sys.stdin.buffer.read(), stdin_filename or "<stdin>")
    found = collect(paths, config.exclude, config.root)
    if not found.files and not found.problems:
        say(f"there is no Python file in {', '.join(paths)}")
    return found


def lint_files(
    found: Collected,
    config: Config,
    *,
    jobs: int | None = None,
    cache: bool = True,
    rewrites: Wanted = Wanted.FIRST,
    targets: Sequence[tuple[str, str, str | None]] = (),
    mended_at: Mapping[str, frozenset[int]] | None = None,
    judge: JudgeOfCases | None = None,
) -> Gathered:
    """Run the static pass over the files. `jobs` None: as many processes as there are cores to use.

    rewrites  which of a finding's rewrites are made; a report shows the first
    targets   model, args and kwargs of targets besides those of the configuration; their files are relative to the
              folder of the process
    mended_at of some files, by absolute path, the lines of which alone rewrites are made
    judge     what decides how the cases of a rule are told, in place of the configuration's torch and purpose
    """
    from exportlint.static.static_pass import StaticOptions, check  # noqa: PLC0415 (after the arguments hold)

    folder = cache_folder() if cache else None
    declared = declared_targets(config, targets)
    options = StaticOptions(
        config.torch,
        config.modes,
        jobs or cores(),
        folder,
        declared,
        config.lower,
        config.lowerings,
        rewrites,
        mended_at or {},
        config.purpose,
        cache_bytes() if cache else 0,
        judge,
    )
    with progress("files read", len(found.files)) as advance:
        report = check(found.files, config.rules(), options, advance)
    return Gathered(found.files, report.files, report.findings, (*found.problems, *report.problems))


def declared_targets(config: Config, targets: Sequence[tuple[str, str, str | None]] = ()) -> tuple[DeclaredTarget, ...]:
    """Those of the configuration, and others by their model, args and kwargs, relative to the folder of the process."""
    return (*_declared(config), *(_target(*parts, Path.cwd()) for parts in targets))


def _declared(config: Config) -> Iterator[DeclaredTarget]:
    """The targets of pyproject.toml; their files are relative to it, wherever the command was started."""
    for table in config.targets.values():
        if table.model and table.args:
            yield _target(table.model, table.args, table.kwargs, config.root)


def _target(model: str, args: str, kwargs: str | None, root: Path) -> DeclaredTarget:
    return DeclaredTarget(_located(model, root), _located(args, root), kwargs and _located(kwargs, root))


def _located(source: str, root: Path) -> str:
    home, _, attribute = source.rpartition(":")
    return f"{(root / home).resolve()}:{attribute}" if home.endswith(".py") else source


def cache_folder() -> Path:
    """Where judgements are kept: not in the project, which is nobody's to write to unasked. CI may name a folder."""
    if named := os.environ.get("EXPORTLINT_CACHE_DIR"):
        return Path(named).absolute()
    from platformdirs import user_cache_path  # noqa: PLC0415 (only where the variable is not set)

    return user_cache_path("exportlint", appauthor=False)


def cache_bytes() -> int:
    """How large that which is kept there may become. As the folder, of the user's machine: its projects share it."""
    from exportlint.static.judgement import MOST_BYTES  # noqa: PLC0415 (as the static pass)

    if not (named := os.environ.get("EXPORTLINT_CACHE_MB")):
        return MOST_BYTES
    try:
        found = int(float(named) * 1_000_000)
    except (ValueError, OverflowError):  # no number, or an endless one
        found = -1
    if found < 0:
        raise UserError(f"EXPORTLINT_CACHE_MB is `{named}`: write a number of megabytes, as in 256")
    return found
