"""Every rule, built-in or third-party, by the same door: packages named in the entry point group `exportlint.rules`."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint import stored_truth
from exportlint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from importlib.metadata import EntryPoint
    from types import ModuleType

    from exportlint.rule.base import Rule


GROUP = "exportlint.rules"
# What the `dev` extra installs: the marks of the fixtures are for it, and the tests measure it again.
TESTED_TORCH = "2.13.0"
UNTRIED = "untried"  # the outcome of a class that a torch version cannot even define


@dataclass(frozen=True)
class RuleInfo:
    """A rule with its page and its evidence. Its module is imported when somebody asks for more than its files."""

    name: str
    module: str
    source: Path
    fixture: Path
    truth_dir: Path

    @cached_property
    def cls(self) -> type[Rule]:
        """Raises RegistryError for a file that holds no rule, or several."""
        return _rule_in(importlib.import_module(self.module))

    @property
    def judges_models(self) -> bool:
        """Is it about code that a model runs, and not about a whole file or script?"""
        from exportlint.rule.base import Scope  # noqa: PLC0415 (as in `_rule_in`)

        return self.cls.scope is not Scope.FILE

    @property
    def page(self) -> str:
        return inspect.getdoc(importlib.import_module(self.module)) or ""

    @property
    def summary(self) -> str:
        return self.page.partition("\n")[0]

    def truth(self) -> Mapping[str, Mapping[str, Any]]:
        """torch version -> Bad or Good class -> mode -> what was measured."""
        return {
            version: _tried(content.get("exported", {})) for version, content in _read_truth(self.truth_dir).items()
        }

    def compiled(self) -> Mapping[str, Mapping[str, Any]]:
        """torch version -> Bad or Good class -> what torch.compile did with it, where that was measured."""
        truth = _read_truth(self.truth_dir)
        return {version: content["compiled"] for version, content in truth.items() if "compiled" in content}

    def lowered(self) -> Mapping[str, Mapping[str, Any]]:
        """torch version -> Bad or Good class -> target of deployment -> what was measured."""
        return {version: content.get("lowered", {}) for version, content in _read_truth(self.truth_dir).items()}

    def repaired(self) -> Mapping[str, Mapping[str, Any]]:
        """torch version -> Bad class -> mode -> what became of it after its `rewrites`, which are there in words."""
        return {version: content.get("repaired", {}) for version, content in _read_truth(self.truth_dir).items()}

    @cached_property
    def exports_everywhere(self) -> bool:
        """Was it measured, and no class of it refused or changed by an export: is what an export says not about it?"""
        records = [mode for classes in self.truth().values() for modes in classes.values() for mode in modes.values()]
        return bool(records) and all(record["outcome"] == "exports" for record in records)

    @cached_property
    def compiled_wrong(self) -> frozenset[str]:
        """The classes of which torch.compile made something else in silence, in the newest version that was measured:
        a trial shows that without the line."""
        measured = list(self.compiled().values())
        return frozenset(
            name for name, one in (measured[-1] if measured else {}).items() if one["outcome"] == "differs"
        )

    def is_asked_for(self, shipped_to: Collection[str]) -> bool:
        """Has it anything to say of code that runs where torch does, or on one of these targets of deployment?"""
        return not self.cls.lowerings or not set(self.cls.lowerings).isdisjoint(shipped_to)


def sources_of(rules: Iterable[RuleInfo]) -> list[Path]:
    """The files of the packages that the rules come from."""
    folders = {rule.source.parent for rule in rules}
    return [path for folder in sorted(folders) for path in sorted(folder.glob("*.py"))]


class RegistryError(UserError):
    """A rule package that does not keep the contract; the text says what to change."""


@cache
def all_rules() -> Mapping[str, RuleInfo]:
    """Name -> rule, in alphabetical order."""
    found = {}
    for point in sorted(entry_points(group=GROUP), key=lambda p: p.value):
        package = _package_of(point)
        for info in _rules_of(package):
            if info.name in found:
                raise RegistryError(f"two installed packages define the rule {info.name!r}; uninstall one of them")
            found[info.name] = info
    if not found:
        raise RegistryError(
            "no rules are installed, so nothing can be judged: pip install exportlint, or -e . in a checkout"
        )
    return dict(sorted(found.items()))


def rules_that_know(text: str) -> list[str]:
    """The rules that know torch's message by its words: the longest match, which is the most exact one, first."""
    found = [(-len(match[0]), name) for name, pattern in _torch_says() if (match := pattern.search(text))]
    return list(dict.fromkeys(name for _, name in sorted(found, key=lambda pair: pair[0])))


@cache
def _torch_says() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(pattern)) for name, info in all_rules().items() for pattern in info.cls.torch_says)


def _package_of(point: EntryPoint) -> ModuleType:
    """A checkout may announce rules that nobody installed."""
    try:
        package: ModuleType = point.load()
    except ModuleNotFoundError as error:
        if error.name != point.module:
            raise
        raise RegistryError(
            f"the rules {point.module!r} are announced and not installed, so nothing can be judged:"
            " pip install exportlint, or -e . in a checkout"
        ) from error
    return package


def _rules_of(package: ModuleType) -> Iterator[RuleInfo]:
    fixtures = Path(next(iter(importlib.import_module(f"{package.__name__}.fixtures").__path__)))
    for folder in map(Path, package.__path__):
        for source in sorted(folder.glob("*.py")):
            if not source.name.startswith("_"):
                name, module = source.stem.replace("_", "-"), f"{package.__name__}.{source.stem}"
                fixture = fixtures / source.name
                yield RuleInfo(name, module, source, fixture, stored_truth.folder_of(fixture))


def _rule_in(module: ModuleType) -> type[Rule]:
    from exportlint.rule.base import Rule  # noqa: PLC0415 (libcst, which listing the rules does not need)

    classes = (value for value in vars(module).values() if inspect.isclass(value))
    own = [c for c in classes if issubclass(c, Rule) and c.__module__ == module.__name__]
    if len(own) != 1:
        raise RegistryError(f"{module.__file__}: a rule file holds one subclass of exportlint.Rule, found {len(own)}")
    return own[0]


@cache
def _read_truth(folder: Path) -> Mapping[str, Mapping[str, Any]]:
    """torch version -> what is stored of a rule; versions in ascending order."""
    return {
        version: stored_truth.read(folder, version)
        for version in sorted(stored_truth.versions(folder), key=version_key)
    }


def measured_versions() -> list[str]:
    """The torch versions that some rule was measured in, in ascending order."""
    found = {version for info in all_rules().values() for version in stored_truth.versions(info.truth_dir)}
    return sorted(found, key=version_key)


def _tried(classes: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """A class that could not be tried under a version is not measured there, for every reader."""
    kept = {
        name: {mode: record for mode, record in modes.items() if record["outcome"] != UNTRIED}
        for name, modes in classes.items()
    }
    return {name: modes for name, modes in kept.items() if modes}


def version_key(version: str) -> tuple[int, ...]:
    """ "2.13.0+cpu" -> (2, 13, 0)."""
    return tuple(int(part) for part in version.partition("+")[0].split(".") if part.isdigit())
