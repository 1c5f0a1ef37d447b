"""`exportlint matrix`: several targets, all stages and lowerings, in one table."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exportlint.commands.grouped import OUTPUT, TRY, Command, files, lowering_names, option
from exportlint.commands.options import (
    MatrixSettings,
    NearChoice,
    cache_option,
    flat,
    lower_option,
    means_options,
    purpose_option,
    split,
)
from exportlint.commands.reporting import CLEAN, FAILED, FINDINGS, SIGNALLED, render_options, write, write_file
from exportlint.config.settings import CommandLine, Config, load_config
from exportlint.errors import UserError
from exportlint.output.matrix import as_json, as_markdown, render_matrix
from exportlint.trial.protocol.purposes import COMPILE

if TYPE_CHECKING:
    from exportlint.output.matrix import Matrix
    from exportlint.trial.protocol.options import TrialOptions


FORMATS = ("full", "markdown", "json")


@click.command(
    "matrix",
    cls=Command,
    short_help="Try several models on every lowering, in one table.",
    examples=(
        ("exportlint matrix", "Every target of pyproject.toml on every lowering that is installed."),
        ("exportlint matrix net.py transformers:bert --require aotinductor", "Exit 1 where one does not pass it."),
    ),
)
@click.argument("words", nargs=-1, metavar="[TARGET]…", shell_complete=files)
@option(
    TRY,
    "--require",
    multiple=True,
    metavar="NAMES",
    show_default="none, and exit 0",
    shell_complete=lowering_names,
    help="Lowerings that every target must pass: exit 1 when one did not.",
)
@option(OUTPUT, "--output-format", type=NearChoice(FORMATS), default="full", help="How the matrix is told.")
@option(
    OUTPUT,
    "--output-file",
    type=click.Path(path_type=Path, dir_okay=False),
    show_default="stdout",
    help="Write the matrix to a file.",
)
@purpose_option
@lower_option("Compile for these, run the result and compare: all, none, or as aotinductor,executorch.", "all")
@cache_option
@means_options
def command(words: tuple[str, ...], **options: Any) -> int:
    """Try several targets on every stage and every lowering, and show what became of them in one table.

    With `--for compile` on what torch.compile does with them: graph breaks, recompilations, other results, time.

    TARGET is what `exportlint trial` takes, or the name of a target in pyproject.toml; without any, all of these.
    """
    from exportlint.workflow.matrix_run import run_matrix  # noqa: PLC0415 (the trial's modules, when they are needed)
    from exportlint.workflow.target_choice import chosen_by_name  # noqa: PLC0415 (as above)

    how: MatrixSettings = split(options, MatrixSettings)
    homes = [word.partition(".py:")[0] for word in words]
    config = load_config([home for home in homes if Path(home).exists()] or ["."], CommandLine(purpose=how.purpose))
    if config.purpose == COMPILE and (how.lower or how.require):
        given = "--lower" if how.lower else "--require"
        raise UserError(f"{given} is about the exported program, which --for compile does not make: use --for both")
    targets = chosen_by_name(words, config)
    if not targets:
        raise UserError(
            "there is no target: name files, models of a library (transformers:bert), or targets of pyproject.toml"
        )
    asked, required = _options(how, config)
    matrix, all_tried, stop = run_matrix(targets, asked, required)
    _print(matrix, how)
    if stop.signal_number:
        return SIGNALLED + stop.signal_number
    return FAILED if not all_tried else FINDINGS if matrix.unmet else CLEAN


def _options(how: MatrixSettings, config: Config) -> tuple[TrialOptions, tuple[str, ...]]:
    """Those of the trials, and the lowerings that are required, which are tried in any case."""
    from exportlint.commands.trial_run import limits  # noqa: PLC0415 (as above)
    from exportlint.trial.protocol.options import TrialOptions  # noqa: PLC0415 (as above)
    from exportlint.workflow.lowering_choice import (  # noqa: PLC0415 (as above)
        chosen_lowerings,
        known_lowerings,
        lowering_options,
        named_lowerings,
    )

    required = named_lowerings(flat(how.require), "--require")
    exports = config.purpose != COMPILE
    lower = chosen_lowerings(flat(how.lower), config, usual=tuple(known_lowerings())) if exports else ()
    asked = TrialOptions(
        purpose=config.purpose,
        lower=tuple(dict.fromkeys((*lower, *required))),
        lowering=lowering_options(config, cache=not how.no_cache),
        python=how.python,
    )
    return replace(asked, **limits(how.timeout, how.memory, how.jobs)), required


def _print(matrix: Matrix, how: MatrixSettings) -> None:
    match how.output_format:
        case "markdown":
            text = as_markdown(matrix)
        case "json":
            text = as_json(matrix)
        case _:
            text = render_matrix(matrix, render_options(how.output_file))
    if how.output_file:
        write_file(how.output_file, text)
    else:
        write(text)
