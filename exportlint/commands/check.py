"""`exportlint check`: the static pass, and with --trial also the targets that the files declare."""

from __future__ import annotations

from typing import Any

import click

from exportlint.commands.options import (
    Output,
    TrialSettings,
    cache_option,
    flat,
    output_options,
    rule_options,
    split,
    trial_options,
)
from exportlint.commands.reporting import finish, refuse_page_on_terminal
from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError
from exportlint.finding import Wanted
from exportlint.output import SHOWN_REWRITES
from exportlint.workflow.linting import collect_files, lint_files
from exportlint.workflow.lowering_choice import for_linting

_WITHOUT_TRIAL = ("jobs", "lower", "purpose")


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@rule_options
@output_options
@cache_option
@click.option("--stdin-filename", metavar="PATH", help="The name of the source that `-` reads from stdin.")
@click.option("--trial", is_flag=True, help="Also try the targets that the files declare; needs torch.")
@trial_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Find what torch.export refuses or gets wrong, without importing torch or running the code.

    PATH is a file, a folder, a glob pattern, or `-` for stdin; the default is the working directory.
    """
    output, how = split(options, Output), split(options, TrialSettings)
    refuse_page_on_terminal(output)
    asked = CommandLine(
        flat(options["select"]), flat(options["ignore"]), options["mode"], options["torch"], how.purpose
    )
    named = paths or (".",)
    near = [options["stdin_filename"] or "." if path == "-" else path for path in named]
    if options["trial"]:
        return _with_trial(named, near, asked, output, how, cache=not options["no_cache"])
    _refuse_trial_options(how)
    config = for_linting(flat(how.lower), load_config(near, asked))
    found = collect_files(named, options["stdin_filename"], config)
    rewrites = SHOWN_REWRITES.get(output.output_format, Wanted.NONE)
    gathered = lint_files(found, config, jobs=how.jobs, cache=not options["no_cache"], rewrites=rewrites)
    return finish(gathered, config, output)


def _with_trial(
    paths: tuple[str, ...], near: list[str], asked: CommandLine, output: Output, how: TrialSettings, *, cache: bool
) -> int:
    if "-" in paths:
        raise UserError("--trial runs files: write the source to one instead of piping it to `-`")
    from exportlint.commands.trial_run import try_and_report  # noqa: PLC0415 (the trial's modules, only when asked for)
    from exportlint.workflow.target_choice import discovered  # noqa: PLC0415 (as above)

    config = load_config(near, asked)
    found = collect_files(paths, None, config)
    return try_and_report(discovered(found), found, config, output, how, cache=cache)


def _refuse_trial_options(how: TrialSettings) -> None:
    if given := next(
        (name for name in TrialSettings.__dataclass_fields__ if name not in _WITHOUT_TRIAL and getattr(how, name)),
        None,
    ):
        raise UserError(f"--{given.replace('_', '-')} belongs to trials: add --trial, or use `exportlint trial`")
