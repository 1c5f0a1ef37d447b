"""Running the static pass for a command."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from exportlint.commands.gathering import Gathered
from exportlint.commands.reporting import say
from exportlint.commands.waiting import waiting
from exportlint.errors import UserError
from exportlint.files import Collected, collect, from_stdin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.config import Config


def collected(paths: Sequence[str], stdin_filename: str | None, config: Config) -> Collected:
    """The files that the arguments name."""
    if "-" in paths:
        if len(paths) > 1:
            raise UserError("`-` reads one source from stdin: name no other path beside it")
        return from_stdin(sys.stdin.buffer.read(), stdin_filename or "<stdin>")
    found = collect(paths, config.exclude, config.root)
    if not found.files and not found.problems:
        say(f"there is no Python file in {', '.join(paths)}")
    return found


def static(found: Collected, config: Config) -> Gathered:
    """What the static pass says about the files."""
    from exportlint.static.run import StaticOptions, check  # noqa: PLC0415 (libcst, after the arguments hold)

    with waiting(f"reading {len(found.files)} files"):
        report = check(found.files, config.rules(), StaticOptions(torch=config.torch, modes=config.modes))
    return Gathered(found.files, report.files, report.findings, (*found.problems, *report.problems))
