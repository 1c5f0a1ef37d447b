"""Turn observations into findings of the trial: which rule, how severe, where, with links that exist."""

from __future__ import annotations

import linecache
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.finding import Link, Severity, TrailStep
from exportlint.reference.lookup import link_for_case, link_for_graph_break
from exportlint.registry import all_rules, rules_that_know
from exportlint.trial.findings.trial_finding import TrialFinding
from exportlint.trial.findings.wording.compile_messages import break_words, compiled_words, recompile_words
from exportlint.trial.findings.wording.difference_messages import literals_in_words
from exportlint.trial.findings.wording.finding_messages import (
    difference_words,
    exception_words,
    graph_break_words,
    note_words,
    submodule_words,
    unchecked_words,
    warning_words,
)
from exportlint.trial.protocol.frames import Frame, is_installed, is_user_path
from exportlint.trial.protocol.outcomes import MODES, OUTCOME_OF, Outcome
from exportlint.trial.protocol.shown_by import OTHER_SIZE
from exportlint.trial.protocol.size_facts import OF_THE_SAMPLE
from exportlint.trial.protocol.stages import StageKind
from exportlint.trial.protocol.target import TARGET_ERROR
from exportlint.trial.protocol.torch_messages import exportdb_cases, warns_of_the_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.findings.wording.torch_messages import Words
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.stages import Stage


@dataclass(frozen=True, slots=True)
class StageContext:
    """Whose stage it was: paths become relative to `root`; `path` and `line` stand in where torch names no line.

    exported   the modes in which torch gave a program
    """

    target: str
    stage: Stage
    root: Path
    path: str | None = None
    line: int | None = None
    exported: frozenset[str] = frozenset()


def classify(where: StageContext, seen: Observation, changed: str | None = None) -> Iterator[TrialFinding]:
    """The findings that an observation gives, if any.

    `changed` names what the line changes, where a difference was placed at such a line.
    """
    match seen.kind:
        case "exception":
            yield from _exception(where, seen)
        case "graph-break" if where.stage.kind is StageKind.BREAKS:
            yield _finding(where, seen, "graph-break", break_words(seen), Severity.WARNING)
        case "recompile":
            over_limit = seen.details["over_limit"]
            severity = Severity.ERROR if over_limit else Severity.WARNING
            yield _finding(where, seen, f"recompile {seen.text}", recompile_words(seen), severity)
        case "graph-break":
            yield _finding(where, seen, "graph-break", graph_break_words(seen), Severity.NOTE)
        case "difference":
            yield _difference(where, seen, changed)
        case "warning":
            if warns_of_the_model(seen.text):
                yield _finding(where, seen, "warning", warning_words(seen), Severity.NOTE)
        case "note":
            yield from _note(where, seen)


def _exception(where: StageContext, seen: Observation) -> Iterator[TrialFinding]:
    # A mistake of whoever named the target is reported beside the findings.
    if seen.error_class == TARGET_ERROR or not where.stage.tells(seen):
        return
    words = exception_words(where.stage, seen, known=rule_of(seen) is not None)
    if where.stage.reports_on in where.exported:  # the real export takes what this report warns of
        yield _finding(where, seen, "draft", words, Severity.NOTE)
        return
    if where.stage.kind is StageKind.COMPARE and not seen.details.get("ended"):
        # The export passed before: what raises here is a check, which says nothing about what torch takes.
        yield _finding(where, seen, "unchecked", unchecked_words(seen), Severity.ERROR)
        return
    severity = Severity.NOTE if where.stage.informs else Severity.ERROR
    if "submodule" in seen.details:
        yield _finding(where, seen, "submodule", words, severity, within=submodule_words(seen))
        return
    ended = seen.details.get("ended")
    outcome = OUTCOME_OF[str(ended)] if ended else Outcome.REFUSED
    dims = bool(seen.details.get("sizes"))
    yield _finding(where, seen, "refused", words, severity, outcome, about_dims=dims)


def _measured(stage: Stage, seen: Observation, outcome: Outcome | None) -> dict[str, str]:
    """What the mode of the observation did; empty where it belongs to no mode, or shows nothing about one."""
    mode = seen.details.get("mode") or stage.reports_on or stage.mode
    return {str(mode): outcome.value} if mode in MODES and outcome else {}


# A program that is right but no longer prints is no error.
_HARMLESS = ("stdout", "log", "files", "outside-state")


def _difference(where: StageContext, seen: Observation, changed: str | None) -> TrialFinding:
    check = str(seen.check)
    words = difference_words(where.stage, seen, changed)
    if seen.is_about_containers:  # what the model computes is right
        return _finding(where, seen, check, words, Severity.WARNING)
    severity = Severity.WARNING if check in _HARMLESS else Severity.ERROR
    if seen.details.get("declared") is False:  # of sizes that nobody asked for
        severity = Severity.WARNING if seen.details.get("loops") else Severity.NOTE
    literals = literals_in_words(seen) if check == "baked" else ""
    if where.stage.kind in (StageKind.AGREEMENT, StageKind.COST):  # what an export does wrong is another thing
        return _finding(where, seen, f"compiled {check}", compiled_words(seen), severity)
    # What the target alone does is not what the exported program does wrong already, and is not hidden behind it.
    family = f"lowered {check}" if seen.details.get("step") == "compare" and not seen.is_as_exported else check
    sized = seen.is_about_a_size
    rest: dict[str, Any] = {"about_a_size": sized, "literals": literals}
    if literals:
        details = seen.details
        rest |= {"literal_of": str(details.get("operator", "")), "output": tuple(details.get("output_of", (0, 0)))}
    elif "theirs" in (parting := seen.details.get("divergence") or {}):
        rest["literal_of"] = parting["name"]
    return _finding(where, seen, family, words, severity, Outcome.DIFFERS, **rest)


# Notes that show how to read the other observations of a trial, and are no findings.
_FOR_THE_PARENT = frozenset(
    {
        "remedy",
        "fake-kernel-draft",
        "input-set-refused",
        "input-set-without-end",
        "attribute-changed",
        "inputs-changed",
        "eager-unstable",
        "size",
    }
)


def _note(where: StageContext, seen: Observation) -> Iterator[TrialFinding]:
    match seen.details:
        case {"note": "training-mode" as family, **rest}:
            # Dropout in the program may be wanted; statistics of each batch that every call changes hardly are.
            severity = Severity.WARNING if rest.get("learns") else Severity.NOTE
        case {"note": "fake-kernel" as family, "sample": here}:
            severity = Severity.ERROR if here else Severity.WARNING
        case {"note": "undeclared-write", "operator": subject}:
            family, severity = f"undeclared-write {subject}", Severity.WARNING
        case {"note": "unused-input", "input": subject}:
            family, severity = f"unused-input {subject}", Severity.NOTE
        case {"note": "steering-input", "steers": subject}:
            family, severity = f"steering-input {subject}", Severity.NOTE
        case {"note": "non-core", "operator": subject}:
            family, severity = f"non-core {subject}", Severity.NOTE
        case {"note": "missing-operator", "operator": subject, "compiled": compiled}:
            family, severity = f"missing-operator {subject}", Severity.ERROR if compiled else Severity.WARNING
        case {"note": name} if name in _FOR_THE_PARENT:
            return
        case {"note": name}:
            family, severity = str(name), Severity.NOTE
    yield _finding(where, seen, family, note_words(seen, where.stage), severity)


def _finding(
    where: StageContext,
    seen: Observation,
    family: str,
    words: Words,
    severity: Severity,
    outcome: Outcome | None = None,
    **rest: Any,
) -> TrialFinding:
    at, path, line = _place(where, seen)
    measured, rule = _measured(where.stage, seen, outcome), rule_of(seen)
    return TrialFinding(
        family,
        rule,
        shown(path, where.root) if path else where.target,
        line,
        linecache.getline(path, line).rstrip() if path else "",
        severity,
        words,
        where.target,
        where.stage,
        placed=seen.user is not None,
        measured=measured,
        effect=measured,
        links=tuple(_links(seen, rule)),
        calls=tuple(_calls(seen, at, where.root)),
        read_at=_read_at(seen, where.root),
        code=str(seen.details.get("fake_kernel", "")),
        inside=_inside(seen, at) + _called_at(seen, where.root) + _scripted_at(seen, where.root),
        torch_says=seen.text,
        about_declaration=seen.is_about_declaration,
        **rest,
    )


def _place(where: StageContext, seen: Observation) -> tuple[Frame | None, str | None, int]:
    """The frame that the finding stands at, with its file and line; without one, those of the target."""
    at = own_call(seen, where.root) or seen.user
    return at, at.path if at else where.path, (at.line if at else where.line) or 1


def _calls(seen: Observation, at: Frame | None, root: Path) -> Iterator[TrailStep]:
    """The people's own frames on the way to the one that the finding stands at."""
    # Its last one: a function may call itself.
    last = max((nth for nth, frame in enumerate(seen.frames) if frame == at), default=0)
    for frame in seen.frames[:last]:
        if is_user_path(frame.path) and not is_installed(frame.path):
            yield TrailStep(f"`{frame.text}` in {frame.function}", shown(frame.path, root), frame.line)


def shown(path: str, root: Path) -> str:
    """The path as findings carry it: relative to the root, with forward slashes."""
    return Path(os.path.relpath(path, root)).as_posix()


def _read_at(seen: Observation, root: Path) -> str:
    """What read the number that torch does not know, where another line uses it."""
    read = seen.details.get("read")
    if not read:
        return ""
    return f"; {read['symbol']} is read by `{read['text']}` ({shown(read['path'], root)}:{read['line']})"


def _called_at(seen: Observation, root: Path) -> str:
    """Where a custom operator is called, or an object is given to the export, of which the finding stands at the
    definition."""
    ways = (("called", seen.details.get("called_at")), ("given", seen.details.get("given_at")))
    return "".join(f"; {word} at {shown(at[0], root)}:{at[1]}" for word, at in ways if at)


def _scripted_at(seen: Observation, root: Path) -> str:
    """Of what TorchScript compiles or runs: the line that asks it to, and the functions on the way from there."""
    if not (through := seen.details.get("scripted")):
        return ""
    called, *functions = [(f"{shown(path, root)}:{line}", function) for path, line, function in through]
    way = " and ".join(f"`{function}` ({place})" for place, function in functions)
    return f"; called at {called[0]}{f', by way of {way}' if way else ''}"


def own_call(seen: Observation, root: Path) -> Frame | None:
    """Where the project's own code enters the installed package whose line torch names: in the project, else in code of
    somebody's that lies elsewhere and is not installed."""
    if not seen.user_path or not is_installed(seen.user_path):
        return None
    own = [frame for frame in seen.frames if is_user_path(frame.path) and not is_installed(frame.path)]
    here = [frame for frame in own if Path(frame.path).is_relative_to(root)]
    return next(iter(here[-1:] or own[-1:]), None)


def _inside(seen: Observation, at: Frame | None) -> str:
    """The package's own line, where the finding stands at the call of it."""
    if seen.user is None or at is seen.user:
        return ""
    return f" (inside {_in_package(seen.user.path)}:{seen.user.line}, `{seen.user.text}`)"


def _in_package(path: str) -> str:
    return re.split(r"[\\/](?:site|dist)-packages[\\/]", path)[-1]


def rule_of(seen: Observation) -> str | None:
    """The rule that declares these words, this check or this note as its own, or, alone among all, this graph break."""
    if seen.check == OTHER_SIZE and not seen.details.get("declares"):
        return _rules_by_check().get(OTHER_SIZE)
    named = seen.check if seen.kind == "difference" else seen.details.get("note")
    by_check = _rules_by_check().get(str(named))
    facts = {str(fact["fact"]) for fact in seen.details.get("sizes", ())}
    if facts and facts <= OF_THE_SAMPLE:
        return _rules_by_check().get(min(facts))
    worded = seen.kind in ("exception", "graph-break", "warning") or seen.check == "raises"
    if seen.kind == "note" or (not worded and by_check is None):
        return by_check
    by_words = rules_that_know(seen.text) or rules_that_know(f"{seen.error_class}: {seen.first_line}")
    if by_words:
        return by_words[0]
    by_id = [name for name, info in all_rules().items() if seen.gb_id and seen.gb_id in info.cls.graph_breaks]
    if seen.kind == "exception":  # what an export refuses is not about what it takes and torch.compile breaks at
        by_id = [name for name in by_id if not all_rules()[name].exports_everywhere]
    return by_check or (by_id[0] if len(by_id) == 1 else None)


@cache
def _rules_by_check() -> dict[str, str]:
    return {check: name for name, info in all_rules().items() for check in info.cls.checks}


def _links(seen: Observation, rule: str | None) -> Iterator[Link]:
    """Pages that exist only: of the break, of cases that the message names, of the rule's cases."""
    if seen.gb_id and (link := link_for_graph_break(seen.gb_id)):
        yield link
    names = exportdb_cases(seen.text)
    info = all_rules().get(rule) if rule else None
    cases = [*names, *(info.cls.exportdb if info and seen.kind == "exception" else ())]
    for name in dict.fromkeys(case.replace("-", "_") for case in cases):
        if link := link_for_case(name):
            yield link
