"""Print a report, and give the exit code of the run."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.finding import Severity
from exportlint.output import HTML, NAMES_RULES, WITH_BACKGROUND, render
from exportlint.output.report import RenderOptions, Report, Shown
from exportlint.workflow.progress import say
from exportlint.workflow.report_building import Gathered, build_report

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.commands.options import Output
    from exportlint.config.settings import Config
    from exportlint.finding import Problem


CLEAN, FINDINGS, FAILED = 0, 1, 2
SIGNALLED = 128  # with the number of the signal, as shells report it
PLAIN_WIDTH = 100


def finish(gathered: Gathered, config: Config, output: Output, *, operators: bool = False) -> int:
    """Print what the configuration and the comments leave of what was found; the exit code.

    `operators`: also what each lowering would do with each operator.
    """
    shown = Shown(output.show_cleared, output.show_suppressed, output.show_suspected, output.coverage, operators)
    made = build_report(gathered, config, shown)
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
    return exit_code(made, exit_zero=output.exit_zero)


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


def exit_code(made: Report, *, exit_zero: bool) -> int:
    """How the run ended: 0 clean or notes only, 1 findings, 2 something could not be checked."""
    if made.problems:
        return FAILED
    loud = made.count(Severity.ERROR) + made.count(Severity.WARNING)
    return FINDINGS if loud and not exit_zero else CLEAN


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


def write_file(path: Path, text: str) -> None:
    """All of it or nothing: a reader never sees half a report."""
    try:
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, delete=False) as file:
            file.write(text)
        os.chmod(file.name, _mode(path))  # noqa: PTH101 (NamedTemporaryFile gives a str)
        Path(file.name).replace(path)
    except OSError as error:
        raise UserError(
            f"--output-file: {path} cannot be written: {error.strerror}; name a file in a folder that exists"
        ) from error


def _mode(path: Path) -> int:
    """What the file has, or what a new one would get: temporary files are for their owner only."""
    if path.exists():
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
