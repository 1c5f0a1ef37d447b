"""`exportlint explain`: what a rule, an ExportDB case, a tag, a graph break or a message of torch means."""

from __future__ import annotations

import sys

import click

from exportlint.commands.grouped import Command, rule_names
from exportlint.commands.reporting import write


@click.command(
    "explain",
    cls=Command,
    short_help="Say what a rule, a graph break or a message of torch means.",
    examples=(
        ("exportlint explain GB0170", "A graph break by its id."),
        ("python export.py 2>&1 | exportlint explain -", "A traceback of torch."),
    ),
)
@click.argument(
    "words", metavar="RULE|CASE|TAG|GBnnnn|WORDS…|MESSAGE|-", nargs=-1, required=True, shell_complete=rule_names
)
def command(words: tuple[str, ...]) -> int:
    """Say what a rule, an ExportDB case or tag, or a graph-break id means. Works offline.

    Other words are searched for. An error message of torch, a whole traceback too, is given in quotes, or as standard
    input with `-`.
    """
    from exportlint.pages.explanation import explain  # noqa: PLC0415 (the reference is read only when it is asked for)

    text = sys.stdin.read() if words == ("-",) else " ".join(words)
    write(explain(text))
    return 0
