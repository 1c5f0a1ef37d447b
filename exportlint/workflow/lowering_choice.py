"""Choose the lowerings of a run, and their settings: those of the command line, else those of pyproject.toml."""

from __future__ import annotations

import importlib
import json
from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError, nearest
from exportlint.trial.protocol.options import LoweringOptions
from exportlint.workflow.linting import cache_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.config.settings import Config


TOLERANCE = "tolerance"  # every lowering has it, as a number in place of its own table
TABLE = "tool.exportlint"
NONE, ALL = "none", "all"


def known_lowerings() -> dict[str, str]:
    """Name -> `module:Class` of every lowering that is installed, in alphabetical order."""
    from exportlint.trial.protocol.stages import LOWERINGS  # noqa: PLC0415 (what is known of stages, where one is named)

    return dict(sorted((point.name, point.value) for point in entry_points(group=LOWERINGS)))


def chosen_lowerings(names: Sequence[str], config: Config, usual: Sequence[str] = ()) -> tuple[str, ...]:
    """The lowerings that somebody names; without a name those of pyproject.toml, else the `usual` ones.

    `none` and `all` are words for no and every installed one. Raises UserError for a name that nobody has.
    """
    if names:
        return named_lowerings(names, "--lower")
    return (
        named_lowerings(config.lower, f"{config.root / 'pyproject.toml'}: {TABLE}.lower")
        if config.lower
        else tuple(usual)
    )


def for_linting(names: Sequence[str], config: Config) -> Config:
    """The configuration with the targets of deployment that the static pass speaks of: those of `names`, else its own.

    Where only files are checked, a package that brings a target of pyproject.toml need not be installed.
    """
    if names or ALL in config.lower:
        return replace(config, lower=named_lowerings(names or config.lower, "--lower"))
    return config


def named_lowerings(names: Sequence[str], where: str) -> tuple[str, ...]:
    """`where` the names stand: an option, or a key of pyproject.toml."""
    known = known_lowerings()
    for name in names:
        if name not in (NONE, ALL, *known):
            near = nearest(name, (NONE, ALL, *known))
            raise UserError(f"{where}: there is no `{name}`{near}; choose none, all or of {', '.join(known)}")
    return tuple(known) if ALL in names else tuple(dict.fromkeys(name for name in names if name != NONE))


def lowering_options(
    config: Config, *, cache: bool = True, dry_run: bool = False, operators: bool = False
) -> LoweringOptions:
    """How the lowerings are run. Raises UserError for settings that no lowering has.

    `cache`: may results of earlier runs be used?
    """
    known = known_lowerings()
    for name, settings in config.lowerings.items():
        where = f"{config.root / 'pyproject.toml'}: {TABLE}.lowerings"
        if name not in known:
            near = nearest(name, known)
            raise UserError(f"{where}: there is no lowering `{name}`{near}; the lowerings are {', '.join(known)}")
        _check_settings(f"{where}.{name}", known[name], settings)
    folder = cache_folder() / "lowerings" if cache else None
    return LoweringOptions(config.lowerings, folder, dry_run=dry_run, operators=operators)


def _check_settings(where: str, lowering: str, settings: Mapping[str, Any]) -> None:
    """By the `defaults` of its class, whose module imports neither torch nor its target's packages."""
    module, _, name = lowering.partition(":")
    try:
        defaults = getattr(importlib.import_module(module), name).defaults
    except (ImportError, AttributeError) as error:
        raise UserError(f"{where}: the settings of {lowering} cannot be read: {error}") from error
    keys = (*defaults, TOLERANCE)
    for key, value in settings.items():
        if key not in keys:
            raise UserError(f"{where}: there is no setting `{key}`{nearest(key, keys)}; there are {', '.join(keys)}")
        _check_value(f"{where}.{key}", value, 0.0 if key == TOLERANCE else defaults[key])


def _check_value(where: str, value: Any, usual: Any) -> None:
    """As the usual value is of a kind, unless that is None; a whole number will do for any number."""
    kinds = (int, float) if isinstance(usual, float) else (type(usual),)
    if usual is not None and (isinstance(value, bool) is not isinstance(usual, bool) or not isinstance(value, kinds)):
        raise UserError(f"{where}: expected {_KINDS.get(type(usual), type(usual).__name__)}, got `{value}`")
    if isinstance(usual, float) and value < 0:
        raise UserError(f"{where}: expected a number that is not below 0, got `{value}`")
    try:
        json.dumps(value)
    except TypeError as error:
        raise UserError(f"{where}: a date or time is no setting") from error


_KINDS = {
    bool: "true or false", int: "a whole number", float: "a number", str: "a string", list: "a list", dict: "a table"
}  # fmt: skip
