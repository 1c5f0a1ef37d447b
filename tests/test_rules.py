"""Every rule against its fixture: all findings of all rules, compared with the marks in the file, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.files import SourceFile
from exportlint.registry import TESTED_TORCH, RuleInfo, all_rules
from exportlint.static.rule_links import links_of
from exportlint.static.severity import is_advice
from exportlint.static.static_pass import StaticOptions, check
from exportlint.truth.fixture import read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterable


RULES = all_rules()
BOTH = ("non-strict", "strict")


def reported(rule: RuleInfo, torch: str | None) -> set[tuple[int, str, str]]:
    file = SourceFile(rule.fixture, rule.fixture.name)
    report = check([file], tuple(RULES.values()), StaticOptions(torch=torch, modes=BOTH))
    assert not report.problems
    return {(f.line, f.severity.value, f.rule) for f in report.findings}


def listed(found: Iterable[tuple[int, str, str]]) -> str:
    return "\n".join(f"  line {line}: {severity} {rule}" for line, severity, rule in sorted(found))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_findings_of_a_fixture_are_the_marked_ones(rule: RuleInfo) -> None:
    fixture = read_fixture(rule.fixture)
    found = reported(rule, fixture.torch or TESTED_TORCH)
    marked = {(m.line, m.kind, m.rule) for m in fixture.marks if m.kind != "missed"}
    missed = {(m.line, m.rule) for m in fixture.marks if m.kind == "missed"}
    assert not (found - marked), f"{rule.fixture}: found but not marked\n{listed(found - marked)}"
    assert not (marked - found), f"{rule.fixture}: marked but not found\n{listed(marked - found)}"
    caught = missed & {(line, name) for line, _, name in found}
    assert not caught, f"marked as missed and found, say `# error:` instead: {caught}"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_torch_does_not_disprove_the_rule(rule: RuleInfo) -> None:
    classes = {c.name for c in read_fixture(rule.fixture).classes}
    truth = rule.truth()
    for case in rule.cls.cases:
        assert case in classes, f"{case} has no class in {rule.fixture}"
        if is_advice(case):
            continue
        outcomes = [record for measured in truth.values() for record in measured.get(case, {}).values()]
        assert any(r["outcome"] != "exports" or r.get("then") or r.get("deprecated") for r in outcomes), (
            f"{case}: no measured torch refuses it"
        )


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_class_is_measured_under_the_torch_that_the_marks_are_for(rule: RuleInfo) -> None:
    measured = rule.truth()[TESTED_TORCH]
    classes = {c.name for c in read_fixture(rule.fixture).classes}
    assert measured.keys() == classes, f"`exportlint truth {rule.name}` measures them"
    assert all(modes.keys() == set(BOTH) for modes in measured.values())


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_good_case_exports_in_both_modes_of_the_tested_torch(rule: RuleInfo) -> None:
    good = [c.name for c in read_fixture(rule.fixture).classes if c.name.startswith("Good")]
    assert good, "a rule shows at least one near miss that is fine"
    for name in good:
        for mode, record in rule.truth()[TESTED_TORCH][name].items():
            assert record["outcome"] == "exports", f"{name} in {mode}: {record['outcome']}"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_links_exist_and_the_page_is_complete(rule: RuleInfo) -> None:
    declared = [*rule.cls.exportdb, *rule.cls.graph_breaks]
    linked = {link.id for link in links_of(rule.name)}
    assert set(declared) <= linked, f"no such ExportDB case or graph break: {set(declared) - linked}"
    assert rule.summary.endswith(".")
    assert "Instead:" in rule.page
