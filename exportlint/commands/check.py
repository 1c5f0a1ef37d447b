"""`exportlint check`: the static pass, and with --trial also the targets that the files declare."""

from __future__ import annotations

from typing import Any

import click

from exportlint import config as configuration
from exportlint.commands.options import Output, Trying, flat, output_options, rule_options, split, trying_options
from exportlint.commands.reporting import finish
from exportlint.commands.static import collected, static
from exportlint.config import Asked
from exportlint.errors import UserError


@click.command("check")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@rule_options
@output_options
@click.option("--no-cache", is_flag=True, help="Judge every file anew, and remember nothing.")
@click.option("--stdin-filename", metavar="PATH", help="The name of the source that `-` reads from stdin.")
@click.option("--trial", is_flag=True, help="Also try the targets that the files declare; needs torch.")
@trying_options
def command(paths: tuple[str, ...], **options: Any) -> int:
    """Find what torch.export refuses or gets wrong, without importing torch or running the code.

    PATH is a file, a folder, a glob pattern, or `-` for stdin; the default is the working directory.
    """
    output, how = split(options, Output), split(options, Trying)
    asked = Asked(flat(options["select"]), flat(options["ignore"]), options["mode"], options["torch"])
    named = paths or (".",)
    near = [options["stdin_filename"] or "." if path == "-" else path for path in named]
    if options["trial"]:
        return _with_trial(named, near, asked, output, how, cache=not options["no_cache"])
    _refuse_trial_options(how)
    config = configuration.load(near, asked)
    found = collected(named, options["stdin_filename"], config)
    return finish(static(found, config, jobs=how.jobs, cache=not options["no_cache"]), config, output)


def _with_trial(
    paths: tuple[str, ...], near: list[str], asked: Asked, output: Output, how: Trying, *, cache: bool
) -> int:
    if "-" in paths:
        raise UserError("--trial runs files: write the source to one instead of piping it to `-`")
    from exportlint.commands import trying  # noqa: PLC0415 (the trial's modules, only when asked for)

    config = configuration.load(near, asked)
    found = collected(paths, None, config)
    return trying.finish(trying.discovered(found), found, config, output, how, cache=cache)


def _refuse_trial_options(how: Trying) -> None:
    if given := next((name for name in Trying.__dataclass_fields__ if name != "jobs" and getattr(how, name)), None):
        raise UserError(f"--{given.replace('_', '-')} belongs to trials: add --trial, or use `exportlint trial`")
