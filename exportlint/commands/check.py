"""`exportlint check`: the static pass, and with --trial also the targets that the files declare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from exportlint.adoption.asked import Adoption
from exportlint.commands.grouped import ADOPT, CHECK, TRY, Command, files, option
from exportlint.commands.options import (
    Output,
    TrialSettings,
    adopting_of,
    adoption_options,
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

if TYPE_CHECKING:
    from exportlint.config.settings import Config

_WITHOUT_TRIAL = ("jobs", "lower", "purpose")


@click.command(
    "check",
    cls=Command,
    short_help="Find what torch.export refuses or gets wrong, by reading.",
    examples=(
        ("exportlint check src/", "Every file below the folder; `exportlint src/` is the same."),
        ("exportlint check src/ --lower executorch", "Also what a target of deployment would refuse."),
    ),
)
@click.argument("paths", nargs=-1, metavar="[PATH]…", shell_complete=files)
@rule_options
@output_options
@option(
    CHECK, "--watch", is_flag=True, help="Judge again whenever a file changes, until Ctrl-C; needs 'exportlint[watch]'."
)
@option(
    ADOPT,
    "--add-suppressions",
    metavar="REASON",
    help="Write a comment with this reason for each finding, and leave the code as it is.",
)
@adoption_options
@cache_option
@option(CHECK, "--stdin-filename", metavar="PATH", help="The name of the source that `-` reads from stdin.")
@option(TRY, "--trial", is_flag=True, help="Also try the targets that the files declare; needs torch.")
@trial_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Find what torch.export refuses or gets wrong, without importing torch or running the code.

    PATH is a file, a folder, a glob pattern, or `-` for stdin; the default is the working directory.
    """
    output, how, adoption = split(options, Output), split(options, TrialSettings), split(options, Adoption)
    refuse_page_on_terminal(output)
    asked = CommandLine(
        flat(options["select"]),
        flat(options["ignore"]),
        options["mode"],
        options["torch"],
        how.purpose,
        flat(options["fail_on"]),
    )
    named = paths or (".",)
    near = [options["stdin_filename"] or "." if path == "-" else path for path in named]
    suppress = _reason(options["add_suppressions"], named, adoption)
    if "-" in named and adoption.diff_base is not None:
        raise UserError("--diff-base compares files, and what `-` reads is none: name the file")
    cache = not options["no_cache"]
    if options["watch"]:
        _refuse_watching(named, adoption, trial=options["trial"], suppress=suppress)
    if not options["trial"]:
        _refuse_trial_options(how)
    if options["watch"]:
        from exportlint.commands.watch import watch  # noqa: PLC0415 (an extra)

        def configured() -> Config:
            return for_linting(flat(how.lower), load_config(near, asked))

        return watch(named, near, configured, adoption, output, jobs=how.jobs, cache=cache)
    config = load_config(near, asked)
    adopting = adopting_of(adoption.with_configured(config.baseline), near)
    if options["trial"]:
        if "-" in named:
            raise UserError("--trial runs files: write the source to one instead of piping it to `-`")
        from exportlint.commands.trial_run import try_and_report  # noqa: PLC0415 (the trial's modules, as below)
        from exportlint.workflow.target_choice import discovered  # noqa: PLC0415 (only when asked for)

        found = collect_files(named, None, config)
        targets = discovered(found)
        return try_and_report(targets, found, config, output, how, cache=cache, adopting=adopting, suppress=suppress)
    config = for_linting(flat(how.lower), config)
    found = collect_files(named, options["stdin_filename"], config)
    rewrites = SHOWN_REWRITES.get(output.output_format, Wanted.NONE)
    gathered = lint_files(found, config, jobs=how.jobs, cache=cache, rewrites=rewrites)
    return finish(gathered, config, output, adopting=adopting, suppress=suppress)


def _reason(given: str | None, named: tuple[str, ...], adoption: Adoption) -> str | None:
    if given is None:
        return None
    from exportlint.adoption.added_suppressions import checked_reason  # noqa: PLC0415 (where it is asked for)

    if "-" in named:
        raise UserError("--add-suppressions writes files, and what `-` reads is none: name the file")
    if adoption.write_baseline:
        raise UserError("--add-suppressions and --write-baseline both accept what is found: give one of them")
    return checked_reason(given)


def _refuse_watching(named: tuple[str, ...], adoption: Adoption, *, trial: bool, suppress: str | None) -> None:
    """What happens once has no place in what goes on."""
    if "-" in named:
        raise UserError("--watch waits for files to change, and stdin is none: name the files")
    once = {
        "--trial": trial,
        "--add-suppressions": suppress is not None,
        "--write-baseline": adoption.write_baseline,
        "--prune-baseline": adoption.prune_baseline,
    }
    if given := next((option for option, value in once.items() if value), None):
        raise UserError(f"--watch judges again and again, and {given} is for one run: give one of them")


def _refuse_trial_options(how: TrialSettings) -> None:
    if given := next(
        (name for name in TrialSettings.__dataclass_fields__ if name not in _WITHOUT_TRIAL and getattr(how, name)),
        None,
    ):
        raise UserError(f"--{given.replace('_', '-')} belongs to trials: add --trial, or use `exportlint trial`")
