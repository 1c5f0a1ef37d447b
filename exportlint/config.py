"""`[tool.exportlint]` and the command line, made one."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError, nearest
from exportlint.registry import TESTED_TORCH, all_rules, measured_versions, version_key
from exportlint.static.suppressions import UNUSED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from exportlint.pyproject import Table, TargetTable
    from exportlint.registry import RuleInfo


_TABLE = re.compile(rb"tool\s*\.\s*[\"']?exportlint|\[\s*tool\s*\]")  # spares other projects the TOML parser
MODES: Mapping[str, tuple[str, ...]] = {
    "non-strict": ("non-strict",),
    "strict": ("strict",),
    "both": ("non-strict", "strict"),
}


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says; None and () where it is silent."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    mode: str | None = None
    torch: str | None = None


@dataclass(frozen=True, slots=True)
class Config:
    """Everything a run needs to know, decided. Patterns and files of targets are relative to `root`."""

    root: Path
    select: tuple[str, ...]
    ignore: tuple[str, ...]
    mode: str
    torch: str | None
    torch_chosen: bool
    remarks: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    targets: Mapping[str, TargetTable] = field(default_factory=dict)

    @property
    def modes(self) -> tuple[str, ...]:
        return MODES[self.mode]

    @property
    def all_rules_run(self) -> bool:
        return not self.select and not self.ignore

    def wants(self, rule: str) -> bool:
        """Is the rule selected and not ignored?"""
        return (not self.select or rule in self.select) and rule not in self.ignore

    def rules(self) -> tuple[RuleInfo, ...]:
        return tuple(info for name, info in all_rules().items() if self.wants(name))


class RuleNames(Collection[str]):
    """Every name that a finding can carry. Those of trials are looked up only for a name that no rule file has."""

    def __contains__(self, name: object) -> bool:
        return name == UNUSED or name in all_rules() or name in self._of_trials()

    def __iter__(self) -> Iterator[str]:
        return iter((*all_rules(), *self._of_trials(), UNUSED))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @staticmethod
    def _of_trials() -> tuple[str, ...]:
        from exportlint.trial.reasons import NAMES  # noqa: PLC0415 (nothing of trials is imported for a static run)

        return tuple(NAMES)


def load(paths: Sequence[str], asked: Asked) -> Config:
    """The configuration nearest to `paths`, overruled by the command line. UserError says what is wrong with either."""
    known = RuleNames()
    for option, rules in (("--select", asked.select), ("--ignore", asked.ignore)):
        for rule in rules:
            if rule not in known:
                raise UserError(
                    f"{option}: there is no rule `{rule}`{nearest(rule, known)}; `exportlint rules` lists them"
                )
    root, table = _nearest_table(paths, known)
    wanted = asked.torch or (table.torch if table else None)
    torch, remarks = measured_version(wanted) if wanted else (_default_version(), ())
    mode = asked.mode or (table.mode if table else "non-strict")
    if table is None:
        return Config(root, asked.select, asked.ignore, mode, torch, wanted is not None, remarks)
    return Config(
        root,
        asked.select or tuple(table.select or ()),
        (*table.ignore, *asked.ignore),
        mode,
        torch,
        wanted is not None,
        remarks,
        tuple(table.exclude),
        {glob: tuple(rules) for glob, rules in table.per_file_ignores.items()},
        table.targets,
    )


def _nearest_table(paths: Sequence[str], known: RuleNames) -> tuple[Path, Table | None]:
    """The folder and table of the nearest pyproject.toml that has one, from what all `paths` share upwards."""
    for folder in _upwards(paths):
        path = folder / "pyproject.toml"
        if path.is_file() and _TABLE.search(path.read_bytes()):
            from exportlint.pyproject import read  # noqa: PLC0415 (msgspec and TOML, for projects with a table)

            if table := read(path, known):
                return folder, table
    return Path.cwd(), None


def _upwards(paths: Sequence[str]) -> Iterable[Path]:
    absolute = [Path(path).absolute() for path in paths] or [Path.cwd()]
    folders = [path if path.is_dir() else path.parent for path in absolute]
    try:
        shared = Path(os.path.commonpath(folders))
    except ValueError:  # several drives of a Windows machine
        shared = Path.cwd()
    return (shared, *shared.parents)


def _default_version() -> str | None:
    """The one for the torch that is installed beside exportlint, as a trial would have it; without one the tested."""
    try:
        return measured_version(version("torch"))[0]
    except PackageNotFoundError:
        return measured_version(TESTED_TORCH)[0]


def measured_version(asked: str) -> tuple[str | None, tuple[str, ...]]:
    """The torch version whose measurements are used, and what to tell the user about the choice."""
    measured = measured_versions()
    if not re.fullmatch(r"\d+(\.\d+)+\S*", asked):
        raise UserError(f"torch version `{asked}`: write it as in 2.13 or 2.13.0; measured are {', '.join(measured)}")
    return _at_most(asked, measured)


def _at_most(asked: str, measured: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    wanted = version_key(asked)
    older = [version for version in measured if version_key(version)[: len(wanted)] <= wanted]
    used = older[-1] if older else next(iter(measured), None)
    if used is None or version_key(used)[: len(wanted)] == wanted:
        return used, ()
    which = "the nearest that is not newer" if older else "the oldest that was measured"
    return used, (f"torch {asked} was not measured; the measurements of {used} are used, {which}",)
