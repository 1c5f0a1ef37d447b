"""The static pass again and again: whenever a file changes that it rests on, in a process that keeps what it knows."""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.cores import cores
from exportlint.errors import UserError
from exportlint.files import ALWAYS_EXCLUDED, collect, shown
from exportlint.workflow.living_check import LivingCheck
from exportlint.workflow.progress import say
from exportlint.workflow.report_building import Gathered

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from watchfiles import Change

    from exportlint.config.settings import Config
    from exportlint.finding import Finding, Wanted


_WAIT_MS = 200  # how often Ctrl-C is looked for while nothing changes
_SETTINGS = ("pyproject.toml", ".gitignore")


@dataclass(frozen=True, slots=True)
class Round:
    """One judgement: what was found, by which configuration, what had changed before it, and the seconds it took."""

    gathered: Gathered
    config: Config
    changed: tuple[str, ...]
    seconds: float


class Watching:
    """Watches what the paths name, and the folders of the files that it leads to.

    paths       files, folders and patterns, as the command line names them
    configured  the configuration as it is at the time; raises UserError where that is wrong
    others      files that matter besides, such as a baseline
    jobs, cache, rewrites   as of LivingCheck; jobs None: as many as there are cores to use

    Raises ModuleNotFoundError where `watchfiles` is not installed.
    """

    def __init__(
        self,
        paths: Sequence[str],
        configured: Callable[[], Config],
        others: Collection[Path] = (),
        *,
        jobs: int | None,
        cache: Path | None,
        rewrites: Wanted,
    ) -> None:
        import watchfiles  # noqa: F401, PLC0415 (an extra: that it is there is known before anything is judged)

        self._paths = tuple(paths)
        self._configured = configured
        self._others = frozenset(str(path.resolve()) for path in others)
        self._begin = partial(LivingCheck, jobs=jobs or cores(), cache=cache, rewrites=rewrites)
        self._watched: tuple[Path, ...] = ()
        self._config = configured()
        self._living = self._begin(self._config)

    def would_see(self, file: Path) -> bool:
        """Would it judge again when this file is written?"""
        self._watched = tuple(self._folders())
        return self._sees(str(file.resolve()))

    def rounds(self) -> Iterator[Round]:
        """One at once, then one after each change. Ends with KeyboardInterrupt. A configuration that is wrong
        is said, and the last one holds."""
        folders = self._folders()
        changes = self._changes(folders)
        next(changes)  # from here on nothing is missed
        changed: tuple[str, ...] = ()
        while True:
            one = self._judged(changed)
            while (now := self._folders()) != folders:  # an import leads to another folder
                folders, changes = now, self._changes(now)
                next(changes)
                again = self._judged(changed)  # for what changed before it was watched
                one = replace(again, seconds=one.seconds + again.seconds)
            yield one
            found = next(some for some in changes if some)
            changed = tuple(sorted({shown(Path(path)) for _, path in found}))
            if any(Path(path).name in _SETTINGS for _, path in found):
                self._configure()

    def _configure(self) -> None:
        try:
            self._config = self._configured()
        except UserError as error:  # the next change may mend it
            say(f"error: {error}")
            return
        self._living = self._begin(self._config)

    def _changes(self, folders: Sequence[Path]) -> Iterator[set[tuple[Change, str]]]:
        """Empty sets while nothing changes, the first one when the watching has begun."""
        self._watched = tuple(folders)
        from watchfiles import watch  # noqa: PLC0415 (an extra)

        return watch(
            *folders,
            watch_filter=lambda _, path: self._sees(path),
            rust_timeout=_WAIT_MS,
            yield_on_timeout=True,
            recursive=self._names_folders,
        )

    def _sees(self, path: str) -> bool:
        """Python files, what configures the run, the others that matter, and folders: what is put into a new one at
        once is there before that can be watched."""
        name = os.path.basename(path)  # noqa: PTH119 - of every file that changes
        known = name.endswith(".py") or name in _SETTINGS or os.path.isdir(path)  # noqa: PTH112 - as above
        return path in self._others or (known and any(_is_below(folder, path) for folder in self._watched))

    def _judged(self, changed: tuple[str, ...]) -> Round:
        started = time.perf_counter()
        found = collect(self._paths, self._config.exclude, self._config.root)
        report = self._living.check([file.absolute for file in found.files])
        gathered = Gathered(found.files, report.files, report.findings, (*found.problems, *report.problems))
        return Round(gathered, self._config, changed, time.perf_counter() - started)

    @property
    def _names_folders(self) -> bool:
        """Else files alone are named, and it would be wasteful to watch all that lies below their folders."""
        return any(not Path(path).is_file() for path in self._paths)

    def _folders(self) -> list[Path]:
        """Folders, for editors put another file in the place of the one that they save."""
        named = [Path(path).resolve() for path in self._paths]
        folders = {path if path.is_dir() else _nearest_folder(path.parent) for path in named}
        folders |= {path.parent for path in self._living.read if path.parent.is_dir()}
        folders |= {Path(path).parent for path in self._others}
        if not self._names_folders:
            return sorted({*folders, self._config.root})
        below = {one for one in folders if any(above in folders for above in one.parents)}
        return sorted(folders - below)


def _is_below(folder: Path, path: str) -> bool:
    """And in no folder that is never judged, from there on: `folder` itself may lie in one that is called `build`."""
    parts = Path(path).relative_to(folder).parts if Path(path).is_relative_to(folder) else None
    return parts is not None and ALWAYS_EXCLUDED.isdisjoint(parts)


def _nearest_folder(folder: Path) -> Path:
    """Of a pattern, the part that exists."""
    return next(one for one in (folder, *folder.parents) if one.is_dir())


def difference(before: Sequence[Finding] | None, after: Sequence[Finding]) -> str:
    """What two reports differ in, in a few words; of the first one nothing is known before.

    >>> difference(None, []), difference([], [])
    ('', 'no other findings')
    """
    if before is None:
        return ""
    old, new = (Counter((one.path, one.rule, one.fingerprint) for one in some) for some in (before, after))
    parts = [(sum((new - old).values()), "new"), (sum((old - new).values()), "gone")]
    return ", ".join(f"{number} {word}" for number, word in parts if number) or "no other findings"
