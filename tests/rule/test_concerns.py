"""`Rule.concerns` spares the parsing of most code. It must never spare a finding."""

from __future__ import annotations

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from exportlint.engine.source.parsed import FileStore
from exportlint.engine.source.symbols import ProjectIndex
from exportlint.files import SourceFile
from exportlint.registry import RuleInfo, all_rules
from exportlint.static.check_file import check_file
from exportlint.trial.protocol.shown_by import BESIDE_VALUES, OTHER_LENGTH, OWN_INPUTS, SIZES, UNSEEN

if TYPE_CHECKING:
    from exportlint.rule.suspicion import Suspicion


RULES = tuple(all_rules().values())


def never_spared(rule: RuleInfo) -> RuleInfo:
    """The same rule, which visits all code with its words."""
    everything = {"concerns": classmethod(lambda _cls, _code: True), "__module__": rule.cls.__module__}
    thorough = replace(rule)
    vars(thorough)["cls"] = type(rule.cls.__name__, (rule.cls,), everything)
    return thorough


THOROUGH = tuple(map(never_spared, RULES))


def index() -> ProjectIndex:
    return ProjectIndex(FileStore())


def suspicions(path: Path, rules: tuple[RuleInfo, ...], index: ProjectIndex) -> set[Suspicion]:
    judgement = check_file(SourceFile(path, path.name), index, rules)
    assert not judgement.failed
    return set(judgement.suspicions)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_nothing_is_spared_in_a_fixture(rule: RuleInfo) -> None:
    assert suspicions(rule.fixture, RULES, index()) == suspicions(rule.fixture, THOROUGH, index())


@pytest.mark.slow
@pytest.mark.parametrize("package", ["torch/nn", "transformers/models"])
def test_nothing_is_spared_in_real_code(package: str) -> None:
    """Every so many files of a package that the `dev` extra installs."""
    name, _, folder = package.partition("/")
    found = find_spec(name)
    assert found is not None
    root = Path(found.origin or "").parent / folder
    paths = sorted(root.rglob("modeling_*.py" if name == "transformers" else "*.py"))
    assert paths
    shared = index()
    for path in paths[:: max(1, len(paths) // 10)]:
        assert suspicions(path, RULES, shared) == suspicions(path, THOROUGH, shared), path


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_what_a_rule_wants_to_be_shown_by_is_a_kind_that_trials_know(rule: RuleInfo) -> None:
    assert UNSEEN | BESIDE_VALUES | {OWN_INPUTS, SIZES, OTHER_LENGTH} >= set(rule.cls.shown_by)
