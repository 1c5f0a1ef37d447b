"""Every rule against its fixture: all findings of all rules, compared with the marks in the file, both ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.files import SourceFile
from exportlint.registry import TESTED_TORCH, RuleInfo, all_rules
from exportlint.static.check_file import links_of
from exportlint.static.severity import is_advice, shown_in
from exportlint.static.static_pass import StaticOptions, check
from exportlint.trial.protocol.outcomes import PASSED, Compiled
from exportlint.trial.protocol.purposes import COMPILE, EXPORT
from exportlint.truth.fixture import read_fixture
from exportlint.truth.rewritten import rewritten_classes

if TYPE_CHECKING:
    from collections.abc import Iterable


RULES = all_rules()
LOWERED = {name: rule for name, rule in RULES.items() if rule.cls.lowerings}
BOTH = ("non-strict", "strict")
ONE_GRAPH = Compiled.ONE_GRAPH.value


def reported(rule: RuleInfo, torch: str | None, purpose: str = EXPORT) -> set[tuple[int, str, str]]:
    file = SourceFile(rule.fixture, rule.fixture.name)
    options = StaticOptions(torch=torch, modes=BOTH, lowerings=rule.cls.lowerings, purpose=purpose)
    report = check([file], tuple(RULES.values()), options)
    assert not report.problems
    return {(f.line, f.severity.value, f.rule) for f in report.findings}


def listed(found: Iterable[tuple[int, str, str]]) -> str:
    return "\n".join(f"  line {line}: {severity} {rule}" for line, severity, rule in sorted(found))


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_findings_of_a_fixture_are_the_marked_ones(rule: RuleInfo) -> None:
    fixture = read_fixture(rule.fixture)
    found = reported(rule, fixture.torch or TESTED_TORCH)
    marked = {(m.line, m.kind, m.rule) for m in fixture.marks if m.kind not in {"missed", "compile"}}
    missed = {(m.line, m.rule) for m in fixture.marks if m.kind == "missed"}
    assert not (found - marked), f"{rule.fixture}: found but not marked\n{listed(found - marked)}"
    assert not (marked - found), f"{rule.fixture}: marked but not found\n{listed(marked - found)}"
    caught = missed & {(line, name) for line, _, name in found}
    assert not caught, f"marked as missed and found, say `# error:` instead: {caught}"


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_what_is_found_for_compile_alone_is_marked_and_breaks_the_graph_there(rule: RuleInfo) -> None:
    marked = {
        mark.line for mark in read_fixture(rule.fixture).marks if mark.kind == "compile" and mark.rule == rule.name
    }
    if not marked:
        return
    exported = {line for line, _, name in reported(rule, TESTED_TORCH) if name == rule.name}
    found = {line for line, _, name in reported(rule, TESTED_TORCH, COMPILE) if name == rule.name}
    assert found - exported == marked
    records = rule.compiled()[TESTED_TORCH].values()
    assert marked <= {line for record in records for line, *_ in record.get("graph_breaks", ())}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_torch_does_not_disprove_the_rule(rule: RuleInfo) -> None:
    classes = {c.name for c in read_fixture(rule.fixture).classes}
    truth = rule.truth()
    for case in rule.cls.cases:
        assert case in classes, f"{case} has no class in {rule.fixture}"
        if is_advice(case) or rule.cls.lowerings:
            continue
        outcomes = [record for measured in truth.values() for record in measured.get(case, {}).values()]
        exported = any(r["outcome"] != "exports" or r.get("then") or r.get("deprecated") for r in outcomes)
        compiled = (measured.get(case, {}).get("outcome", ONE_GRAPH) for measured in rule.compiled().values())
        assert exported or any(outcome != ONE_GRAPH for outcome in compiled), f"{case}: no measured torch refuses it"


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


@pytest.mark.parametrize("rule", LOWERED.values(), ids=LOWERED)
def test_every_class_is_measured_on_the_targets_of_deployment(rule: RuleInfo) -> None:
    """Where a target's package was missing when it was measured, it has no record, and nothing is said of it."""
    measured = rule.lowered()[TESTED_TORCH]
    assert measured.keys() == {c.name for c in read_fixture(rule.fixture).classes}, f"`exportlint truth {rule.name}`"
    on = {target for records in measured.values() for target in records}
    assert on == set(rule.cls.lowerings)
    assert {name for name, records in measured.items() if records.keys() != on} == set()


@pytest.mark.parametrize("rule", LOWERED.values(), ids=LOWERED)
def test_a_case_exports_and_fails_on_a_target_where_what_is_suggested_runs(rule: RuleInfo) -> None:
    measured, lines = rule.lowered()[TESTED_TORCH], {mark.line for mark in read_fixture(rule.fixture).marks}
    for case in rule.cls.cases:
        assert rule.truth()[TESTED_TORCH][case]["non-strict"]["outcome"] == "exports", case
        failing = {target: record for target, record in measured[case].items() if record["status"] != PASSED}
        assert any(measured[shown_in(rule, case)][target]["status"] == PASSED for target in failing), case
        assert {record["line"] for record in failing.values()} <= {None, *lines}, f"{case} fails at another line"


@pytest.mark.parametrize("rule", LOWERED.values(), ids=LOWERED)
def test_without_a_target_of_deployment_nothing_is_said(rule: RuleInfo) -> None:
    file = SourceFile(rule.fixture, rule.fixture.name)
    assert check([file], [rule], StaticOptions(torch=TESTED_TORCH, modes=BOTH)).findings == ()


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_links_exist_and_the_page_is_complete(rule: RuleInfo) -> None:
    declared = [*rule.cls.exportdb, *rule.cls.graph_breaks]
    linked = {link.id for link in links_of(rule.name)}
    assert set(declared) <= linked, f"no such ExportDB case or graph break: {set(declared) - linked}"
    assert rule.summary.endswith(".")
    assert "Instead:" in rule.page


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_what_is_stored_of_the_repairs_is_of_the_rewrites_that_are_made_now(rule: RuleInfo) -> None:
    """`exportlint truth --repaired` measures what changed since."""
    made = {one.cls.name: one.digest for one in rewritten_classes(rule.fixture, TESTED_TORCH)}
    assert {name: record["digest"] for name, record in rule.repaired()[TESTED_TORCH].items()} == made


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_no_repair_is_disproved(rule: RuleInfo) -> None:
    records = rule.repaired()[TESTED_TORCH]
    assert {name: one.get("why") for name, one in records.items() if "differs" in (one[mode] for mode in BOTH)} == {}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_a_rule_without_a_repair_says_why(rule: RuleInfo) -> None:
    assert ("No repair:" in rule.page) == (not rule.cls.mended_by)
