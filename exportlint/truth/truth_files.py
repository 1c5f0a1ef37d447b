"""Write what an installed torch, and targets of deployment, really do with every fixture class."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError, nearest
from exportlint.registry import UNTRIED
from exportlint.trial.parent.session import session
from exportlint.trial.protocol.outcomes import MODES
from exportlint.truth.fixture import read_fixture
from exportlint.truth.lowering_truth import Lowered, measure_lowered
from exportlint.truth.measuring import Measurable, Measured, Planned, measure
from exportlint.truth.repaired_truth import measure_repaired
from exportlint.truth.rewritten import rewritten_classes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exportlint.registry import RuleInfo


def write(truth: Mapping[str, Any], folder: Path) -> Path:
    """Merge into the folder's file for that torch version, atomically; rules not measured stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torch-{truth['torch']}.json"
    with _locked(folder):
        before = json.loads(path.read_text("utf-8")) if path.exists() else {"rules": {}}
        merged = {**truth, "rules": {**before["rules"], **truth["rules"]}}
        merged |= {part: before[part] for part in ("lowered", "repaired") if part in before}
        _replace(path, merged)
    return path


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def measure_rules(names: list[str], python: Path | None = None, jobs: int = 1, lowerings: Sequence[str] = ()) -> int:
    """Measure the named rules (all, for none), write the truth after each, print what follows from it; an exit code.

    What a rule says of targets of deployment is measured there too: on those that it names, or on the `lowerings`
    alone, where what is known of the others stays. So is what becomes of the Bad classes after the rule's repair.

    Raises UserError as `measure` does; what was measured before that is written.
    """

    def on_rule(subject: Measurable, truth: dict[str, Any]) -> None:
        path = write(truth, subject.truth_dir)
        targets = lowerings or _lowerings_of(subject.name)
        if targets:
            _lower(subject, truth["torch"], targets, python)
        _repair(subject, truth["torch"], python, jobs, anew=True)
        _print_verdict(subject.name, truth["rules"][subject.name], is_lowered=bool(targets))
        sys.stdout.write(f"{subject.name}: written to {path}\n")

    measure(_subjects(names), python, jobs, _print_class, on_rule)
    return 0


def _subjects(names: list[str]) -> list[Measurable]:
    """A fixture beside the built-in ones is enough: it is written before its rule. Third-party rules are registered."""
    from exportlint.registry import all_rules  # noqa: PLC0415 - a rule that is half written must not stop another's

    return [_planned(name) or _registered(name, all_rules()) for name in names] if names else list(all_rules().values())


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


def measure_repairs(names: list[str], python: Path | None = None, jobs: int = 1) -> int:
    """Only what becomes of the Bad classes after their repair: of the named rules, or of all what is not known yet."""
    with session(python) as server:
        torch = str(server.facts["torch"]).partition("+")[0]
    for subject in _subjects(names):
        _repair(subject, torch, python, jobs, anew=bool(names))
    return 0


def _repair(subject: Measurable, torch: str, python: Path | None, jobs: int, *, anew: bool) -> None:
    """What is known of the same rewrites of the same class stays, unless all is measured `anew`."""
    classes = rewritten_classes(subject.fixture, torch)
    known = {} if anew else _known_repairs(subject, torch)
    records = {one.cls.name: known[one.key] for one in classes if one.key in known}
    todo = [one for one in classes if one.cls.name not in records]
    for name, record in measure_repaired(subject.fixture, todo, python, jobs) if todo else ():
        records[name] = record
        outcomes = ", ".join(f"{mode} {record[mode]}" for mode in MODES)
        sys.stdout.write(f"{subject.name} {name} repaired: {outcomes} {record.get('why', '')}".rstrip() + "\n")
        sys.stdout.flush()
    with _locked(subject.truth_dir):
        truth = _read(subject, torch)
        truth.setdefault("repaired", {})[subject.name] = records
        _replace(_path(subject, torch), truth)


def _known_repairs(subject: Measurable, torch: str) -> Mapping[tuple[str, str], Any]:
    """By the key of a rewritten class."""
    records = _read(subject, torch).get("repaired", {}).get(subject.name, {})
    return {(name, record.get("digest", "")): record for name, record in records.items()}


def _path(subject: Measurable, torch: str) -> Path:
    return subject.truth_dir / f"torch-{torch}.json"


def _read(subject: Measurable, torch: str) -> dict[str, Any]:
    truth: dict[str, Any] = json.loads(_path(subject, torch).read_text("utf-8"))
    return truth


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
    with _locked(subject.truth_dir):
        truth = _read(subject, torch)
        known = truth.setdefault("lowered", {}).get(subject.name, {})
        for name, records in measured.items():
            kept = {target: record for target, record in known.get(name, {}).items() if target not in lowerings}
            known[name] = {**kept, **records}
        truth["lowered"][subject.name] = {name: known[name] for name in known if name in classes}
        _replace(_path(subject, torch), truth)


def _replace(path: Path, truth: Mapping[str, Any]) -> None:
    part = path.with_suffix(f".{os.getpid()}.part")
    part.write_text(json.dumps(truth, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
    part.replace(path)


def _planned(name: str) -> Planned | None:
    folder = Path(next(iter(importlib.import_module("exportlint_rules.fixtures").__path__)))
    fixture = folder / f"{name.replace('-', '_')}.py"
    return Planned(name, fixture, folder / "truth") if fixture.is_file() else None


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


def _print_verdict(rule: str, classes: Mapping[str, Measured], *, is_lowered: bool) -> None:
    for name, modes in classes.items():
        outcomes = {record["outcome"] for record in modes.values()}
        if outcomes == {UNTRIED}:
            sys.stdout.write(f"{rule}: this torch cannot define {name}, which counts as not measured\n")
            continue
        failing_later = any(record.get("then") for record in modes.values())
        ending = any(record.get("deprecated") for record in modes.values())
        if name.startswith("Bad") and outcomes == {"exports"} and not (failing_later or ending or is_lowered):
            sys.stdout.write(f"{rule}: torch exports {name} correctly in both modes: there is no sin here\n")
        if name.startswith("Good") and (outcomes != {"exports"} or failing_later):
            sys.stdout.write(f"{rule}: {name} does not export everywhere\n")
