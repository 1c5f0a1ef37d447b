"""How `--help` looks: options in groups that people look for, an example, and what is true where nothing is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

MODEL, TRY, CHECK = "Which model", "What to try", "What to check"
EDIT, LIMITS, OUTPUT = "The edit", "Limits and means", "Output"
ADOPT = "Code that is there already"
# In this order; what is in no group comes last.
GROUPS = (MODEL, EDIT, TRY, CHECK, ADOPT, LIMITS, OUTPUT)
_REST = "Other options"


class _Option(click.Option):
    def __init__(self, *args: Any, group: str, **how: Any) -> None:
        super().__init__(*args, **how)
        self.group = group

    def get_help_extra(self, ctx: click.Context) -> Any:
        """click puts what is said in words into brackets, also a plain number."""
        extra = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        return extra


def option(group: str, *names: str, **how: Any) -> Callable[[Decorated], Decorated]:
    """As click.option, in a group. `show_default` in words says what holds where nothing is given."""
    return click.option(*names, cls=_Option, group=group, **{"show_default": True, **how})


class Command(click.Command):
    """A command with `examples`: each a command line, and what it is for."""

    def __init__(self, *args: Any, examples: Sequence[tuple[str, str]] = (), **how: Any) -> None:
        super().__init__(*args, **how)
        self.examples = examples

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, then a section for each group."""
        if self.examples:
            with formatter.section("Examples"):
                for line, what in self.examples:
                    formatter.write(f"  {line}\n")
                    with formatter.indentation():
                        formatter.indent()
                        formatter.write_text(what)
                        formatter.dedent()
        for group in (*GROUPS, _REST):
            options = [one for one in self.get_params(ctx) if not isinstance(one, click.Argument)]
            shown = [one for one in options if getattr(one, "group", _REST) == group]
            records = [record for one in shown if (record := one.get_help_record(ctx))]
            if records:
                with formatter.section(group):
                    # Long names stand in a line of their own: the words beside them need the room.
                    formatter.write_dl(records, col_max=26)


def files(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """For the completion of a shell: its own names of files."""
    from click.shell_completion import CompletionItem  # noqa: PLC0415 (only while a shell completes)

    del ctx, parameter
    return [CompletionItem(incomplete, type="file")]


def rule_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the completion of a shell: the rules that are installed."""
    from exportlint.registry import all_rules  # noqa: PLC0415 (as above)

    del ctx, parameter
    return _continued(incomplete, [*all_rules()])


def lowering_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the completion of a shell: what --lower takes."""
    from exportlint.workflow.lowering_choice import ALL, NONE, known_lowerings  # noqa: PLC0415 (as above)

    del ctx, parameter
    return _continued(incomplete, [ALL, NONE, *known_lowerings()])


def target_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the completion of a shell: the targets of the configuration that holds here."""
    from exportlint.config.settings import CommandLine, load_config  # noqa: PLC0415 (as above)
    from exportlint.errors import UserError  # noqa: PLC0415 (as above)

    del ctx, parameter
    try:
        return _continued(incomplete, [*load_config(["."], CommandLine()).targets])
    except UserError:  # said by the command itself, when it runs
        return []


def _continued(incomplete: str, names: Sequence[str]) -> list[str]:
    """Also of the last name of `a,b`."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]
