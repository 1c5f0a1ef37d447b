"""What holds in this folder: the rules that are judged by, the measurements, the configuration and what it names."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from exportlint.config.settings import CommandLine, load_config, measured_version
from exportlint.errors import UserError
from exportlint.output.checkup import ABSENT, BROKEN, NOTE, OK, Check
from exportlint.registry import all_rules, measured_versions
from exportlint.trial.protocol.target import is_file_source
from exportlint.workflow.lowering_choice import chosen_lowerings, lowering_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.config.settings import Config


def rules() -> Check:
    """How many, and from how many packages. Only where each package was seen to load."""
    try:
        found = all_rules()
        versions = measured_versions()
    except UserError as error:
        return Check("rules", BROKEN, str(error), "pip install --force-reinstall exportlint", needed=True)
    packages = {info.module.partition(".")[0] for info in found.values()}
    of = "" if len(packages) == 1 else f" of {len(packages)} packages"
    told = f"{len(found)}{of}; measured with torch {versions[0]} to {versions[-1]}"
    facts = {"rules": len(found), "packages": sorted(packages), "measured": versions}
    return Check("rules", OK, told, needed=True, facts=facts)


def measurements(torch: str) -> Check:
    """Was this torch measured, or is it judged by its neighbours?"""
    try:
        used, remarks = measured_version(torch)
    except UserError as error:
        return Check("measured", NOTE, str(error))
    facts = {"torch": torch, "used": used, "measured": not remarks}
    if remarks:
        return Check("measured", NOTE, "; ".join(remarks), facts=facts)
    return Check("measured", OK, f"what the rules say was measured with torch {used}", facts=facts)


def configuration() -> tuple[Check, Config | None]:
    """The one that commands use here, with what is wrong in it; None where it cannot be read."""
    name = "configuration"
    try:
        config = load_config(["."], CommandLine())
    except UserError as error:
        return Check(name, BROKEN, str(error), "edit it there", needed=True), None
    if config.file is None:
        told = "no pyproject.toml with [tool.exportlint]: the usual settings hold"
        return Check(name, ABSENT, told, "exportlint init"), config
    shown = _near(config.file)
    facts = {"path": str(config.file), "targets": sorted(config.targets), "lower": list(config.lower)}
    try:
        chosen_lowerings((), config)
        lowering_options(config)
    except UserError as error:
        # One that nobody has is a package that is not installed, or a word that is mistyped.
        return Check(name, BROKEN, str(error), f"edit {shown}", needed=True, facts=facts), config
    if wrong := [*_wrong_targets(config)]:
        told = f"{shown}: {'; '.join(wrong)}"
        return Check(name, BROKEN, told, f"edit {shown}, or bring the file back", needed=True, facts=facts), config
    targets = f"targets: {', '.join(config.targets)}" if config.targets else "no target"
    lower = f"; lower: {', '.join(config.lower)}" if config.lower else ""
    return Check(name, OK, f"{shown}, {targets}{lower}", needed=True, facts=facts), config


def _near(path: Path) -> str:
    return path.name if path.parent == Path.cwd() else str(path)


def _wrong_targets(config: Config) -> Iterator[str]:
    """Files that are not there, and names that no file has. A module is not looked for: that would run its package."""
    for name, table in config.targets.items():
        for key, source in msgspec.to_builtins(table).items():
            if source is None:
                continue
            home, colon, attribute = source.rpartition(":")
            where = f"targets.{name}.{key.replace('-', '_')}"
            if not colon or not attribute.replace(".", "").isidentifier():
                yield f"{where}: `{source}` is not FILE_OR_MODULE:NAME"
            elif is_file_source(home) and not (config.root / home).is_file():
                yield f"{where}: there is no file {home}"
            elif is_file_source(home) and (why := _not_there(config.root / home, attribute.partition(".")[0])):
                yield f"{where}: {home} {why}"


def _not_there(file: Path, name: str) -> str:
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return f"cannot be read: {error}"
    stars = any(isinstance(node, ast.ImportFrom) and node.names[0].name == "*" for node in ast.walk(tree))
    return "" if stars or name in set(_names(tree)) else f"defines no `{name}`"


def _names(tree: ast.Module) -> Iterator[str]:
    """What stands at the top level, in `if` and `try` too."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]
