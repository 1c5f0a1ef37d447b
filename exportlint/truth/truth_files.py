"""Write what an installed torch, and targets of deployment, really do with every fixture class."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError, nearest
from exportlint.registry import UNTRIED
from exportlint.stored_truth import changed, file_of, read
from exportlint.trial.protocol.outcomes import MODES, Compiled
from exportlint.truth.fixture import read_fixture
from exportlint.truth.lowering_truth import Lowered, measure_lowered
from exportlint.truth.measuring import Laboratory, Measurable, Measured, Planned, laboratory, measure, measure_compiled
from exportlint.truth.repaired_truth import measure_repaired
from exportlint.truth.rewritten import rewritten_classes

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from exportlint.registry import RuleInfo


def write(measured: Mapping[str, Any], subject: Measurable) -> Path:
    """Into the rule's file for that torch version; what targets of deployment and repairs make of it stays."""
    torch = measured["torch"]
    with changed(subject.truth_dir, torch) as truth:
        truth.update(measured)
    return file_of(subject.truth_dir, torch)


def measure_rules(
    names: list[str], python: Path | None = None, jobs: int | None = None, lowerings: Sequence[str] = ()
) -> int:
    """Measure the named rules (all, for none), write the truth after each, print what follows from it; an exit code.

    What a rule says of targets of deployment is measured there too: on those that it names, or on the `lowerings`
    alone, where what is known of the others stays. So is what becomes of the Bad classes after the rule's repair.
    `jobs`: how many classes at the same time; as many as there are cores.

    Raises UserError as `measure` does, TrialUnavailable without torch; what was measured before that is written.
    """

    def on_rule(subject: Measurable, truth: dict[str, Any]) -> None:
        path = write(truth, subject)
        compiled = _write_compiled(where, subject)
        targets = lowerings or _lowerings_of(subject.name)
        if targets:
            _lower(subject, truth["torch"], targets, python)
        _Repairs(where, subject, anew=True).write()
        _print_verdict(subject.name, truth["exported"], compiled, is_lowered=bool(targets))
        sys.stdout.write(f"{subject.name}: written to {path}\n")

    with laboratory(python, jobs) as where:
        measure(where, _subjects(names), _print_class, on_rule)
    return 0


def _subjects(names: list[str]) -> list[Measurable]:
    """A fixture beside the built-in ones is enough: it is written before its rule. Third-party rules are registered."""
    from exportlint.registry import all_rules  # noqa: PLC0415 - a rule that is half written must not stop another's

    if not names:
        return list(all_rules().values())
    dashed = [name.replace("_", "-") for name in names]  # as its file is called, too
    return [_planned(name) or _registered(name, all_rules()) for name in dashed]


def _lowerings_of(name: str) -> tuple[str, ...]:
    """The targets that the rule names; none of a fixture whose rule is not written yet."""
    from exportlint.registry import all_rules  # noqa: PLC0415 - as in `_subjects`

    known = all_rules().get(name)
    return known.cls.lowerings if known else ()


def _lower(subject: Measurable, torch: str, lowerings: Sequence[str], python: Path | None) -> None:
    """Each class is written as soon as it is measured: a target of deployment takes its time."""
    classes = {cls.name for cls in read_fixture(subject.fixture).classes}
    for cls, measured in measure_lowered(subject.fixture, lowerings, python):
        write_lowered(subject, torch, {cls.name: measured}, lowerings, classes)
        for name in lowerings:
            record = measured.get(name, {"status": "says nothing"})
            words = " ".join(f"{record[key]}" for key in ("error",) if record.get(key))
            place = f" line {record['line']}" if record.get("line") else ""
            sys.stdout.write(f"{subject.name} {cls.name} {name}: {record['status']}{place} {words}".rstrip() + "\n")
        sys.stdout.flush()


def measure_compile(names: list[str], python: Path | None = None, jobs: int | None = None) -> int:
    """Only what torch.compile does with the classes of the named rules, or of all."""
    with laboratory(python, jobs) as where:
        for subject in _subjects(names):
            _write_compiled(where, subject)
    return 0


def _write_compiled(where: Laboratory, subject: Measurable) -> dict[str, dict[str, Any]]:
    known = read(subject.truth_dir, where.torch).get("compiled", {})
    records = measure_compiled(where, subject, known)
    with changed(subject.truth_dir, where.torch) as truth:
        truth["compiled"] = records
    for name, record in records.items():
        breaks = [f"line {line} {gb_id or ''} {kind}" for line, gb_id, kind in record.get("graph_breaks", ())]
        again = [f"line {line} {what}" for line, what in record.get("recompiles", ())]
        words = "; ".join([record.get("error", ""), *breaks, *again]).strip("; ")
        sys.stdout.write(f"{subject.name} {name} compiled: {record['outcome']} {words}".rstrip() + "\n")
    sys.stdout.flush()
    return records


def measure_repairs(names: list[str], python: Path | None = None, jobs: int | None = None) -> int:
    """Only what becomes of the Bad classes after their repair: of the named rules, or of all what is not known yet."""
    with laboratory(python, jobs) as where:
        before: _Repairs | None = None
        for subject in _subjects(names):
            # While the classes of a rule are measured, the rewrites of the next one are made.
            begun = _Repairs(where, subject, anew=bool(names))
            if before:
                before.write()
            before = begun
        if before:
            before.write()
    return 0


class _Repairs:
    """The measurements of a rule's repairs, which run from here on.

    What is known of the same rewrites of the same class stays, unless all is measured `anew`.
    """

    def __init__(self, where: Laboratory, subject: Measurable, *, anew: bool) -> None:
        self._subject, self._torch = subject, where.torch
        classes = rewritten_classes(subject.fixture, where.torch)
        known = {} if anew else _known_repairs(subject, where.torch)
        self._known = {one.cls.name: known[one.key] for one in classes if one.key in known}
        todo = [one for one in classes if one.cls.name not in self._known]
        self._begun = measure_repaired(where, subject.fixture, todo)

    def write(self) -> None:
        """Wait for them, and write what came out."""
        records = dict(self._known)
        for name, begun in self._begun.items():
            record = records[name] = begun.result()
            outcomes = ", ".join(f"{mode} {record[mode]}" for mode in MODES)
            sys.stdout.write(
                f"{self._subject.name} {name} repaired: {outcomes} {record.get('why', '')}".rstrip() + "\n"
            )
            sys.stdout.flush()
        with changed(self._subject.truth_dir, self._torch) as truth:
            truth["repaired"] = records


def _known_repairs(subject: Measurable, torch: str) -> Mapping[tuple[str, str], Any]:
    """By the key of a rewritten class."""
    records = read(subject.truth_dir, torch).get("repaired", {})
    return {(name, record.get("digest", "")): record for name, record in records.items()}


def write_lowered(
    subject: Measurable,
    torch: str,
    measured: Mapping[str, Lowered],
    lowerings: Sequence[str],
    classes: Collection[str],
) -> None:
    """What the targets did with some classes; of `lowerings` only this counts, of other targets what was known.

    Of what is not among the fixture's `classes` any more, nothing stays.
    """
    with changed(subject.truth_dir, torch) as truth:
        known = truth.get("lowered", {})
        for name, records in measured.items():
            kept = {target: record for target, record in known.get(name, {}).items() if target not in lowerings}
            known[name] = {**kept, **records}
        truth["lowered"] = {name: known[name] for name in known if name in classes}


def _planned(name: str) -> Planned | None:
    folder = Path(next(iter(importlib.import_module("exportlint_rules.fixtures").__path__)))
    fixture = folder / f"{name.replace('-', '_')}.py"
    return Planned(name, fixture) if fixture.is_file() else None


def _registered(name: str, known: Mapping[str, RuleInfo]) -> RuleInfo:
    if name not in known:
        raise UserError(f"there is no rule and no fixture {name!r}{nearest(name, known)}")
    return known[name]


def _print_class(rule: str, name: str, modes: Measured) -> None:
    for mode, record in modes.items():
        place = f" line {record['line']}" if record.get("line") else ""
        words = " ".join(str(record[key]) for key in ("graph_break", "check", "error") if record.get(key))
        then = "".join(f"; then {step} {what}" for step, what in record.get("then", {}).items())
        warned = f"; warns {record['deprecated']}" if "deprecated" in record else ""
        sys.stdout.write(f"{rule} {name} {mode}: {record['outcome']}{place} {words}{then}{warned}".rstrip() + "\n")
    sys.stdout.flush()


def _print_verdict(
    rule: str, classes: Mapping[str, Measured], compiled: Mapping[str, Mapping[str, Any]], *, is_lowered: bool
) -> None:
    for name, modes in classes.items():
        outcomes = {record["outcome"] for record in modes.values()}
        if outcomes == {UNTRIED}:
            sys.stdout.write(f"{rule}: this torch cannot define {name}, which counts as not measured\n")
            continue
        failing_later = any(record.get("then") for record in modes.values())
        ending = any(record.get("deprecated") for record in modes.values())
        one_graph = Compiled.ONE_GRAPH.value
        told = failing_later or ending or is_lowered or compiled.get(name, {}).get("outcome", one_graph) != one_graph
        if name.startswith("Bad") and outcomes == {"exports"} and not told:
            sys.stdout.write(f"{rule}: torch exports {name} correctly in both modes: there is no sin here\n")
        if name.startswith("Good") and (outcomes != {"exports"} or failing_later):
            sys.stdout.write(f"{rule}: {name} does not export everywhere\n")
