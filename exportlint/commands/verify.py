"""`exportlint verify`: is an edit right? It is tried beside what it edits, as `exportlint fix` tries its rewrites."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exportlint.commands.grouped import EDIT, OUTPUT, files, option
from exportlint.commands.options import (
    BeforeDashes,
    NearChoice,
    flat,
    lower_option,
    means_options,
    purpose_option,
    rule_options,
    script_arguments,
    target_options,
)
from exportlint.commands.reporting import CLEAN, FAILED, FINDINGS, render_options, say_problems, write
from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError

if TYPE_CHECKING:
    from exportlint.repair.change import Change


@click.command(
    "verify",
    cls=BeforeDashes,
    short_help="Say whether an edit computes what the code did, and helps.",
    examples=(
        ("exportlint verify net.py", "What changed in the working tree since the last commit."),
        ("exportlint verify net.py --patch mend.diff", "A patch that somebody wrote."),
    ),
)
@click.argument("paths", nargs=-1, metavar="[PATH]… [-- SCRIPT_ARGUMENTS]", shell_complete=files)
@target_options
@option(EDIT, "--patch", metavar="FILE", help="A unified diff of the files as they are; `-` reads it from stdin.")
@option(
    EDIT,
    "--base",
    metavar="REVISION",
    show_default="HEAD, or the parent of --revision",
    help="The git revision before the edit.",
)
@option(
    EDIT, "--revision", metavar="REVISION", show_default="the working tree", help="The git revision after the edit."
)
@purpose_option
@rule_options
@means_options
@lower_option("Targets of deployment that the result has to run on.")
@option(OUTPUT, "--output-format", type=NearChoice(("full", "json")), default="full", help="How the verdict is told.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], names: tuple[str, ...], **options: Any) -> int:
    """Say whether an edit is right: a patch, a commit, or what changed in the working tree.

    The targets, named as for `exportlint trial`, are run before the edit and after it. In eager they are called on the
    sample, on other values and sizes, and on inputs that are sought for the branches of both; what they give and leave
    behind is compared, and so are the stages of the trial and its findings. Nothing is written.

    Exit codes: 0 the edit mends, helps or does no harm; 1 it computes something else, makes something worse, does not
    help, or is not proved; 2 exportlint could not do its job.
    """
    from exportlint.commands.trial_run import limits  # noqa: PLC0415 (the trial's modules, when they are needed)
    from exportlint.output.verification_text import verification_data, verification_text  # noqa: PLC0415 (as above)
    from exportlint.trial.protocol.options import TrialOptions  # noqa: PLC0415
    from exportlint.workflow.lowering_choice import chosen_lowerings, lowering_options  # noqa: PLC0415
    from exportlint.workflow.target_choice import chosen  # noqa: PLC0415
    from exportlint.workflow.verifying import verify  # noqa: PLC0415

    change = _change(options)
    asked = CommandLine(
        flat(options["select"]), flat(options["ignore"]), options["mode"], options["torch"], options["purpose"]
    )
    config = load_config([path.partition(".py:")[0] for path in paths] or ["."], asked)
    targets = chosen(paths, options, names, config, script_arguments(ctx))
    if not targets:
        raise UserError("there is no target to try it on: name a file with `model` and `example_args`, or a script")
    how = TrialOptions(
        modes=config.modes,
        lower=chosen_lowerings(flat(options["lower"]), config),
        lowering=lowering_options(config),
        python=options["python"],
        purpose=config.purpose,
        **limits(options["timeout"], options["memory"], options["jobs"]),
    )
    done = verify(targets, config, how, change)
    if options["output_format"] == "json":
        write(json.dumps(verification_data(done, change.changed), indent=2) + "\n")
    else:
        write(verification_text(done, render_options(None)))
    say_problems(done.after.problems)
    if done.after.problems:
        return FAILED
    return CLEAN if done.verdict.is_taken else FINDINGS


def _change(options: dict[str, Any]) -> Change:
    from exportlint.repair.change import edit_of  # noqa: PLC0415 (subprocess, when it is needed)

    patch, base, revision = options["patch"], options["base"], options["revision"]
    for name in ("patch", "base", "revision"):
        if options[name] == "":
            raise UserError(f"--{name} is empty")
    data = None
    if patch is not None:
        try:
            # As bytes, for the line ends of a patch are those of the file.
            data = sys.stdin.buffer.read() if patch == "-" else Path(patch).read_bytes()
        except OSError as error:
            raise UserError(f"the patch {patch} cannot be read: {error}") from error
    return edit_of(data, base, revision, Path.cwd().resolve())
