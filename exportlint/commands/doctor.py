"""`exportlint doctor`: what is installed here, what works, and the command that mends what does not."""

from __future__ import annotations

from dataclasses import replace

import click

from exportlint.commands.grouped import OUTPUT, Command, option
from exportlint.commands.options import NearChoice
from exportlint.commands.reporting import CLEAN, FINDINGS, render_options, write

_WIDTH = 80  # it is read, and pasted into reports of bugs


@click.command(
    "doctor",
    cls=Command,
    short_help="Say what is installed, what works, and what mends the rest.",
    examples=(("exportlint doctor", "In the folder of your project, whose configuration is looked at, too."),),
)
@option(OUTPUT, "--output-format", type=NearChoice(("full", "json")), default="full", help="How it is told.")
def command(output_format: str) -> int:
    """Say what is installed here, what works, and how to mend what does not.

    torch, the runtimes of the lowerings and the plug-ins are imported, each in a process of its own with a time limit.

    Exit codes: 0 trials can run; 1 something that trials, or the configuration, need is missing or broken.
    """
    from exportlint.doctor.checkup import checkup  # noqa: PLC0415 (what it asks with, for this command only)
    from exportlint.output.checkup import checkup_json, checkup_text  # noqa: PLC0415 (as above)
    from exportlint.workflow.progress import progress  # noqa: PLC0415 (as above)

    options = render_options(None)
    with progress("things looked at", 1) as tell:
        found = checkup(tell)
    narrow = replace(options, width=min(options.width, _WIDTH))
    write(checkup_json(found) if output_format == "json" else checkup_text(found, narrow))
    return FINDINGS if found.failing else CLEAN
