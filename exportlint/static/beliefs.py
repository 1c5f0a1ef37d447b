"""What the engine knows of the places of one file, for whoever wants to see it and not to judge it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.symbols import Project
from exportlint.static.check_file import MOST_CALLS_DEEP

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.source.parsed import FileStore
    from exportlint.engine.values.abstract_value import Span, Value


def beliefs_of_file(path: Path, files: FileStore, targets: Sequence[DeclaredTarget] = ()) -> Mapping[Span, Value]:
    """The values of its expressions by their places, in ast's byte columns; none where the file cannot be parsed."""
    parsed = files.parsed(path)
    if parsed is None:
        return {}
    project = Project(files)
    engine = Engine(project)
    limit = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(max(limit, MOST_CALLS_DEEP))
        engine.run(project.add(path, parsed), targets)
    except Exception:  # noqa: BLE001, S110 - the check of the file reports an error of ours; what was found stands
        pass
    finally:
        sys.setrecursionlimit(limit)
        project.close()
    return engine.beliefs[path].values
