"""`exportlint server`: a language server for editors, over standard input and output."""

from __future__ import annotations

import click

from exportlint.commands.grouped import Command
from exportlint.errors import UserError


@click.command(
    "server",
    cls=Command,
    short_help="Serve findings to editors while code is typed (LSP).",
    examples=(("exportlint server", "An editor is given this command; docs/editors.md says where."),),
)
def command() -> int:
    """Serve findings to editors while code is typed, over the Language Server Protocol (stdio).

    An editor starts it by itself: give it the command `exportlint server`. It needs `pip install 'exportlint[server]'`.
    """
    try:
        from exportlint.language_server.server import serve  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise UserError(f"the server needs {error.name}: pip install 'exportlint[server]'") from error
    serve()
    return 0
