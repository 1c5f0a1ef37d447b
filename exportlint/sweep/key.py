"""The hash of all that a result depends on: target, source, versions and options. Equal keys need no second trial."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.sweep.result import Planned
from exportlint.trial.protocol.stages import SOUNDNESS
from exportlint.trial.protocol.target import PARTS, is_file_source
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.sweep.closure import SourceReader
    from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.target import Target


def planned(
    target: Target,
    options: TrialOptions,
    packages: Mapping[str, str],
    reader: SourceReader,
    *,
    library: str = "",
    family: str = "",
    fix: bool = False,
) -> Planned:
    """The target with its key.

    packages   name that is imported -> name and version of what is installed, in the interpreter of the trials
    library    where the target comes from: a zoo, or the folder of its file
    fix        whether rewrites are tried where it fails
    """
    closure = reader.closure(Path(file) for file in _files(target))
    imported = {*closure.packages, library, str(target.zoo or "").partition(".")[0]}
    versions = {name: packages[name] for name in sorted(imported) if name in packages}
    versions |= {"torch": packages.get("torch", "absent"), "python": packages["python"], "exportlint": __version__}
    sources = {_shown(file): reader.hash(file) for file in sorted(closure.files)}
    # Where a definition stands in its file is no part of it.
    identity = {name: value for name, value in target.to_dict().items() if name not in ("line", "path")}
    parts = {"target": identity, "sources": sources, "versions": versions, "options": options_of(options, fix=fix)}
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
    return Planned(key, target, library, family, versions, sources)


def options_of(options: TrialOptions, *, fix: bool) -> dict[str, Any]:
    """Those on which a result depends, as plain data. `fix`: whether rewrites are tried of what fails."""
    return {
        "modes": list(options.modes),
        "lower": sorted(options.lower),
        "settings": {name: dict(value) for name, value in sorted(options.lowering.settings.items())},
        "dynamic": options.dynamic,
        "quick": options.quick,
        "timeout": options.timeout,
        "memory_mb": options.memory_mb,
        # Where they were not asked for, the keys are those of before they could be.
        **({"fix": True} if fix else {}),
        **({"only": sorted(options.only)} if options.only else {}),
    }


def compares(options: Mapping[str, Any]) -> bool:
    """Does a sweep that was asked for so compare programs with eager?

    >>> compares({"quick": True}), compares({"only": ["eager", "soundness"]}), compares({})
    (False, True, True)
    """
    return not options.get("quick") and SOUNDNESS.name in options.get("only", (SOUNDNESS.name,))


def _files(target: Target) -> Iterator[str]:
    for source in (target.source, *(getattr(target, part) for part in PARTS)):
        # Of FILE:NAME, the file; a zoo's model has a colon, too, and no file.
        home = (source or "").rpartition(":")[0] or source or ""
        if is_file_source(home) and Path(home).is_file():
            yield home


def _shown(file: Path) -> str:
    """From the working directory, which is how a target names its file; a checkout that moved is the same."""
    here = Path.cwd()
    return file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()
