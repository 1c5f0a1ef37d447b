"""Options that several commands share, and the manners of a wrong value: the nearest valid one is named."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from exportlint.commands.grouped import (
    ADOPT,
    CHECK,
    LIMITS,
    MODEL,
    OUTPUT,
    TRY,
    lowering_names,
    option,
    rule_names,
    target_names,
)
from exportlint.commands.grouped import Command as GroupedCommand
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


class BeforeDashes(GroupedCommand):
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
    for one in (
        option(
            CHECK,
            "--torch",
            metavar="VERSION",
            show_default="the installed one; without one, the tested one",
            help="Judge by what this torch version does.",
        ),
        option(
            CHECK,
            "--mode",
            type=NearChoice(tuple(MODE_CHOICES)),
            show_default="non-strict",
            help="Mode of torch.export.",
        ),
        option(
            CHECK, "--ignore", multiple=True, metavar="RULES", shell_complete=rule_names, help="Leave these rules out."
        ),
        option(
            CHECK,
            "--select",
            multiple=True,
            metavar="RULES",
            show_default="all",
            shell_complete=rule_names,
            help="Only these rules; a,b or repeated.",
        ),
    ):
        command = one(command)
    return command


_BASELINE = click.Path(path_type=Path)


def adoption_options(command: Command) -> Command:
    """--fail-on, --diff-base and those of a baseline."""
    for one in (
        option(
            ADOPT,
            "--diff-base",
            metavar="REV",
            help="Only findings on lines that changed since the merge base with REV (git), uncommitted ones included.",
        ),
        option(ADOPT, "--prune-baseline", is_flag=True, help="Take what is gone out of the baseline."),
        option(
            ADOPT, "--write-baseline", type=_BASELINE, metavar="FILE", help="Accept all findings: write them to FILE."
        ),
        option(ADOPT, "--baseline", type=_BASELINE, metavar="FILE", help="Leave out the findings that FILE holds."),
        option(
            ADOPT,
            "--fail-on",
            multiple=True,
            metavar="WHICH",
            show_default="warning",
            help="What makes exit code 1: error, warning or note and what is worse; never; with "
            "evidence=confirmed only what a trial showed; a,b or repeated.",
        ),
    ):
        command = one(command)
    return command


def target_options(command: Command) -> Command:
    """--model and what it is called with, --target."""
    source = "FILE_OR_MODULE:NAME"
    for one in (
        option(
            MODEL,
            "--target",
            "names",
            multiple=True,
            metavar="NAME",
            shell_complete=target_names,
            show_default="every one, where nothing else is named",
            help="A target of [tool.exportlint.targets.NAME].",
        ),
        option(
            MODEL,
            "--other-args",
            metavar=source,
            help="A callable that makes a second tuple of inputs, which the same program must take, or a list of such "
            "tuples (breaks, and what compiles again, are looked for with all of them, the rest with the first).",
        ),
        option(
            MODEL,
            "--dynamic-shapes",
            metavar=source,
            help="A callable that makes the dynamic_shapes of torch.export.export.",
        ),
        option(MODEL, "--kwargs", metavar=source, help="A callable that makes the dict of example keyword inputs."),
        option(MODEL, "--args", metavar=source, help="A callable that makes the tuple of example inputs."),
        option(MODEL, "--model", metavar=source, help="A callable that makes the model (or the model itself)."),
    ):
        command = one(command)
    return command


def output_options(command: Command) -> Command:
    """--output-format and what belongs to it."""
    formats = NearChoice(tuple(FORMATS))
    for one in (
        option(OUTPUT, "--exit-zero", is_flag=True, help="Exit 0 even when there are findings."),
        option(OUTPUT, "--statistics", is_flag=True, help="Count the findings of each rule."),
        option(OUTPUT, "--show-suppressed", is_flag=True, help="Show what comments and per-file-ignores silence."),
        option(OUTPUT, "--show-cleared", is_flag=True, help="Show suspicions that a trial refuted."),
        option(OUTPUT, "--coverage", is_flag=True, help="Show the source lines that the samples of a trial never ran."),
        option(OUTPUT, "--show-suspected", is_flag=True, help="Show suspicions in code that no target of a trial ran."),
        option(
            OUTPUT,
            "--output-file",
            type=click.Path(path_type=Path, dir_okay=False),
            show_default="stdout",
            help="Write the report to a file.",
        ),
        option(OUTPUT, "--output-format", type=formats, default="full", metavar="FORMAT", help=", ".join(FORMATS)),
    ):
        command = one(command)
    return command


_MORE_RESULTS = (
    option(
        OUTPUT,
        "--show",
        multiple=True,
        type=NearChoice(("graph", "operators")),
        help="graph: also print the exported program, with source lines; operators: also print what each target of "
        "--lower does with each operator.",
    ),
    option(
        OUTPUT,
        "--artifacts",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Keep what passed with --lower, each with its inputs and a script that runs it.",
    ),
    option(
        OUTPUT,
        "--save-repro",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Write a script for each failure that fails in the same way without exportlint.",
    ),
)
_INTERPRETER = click.Path(path_type=Path, exists=True, dir_okay=False)
_MEANS = (
    option(LIMITS, "--python", type=_INTERPRETER, show_default="this one", help="The interpreter that has torch."),
    option(
        LIMITS,
        "--jobs",
        type=click.IntRange(min=1),
        metavar="N",
        show_default="one a core",
        help="Files, or targets, at the same time.",
    ),
    option(
        LIMITS,
        "--memory",
        type=click.FloatRange(min=0.1),
        metavar="GB",
        show_default=f"{DEFAULT_MEMORY_GB:g}",
        help="Memory limit of one stage.",
    ),
    option(
        LIMITS,
        "--timeout",
        type=click.FloatRange(min=0.1),
        metavar="SECONDS",
        show_default=f"{DEFAULT_SECONDS:g}",
        help="Time limit of one stage.",
    ),
)
_MORE_STAGES = (
    option(
        TRY,
        "--dry-run",
        is_flag=True,
        help="With --lower: only say which operators each target takes, and compile nothing.",
    ),
    option(
        TRY,
        "--read-with",
        type=_INTERPRETER,
        metavar="PYTHON",
        help="Another interpreter: does its torch read the saved program, and give what eager gives?",
    ),
    option(
        TRY,
        "--decompose",
        multiple=True,
        metavar="OP=FILE_OR_MODULE:FUNCTION",
        help="Decompose an operator by a function of yours (OP=keep: not at all), and show what that changes.",
    ),
    option(TRY, "--grad", is_flag=True, help="The program is to be trained: compare its gradients with eager's too."),
    option(TRY, "--quick", is_flag=True, help="Only load, run in eager and export: does it export, where not?"),
    option(
        TRY,
        "--dynamic",
        type=NearChoice(("auto",)),
        help="auto: find out which dims can be declared dynamic, try it, and print the `dynamic_shapes`.",
    ),
    option(
        TRY,
        "--lower",
        multiple=True,
        metavar="NAMES",
        show_default="none, or those of pyproject.toml",
        shell_complete=lowering_names,
        help="Targets of deployment: none, all, or as aotinductor,executorch. A trial compiles for them, runs "
        "the result and compares; the static pass says what they refuse.",
    ),
)


def lower_option(text: str, usual: str = "none, or those of pyproject.toml") -> Callable[[Command], Command]:
    """--lower."""
    return option(
        TRY, "--lower", multiple=True, metavar="NAMES", show_default=usual, shell_complete=lowering_names, help=text
    )


def means_options(command: Command) -> Command:
    """--timeout, --memory, --jobs, --python."""
    for one in _MEANS:
        command = one(command)
    return command


def cache_option(command: Command) -> Command:
    """--no-cache."""
    text = "Judge every file and compile everything anew, and remember nothing."
    return option(LIMITS, "--no-cache", is_flag=True, help=text)(command)


_PURPOSE = option(
    TRY,
    "--for",
    "purpose",
    type=NearChoice(PURPOSES),
    show_default="export; torch.compile for what a script only compiles",
    help="What the model is judged for: torch.export, torch.compile (graph breaks, recompilations, other results, "
    "time), or both.",
)


def purpose_option(command: Command) -> Command:
    """--for."""
    return _PURPOSE(command)


_BACKEND = option(
    TRY,
    "--backend",
    metavar="NAME",
    show_default="inductor where a C++ compiler is there, else aot_eager",
    help="With --for compile: the backend of torch.compile whose time is measured.",
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
    for one in (*_MORE_RESULTS, *_MEANS, _BACKEND, *_MORE_STAGES, _PURPOSE):
        command = one(command)
    return command


def split(options: dict[str, Any], kind: type[Any]) -> Any:
    """Take the options that `kind` holds out of `options`, as one object."""
    return kind(**{name: options.pop(name) for name in kind.__dataclass_fields__})
