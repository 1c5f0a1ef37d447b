"""The truth: what an installed torch really does with every fixture class in both modes. Written by machine only."""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from exportlint.errors import UserError, nearest
from exportlint.fixture import FixtureClass, read_fixture
from exportlint.trial.report import MODES
from exportlint.trial.run import search_path, session
from exportlint.trial.target import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exportlint.registry import RuleInfo
    from exportlint.trial.server import Answered, Server

SECONDS = 60.0
MEMORY_MB = 8000
Measured = dict[str, dict[str, Any]]  # mode -> record
OnClass = Callable[[str, str, Measured], None]


class Subject(Protocol):
    """What has a fixture: a rule of the registry, or one that is only about to be written."""

    @property
    def name(self) -> str: ...
    @property
    def fixture(self) -> Path: ...
    @property
    def truth_dir(self) -> Path: ...


@dataclass(frozen=True, slots=True)
class Planned:
    """A fixture whose rule does not exist yet."""

    name: str
    fixture: Path
    truth_dir: Path


def measure(
    subjects: Iterable[Subject],
    python: Path | None = None,
    jobs: int = 1,
    on_class: OnClass | None = None,
    on_rule: Callable[[Subject, dict[str, Any]], None] | None = None,
) -> dict[str, Any]:
    """Run every Bad and Good class of the fixtures in both modes; the content of a truth file comes back.

    `on_rule` is given each rule's part of it as soon as it stands. Raises UserError for a fixture that cannot be read
    or imported, TrialUnavailable without torch.
    """
    rules: dict[str, dict[str, Measured]] = {}
    with session(python) as server, ThreadPoolExecutor(max(1, jobs)) as pool:
        version = str(server.facts["torch"]).partition("+")[0]
        head = {"torch": version, "python": server.facts["python"], "platform": server.facts["platform"]}
        for subject in subjects:
            rules[subject.name] = _rule(server, subject, pool, on_class or _nobody)
            if on_rule:
                on_rule(subject, {**head, "rules": {subject.name: rules[subject.name]}})
    return {**head, "rules": rules}


def _nobody(_rule: str, _name: str, _modes: Measured) -> None:
    pass


def _rule(server: Server, subject: Subject, pool: ThreadPoolExecutor, on_class: OnClass) -> dict[str, Measured]:
    classes = read_fixture(subject.fixture).classes
    measured = {}
    for cls, modes in zip(classes, pool.map(lambda cls: _modes(server, subject, cls), classes), strict=True):
        measured[cls.name] = modes
        on_class(subject.name, cls.name, modes)
    return measured


def _modes(server: Server, subject: Subject, cls: FixtureClass) -> Measured:
    return {mode: _one(server, subject, cls, mode) for mode in MODES}


def _one(server: Server, subject: Subject, cls: FixtureClass, mode: str) -> dict[str, Any]:
    """A process for each class and mode: a crash in one is nothing to the other."""
    from exportlint.trial.limits import Limits  # noqa: PLC0415 - needs psutil, which `session` has asked for

    limits = Limits(SECONDS, MEMORY_MB)
    path = str(subject.fixture)
    target = Target(cls.name, TargetKind.FIXTURE, f"{path}:{cls.name}", path=path, line=cls.line)
    process = server.target_process(cls.name)
    try:
        imported = process.load(target, search_path(), limits)
        error = next((m["error"] for m in imported.messages if "error" in m), None)
        if error or not imported.messages:
            raise UserError(f"{subject.fixture}: {error or imported.ended}")
        return judged(process.stage("measure", "measure", {"mode": mode}, limits))
    finally:
        process.close()


def judged(answered: Answered) -> dict[str, Any]:
    """The record that the stage told last. One that ended after that keeps it, and says what came then."""
    told: dict[str, Any] | None = next((m["measured"] for m in reversed(answered.messages) if "measured" in m), None)
    ended = "timed out" if answered.overrun and answered.overrun.status == "timed-out" else "crashed"
    words = answered.overrun.text if answered.overrun else answered.ended
    if told is None and answered.final is not None:
        raise UserError(f"measuring failed, and nothing is written: {answered.final['detail']}")
    if told is None:
        seen = next((s for s in answered.observations), None)
        return {"outcome": ended, "error": seen.first_line if seen else words, "line": None, "graph_break": None}
    if answered.final is None:
        return {**told, "then": {"decompose": f"{ended}: {words}"}}
    return told


def write(truth: Mapping[str, Any], folder: Path) -> Path:
    """Merge into the folder's file for that torch version, atomically; rules not measured stay as they are."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"torch-{truth['torch']}.json"
    with _locked(folder):
        before = json.loads(path.read_text("utf-8"))["rules"] if path.exists() else {}
        merged = {**truth, "rules": {**before, **truth["rules"]}}
        part = path.with_suffix(f".{os.getpid()}.part")
        part.write_text(json.dumps(merged, indent=1, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")
        part.replace(path)
    return path


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    fd = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def main_measure(names: list[str], python: Path | None = None, jobs: int = 1) -> int:
    """Measure the named rules (all, for none), write the truth after each, print what follows from it; an exit code.

    Raises UserError as `measure` does; what was measured before that is written.
    """

    def on_rule(subject: Subject, truth: dict[str, Any]) -> None:
        path = write(truth, subject.truth_dir)
        _print_verdict(subject.name, truth["rules"][subject.name])
        sys.stdout.write(f"{subject.name}: written to {path}\n")

    measure(_subjects(names), python, jobs, _print_class, on_rule)
    return 0


def _subjects(names: list[str]) -> list[Subject]:
    """A fixture beside the built-in ones is enough: it is written before its rule. Third-party rules are registered."""
    from exportlint.registry import all_rules  # noqa: PLC0415 - a rule that is half written must not stop another's

    return [_planned(name) or _registered(name, all_rules()) for name in names] if names else list(all_rules().values())


def _planned(name: str) -> Planned | None:
    folder = Path(next(iter(importlib.import_module("exportlint_rules.fixtures").__path__)))
    fixture = folder / f"{name.replace('-', '_')}.py"
    return Planned(name, fixture, folder / "truth") if fixture.is_file() else None


def _registered(name: str, known: Mapping[str, RuleInfo]) -> RuleInfo:
    if name not in known:
        raise UserError(f"there is no rule and no fixture {name!r}{nearest(name, known)}")
    return known[name]


def _print_class(rule: str, name: str, modes: Measured) -> None:
    for mode, said in modes.items():
        place = f" line {said['line']}" if said.get("line") else ""
        words = " ".join(str(said[key]) for key in ("graph_break", "check", "error") if said.get(key))
        then = "".join(f"; then {step} {what}" for step, what in said.get("then", {}).items())
        sys.stdout.write(f"{rule} {name} {mode}: {said['outcome']}{place} {words}{then}".rstrip() + "\n")
    sys.stdout.flush()


def _print_verdict(rule: str, classes: Mapping[str, Measured]) -> None:
    for name, modes in classes.items():
        outcomes = {said["outcome"] for said in modes.values()}
        failing_later = any(said.get("then") for said in modes.values())
        if name.startswith("Bad") and outcomes == {"exports"} and not failing_later:
            sys.stdout.write(f"{rule}: torch exports {name} correctly in both modes: there is no sin here\n")
        if name.startswith("Good") and (outcomes != {"exports"} or failing_later):
            sys.stdout.write(f"{rule}: {name} does not export everywhere\n")


def _main() -> int:
    import argparse  # noqa: PLC0415 - `exportlint truth` is the command; this stands in where it is not wired

    parser = argparse.ArgumentParser(prog="python -m exportlint.truth", description=__doc__)
    parser.add_argument("rules", nargs="*", metavar="RULE")
    parser.add_argument("--python", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    try:
        return main_measure(options.rules, options.python, options.jobs)
    except UserError as exc:
        sys.stderr.write(f"{exc}\n")
        return 2


if __name__ == "__main__":
    sys.exit(_main())
