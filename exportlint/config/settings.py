"""Join `[tool.exportlint]` and the command line into one configuration, and choose the torch version to judge for.

The command line overrules the file, but for `ignore`, to which it adds. pyproject.toml is looked for from what all
paths share upwards, and parsed only where it has a table of ours.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.adoption.fail_on import FailOn, read_fail_on
from exportlint.errors import UserError, nearest
from exportlint.registry import TESTED_TORCH, all_rules, measured_versions, version_key
from exportlint.static.suppressions import UNUSED
from exportlint.trial.protocol.outcomes import MODES, NON_STRICT
from exportlint.trial.protocol.purposes import EXPORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.config.pyproject import Table, TargetTable
    from exportlint.registry import RuleInfo


DEFAULT_FAIL_ON = FailOn()
_TABLE = re.compile(rb"tool\s*\.\s*[\"']?exportlint|\[\s*tool\s*\]")  # spares other projects the TOML parser
PYPROJECT = "pyproject.toml"
# What `--mode` and the key `mode` take -> the modes that they stand for.
MODE_CHOICES: Mapping[str, tuple[str, ...]] = {**{mode: (mode,) for mode in MODES}, "both": MODES}


@dataclass(frozen=True, slots=True)
class CommandLine:
    """The options of the command line; None and () for those that were not given."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    mode: str | None = None
    torch: str | None = None
    purpose: str | None = None
    fail_on: tuple[str, ...] = ()


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
    lower: tuple[str, ...] = ()
    lowerings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    purpose: str = EXPORT
    purpose_chosen: bool = False
    baseline: Path | None = None
    fail_on: FailOn = DEFAULT_FAIL_ON
    file: Path | None = None  # the pyproject.toml whose table holds; None where none has one

    @property
    def modes(self) -> tuple[str, ...]:
        return MODE_CHOICES[self.mode]

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
        from exportlint.trial.findings.trial_finding import trial_rule_names  # noqa: PLC0415 (reads entry points)

        return trial_rule_names()


class JudgedRules(Collection[str]):
    """The names of the rules that this run judges by; those that are about targets of deployment, where it has one.

    A rule's module is looked into for a name that somebody asks about, since most runs ask about none.
    """

    def __init__(self, config: Config) -> None:
        self._config = config

    def __contains__(self, name: object) -> bool:
        info = all_rules().get(str(name))
        return info is not None and self._config.wants(info.name) and info.is_asked_for(self._config.lower)

    def __iter__(self) -> Iterator[str]:
        return (name for name in all_rules() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def load_config(paths: Sequence[str], asked: CommandLine) -> Config:
    """The configuration nearest to `paths`, overruled by the command line. Raises UserError where either is wrong."""
    known = RuleNames()
    for option, rules in (("--select", asked.select), ("--ignore", asked.ignore)):
        for rule in rules:
            if rule not in known:
                raise UserError(
                    f"{option}: there is no rule `{rule}`{nearest(rule, known)}; `exportlint rules` lists them"
                )
    fail_on = read_fail_on(asked.fail_on, "--fail-on")
    root, table = _nearest_table(paths, known)
    wanted = asked.torch or (table.torch if table else None)
    torch, remarks = measured_version(wanted) if wanted else (default_version(), ())
    mode = asked.mode or (table.mode if table else NON_STRICT)
    if table is None:
        return Config(
            root,
            asked.select,
            asked.ignore,
            mode,
            torch,
            wanted is not None,
            remarks,
            purpose=asked.purpose or EXPORT,
            purpose_chosen=asked.purpose is not None,
            fail_on=fail_on,
        )
    from exportlint.config.pyproject import listed  # noqa: PLC0415 (as in _nearest_table)

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
        listed(table.lower),
        table.lowerings,
        asked.purpose or table.purpose or EXPORT,
        (asked.purpose or table.purpose) is not None,
        root / table.baseline if table.baseline else None,
        fail_on if asked.fail_on else read_fail_on(listed(table.fail_on), "fail-on"),
        root / PYPROJECT,
    )


def _nearest_table(paths: Sequence[str], known: RuleNames) -> tuple[Path, Table | None]:
    """The folder and table of the nearest pyproject.toml that has one, from what all `paths` share upwards."""
    shared = shared_folder(paths)
    for folder in (shared, *shared.parents):
        path = folder / PYPROJECT
        if path.is_file() and _TABLE.search(path.read_bytes()):
            from exportlint.config.pyproject import read  # noqa: PLC0415 (msgspec and TOML, for projects with a table)

            if table := read(path, known, MODE_CHOICES):
                return folder, table
    return Path.cwd(), None


def shared_folder(paths: Sequence[str]) -> Path:
    """The folder that all of the paths share; the working directory where there is none."""
    absolute = [Path(path).absolute() for path in paths] or [Path.cwd()]
    folders = [path if path.is_dir() else path.parent for path in absolute]
    try:
        return Path(os.path.commonpath(folders))
    except ValueError:  # several drives of a Windows machine
        return Path.cwd()


# The measured torch version that is used for the one that was asked for.


def default_version() -> str | None:
    """The one for the torch that is installed beside exportlint, as a trial would have it; without one the tested."""
    try:
        return measured_version(version("torch"))[0]
    except PackageNotFoundError:
        return measured_version(TESTED_TORCH)[0]


def measured_version(asked: str) -> tuple[str | None, tuple[str, ...]]:
    """The torch version that is judged for, and remarks for the user about the measurements that are used."""
    measured = measured_versions()
    if not re.fullmatch(r"\d+(\.\d+)+\S*", asked):
        raise UserError(f"torch version `{asked}`: write it as in 2.13 or 2.13.0; measured are {', '.join(measured)}")
    return judged_by(asked, measured)


def judged_by(asked: str, measured: Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """As `measured_version`, of these measured versions, in ascending order.

    A version between two measured ones stays as it was asked for: both are looked at. One that is older or newer than
    all has a neighbour on one side only.
    """
    wanted = version_key(asked)
    older = [version for version in measured if version_key(version)[: len(wanted)] <= wanted]
    newer = [version for version in measured if version not in older]
    used = older[-1] if older else next(iter(measured), None)
    if used is None or version_key(used)[: len(wanted)] == wanted:
        return used, ()
    if older and newer and version_key(used)[:2] != wanted[:2]:
        both = f"{used} and {newer[0]} are used, and where these are not alike nothing is an error"
        return asked.partition("+")[0], (f"torch {asked} was not measured; the measurements of {both}",)
    which = "the nearest that is not newer" if older else "the oldest that was measured"
    return used, (f"torch {asked} was not measured; the measurements of {used} are used, {which}",)
