"""Fixtures run under an installed torch, every class in both modes in a process of its own: what truth is made of."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from exportlint.definable import without
from exportlint.errors import UserError
from exportlint.fixture import FixtureClass, read_fixture
from exportlint.registry import UNTRIED
from exportlint.trial.observation import Observation
from exportlint.trial.report import MODES
from exportlint.trial.run import search_path, session
from exportlint.trial.stage import short
from exportlint.trial.target import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exportlint.trial.limits import Limits
    from exportlint.trial.server import Answered, Server, TargetProcess

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
    with tempfile.TemporaryDirectory() as folder:
        path, measured = _tryable(server, subject.fixture, Path(folder))
        for name, modes in measured.items():
            on_class(subject.name, name, modes)
        classes = read_fixture(path).classes
        for cls, modes in zip(classes, pool.map(lambda cls: _modes(server, path, cls), classes), strict=True):
            measured[cls.name] = modes
            on_class(subject.name, cls.name, modes)
    return measured


def _tryable(server: Server, fixture: Path, folder: Path) -> tuple[Path, dict[str, Measured]]:
    """The fixture, or a copy without the classes that this torch cannot even define; and the records of those."""
    path = fixture
    untried: dict[str, Measured] = {}
    while (classes := read_fixture(path).classes) and (failure := _import_failure(server, path, classes[0])):
        seen = Observation.from_dict(failure["observation"])
        line = next((frame.line for frame in seen.frames if Path(frame.path).resolve() == path.resolve()), 0)
        rest = without(path.read_text("utf-8"), line)
        if rest is None:
            raise UserError(f"{fixture}: {failure['error']}")
        path = folder / fixture.name
        path.write_text(rest, "utf-8")
        left = {cls.name for cls in read_fixture(path).classes}
        record = {"outcome": UNTRIED, "error": short(seen.text), "line": line, "graph_break": None}
        untried |= {cls.name: dict.fromkeys(MODES, record) for cls in classes if cls.name not in left}
    return path, untried


def _import_failure(server: Server, path: Path, cls: FixtureClass) -> dict[str, Any] | None:
    process, answered = _imported(server, path, cls)
    process.close()
    if not answered.messages:
        raise UserError(f"{path.name}: importing the fixture: {answered.ended}")
    return next((message for message in answered.messages if "error" in message), None)


def _imported(server: Server, path: Path, cls: FixtureClass) -> tuple[TargetProcess, Answered]:
    target = Target(cls.name, TargetKind.FIXTURE, f"{path}:{cls.name}", path=str(path), line=cls.line)
    process = server.target_process(cls.name)
    return process, process.load(target, search_path(), _limits())


def _modes(server: Server, path: Path, cls: FixtureClass) -> Measured:
    return {mode: _one(server, path, cls, mode) for mode in MODES}


def _one(server: Server, path: Path, cls: FixtureClass, mode: str) -> dict[str, Any]:
    """A process for each class and mode: a crash in one is nothing to the other."""
    process, imported = _imported(server, path, cls)
    try:
        error = next((m["error"] for m in imported.messages if "error" in m), None)
        if error or not imported.messages:
            raise UserError(f"{path.name}: {error or imported.ended}")
        return judged(process.stage("measure", "measure", {"mode": mode}, _limits()))
    finally:
        process.close()


def _limits() -> Limits:
    from exportlint.trial.limits import Limits  # noqa: PLC0415 - needs psutil, which `session` has asked for

    return Limits(SECONDS, MEMORY_MB)


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
