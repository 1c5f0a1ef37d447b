"""Findings of files while they are edited, in a process that lives longer than one judgement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.files import SourceFile, shown
from exportlint.finding import Wanted
from exportlint.static.static_pass import StaticOptions, StaticPass, StaticReport
from exportlint.workflow.linting import cache_bytes, declared_targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from exportlint.config.settings import Config
    from exportlint.engine.values.abstract_value import Span, Value


class LivingCheck:
    """Findings of files while they change. Paths are absolute, with links followed.

    What lies on the disk is read anew by every check; what did not change is neither parsed nor judged again.

    jobs      processes of a check with much to judge, such as the first one
    cache     the folder of judgements that other runs keep too; None: none is used
    rewrites  which of a finding's rewrites are made
    """

    def __init__(
        self, config: Config, *, jobs: int = 1, cache: Path | None = None, rewrites: Wanted = Wanted.FIRST
    ) -> None:
        self._targets = declared_targets(config)
        self._given: dict[Path, str] = {}
        options = StaticOptions(
            config.torch,
            config.modes,
            jobs,
            cache,
            targets=self._targets,
            lowerings=config.lower,
            settings=config.lowerings,
            rewrites=rewrites,
            purpose=config.purpose,
            cache_bytes=cache_bytes() if cache else 0,
        )
        self._pass = StaticPass(config.rules(), options)

    def give(self, path: Path, text: str) -> None:
        """Text that stands for what lies in the file."""
        self._given[path] = text

    def drop(self, path: Path) -> None:
        """What lies on the disk counts again."""
        self._given.pop(path, None)

    def check(self, paths: Sequence[Path]) -> StaticReport:
        """Findings and problems of those files; the others that texts are given for are imported as these say."""
        files = [SourceFile(path, shown(path), self._given.get(path)) for path in paths]
        others = [SourceFile(path, shown(path), text) for path, text in self._given.items() if path not in paths]
        report = self._pass.check((*files, *others))
        wanted = {file.shown for file in files}
        return StaticReport(
            tuple(one for one in report.findings if one.path in wanted),
            tuple(one for one in report.problems if one.path in wanted),
            len(files),
        )

    @property
    def read(self) -> frozenset[Path]:
        """The files that the judgements of the last check rest on."""
        return self._pass.read

    def beliefs(self, path: Path) -> Mapping[Span, Value]:
        """What the engine knows of places of the file; places are in ast's byte columns."""
        from exportlint.static.beliefs import beliefs_after  # noqa: PLC0415 (libcst, which only a hover needs)

        files = self._pass.files.renewed()
        for given, text in self._given.items():
            files.give(given, text)
        return beliefs_after(path, files, self._targets).get(path, {})
