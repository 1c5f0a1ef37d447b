"""`exportlint trial`: try models, and join what happened with what the static pass suspects."""

from __future__ import annotations

from typing import Any

import click

from exportlint.adoption.asked import Adoption
from exportlint.commands.grouped import files
from exportlint.commands.options import (
    BeforeDashes,
    Output,
    TrialSettings,
    adopting_of,
    adoption_options,
    cache_option,
    flat,
    output_options,
    rule_options,
    script_arguments,
    split,
    target_options,
    trial_options,
)
from exportlint.commands.reporting import refuse_page_on_terminal
from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError
from exportlint.files import Collected


@click.command(
    "trial",
    cls=BeforeDashes,
    short_help="Export a model for real and compare it with eager.",
    examples=(
        ("exportlint trial net.py", "A file with `model` and `example_args`, or a script that exports."),
        ("exportlint trial export.py -- --width 8", "A script with arguments of its own."),
        ("exportlint trial --model net.py:build --args net.py:inputs --quick", "Two functions; only the exports."),
    ),
)
@click.argument("paths", nargs=-1, metavar="[PATH]… [-- SCRIPT_ARGUMENTS]", shell_complete=files)
@target_options
@rule_options
@output_options
@adoption_options
@cache_option
@trial_options
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], names: tuple[str, ...], **options: Any) -> int:
    """Export models for real, stage by stage, each stage in a process of its own.

    PATH is a file with `model` and `example_args`, a folder of such files, or FILE.py:CLASS for a fixture class.
    LIBRARY:MODEL is a model of a library with random weights and small inputs: transformers:bert, timm:resnet18,
    torchvision:vit_b_16; options follow a comma, as in transformers:llama,use_cache=False.
    Any other file is a script: it is run (with SCRIPT_ARGUMENTS), and every model that it hands to torch.export,
    torch.onnx.export, torch.jit or torch.compile is tried.
    Without any target, those of pyproject.toml are tried.
    """
    from exportlint.commands.trial_run import try_and_report  # noqa: PLC0415 (the trial's modules, when they are needed)
    from exportlint.workflow.target_choice import chosen  # noqa: PLC0415 (as above)

    output, how, adoption = split(options, Output), split(options, TrialSettings), split(options, Adoption)
    refuse_page_on_terminal(output)
    asked = CommandLine(
        flat(options.pop("select")),
        flat(options.pop("ignore")),
        options.pop("mode"),
        options.pop("torch"),
        how.purpose,
        flat(options.pop("fail_on")),
    )
    config = load_config([path.partition(".py:")[0] for path in paths] or ["."], asked)
    cache = not options.pop("no_cache")
    targets = chosen(paths, options, names, config, script_arguments(ctx))
    if not targets:
        raise UserError(
            "there is no target: name a file with `model` and `example_args`, a script, or a model of a library "
            "(transformers:bert), or give --model and --args"
        )
    # A trial is about these models: what a project has accepted is left out of it only where that is said here.
    adopting = adopting_of(adoption, [path.partition(".py:")[0] for path in paths])
    return try_and_report(targets, Collected((), ()), config, output, how, cache=cache, adopting=adopting)
