"""`exportlint mcp`: a server for agents, over standard input and output."""

from __future__ import annotations

import click

from exportlint.commands.grouped import Command
from exportlint.errors import UserError


@click.command(
    "mcp",
    cls=Command,
    short_help="Serve check, trial, fix … to coding agents (MCP).",
    examples=(("claude mcp add exportlint -- exportlint mcp", "Give the command to a client of the protocol."),),
)
def command() -> int:
    """Serve check, trial, fix, verify and explain to agents over the Model Context Protocol (stdio).

    A client starts it by itself: give it the command `exportlint mcp`. It needs `pip install 'exportlint[mcp]'`.
    """
    try:
        from exportlint.mcp_server.tools import server  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        raise UserError(f"the server needs {error.name}: pip install 'exportlint[mcp]'") from error
    server().run()
    return 0
