"""Run fixtures under an installed torch, every class in both modes, each in a process of its own."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from exportlint.cores import cores
from exportlint.errors import UserError
from exportlint.registry import UNTRIED
from exportlint.stored_truth import folder_of
from exportlint.trial.findings.wording.difference_messages import in_words, program_of
from exportlint.trial.parent.session import search_path, session
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.options import Limits
from exportlint.trial.protocol.outcomes import CRASHED, MODES, OUTCOME_OF, Compiled
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.stages import MEASURE, MEASURE_COMPILED
from exportlint.trial.protocol.target import Target, TargetKind
from exportlint.truth.definable import without
from exportlint.truth.fixture import Fixture, FixtureClass, read_fixture

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.trial.parent.connection import Reply
    from exportlint.trial.parent.server import Server, TargetProcess


_AGAIN = 4  # measurements more, before what differed once is taken to be right
_LIMITS = Limits(seconds=60.0, memory_mb=8000)
Measured = dict[str, dict[str, Any]]  # mode -> record
OnClass = Callable[[str, str, Measured], None]


class Measurable(Protocol):
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

    @property
    def truth_dir(self) -> Path:
        return folder_of(self.fixture)


@dataclass(frozen=True, slots=True)
class Laboratory:
    """The process that has torch, of which every measurement is a fork, and threads that each wait for one."""

    server: Server
    pool: ThreadPoolExecutor

    @property
    def torch(self) -> str:
        """The version, without what it was built for."""
        return str(self.server.facts["torch"]).partition("+")[0]


@contextmanager
def laboratory(python: Path | None = None, jobs: int | None = None) -> Iterator[Laboratory]:
    """One for all rules: to start it takes longer than to measure a class. `jobs`: as many as there are cores.

    Raises TrialUnavailable without torch.
    """
    with session(python, preload=["exportlint.truth.first_exports"]) as server:
        pool = ThreadPoolExecutor(jobs or cores())
        try:
            yield Laboratory(server, pool)
        finally:
            pool.shutdown(cancel_futures=True)


def measure(
    where: Laboratory,
    subjects: Iterable[Measurable],
    on_class: OnClass | None = None,
    on_rule: Callable[[Measurable, dict[str, Any]], None] | None = None,
) -> dict[str, dict[str, Any]]:
    """Run every Bad and Good class of the fixtures in both modes; name -> what a truth file says of torch comes back.

    `on_rule` is given each rule's as soon as it stands. Raises UserError for a fixture that cannot be read
    or imported.
    """
    truth: dict[str, dict[str, Any]] = {}
    head = {"torch": where.torch, **{what: where.server.facts[what] for what in ("python", "platform")}}
    for subject in subjects:
        truth[subject.name] = {**head, "exported": _rule(where, subject, on_class or _nobody)}
        if on_rule:
            on_rule(subject, truth[subject.name])
    return truth


def _nobody(_rule: str, _name: str, _modes: Measured) -> None:
    pass


def _rule(where: Laboratory, subject: Measurable, on_class: OnClass) -> dict[str, Measured]:
    with tempfile.TemporaryDirectory() as folder:
        path, measured = _tryable(where.server, subject.fixture, Path(folder))
        for name, modes in measured.items():
            on_class(subject.name, name, modes)
        classes = read_fixture(path).classes
        for cls, modes in zip(
            classes, where.pool.map(lambda cls: _modes(where.server, path, cls), classes), strict=True
        ):
            measured[cls.name] = modes
            on_class(subject.name, cls.name, modes)
    return measured


def measure_compiled(
    where: Laboratory, subject: Measurable, known: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """What torch.compile does with every class of a fixture; Bad or Good class -> record. A class that this torch
    cannot define, that eager refuses, or whose process ended, is not there.

    `known`: what the same torch was seen to do. What differed then and does not now is looked for again: an order of
    addresses differs by chance.
    """

    def record_of(cls: FixtureClass) -> dict[str, Any]:
        record = _compiled(where.server, path, cls)
        for _ in range(_AGAIN):
            if known.get(cls.name, {}).get("outcome") != Compiled.DIFFERS or record.get("outcome") == Compiled.DIFFERS:
                break
            record = _compiled(where.server, path, cls)
        return record

    with tempfile.TemporaryDirectory() as folder:
        path, _ = _tryable(where.server, subject.fixture, Path(folder))
        fixture = read_fixture(path)
        records = where.pool.map(record_of, fixture.classes)
        measured = {cls.name: record for cls, record in zip(fixture.classes, records, strict=True) if record}
        for name in broken_before(fixture, subject.name, measured):
            measured[name]["breaks_before"] = True
        return measured


def broken_before(fixture: Fixture, rule: str, measured: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The classes in which every break of the graph comes before the line that the rule reports: a number is read
    there, and is one of Python from then on."""
    found = []
    for cls in fixture.classes:
        marked = [mark.line for mark in fixture.marks_of(rule) if fixture.class_at(mark.line) == cls]
        lines = [line for line, *_ in measured.get(cls.name, {}).get("graph_breaks", ())]
        if marked and lines and all(line is not None and cls.line <= line < min(marked) for line in lines):
            found.append(cls.name)
    return found


def _compiled(server: Server, path: Path, cls: FixtureClass) -> dict[str, Any]:
    """The record: "outcome", the "line" that shows it, "graph_breaks" as [line, id, kind], "recompiles" as [line, what
    changed]."""
    process, imported = _imported(server, path, cls)
    try:
        if not imported.messages or any("error" in message for message in imported.messages):
            return {}
        reply = process.stage(MEASURE_COMPILED, {}, _LIMITS)
    finally:
        process.close()
    measured: dict[str, Any] = next((m["measured"] for m in reversed(reply.messages) if "measured" in m), {})
    if "outcome" not in measured:
        return {}
    record: dict[str, Any] = {"outcome": measured["outcome"]}
    breaks, recompiles = (list(map(Observation.from_dict, measured.get(key, ()))) for key in ("breaks", "recompiles"))
    if breaks:
        record["graph_breaks"] = [[_own_line(one, path), one.gb_id, one.details["kind"]] for one in breaks]
    if recompiles:
        record["recompiles"] = [[_own_line(one, path), one.details["changed"]["kind"]] for one in recompiles]
    if raw := measured.get("seen"):
        seen = Observation.from_dict(raw).with_details(beside="compiled")
        text = _steady_words(seen) or in_words(seen)
        record |= {"error": steady(short(text)), "line": _own_line(seen, path)}
        record |= {"check": seen.check} if seen.check else {}
    return record


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
    process, reply = _imported(server, path, cls)
    process.close()
    if not reply.messages:
        raise UserError(f"{path.name}: importing the fixture: {reply.end_in_words()}")
    return next((message for message in reply.messages if "error" in message), None)


def _imported(server: Server, path: Path, cls: FixtureClass) -> tuple[TargetProcess, Reply]:
    target = Target(cls.name, TargetKind.FIXTURE, f"{path}:{cls.name}", path=str(path), line=cls.line)
    process = server.target_process(cls.name)
    return process, process.load(target, search_path(), _LIMITS)


def _modes(server: Server, path: Path, cls: FixtureClass) -> Measured:
    return {mode: _one(server, path, cls, mode) for mode in MODES}


def _one(server: Server, path: Path, cls: FixtureClass, mode: str) -> dict[str, Any]:
    """A process for each class and mode: a crash in one is nothing to the other."""
    process, imported = _imported(server, path, cls)
    try:
        error = next((m["error"] for m in imported.messages if "error" in m), None)
        if error or not imported.messages:
            raise UserError(f"{path.name}: {error or imported.end_in_words()}")
        return record_of(process.stage(MEASURE, {"mode": mode}, _LIMITS), path)
    finally:
        process.close()


def record_of(reply: Reply, fixture: Path) -> dict[str, Any]:
    """The record that the stage sent last. One that ended after that keeps it, and says what came then."""
    measured = next((m["measured"] for m in reversed(reply.messages) if "measured" in m), None)
    words = reply.end_in_words()
    ended = OUTCOME_OF[reply.overrun.status if reply.overrun else CRASHED].value
    if measured is None and reply.final is not None:
        raise UserError(f"measuring failed, and nothing is written: {reply.final['detail']}")
    if measured is None:
        seen = next(iter(reply.observations), None)
        return {"outcome": ended, "error": seen.first_line if seen else words, **_NOWHERE}
    record = _record(measured, fixture)
    return record if reply.final is not None else {**record, "then": {"decompose": f"{ended}: {words}"}}


_NOWHERE = {"line": None, "graph_break": None}


def _record(measured: Mapping[str, Any], fixture: Path) -> dict[str, Any]:
    """What is stored of an answer: only what is the same in every run, on every machine."""
    record: dict[str, Any] = {"outcome": measured["outcome"]}
    if "then" in measured:
        record["then"] = {step: f"refused: {steady(words)}" for step, words in measured["then"].items()}
    if "deprecated" in measured:
        record["deprecated"] = steady(measured["deprecated"])
    if "error" in measured:
        return {**record, "error": measured["error"], **_NOWHERE}
    if "seen" not in measured:
        return record
    seen = Observation.from_dict(measured["seen"])
    text = _steady_words(seen) or in_words(seen)
    record |= {"error": steady(short(text)), "line": _own_line(seen, fixture), "graph_break": seen.gb_id}
    return {**record, "class": seen.error_class, **({"check": seen.check} if seen.check else {})}


# What these say holds numbers that are others in every run; the truth keeps only what stays.
_UNSTEADY = {
    "baked": "a literal of the graph is another one in every export",
    "frozen": "eager gives another value at every call, {program} always the same",
}


def _steady_words(seen: Observation) -> str | None:
    words = _UNSTEADY.get(str(seen.check))
    return words.format(program=program_of(seen.details)) if words else None


def _own_line(seen: Observation, fixture: Path) -> int | None:
    own = str(fixture.resolve())
    lines = [frame.line for frame in seen.frames if os.path.realpath(frame.path) == own]
    return lines[-1] if lines else None


_PATH = re.compile(r"(?<![\w.:/])/[^\s\"':,]+/(?=[^/\s\"':,]+)")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_LONG_NUMBER = re.compile(r"\b\d{12,}\b")


def steady(text: str) -> str:
    """The text without what changes from machine to machine: folders, addresses."""
    return _LONG_NUMBER.sub("…", _ADDRESS.sub("0x…", _PATH.sub("", text)))
