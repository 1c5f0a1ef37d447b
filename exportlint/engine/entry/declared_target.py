"""A model with example inputs that the project's configuration names: plain data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


@dataclass(frozen=True, slots=True)
class DeclaredTarget:
    """Each part is FILE_OR_MODULE:NAME of something that is called without arguments; files are absolute paths."""

    model: str
    args: str
    kwargs: str | None = None


def files_named_by(targets: Iterable[DeclaredTarget]) -> Iterator[Path]:
    """The files among them.

    >>> [path.name for path in files_named_by([DeclaredTarget("/zoo/nets.py:make", "shapes:pair")])]
    ['nets.py']
    """
    for target in targets:
        for named in (target.model, target.args, target.kwargs or ""):
            home = named.rpartition(":")[0]
            if home.endswith(".py"):
                yield Path(home)
