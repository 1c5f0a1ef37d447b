"""Read `[tool.exportlint]` of pyproject.toml: what may stand there, and the error for anything else."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from exportlint.adoption.fail_on import read_fail_on
from exportlint.errors import UserError, nearest
from exportlint.trial.protocol.outcomes import NON_STRICT
from exportlint.trial.protocol.purposes import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from pathlib import Path


if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # type: ignore[import-not-found,unused-ignore]

TABLE = "tool.exportlint"
Struct = TypeVar("Struct", bound=msgspec.Struct)


class TargetTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[tool.exportlint.targets.NAME]`: each value is FILE_OR_MODULE:NAME, as on the command line."""

    model: str
    args: str
    kwargs: str | None = None
    dynamic_shapes: str | None = None
    other_args: str | None = None


def _key(field: str) -> str:
    """`for` is a word of Python's."""
    return "for" if field == "purpose" else field.replace("_", "-")


class Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename=_key):
    """`[tool.exportlint]`. Targets are converted one by one, so that a mistake in one can name it.

    Names and settings of lowerings are judged where trials run: their packages are not where only files are checked.
    """

    select: list[str] | None = None
    ignore: list[str] = []
    per_file_ignores: dict[str, list[str]] = {}
    exclude: list[str] = []
    mode: str = NON_STRICT
    torch: str | None = None
    targets: dict[str, Any] = {}
    lower: list[str] | str = []
    lowerings: dict[str, dict[str, Any]] = {}
    purpose: str | None = None
    baseline: str | None = None
    fail_on: list[str] | str = []


def read(path: Path, rules: Collection[str], modes: Collection[str]) -> Table | None:
    """The table of one pyproject.toml, or None if it has none. UserError when something in it is wrong.

    `rules` and `modes` are the names that may stand there.
    """
    try:
        tool = tomllib.loads(path.read_text("utf-8")).get("tool", {})
    except ValueError as error:  # of TOML or of UTF-8
        raise UserError(f"{path}: this is not TOML: {error}") from error
    if "exportlint" not in tool:
        return None
    table = _converted(path, TABLE, tool["exportlint"], Table)
    for key, rule in _named_rules(table):
        if rule not in rules:
            raise UserError(f"{path}: {TABLE}.{key}: there is no rule `{rule}`{nearest(rule, rules)}")
    if table.mode not in modes:
        near = nearest(table.mode, modes)
        raise UserError(
            f"{path}: {TABLE}.mode: there is no mode `{table.mode}`{near}; the modes are {', '.join(modes)}"
        )
    if table.purpose is not None and table.purpose not in PURPOSES:
        near = nearest(table.purpose, PURPOSES)
        raise UserError(f"{path}: {TABLE}.for: there is no `{table.purpose}`{near}; choose {' or '.join(PURPOSES)}")
    read_fail_on(listed(table.fail_on), f"{path}: {TABLE}.fail-on")
    if table.baseline == "":
        raise UserError(f"{path}: {TABLE}.baseline is empty: name a file, or leave the key out")
    return msgspec.structs.replace(table, targets=_targets(path, table))


def listed(value: list[str] | str) -> tuple[str, ...]:
    """What stands for one or several."""
    return (value,) if isinstance(value, str) else tuple(value)


def _named_rules(table: Table) -> Iterator[tuple[str, str]]:
    yield from (("select", rule) for rule in table.select or ())
    yield from (("ignore", rule) for rule in table.ignore)
    yield from (
        (f'per-file-ignores."{glob}"', rule) for glob, rules in table.per_file_ignores.items() for rule in rules
    )


def _targets(path: Path, table: Table) -> dict[str, TargetTable]:
    return {name: _converted(path, f"{TABLE}.targets.{name}", raw, TargetTable) for name, raw in table.targets.items()}


def _converted(path: Path, prefix: str, raw: Any, kind: type[Struct]) -> Struct:
    try:
        return msgspec.convert(raw, kind)
    except msgspec.ValidationError as error:
        what, _, place = str(error).partition(" - at `$")
        raise UserError(f"{path}: {prefix}{place.removesuffix('`')}: {_explained(what, kind)}") from error


def _explained(what: str, kind: type[msgspec.Struct]) -> str:
    """msgspec's words, with the nearest valid name where a name is wrong."""
    if match := re.match(r"Object contains unknown field `(.+)`", what):
        known = [field.encode_name for field in msgspec.structs.fields(kind)]
        return f"there is no key `{match[1]}`{nearest(match[1], known)}; the keys are {', '.join(known)}"
    if match := re.match(r"Object missing required field `(.+)`", what):
        return f"the key `{match[1]}` is missing"
    for term, plain in {
        " | null": "",
        "`array`": "a list",
        "`object`": "a table",
        "`str`": "a string",
        "`int`": "a number",
    }.items():
        what = what.replace(term, plain)
    return what[:1].lower() + what[1:]
