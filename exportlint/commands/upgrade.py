"""`exportlint upgrade`: what another torch version changes, by what was measured of both."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exportlint.commands.grouped import CHECK, LIMITS, OUTPUT, Command, files, option
from exportlint.commands.options import NearChoice, cache_option, flat, purpose_option
from exportlint.commands.reporting import CLEAN, FAILED, FINDINGS, render_options, say_problems, write, write_file
from exportlint.config.settings import MODE_CHOICES, CommandLine, load_config
from exportlint.errors import UserError
from exportlint.workflow.linting import collect_files
from exportlint.workflow.progress import say

if TYPE_CHECKING:
    from exportlint.output.upgrade_report import UpgradeReport

FORMATS = ("full", "json", "markdown")
_DEFAULT = "default"


@click.command(
    "upgrade",
    cls=Command,
    short_help="Say what another torch version changes in the sources.",
    examples=(("exportlint upgrade --from 2.10 --to 2.13 src/", "By what was measured of both; nothing is run."),),
)
@click.argument("paths", nargs=-1, metavar="[PATH]…", shell_complete=files)
@option(CHECK, "--from", "before", required=True, metavar="VERSION", help="The torch version that is used now.")
@option(CHECK, "--to", "after", required=True, metavar="VERSION", help="The torch version that is to be used.")
@option(CHECK, "--rules", "of_rules", is_flag=True, help="What changes for the models of all rules, in place of PATH.")
@purpose_option
@option(
    CHECK,
    "--mode",
    type=NearChoice((*MODE_CHOICES, _DEFAULT)),
    show_default="non-strict",
    help="Mode of torch.export. `default`: that of a call which passes no `strict=`, which is strict before torch 2.8.",
)
@option(
    CHECK, "--select", multiple=True, metavar="RULES", show_default="all", help="Only these rules; a,b or repeated."
)
@option(CHECK, "--ignore", multiple=True, metavar="RULES", help="Leave these rules out.")
@option(
    LIMITS, "--jobs", type=click.IntRange(min=1), metavar="N", show_default="one a core", help="Files at the same time."
)
@cache_option
@option(OUTPUT, "--output-format", type=NearChoice(FORMATS), default="full", help=" | ".join(FORMATS))
@option(
    OUTPUT,
    "--output-file",
    type=click.Path(path_type=Path, dir_okay=False),
    show_default="stdout",
    help="Write the report to a file.",
)
@option(OUTPUT, "--exit-zero", is_flag=True, help="Exit 0 even when something gets worse.")
def command(paths: tuple[str, ...], before: str, after: str, **options: Any) -> int:
    """Say what changes for the sources with another torch version: what begins to fail, heals, or silently differs.

    Judged by what was measured of both versions; nothing is run, and torch is not needed. What was not measured is
    told as not known. PATH is as for `exportlint check`.

    Exit codes: 0 nothing gets worse, 1 something does, 2 exportlint could not do its job.
    """
    from exportlint.workflow.upgrading import (  # noqa: PLC0415 (for this command only)
        changed_in_fixtures,
        changed_in_sources,
        compared_versions,
    )

    if options["of_rules"] and paths:
        raise UserError("--rules is about the models of the rules, whatever the sources: leave PATH out")
    by_default = options["mode"] == _DEFAULT
    asked = CommandLine(
        flat(options["select"]),
        flat(options["ignore"]),
        None if by_default else options["mode"],
        purpose=options["purpose"],
    )
    named = paths or (".",)
    config = load_config(named, asked)
    versions = compared_versions(before, after, config, default_modes=by_default)
    if options["of_rules"]:
        made = changed_in_fixtures(config, versions)
    else:
        found = collect_files(named, None, config)
        made = changed_in_sources(found, config, versions, jobs=options["jobs"], keep=not options["no_cache"])
    text = _text(made, options["output_format"], options["output_file"])
    if options["output_file"]:
        write_file(options["output_file"], text)
    else:
        write(text)
    for remark in made.remarks:
        say(remark)
    say_problems(made.problems)
    if made.problems:
        return FAILED
    return FINDINGS if made.gets_worse and not options["exit_zero"] else CLEAN


def _text(made: UpgradeReport, output_format: str, file: Path | None) -> str:
    from exportlint.output.upgrade_report import as_json, as_markdown, as_text  # noqa: PLC0415 (as above)

    match output_format:
        case "json":
            return as_json(made)
        case "markdown":
            return as_markdown(made)
    return as_text(made, render_options(file))
