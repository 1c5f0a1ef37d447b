"""Measured models that are like a finding: a case of a rule in, its Bad class and the Good one beside it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.output.background import MeasuredExample
from exportlint.pages.catalogue import outcome, source
from exportlint.pages.compiled_models import likeness
from exportlint.registry import all_rules
from exportlint.static.severity import shown_in
from exportlint.trial.protocol.outcomes import MODES
from exportlint.trial.protocol.purposes import COMPILE, EXPORT
from exportlint.truth.fixture import read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.registry import RuleInfo
    from exportlint.truth.fixture import Fixture, FixtureClass


def examples(rule: str, case: str, torch: str | None, purpose: str) -> list[MeasuredExample]:
    """The models of the case, with what this torch did with them; none where no rule foresaw it.

    purpose   what models are judged for: an export, torch.compile, or both
    """
    info = all_rules().get(rule)
    if info is None or not info.fixture.is_file():
        return []
    fixture = read_fixture(info.fixture)
    return [
        MeasuredExample(one.name, role, _measured(info, one, torch, purpose), tuple(source(fixture, one).split("\n")))
        for one, role in _models(info, fixture, case)
    ]


def _models(info: RuleInfo, fixture: Fixture, case: str) -> Iterator[tuple[FixtureClass, str]]:
    """That of the case, and what the rule names as the way out; where it names none, the nearest to what it advises.
    Each with what it is."""
    by_name = {one.name: one for one in fixture.classes}
    own = by_name.get(case)
    if own is None:
        return
    if own.good:
        yield own, "a model of such code, which does not fail"
        return
    yield own, "a model of what fails"
    named = by_name.get(shown_in(info, case)) if case in info.cls.cases else None
    if named is not None:
        yield named, "a model of what to write instead"
    elif other := _nearest(info, fixture, own):
        yield other, "of the rule's models that do not fail the nearest to its advice"


def _nearest(info: RuleInfo, fixture: Fixture, bad: FixtureClass) -> FixtureClass | None:
    """The Good class that has the most of the names in the rule's advice for the case; of several the most alike."""
    advice = info.cls.cases[bad.name].instead.text if bad.name in info.cls.cases else ""
    names = {name for code in _CODE.findall(advice) for name in _NAME.findall(code)}

    def nearness(good: FixtureClass) -> tuple[int, float]:
        return len(names.intersection(_NAME.findall(source(fixture, good)))), likeness(fixture, bad, good)

    return max((one for one in fixture.classes if one.good), key=nearness, default=None)


_CODE, _NAME = re.compile(r"`([^`]+)`"), re.compile(r"[A-Za-z_]\w*")


def _measured(info: RuleInfo, model: FixtureClass, torch: str | None, purpose: str) -> str:
    """As in "torch 2.13.0: refused in non-strict, exports in strict"."""
    told = ", ".join(_outcomes(info, model.name, torch, purpose)) if torch else ""
    return f"torch {torch}: {told}" if told else f"not measured with torch {torch}" if torch else "not measured"


def _outcomes(info: RuleInfo, name: str, torch: str, purpose: str) -> Iterator[str]:
    if info.cls.lowerings:
        by_target = info.lowered().get(torch, {}).get(name, {})
        yield from (f"{record['status']} on {target}" for target, record in by_target.items())
        return
    if purpose != COMPILE:
        modes = info.truth().get(torch, {}).get(name, {})
        outcomes = {mode: outcome(modes[mode]) for mode in MODES if mode in modes}
        for said in dict.fromkeys(outcomes.values()):
            yield f"{said} in {' and '.join(mode for mode in outcomes if outcomes[mode] == said)}"
    compiled = info.compiled().get(torch, {}).get(name)
    if purpose != EXPORT and compiled is not None:
        yield f"{compiled['outcome']} in torch.compile"
