"""Every rule, built-in or third-party, by the same door: packages named in the entry point group `exportlint.rules`."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any

from exportlint.errors import UserError
from exportlint.rule import Rule

GROUP = "exportlint.rules"


@dataclass(frozen=True, slots=True)
class RuleInfo:
    """A rule with its page and its evidence."""

    name: str
    summary: str
    page: str
    cls: type[Rule]
    fixture: Path
    truth_dir: Path

    def truth(self) -> Mapping[str, Mapping[str, Any]]:
        """torch version -> Bad or Good class -> mode -> what was measured."""
        return {version: rules.get(self.name, {}) for version, rules in read_truth(self.truth_dir).items()}


class RegistryError(UserError):
    """A rule package that does not keep the contract; the text says what to change."""


@cache
def all_rules() -> Mapping[str, RuleInfo]:
    """Name -> rule, in alphabetical order."""
    found = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.value):
        package = point.load()
        for info in _rules_of(package):
            if info.name in found:
                raise RegistryError(f"two installed packages define the rule {info.name!r}; uninstall one of them")
            found[info.name] = info
    if not found:
        raise RegistryError(
            "no rules are installed, so nothing can be judged: pip install exportlint, or -e . in a checkout"
        )
    return dict(sorted(found.items()))


def _rules_of(package: ModuleType) -> Iterator[RuleInfo]:
    fixtures = _fixture_folder(package)
    for entry in pkgutil.iter_modules(package.__path__):
        if not entry.ispkg and not entry.name.startswith("_"):
            yield _info(importlib.import_module(f"{package.__name__}.{entry.name}"), fixtures)


def _fixture_folder(package: ModuleType) -> Path:
    folder = importlib.import_module(f"{package.__name__}.fixtures")
    return Path(next(iter(folder.__path__)))


def _info(module: ModuleType, fixtures: Path) -> RuleInfo:
    own = [
        c
        for c in vars(module).values()
        if inspect.isclass(c) and issubclass(c, Rule) and c.__module__ == module.__name__
    ]
    if len(own) != 1:
        raise RegistryError(
            f"{module.__file__}: a rule file holds exactly one subclass of exportlint.Rule, found {len(own)}"
        )
    page = inspect.getdoc(module) or ""
    stem = module.__name__.rpartition(".")[2]
    return RuleInfo(
        own[0].rule_name(), page.partition("\n")[0], page, own[0], fixtures / f"{stem}.py", fixtures / "truth"
    )


@cache
def read_truth(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """torch version -> rule -> class -> mode -> measured; versions in ascending order."""
    read = (json.loads(path.read_text("utf-8")) for path in folder.glob("torch-*.json"))
    return {t["torch"]: t["rules"] for t in sorted(read, key=lambda t: version_key(t["torch"]))}


def version_key(version: str) -> tuple[int, ...]:
    """ "2.13.0+cpu" -> (2, 13, 0)."""
    return tuple(int(part) for part in version.partition("+")[0].split(".") if part.isdigit())
