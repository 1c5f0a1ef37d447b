"""`exportlint trial`: try models, and join what happened with what the static pass suspects."""

from __future__ import annotations

from typing import Any

import click

from exportlint import config as configuration
from exportlint.commands.options import Output, Trying, flat, output_options, rule_options, split, trying_options
from exportlint.config import Asked
from exportlint.errors import UserError
from exportlint.files import Collected

SOURCE = "FILE_OR_MODULE:NAME"


@click.command("trial")
@click.argument("paths", nargs=-1, metavar="[PATH]…")
@click.option("--model", metavar=SOURCE, help="A callable that makes the model (or the model itself).")
@click.option("--args", metavar=SOURCE, help="A callable that makes the tuple of example inputs.")
@click.option("--kwargs", metavar=SOURCE, help="… the dict of example keyword inputs.")
@click.option("--dynamic-shapes", metavar=SOURCE, help="… the dynamic_shapes of torch.export.export.")
@click.option("--other-args", metavar=SOURCE, help="… other inputs, which must take the same program.")
@click.option("--target", "names", multiple=True, metavar="NAME", help="A target of [tool.exportlint.targets.NAME].")
@rule_options
@output_options
@trying_options
def command(paths: tuple[str, ...], names: tuple[str, ...], **options: Any) -> int:
    """Export models for real, stage by stage, each stage in a process of its own.

    PATH is a file with `model` and `example_args`, a folder of such files, or FILE.py:CLASS for a fixture class.
    Without any target, those of pyproject.toml are tried.
    """
    from exportlint.commands import trying  # noqa: PLC0415 (the trial's modules, when the arguments hold)

    output, how = split(options, Output), split(options, Trying)
    asked = Asked(flat(options.pop("select")), flat(options.pop("ignore")), options.pop("mode"), options.pop("torch"))
    config = configuration.load([path.partition(".py:")[0] for path in paths] or ["."], asked)
    chosen = trying.chosen(paths, options, names, config)
    if not chosen:
        raise UserError("there is no target: name a file with `model` and `example_args`, or give --model and --args")
    return trying.finish(chosen, Collected((), ()), config, output, how)
