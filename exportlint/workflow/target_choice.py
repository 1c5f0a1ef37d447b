"""Choose the targets of a run: those that paths, options and pyproject.toml name."""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from exportlint.errors import UserError, nearest
from exportlint.files import Collected, shown
from exportlint.trial.discovery import (
    discover,
    from_callables,
    from_mapping,
    from_text,
    from_zoo,
    hands_a_model_to_torch,
)
from exportlint.trial.protocol.target import PARTS, ZOOS, Target, TargetError, TargetKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.config.settings import Config


def discovered(found: Collected) -> list[Target]:
    """The targets that the files declare, found by reading."""
    return discover([Path(file.shown) for file in found.files])


def chosen(
    paths: Sequence[str],
    parts: Mapping[str, str | None],
    names: Sequence[str],
    config: Config,
    arguments: Sequence[str] | None = None,
) -> list[Target]:
    """The targets that the arguments of `exportlint trial` name; with none, those of pyproject.toml.

    `arguments` is what stands after `--`: the one script's own.
    """
    if arguments is not None and len(paths) != 1:
        raise UserError(f"what follows `--` belongs to one script: name one before it, not {len(paths)}")
    try:
        targets = [target for path in paths for target in _of_path(path, arguments)]
        targets += _of_parts(parts)
        every = not targets and not names
        return targets + [_of_table(name, config) for name in (config.targets if every else names)]
    except TargetError as error:
        raise UserError(str(error)) from error


def chosen_by_name(words: Sequence[str], config: Config) -> list[Target]:
    """The targets that the arguments of `exportlint matrix` name: as of a trial, or a target of pyproject.toml by its
    name; with none, all of these."""
    try:
        if not words:
            return [_of_table(name, config) for name in config.targets]
        return [target for word in words for target in _of_word(word, config)]
    except TargetError as error:
        raise UserError(str(error)) from error


def is_worth_no_run(target: Target) -> bool:
    """Is it a script that hands no model to torch, as far as can be read?"""
    return target.kind is TargetKind.SCRIPT and not hands_a_model_to_torch(Path(target.source))


def _of_word(word: str, config: Config) -> list[Target]:
    is_name = word in config.targets and not Path(word).exists()
    return [_of_table(word, config)] if is_name else _of_path(word, None)


def _of_path(text: str, arguments: Sequence[str] | None) -> list[Target]:
    zoos = {point.name: point.value for point in entry_points(group=ZOOS)}
    if target := from_zoo(text, zoos):
        return [target]
    library, colon, _ = text.partition(":")
    if colon and library.isidentifier() and not Path(text).exists():
        raise UserError(f"{text}: there is no zoo `{library}`{nearest(library, zoos)}; there are {', '.join(zoos)}")
    return from_text(text, arguments)


def _of_parts(parts: Mapping[str, str | None]) -> list[Target]:
    if parts["model"] and parts["args"]:
        return [from_callables(parts["model"], parts["args"], **{key: parts[key] for key in PARTS[1:]})]
    if given := next((key for key in ("model", *PARTS) if parts[key]), None):
        missing = "args" if given == "model" else "model"
        raise UserError(f"--{given.replace('_', '-')} needs --{missing} beside it; both name FILE_OR_MODULE:NAME")
    return []


def _of_table(name: str, config: Config) -> Target:
    if name not in config.targets:
        known = ", ".join(config.targets) or "none"
        near = nearest(name, config.targets)
        raise UserError(f"--target: pyproject.toml names no target `{name}`{near}; its targets: {known}")
    table = msgspec.to_builtins(config.targets[name])
    return from_mapping(name, {key: _from_root(value, config.root) for key, value in table.items() if value})


def _from_root(source: str, root: Path) -> str:
    """Files in pyproject.toml are relative to it, wherever the command was started."""
    home, _, attribute = source.rpartition(":")
    return f"{shown(root / home)}:{attribute}" if (root / home).is_file() else source
