"""Arguments in, exit code out: 0 clean, 1 findings, 2 could not do its job. Nothing imports this file."""

from __future__ import annotations

import atexit
import gc
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exportlint.errors import UserError, nearest
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from click.shell_completion import CompletionItem


# As `--help` groups them.
_GROUPS = {
    "To begin": ("init", "doctor"),
    "Find": ("check", "trial", "matrix", "sweep"),
    "Mend": ("fix", "verify"),
    "Look up": ("explain", "rules", "upgrade"),
    "Serve": ("server", "mcp"),
    "For those who write rules": ("truth",),
}
COMMANDS = tuple(name for names in _GROUPS.values() for name in names)
FAILED = 2
STOPPED = 130  # what shells report for a program that Ctrl-C ended


class _Commands(click.Group):
    """Imports a command when it is called; what names no command is given to `check`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = importlib.import_module(f"exportlint.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """In groups, by what they are for."""
        width = max(map(len, COMMANDS))
        for group, names in _GROUPS.items():
            with formatter.section(group):
                found = ((name, self.get_command(ctx, name)) for name in names)
                records = [(f"{name:<{width}}", one.get_short_help_str(60)) for name, one in found if one]
                formatter.write_dl(records)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Commands and, where the word is none, files: these are given to `check`."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 (only while a shell completes)

        found = super().shell_complete(ctx, incomplete)
        return found or [CompletionItem(incomplete, type="file")]

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in (*COMMANDS, "--help", "-h", "--version"):
            if not ctx.resilient_parsing:  # a shell completes what is half written
                _refuse_mistyped_command(args[0])
            args = ["check", *args]
        return super().parse_args(ctx, args)


def _refuse_mistyped_command(word: str) -> None:
    near = nearest(word, COMMANDS, 0.75)
    if near and not os.path.lexists(word):
        raise UserError(f"there is no command, file or folder `{word}`{near}")


_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.group(cls=_Commands, context_settings=_SETTINGS)
@click.version_option(__version__, message="exportlint %(version)s")
def _cli() -> None:
    """Where torch.export refuses your model or silently changes it.

    `exportlint PATH…` is short for `exportlint check PATH…`, which also takes a folder that is called like a command.

    Completion in bash: eval "$(_EXPORTLINT_COMPLETE=bash_source exportlint)", with zsh_source or fish_source likewise.

    Exit codes: 0 clean (or notes only), 1 errors or warnings, 2 exportlint could not do its job.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and leave with its exit code. No traceback reaches the user."""
    # Syntax trees are many small objects that live long: looking for cycles among them costs much and finds nothing.
    gc.set_threshold(5_000_000, 50, 10_000)
    # Nor when the process ends, where Python would look through all of them three times.
    atexit.register(gc.freeze)
    try:
        code = _cli.main(arguments, prog_name="exportlint", standalone_mode=False)
    except (UserError, click.ClickException) as error:
        code = _failed(error.format_message() if isinstance(error, click.ClickException) else str(error))
    except (click.Abort, KeyboardInterrupt):
        _say("stopped")
        code = STOPPED
    except Exception as error:  # noqa: BLE001 (the last door: whatever it is, the user gets one sentence)
        code = _failed(_internal(error))
    sys.exit(code if isinstance(code, int) else 0)


def _failed(message: str) -> int:
    _say(f"error: {message}")
    return FAILED


def _internal(error: Exception) -> str:
    import traceback  # noqa: PLC0415 (once something is wrong)

    if os.environ.get("EXPORTLINT_TRACEBACK"):
        traceback.print_exception(error)
    frames = traceback.extract_tb(error.__traceback__)
    here = Path(__file__).parent
    own = [frame for frame in frames if Path(frame.filename).is_relative_to(here)]
    where = f" at {Path(own[-1].filename).relative_to(here).as_posix()}:{own[-1].lineno}" if own else ""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return (
        f"internal error{where}: {what}. This is a bug in exportlint, not in your code: "
        "please report it with this line, the command, and what EXPORTLINT_TRACEBACK=1 adds"
    )


def _say(text: str) -> None:
    print(f"exportlint: {text}", file=sys.stderr)  # noqa: T201 (the one place that speaks for the whole program)
