"""`exportlint explain`: what a rule, an ExportDB case, a tag or a graph break means."""

from __future__ import annotations

import click

from exportlint.commands.reporting import write


@click.command("explain")
@click.argument("word", metavar="RULE|CASE|TAG|GBnnnn")
def command(word: str) -> int:
    """Say what a rule, an ExportDB case or tag, or a graph-break id means. Works offline."""
    from exportlint.pages.explanation import explain  # noqa: PLC0415 (the reference is read only when it is asked for)

    write(explain(word))
    return 0
