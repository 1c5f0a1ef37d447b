"""Judge an edit that somebody else made: is it the same in eager, what gets better or worse, what was not shown."""

from __future__ import annotations

import ast
import difflib
import enum
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from exportlint.files import shown
from exportlint.finding import Evidence, Severity
from exportlint.repair.improvement import (
    AS_BEFORE,
    Attempted,
    failed,
    is_shown,
    is_well,
    not_the_same,
    runs,
    why_not,
    wrong_program,
)
from exportlint.repair.settings_read import lines_not_run, users_not_tried
from exportlint.repair.wellformed import lost_names
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR, SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from exportlint.finding import Finding
    from exportlint.repair.change import Change
    from exportlint.repair.rounds import OtherSettings
    from exportlint.trial.protocol.result import StageResult

T = TypeVar("T", bound=Attempted)


class Verdict(enum.Enum):
    """What is known of an edit, the value in words. The first three are taken: the exit code is 0."""

    MENDS = "mends it: in eager it computes what it computed before, and nothing is shown to fail any more"
    HELPS = "helps: in eager it computes what it computed before, and more of it exports; something is left"
    HARMLESS = "does no harm: in eager it computes what it computed before, and nothing failed before or does now"
    NO_HELP = "does not help: in eager it computes what it computed before, and what failed fails as before"
    DIFFERENT = "computes something else"
    WORSE = "makes something worse"
    UNPROVED = "is not proved: no difference was seen, and not all of it could be tried"

    @property
    def is_taken(self) -> bool:
        return self in (Verdict.MENDS, Verdict.HELPS, Verdict.HARMLESS)


@dataclass(frozen=True)
class Verified(Generic[T]):
    """An edit beside what it edits.

    before, after  what a trial of each gave
    inputs         in words, what both were called with in eager, three times each; of every target
    different      how they differ there; of each target that does
    worse          what failed less, or was not told, before
    unproved       what of the edit nobody could show to be right, and why
    told           what is not as it was beside its results
    """

    change: Change
    before: T
    after: T
    inputs: Mapping[str, Sequence[str]]
    different: tuple[str, ...] = ()
    worse: tuple[str, ...] = ()
    unproved: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    helps: bool = False

    @property
    def verdict(self) -> Verdict:
        """The gravest of what is known."""
        if self.different:
            return Verdict.DIFFERENT
        if self.worse:
            return Verdict.WORSE
        if self.unproved:
            return Verdict.UNPROVED
        if self.helps:
            return Verdict.MENDS if is_well(self.after) and not _failing(self.after) else Verdict.HELPS
        return Verdict.NO_HELP if _failing(self.after) or not is_well(self.after) else Verdict.HARMLESS

    @property
    def left(self) -> list[Finding]:
        """What a trial shows to be wrong after it."""
        return [one for one in self.after.findings if _fails(one)]


def judged(
    change: Change,
    before: T,
    after: T,
    back: Sequence[tuple[StageResult | None, StageResult | None]],
    settings: OtherSettings,
) -> Verified[T]:
    """What the runs of both say of the edit.

    before, after  the trials; that of `after` was compared in eager with `before` on inputs that were sought for
                   `before`
    back           of each target the same the other way round: how the edited model ran on inputs that were sought for
                   it, such as those that take both sides of a branch which the edit brings; and how the unedited one
                   compares on these
    settings       how the edited functions do under other settings of what they read
    """
    kept = [one.stage(SAME_BEHAVIOUR.name) for one in before.targets]
    compared = [one.stage(SAME_BEHAVIOUR.name) for one in after.targets]
    ways = [(kept, compared), ([one for one, _ in back], [other for _, other in back])]
    names = [one.name for one in before.targets]
    different, not_compared = dict[str, str](), list[str]()
    for turned, (_, results) in zip(("", _TURNED), ways, strict=True):
        for name, old, result in zip(names, before.targets, results, strict=False):
            if result is not None and result.status == DIFFERS:
                different.setdefault(name, f"{name}{turned}: {_without_advice(result.full_detail)}")
            elif (result is None or result.status != PASSED) and runs(old):
                not_compared.append(f"{name}: {not_the_same(result)}")
    why = why_not(before, after) if not different and not not_compared else AS_BEFORE
    worse = [why] if why not in (None, AS_BEFORE) else []
    worse += [wrong] if (wrong := wrong_program(after)) and not worse else []
    worse += [_in_words(one) for one in _new(before, after, _fails)]
    unproved = [
        f"{one.name} does not run before the edit, so nothing can be compared"
        for one in before.targets
        if not runs(one)
    ]
    unproved += [
        *not_compared,
        *_not_tried(change, *(_runs_of(one) for one, _ in ways)),
        *_no_more_checked(change, kept),
        *_one_sided(change, ways[1][0]),
    ]
    unproved += [_without_advice(settings.why)] if settings.why else []
    unproved += [f"{_in_words(one)}: no trial could show it" for one in _new(before, after, _is_suspected)]
    unproved += [f"{name} is deleted, and was there while the edit was tried" for name in change.deleted]
    told = [text for one in compared if one is not None for text in one.data.get("caveats", ())]
    told += [settings.differs] if settings.differs else []
    told += [f"`{name}` is gone" for name in lost_names(change.before, change.after)]
    classes = [name for one in compared if one is not None for name in one.data.get("classes", ())]
    users = users_not_tried(change.before, change.after, classes)
    told += [f"`{name}` uses it too, and was not tried" for name in users]
    told += [
        f"{name} is changed too, and is no Python source: it was there as it is on the disk" for name in change.others
    ]
    inputs: dict[str, list[str]] = {name: [] for name in names}
    for stages, _ in ways:
        for name, one in zip(names, stages, strict=False):
            inputs[name] += one.data.get("tried", ()) if one is not None else ()
    return Verified(
        change,
        before,
        after,
        {name: tuple(dict.fromkeys(found)) for name, found in inputs.items()},
        _once(list(different.values())),
        _once(worse),
        _once(unproved),
        _once(told),
        helps=why is None,
    )


_TURNED = ", on inputs that were sought for the edited model, which stands for `before` here"


def _once(texts: Sequence[str | None]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(text for text in texts if text))


def _without_advice(text: str) -> str:
    """`--unsafe` is an option of `exportlint fix`."""
    return text.removesuffix(": --unsafe takes it")


def _failing(tried: Attempted) -> bool:
    return any(failed(target) for target in tried.targets)


def _in_words(finding: Finding) -> str:
    return f"{finding.path}:{finding.line} [{finding.rule}] {finding.message}"


def _fails(finding: Finding) -> bool:
    """Did a trial show that the model by itself fails? Beside the unedited one it is compared here, not told there."""
    return is_shown(finding) and finding.stage not in (SAME_BEHAVIOUR.name, SAME_PROGRAM.name)


def _is_suspected(finding: Finding) -> bool:
    return finding.evidence is Evidence.SUSPECTED and finding.severity is not Severity.NOTE


def _new(before: Attempted, after: Attempted, counts: Callable[[Finding], bool]) -> Iterator[Finding]:
    """Findings that only the edited source has; lines may have moved, so they are told apart by rule and file."""
    known = Counter((one.rule, one.path) for one in before.findings if counts(one))
    for one in after.findings:
        if counts(one):
            known[one.rule, one.path] -= 1
            if known[one.rule, one.path] < 0:
                yield one


def _runs_of(stages: Sequence[StageResult | None]) -> dict[str, set[int]]:
    """The lines that the calls of models ran, by real path."""
    found: dict[str, set[int]] = {}
    for stage in stages:
        for path, lines in (stage.data.get("run", {}) if stage is not None else {}).items():
            found.setdefault(str(Path(path).resolve()), set()).update(lines)
    return found


def _not_tried(change: Change, before: Mapping[str, set[int]], after: Mapping[str, set[int]]) -> Iterator[str]:
    """Edited statements where no call came, of the file before and of the file after."""
    changed = change.changed
    if changed and not any(path in before or path in after for path in changed):
        yield f"no target runs anything of {', '.join(shown(Path(path)) for path in changed)}"
        return
    for path in changed:
        old, new = change.before[path], change.after[path]
        for line, test in _unseen_decisions(old, new):
            yield f"which way inputs go at `{test}`, {shown(Path(path))}:{line}, cannot be seen inside of an expression"
        for line in lines_not_run(new, old, after.get(path, ())):
            yield f"no input that was tried runs {shown(Path(path))}:{line}"
        for line in lines_not_run(old, new, before.get(path, ())):
            yield f"no input that was tried runs line {line} of {shown(Path(path))} as it was before the edit"


def _no_more_checked(change: Change, kept: Sequence[StageResult | None]) -> Iterator[str]:
    """Checks that the edit takes away, or writes in another way, and that no input failed: of one that some did, both
    were seen to raise, or the models differ."""
    raised = [place for stage in kept if stage is not None for place in stage.data.get("checked", ())]
    for path in change.changed:
        failed_at = {line for file, line in raised if str(Path(file).resolve()) == path}
        for line, check in _checks_gone(change.before[path], change.after[path], failed_at):
            where = f"line {line} of {shown(Path(path))} before the edit"
            yield f"`{check}`, {where}, is gone, and no input that was tried fails it"


def _unseen_decisions(before: str, after: str) -> Iterator[tuple[int, str]]:
    """Decisions inside of a line that only the file after has: of these nobody sees which side a call takes."""
    known = Counter(text for _, text in _decisions_in_lines(before))
    for line, text in _decisions_in_lines(after):
        known[text] -= 1
        if known[text] < 0:
            yield line, text


def _decisions_in_lines(source: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.IfExp(test=test):
                tests = [test]
            case ast.If(test=test, body=[first, *_]) if first.lineno == node.lineno:
                tests = [test]
            case ast.comprehension(ifs=tests):
                pass
            case ast.BoolOp(values=[_, *tests]):  # what is asked only where the first one leaves it open
                pass
            case _:
                continue
        yield from ((test.lineno, ast.unparse(test)) for test in tests if not _is_of_the_configuration(test))


def _is_of_the_configuration(test: ast.expr) -> bool:
    """A flag, what is None, what class something has: the same in every call of a model."""
    match test:
        case ast.Name() | ast.Attribute() | ast.Constant():
            return True
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _is_of_the_configuration(inner)
        case ast.BoolOp(values=values):
            return all(map(_is_of_the_configuration, values))
        case ast.Compare(ops=ops):
            return all(isinstance(one, ast.Is | ast.IsNot) for one in ops)
        case ast.Call(func=ast.Name(id="isinstance" | "hasattr" | "callable")):
            return True
    return False


def _checks_gone(before: str, after: str, failed_at: Collection[int]) -> Iterator[tuple[int, str]]:
    """The asserts of the file before that the file after does not have, and the tests in front of a `raise`; not those
    that raise at one of these lines."""
    kept = Counter(text for _, _, text in _checks(after))
    in_program = {ast.unparse(test) for test in _checked_by_torch(after)}
    for line, raises, text in _checks(before):
        kept[text] -= 1
        if kept[text] < 0 and raises not in failed_at and text.removeprefix("assert ") not in in_program:
            yield line, text


def _checked_by_torch(source: str) -> Iterator[ast.expr]:
    """What `torch._assert_async(test)`, `torch._check(test)` and their like are given."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Attribute(attr=name), args=[test, *_]) if name.startswith(("_assert", "_check")):
                yield test


def _checks(source: str) -> Iterator[tuple[int, int, str]]:
    """The line of each, the line that raises, and its text."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Assert(test=test):
                yield node.lineno, node.lineno, f"assert {ast.unparse(test)}"
            case ast.If(test=test, body=[ast.Raise() as last]):
                yield node.lineno, last.lineno, f"if {ast.unparse(test)}: raise"


def _one_sided(change: Change, kept: Sequence[StageResult | None]) -> Iterator[str]:
    """Tests that the edit wrote, and conditions of selections in data, of which no input took one side."""
    written = {path: _lines_written(change.before[path], change.after[path]) for path in change.changed}
    for stage in kept:
        for path, line, value in stage.data.get("one_sided", ()) if stage is not None else ():
            if line in written.get(str(Path(path).resolve()), ()):
                side = "false" if value else "true"
                yield f"no input that was tried makes the test at {shown(Path(path))}:{line} {side}"
        for path, line, *sides in stage.data.get("selected", ()) if stage is not None else ():
            if line in written.get(str(Path(path).resolve()), ()) and not all(sides):
                side = "true" if not sides[0] else "false"
                place = f"{shown(Path(path))}:{line}"
                yield f"no input that was tried makes the condition of the selection at {place} {side}"


def _lines_written(before: str, after: str) -> set[int]:
    opcodes = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    return {line + 1 for tag, _, _, first, end in opcodes if tag != "equal" for line in range(first, end)}
