"""What `exportlint check --watch` shows: the report after each change, and a line of what changed."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from exportlint.commands.options import adopting_of
from exportlint.commands.reporting import CLEAN, printed, reported, write
from exportlint.errors import UserError
from exportlint.finding import Wanted
from exportlint.output import SHOWN_REWRITES
from exportlint.workflow.linting import cache_folder
from exportlint.workflow.progress import say

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exportlint.adoption.asked import Adoption
    from exportlint.commands.options import Output
    from exportlint.config.settings import Config
    from exportlint.finding import Finding
    from exportlint.workflow.watching import Round


_CLEAR = "\x1b[H\x1b[2J\x1b[3J"
_NAMED = 3


def watch(
    paths: Sequence[str],
    near: Sequence[str],
    configured: Callable[[], Config],
    adoption: Adoption,
    output: Output,
    *,
    jobs: int | None,
    cache: bool,
) -> int:
    """Judge, print, and wait for the next change, until Ctrl-C.

    near         what stands for the paths where a configuration is looked for
    configured   the configuration as it is at the time

    Raises UserError where it cannot begin: what is wrong later is said, and the next change may mend it.
    """
    from exportlint.workflow.watching import Watching, difference  # noqa: PLC0415 (the static pass, after the arguments)

    config = configured()
    asked = adoption.with_configured(config.baseline)
    adopting_of(asked, near)
    try:
        watching = Watching(
            paths,
            configured,
            [asked.baseline] if asked.baseline else [],
            jobs=jobs,
            cache=cache_folder() if cache else None,
            rewrites=SHOWN_REWRITES.get(output.output_format, Wanted.NONE),
        )
    except ModuleNotFoundError as error:
        raise UserError(f"--watch needs {error.name}: pip install 'exportlint[watch]'") from error
    if output.output_file and watching.would_see(output.output_file):
        raise UserError(f"--watch would see {output.output_file} change whenever it writes it: name another file")
    before: tuple[Finding, ...] | None = None
    # A shell without job control lets what it starts in the background ignore it, and only a kill would end this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for one in watching.rounds():
            try:
                adopting = adopting_of(adoption.with_configured(one.config.baseline), near)
                made = reported(one.gathered, one.config, output, adopting=adopting, quiet=True)
            except UserError as error:  # a baseline that is half written, say
                say(f"error: {error}")
                continue
            if sys.stdout.isatty() and not output.output_file:
                write(_CLEAR)
            printed(made, one.gathered, one.config, output)
            _tell(one, difference(before, made.findings))
            before = made.findings
    except KeyboardInterrupt:
        return CLEAN
    return CLEAN


def _tell(one: Round, what: str) -> None:
    took = f"{one.seconds:.2f} s"
    if not one.changed:
        number = len(one.gathered.files)
        say(f"watching {number} file{'' if number == 1 else 's'} ({took}); Ctrl-C ends it")
        return
    more = f" and {len(one.changed) - _NAMED} more" if len(one.changed) > _NAMED else ""
    say(f"{', '.join(one.changed[:_NAMED])}{more} changed: {what} ({took})")
