"""Options that several commands share, and the manners of a wrong value: the nearest valid one is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exportlint.config.settings import MODE_CHOICES
from exportlint.errors import UserError, nearest
from exportlint.output import FORMATS
from exportlint.trial.protocol.options import DEFAULT_MEMORY_GB, DEFAULT_SECONDS
from exportlint.trial.protocol.purposes import PURPOSES

if TYPE_CHECKING:
    from exportlint.adoption.asked import Adoption
    from exportlint.workflow.adopting import Adopting

Command = TypeVar("Command", bound=Callable[..., Any])


class NearChoice(click.Choice[str]):
    """A choice that names the nearest value when it refuses one."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ARG002 (click's signature)
        if value in self.choices:
            return str(value)
        option = param.opts[0] if param else "option"
        raise UserError(
            f"{option}: there is no `{value}`{nearest(value, self.choices)}; choose {' or '.join(self.choices)}"
        )


_OF_SCRIPT = "exportlint.script"


class BeforeDashes(click.Command):
    """Keeps what stands after `--` apart: a script takes it as it is, options included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if "--" in args:
            cut = args.index("--")
            args, ctx.meta[_OF_SCRIPT] = args[:cut], args[cut + 1 :]
        return super().parse_args(ctx, args)


def script_arguments(ctx: click.Context) -> list[str] | None:
    """What stands after `--` of a BeforeDashes; None without one."""
    found: list[str] | None = ctx.meta.get(_OF_SCRIPT)
    return found


def flat(lists: Sequence[str]) -> tuple[str, ...]:
    """The values of a repeatable option that takes `a,b`, each once."""
    parts = (part.strip() for text in lists for part in text.split(","))
    return tuple(dict.fromkeys(part for part in parts if part))


@dataclass(frozen=True, slots=True)
class Output:
    """How and where a report is written."""

    output_format: str
    output_file: Path | None
    show_cleared: bool
    show_suppressed: bool
    show_suspected: bool
    coverage: bool
    statistics: bool
    exit_zero: bool


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """How targets are tried; None for options that were not given."""

    lower: tuple[str, ...]
    dynamic: str | None
    timeout: float | None
    memory: float | None
    jobs: int | None
    python: Path | None
    save_repro: Path | None
    show: tuple[str, ...]
    grad: bool
    quick: bool
    decompose: tuple[str, ...]
    read_with: Path | None
    dry_run: bool
    artifacts: Path | None
    purpose: str | None
    backend: str | None


@dataclass(frozen=True, slots=True)
class MatrixSettings:
    """How a matrix is made; None for options that were not given."""

    purpose: str | None
    lower: tuple[str, ...]
    require: tuple[str, ...]
    timeout: float | None
    memory: float | None
    jobs: int | None
    python: Path | None
    no_cache: bool
    output_format: str
    output_file: Path | None


def rule_options(command: Command) -> Command:
    """--select, --ignore, --mode, --torch."""
    for option in (
        click.option(
            "--torch",
            metavar="VERSION",
            help="Judge by what this torch version does (default: the installed one; without one, the tested one).",
        ),
        click.option(
            "--mode", type=NearChoice(tuple(MODE_CHOICES)), help="Mode of torch.export (default: non-strict)."
        ),
        click.option("--ignore", multiple=True, metavar="RULES", help="Leave these rules out."),
        click.option("--select", multiple=True, metavar="RULES", help="Only these rules; a,b or repeated."),
    ):
        command = option(command)
    return command


_BASELINE = click.Path(path_type=Path)


def adoption_options(command: Command) -> Command:
    """--fail-on, --diff-base and those of a baseline."""
    for option in (
        click.option(
            "--diff-base",
            metavar="REV",
            help="Only findings on lines that changed since the merge base with REV (git), uncommitted ones included.",
        ),
        click.option("--prune-baseline", is_flag=True, help="Take what is gone out of the baseline."),
        click.option(
            "--write-baseline", type=_BASELINE, metavar="FILE", help="Accept all findings: write them to FILE."
        ),
        click.option("--baseline", type=_BASELINE, metavar="FILE", help="Leave out the findings that FILE holds."),
        click.option(
            "--fail-on",
            multiple=True,
            metavar="WHICH",
            help="What makes exit code 1: error, warning (default) or note and what is worse; never; with "
            "evidence=confirmed only what a trial showed; a,b or repeated.",
        ),
    ):
        command = option(command)
    return command


def target_options(command: Command) -> Command:
    """--model and what it is called with, --target."""
    source = "FILE_OR_MODULE:NAME"
    for option in (
        click.option(
            "--target", "names", multiple=True, metavar="NAME", help="A target of [tool.exportlint.targets.NAME]."
        ),
        click.option(
            "--other-args",
            metavar=source,
            help="A callable that makes a second tuple of inputs, which the same program must take, or a list of such "
            "tuples (breaks, and what compiles again, are looked for with all of them, the rest with the first).",
        ),
        click.option(
            "--dynamic-shapes", metavar=source, help="A callable that makes the dynamic_shapes of torch.export.export."
        ),
        click.option("--kwargs", metavar=source, help="A callable that makes the dict of example keyword inputs."),
        click.option("--args", metavar=source, help="A callable that makes the tuple of example inputs."),
        click.option("--model", metavar=source, help="A callable that makes the model (or the model itself)."),
    ):
        command = option(command)
    return command


def output_options(command: Command) -> Command:
    """--output-format and what belongs to it."""
    formats = NearChoice(tuple(FORMATS))
    for option in (
        click.option("--exit-zero", is_flag=True, help="Exit 0 even when there are findings."),
        click.option("--statistics", is_flag=True, help="Count the findings of each rule."),
        click.option("--show-suppressed", is_flag=True, help="Show what comments and per-file-ignores silence."),
        click.option("--show-cleared", is_flag=True, help="Show suspicions that a trial refuted."),
        click.option("--coverage", is_flag=True, help="Show the source lines that the samples of a trial never ran."),
        click.option("--show-suspected", is_flag=True, help="Show suspicions in code that no target of a trial ran."),
        click.option(
            "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write the report to a file."
        ),
        click.option("--output-format", type=formats, default="full", show_default=True, help=" | ".join(FORMATS)),
    ):
        command = option(command)
    return command


_MORE_RESULTS = (
    click.option(
        "--show",
        multiple=True,
        type=NearChoice(("graph", "operators")),
        help="graph: also print the exported program, with source lines; operators: also print what each target of "
        "--lower does with each operator.",
    ),
    click.option(
        "--artifacts",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Keep what passed with --lower, each with its inputs and a script that runs it.",
    ),
    click.option(
        "--save-repro",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write a script for each failure that fails in the same way without exportlint.",
    ),
)
_INTERPRETER = click.Path(path_type=Path, exists=True, dir_okay=False)
_MEANS = (
    click.option("--python", type=_INTERPRETER, help="The interpreter that has torch (default: this one)."),
    click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Files, or targets, at the same time."),
    click.option(
        "--memory",
        type=click.FloatRange(min=0.1),
        metavar="GB",
        help=f"Memory limit of one stage (default: {DEFAULT_MEMORY_GB:g}).",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0.1),
        metavar="SECONDS",
        help=f"Time limit of one stage (default: {DEFAULT_SECONDS:g}).",
    ),
)
_MORE_STAGES = (
    click.option(
        "--dry-run",
        is_flag=True,
        help="With --lower: only say which operators each target takes, and compile nothing.",
    ),
    click.option(
        "--read-with",
        type=_INTERPRETER,
        metavar="PYTHON",
        help="Another interpreter: does its torch read the saved program, and give what eager gives?",
    ),
    click.option(
        "--decompose",
        multiple=True,
        metavar="OP=FILE_OR_MODULE:FUNCTION",
        help="Decompose an operator by a function of yours (OP=keep: not at all), and show what that changes.",
    ),
    click.option("--grad", is_flag=True, help="The program is to be trained: compare its gradients with eager's too."),
    click.option("--quick", is_flag=True, help="Only load, run in eager and export: does it export, where not?"),
    click.option(
        "--dynamic",
        type=NearChoice(("auto",)),
        help="auto: find out which dims can be declared dynamic, try it, and print the `dynamic_shapes`.",
    ),
    click.option(
        "--lower",
        multiple=True,
        metavar="NAMES",
        help="Targets of deployment: none (default), all, or aotinductor,executorch. A trial compiles for them, runs "
        "the result and compares; the static pass says what they refuse.",
    ),
)


def lower_option(text: str) -> Callable[[Command], Command]:
    """--lower."""
    return click.option("--lower", multiple=True, metavar="NAMES", help=text)


def means_options(command: Command) -> Command:
    """--timeout, --memory, --jobs, --python."""
    for option in _MEANS:
        command = option(command)
    return command


def cache_option(command: Command) -> Command:
    """--no-cache."""
    text = "Judge every file and compile everything anew, and remember nothing."
    return click.option("--no-cache", is_flag=True, help=text)(command)


_PURPOSE = click.option(
    "--for",
    "purpose",
    type=NearChoice(PURPOSES),
    help="What the model is judged for: torch.export (default), torch.compile (graph breaks, recompilations, other "
    "results, time), or both. Not given, a trial of a script takes torch.compile for what that only compiles.",
)


def purpose_option(command: Command) -> Command:
    """--for."""
    return _PURPOSE(command)


_BACKEND = click.option(
    "--backend",
    metavar="NAME",
    help="With --for compile: the backend of torch.compile whose time is measured (default: inductor where a C++ "
    "compiler is there, else aot_eager).",
)


def backend_option(command: Command) -> Command:
    """--backend."""
    return _BACKEND(command)


def adopting_of(asked: Adoption, near: Sequence[str]) -> Adopting | None:
    """What was asked for, once it holds; None where nothing was."""
    if not asked.is_asked:
        return None
    from exportlint.workflow.adopting import prepared  # noqa: PLC0415 (msgspec and git, where they are needed)

    return prepared(asked, near)


def trial_options(command: Command) -> Command:
    """What decides which stages run and how, and what more they give."""
    for option in (*_MORE_RESULTS, *_MEANS, _BACKEND, *_MORE_STAGES, _PURPOSE):
        command = option(command)
    return command


def split(options: dict[str, Any], kind: type[Any]) -> Any:
    """Take the options that `kind` holds out of `options`, as one object."""
    return kind(**{name: options.pop(name) for name in kind.__dataclass_fields__})
