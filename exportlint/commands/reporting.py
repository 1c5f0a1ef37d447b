"""Print a report, and give the exit code of the run."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.settings import DEFAULT_FAIL_ON
from exportlint.errors import UserError
from exportlint.files import write_whole
from exportlint.output import HTML, NAMES_RULES, WITH_BACKGROUND, render
from exportlint.output.report import RenderOptions, Report, Shown
from exportlint.workflow.progress import say
from exportlint.workflow.report_building import Gathered, build_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.adoption.fail_on import FailOn
    from exportlint.commands.options import Output
    from exportlint.config.settings import Config
    from exportlint.finding import Problem
    from exportlint.workflow.adopting import Adopting


CLEAN, FINDINGS, FAILED = 0, 1, 2
SIGNALLED = 128  # with the number of the signal, as shells report it
PLAIN_WIDTH = 100


def finish(
    gathered: Gathered,
    config: Config,
    output: Output,
    *,
    operators: bool = False,
    adopting: Adopting | None = None,
    suppress: str | None = None,
) -> int:
    """Print what the configuration and the comments leave of what was found; the exit code.

    operators   also what each lowering would do with each operator
    adopting    leaves out what a baseline holds, and what stands on unchanged lines
    suppress    the reason of comments that are written for all that is left
    """
    made = reported(gathered, config, output, operators=operators, adopting=adopting)
    if suppress is not None:
        from exportlint.adoption.added_suppressions import add_suppressions  # noqa: PLC0415 (where it is asked for)

        added = add_suppressions(made.findings, gathered.files, suppress, made.suppressed)
        number = len(added.files)
        say(f"new comments in {number} file{'' if number == 1 else 's'} silence {added.silenced} of the findings")
        say_problems(added.problems)
        made = reported(gathered, config, output, operators=operators, adopting=adopting)
    return printed(made, gathered, config, output)


def reported(
    gathered: Gathered,
    config: Config,
    output: Output,
    *,
    operators: bool = False,
    adopting: Adopting | None = None,
    quiet: bool = False,
) -> Report:
    """The report of what was found. `quiet`: what is gone from a baseline is not told."""
    shown = Shown(output.show_cleared, output.show_suppressed, output.show_suspected, output.coverage, operators)
    made = build_report(gathered, config, shown)
    return adopting.applied(made, gathered, config, quiet=quiet) if adopting else made


def printed(made: Report, gathered: Gathered, config: Config, output: Output) -> int:
    """Print a report, or write it to its file; the exit code."""
    if made.targets:
        from exportlint.workflow.trials import next_step  # noqa: PLC0415 (the trial's modules, after trials only)

        made = replace(made, next_step=next_step(made))
    if output.output_format in WITH_BACKGROUND:
        from exportlint.workflow.background import background_of  # noqa: PLC0415 (the engine and the fixtures' pages)

        made = replace(made, background=background_of(config, made.targets))
    if output.output_format in NAMES_RULES:
        made = replace(made, page=partial(_page_of_rule, config))
    options = replace(render_options(output.output_file), statistics=output.statistics)
    text = render(output.output_format, made, options)
    if output.output_file:
        write_file(output.output_file, text)
    else:
        write(text)
    for remark in config.remarks:
        say(remark)
    say_problems(made.problems)
    if gathered.stopped_by:
        return SIGNALLED + gathered.stopped_by
    return exit_code(made, exit_zero=output.exit_zero, fail_on=config.fail_on)


def _page_of_rule(config: Config, rule: str) -> str:
    from exportlint.pages.explanation import brief  # noqa: PLC0415 (the pages and the stored truth)

    return brief(rule, config.torch, config.modes)


def refuse_page_on_terminal(output: Output) -> None:
    """Before anything is run: a page is of no use in a terminal."""
    if output.output_format == HTML and not output.output_file and sys.stdout and sys.stdout.isatty():
        raise UserError(
            "--output-format html makes a page for a browser: name a file for it, as in --output-file report.html"
        )


def say_problems(problems: Sequence[Problem]) -> None:
    """What could not be checked, and why."""
    for problem in problems:
        say(f"{problem.path}{f':{problem.line}' if problem.line else ''}: {problem.message}")


def exit_code(made: Report, *, exit_zero: bool, fail_on: FailOn = DEFAULT_FAIL_ON) -> int:
    """How the run ended: 0 nothing that makes it fail, 1 such findings, 2 something could not be checked."""
    if made.problems:
        return FAILED
    return FINDINGS if fail_on.any_of(made.findings) and not exit_zero else CLEAN


def render_options(file: Path | None) -> RenderOptions:
    """The width and the colour of a terminal, unless the text goes to a file."""
    terminal = bool(sys.stdout and sys.stdout.isatty()) and not file
    width = min(shutil.get_terminal_size().columns, 140) if terminal else PLAIN_WIDTH
    return RenderOptions(terminal and wants_color(), width)


def wants_color() -> bool:
    """Are colours wanted? Not with NO_COLOR (https://no-color.org), nor on a terminal that knows none."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def write(text: str) -> None:
    """To stdout, whatever it can encode; a reader that has gone away (`| head`) is no error."""
    if sys.stdout is None:  # it was closed
        return
    try:
        sys.stdout.buffer.write(text.encode(sys.stdout.encoding or "utf-8", "backslashreplace"))
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains when it flushes
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise UserError(f"stdout cannot be written: {error.strerror}; make room, or send it elsewhere") from error


def write_file(path: Path, text: str, option: str = "--output-file") -> None:
    """All of it or nothing: a reader never sees half a report. `option`: what the user named the file by."""
    try:
        write_whole(path, text.encode())
    except OSError as error:
        raise UserError(
            f"{option}: {path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from error
