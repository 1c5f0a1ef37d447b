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
from exportlint.repair.beyond_calls import beyond_calls, called_no_more, hides_a_module, read_elsewhere, used_elsewhere
from exportlint.repair.improvement import (
    AS_BEFORE,
    Attempted,
    failed,
    is_further,
    is_shown,
    is_well,
    not_the_same,
    runs,
    why_not,
    wrong_program,
)
from exportlint.repair.probes import Probed, Seen, imported_files, is_effect_of_eager, left_open
from exportlint.repair.settings_read import lines_not_run, users_not_tried
from exportlint.repair.wellformed import lost_names
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR, SAME_PROGRAM

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from exportlint.finding import Finding
    from exportlint.repair.change import Change
    from exportlint.repair.rounds import OtherSettings
    from exportlint.trial.protocol.result import StageResult

T = TypeVar("T", bound=Attempted)


_SAME = "in eager it computes what it computed before, on every input that was tried"


NO_TRIAL_SHOWS = "values between those that were tried, other devices, threads and processes, and how long it takes"


class Verdict(enum.Enum):
    """What is known of an edit, the value in words. The first three are taken: the exit code is 0."""

    MENDS = f"mends it: {_SAME}, and nothing is shown to fail any more"
    HELPS = f"helps: {_SAME}, and more of it exports; something is left"
    HARMLESS = f"does no harm: {_SAME}, and nothing failed before or does now"
    NO_HELP = f"does not help: {_SAME}, and what failed fails as before"
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
    inputs         in words, what both were called with in eager; of every target
    different      how they differ there; of each target that does
    worse          what failed less, or was not told, before
    unproved       what of the edit nobody could show to be right, and why
    told           what is not as it was beside its results
    calls          how often in a row, on each of the inputs
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
    calls: int = 1

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


Beside = tuple["StageResult | None", "StageResult | None"]  # how one model ran, and how the other compares with it
_Way = tuple["list[StageResult | None]", "list[StageResult | None]"]


@dataclass(frozen=True)
class Sought:
    """Runs on inputs that were sought so that the decisions which the edit touches go both ways.

    before, after  the texts with probes at these
    there          of each target, the unedited model and the edited one beside it, on inputs that were sought for the
                   unedited one; `back`: the other way round, such as those that take both sides of a branch which the
                   edit brings
    """

    before: Probed
    after: Probed
    there: Sequence[Beside] = ()
    back: Sequence[Beside] = ()


def judged(
    change: Change,
    before: T,
    after: T,
    sought: Sought,
    settings: OtherSettings,
) -> Verified[T]:
    """What the runs of both say of the edit.

    before, after  the trials; that of `after` was compared in eager with `before` on inputs that were sought for
                   `before`
    sought         the same on inputs that were sought for the decisions which the edit touches
    settings       how the edited functions do under other settings of what they read
    """
    kept = [one.stage(SAME_BEHAVIOUR.name) for one in before.targets]
    compared = [one.stage(SAME_BEHAVIOUR.name) for one in after.targets]
    ways = [
        (kept, compared),
        *(([one for one, _ in way], [two for _, two in way]) for way in (sought.there, sought.back)),
    ]
    names = [one.name for one in before.targets]
    different, not_compared = dict[str, str](), list[str]()
    for in_words, (_, results) in zip((_how, _how, _how_turned), ways, strict=True):
        for name, old, result in zip(names, before.targets, results, strict=False):
            if result is not None and result.status == DIFFERS:
                different.setdefault(name, f"{name}: {in_words(result)}")
            elif (result is None or result.status != PASSED) and runs(old):
                not_compared.append(f"{name}: {not_the_same(result)}")
    classes = [name for one in compared if one is not None for name in one.data.get("classes", ())]
    users = users_not_tried(change.before, change.after, classes)
    imported = _imported(change, ways, sought)
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
        *(_not_shown(change, ways, sought, imported, users) if not different else ()),
        *_not_shown_in_eager(names, ways),
    ]
    unproved += [_without_advice(settings.why)] if settings.why else []
    unproved += [f"{_in_words(one)}: no trial could show it" for one in _new(before, after, _is_suspected)]
    unproved += [f"{name} is deleted, and was there while the edit was tried" for name in change.deleted]
    told = [text for one in compared if one is not None for text in one.data.get("caveats", ())]
    told += [settings.differs] if settings.differs else []
    told += [f"`{name}` is gone" for name in lost_names(change.before, change.after)]
    told += [f"`{name}` uses it too, and was not tried" for name in users]
    told += [f"nothing that was run imports {shown(Path(path))}" for path in change.changed if path not in imported]
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
        helps=why is None and is_further(before, after),
        calls=max((one.data.get("calls", 1) for stages, _ in ways for one in stages if one), default=1),
    )


def _how(result: StageResult) -> str:
    return _without_advice(result.full_detail)


def _how_turned(result: StageResult) -> str:
    """Where the unedited model was run beside what the edited one did: in the order in which they were written."""
    seen = next((one.details for one in result.observations if one.details.get("inputs")), None)
    if seen is None:
        return f"on inputs that were sought for the edited model, of which this stands first: {_how(result)}"
    call = f", call {seen['call']}" if "call" in seen else ", all calls"
    now, before = (seen.get(side) for side in ("ours", "theirs"))
    part = "" if seen.get("what") == "raised" else f" ({seen.get('part', 'output')})"
    if now and before:
        return f"{seen['inputs']}{call}: the model before gives {before}, the edited one {now}{part}"
    return f"{seen['inputs']}{call}: the {seen.get('part', 'output')} differs"


def _not_shown(
    change: Change, ways: Sequence[_Way], sought: Sought, imported: Collection[str], told: Collection[str]
) -> Iterator[str]:
    """What of the edit no call could show, where all calls were alike; not the classes that are `told` beside it.
    `imported`: the edited files that something which was run imports."""
    kept = ways[0][0]
    before, after = _runs_of([*kept, *ways[1][0]]), _runs_of(ways[2][0])
    if change.changed and not any(path in before or path in after for path in change.changed):
        yield f"no target runs anything of {', '.join(shown(Path(path)) for path in change.changed)}"
        return
    seen, seen_now = (_seen_by_probes(ways[number][0]) for number in (1, 2))
    for path in change.changed:
        if path not in imported and not change.before[path] and hides_a_module(Path(path)):
            yield f"{shown(Path(path))} is new and hides a module of its name, and nothing that was run imports it"
    in_use = [path for path in change.changed if path in imported]
    yield from _not_tried(change, in_use, before, after)
    yield from _no_more_checked(change, [*kept, *ways[1][0]])
    yield from _one_sided(change, ways[2][0])
    old, new = ([one for one in side.probes if one.path in imported] for side in (sought.before, sought.after))
    for side, values, lines, is_old in ((old, seen, before, True), (new, seen_now, after, False)):
        silent = {path for path in lines if not any(place[0] == path for place in values)}
        for path in sorted({one.path for one in side if one.is_asked} & silent):
            yield f"which way inputs go in {shown(Path(path))} was not seen: the target does not run with probes in it"
        yield from left_open([one for one in side if one.path not in silent], values, dropped=is_old)
    raised = {(str(Path(file).resolve()), line) for file, line in _raised_at([*kept, *ways[1][0]])}
    yield from called_no_more(change, (_own(before), after), raised, old, seen)
    for path in in_use:
        for user, name in read_elsewhere(change.before[path], change.after[path], after.get(path, ())):
            yield f"`{user}` reads `{name}`, which the edit sets no more, and was not run"
        for user, name in used_elsewhere(change.before[path], change.after[path], after.get(path, ())):
            if user.partition(".")[0] not in told:
                yield f"`{user}` calls `{name}`, which the edit changes, and was not run"
    yield from beyond_calls(change)


def _imported(change: Change, ways: Sequence[_Way], sought: Sought) -> set[str]:
    """The edited files that something which was run imports."""
    seen, seen_now = (_seen_by_probes(ways[number][0]) for number in (1, 2))
    imported = imported_files(sought.after.probes, seen_now) | imported_files(sought.before.probes, seen)
    before, after = _runs_of([*ways[0][0], *ways[1][0]]), _runs_of(ways[2][0])
    return imported | {path for path in change.changed if path in before or path in after}


def _own(run: Mapping[str, set[int]]) -> dict[str, set[int]]:
    return {path: lines for path, lines in run.items() if not is_installed(path)}


def _seen_by_probes(stages: Sequence[StageResult | None]) -> Seen:
    """What each probe saw, in the runs of all targets."""
    found: Seen = {}
    for stage in stages:
        data = stage.data if stage is not None else {}
        for path, number, value in data.get("one_sided", ()):
            found.setdefault((path, number), set()).add(value)
        for path, number in data.get("two_sided", ()):
            found.setdefault((path, number), set()).update((True, False))
    return found


def _raised_at(stages: Sequence[StageResult | None]) -> Iterator[tuple[str, int]]:
    """Where models raised by themselves."""
    return ((file, line) for one in stages if one is not None for file, line in one.data.get("checked", ()))


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


def _not_tried(
    change: Change, paths: Sequence[str], before: Mapping[str, set[int]], after: Mapping[str, set[int]]
) -> Iterator[str]:
    """Edited statements where no call came, of the file before and of the file after."""
    for path in paths:
        old, new = change.before[path], change.after[path]
        for line in lines_not_run(new, old, after.get(path, ())):
            yield f"no input that was tried runs {shown(Path(path))}:{line}"
        for line in lines_not_run(old, new, before.get(path, ())):
            yield f"no input that was tried runs line {line} of {shown(Path(path))} as it was before the edit"


def _not_shown_in_eager(
    names: Sequence[str], ways: Sequence[tuple[Sequence[StageResult | None], Sequence[StageResult | None]]]
) -> Iterator[str]:
    """What the comparison itself could not say, and the tensors that no input varied."""
    for kept, compared in ways:
        for name, one, other in zip(names, kept, compared, strict=False):
            yield from (f"{name}: {text}" for text in (other.data.get("unproved", ()) if other is not None else ()))
            for argument in one.data.get("never_varied", ()) if one is not None else ():
                yield f"{name}: never varied: {argument}, of which no other value was tried that the model takes"


def _no_more_checked(change: Change, kept: Sequence[StageResult | None]) -> Iterator[str]:
    """Checks that the edit takes away, or writes in another way, and that no input failed: of one that some did, both
    were seen to raise, or the models differ."""
    raised = list(_raised_at(kept))
    for path in change.changed:
        failed_at = {line for file, line in raised if str(Path(file).resolve()) == path}
        for line, check in _checks_gone(change.before[path], change.after[path], failed_at):
            where = f"line {line} of {shown(Path(path))} before the edit"
            yield f"`{check}`, {where}, is gone, and no input that was tried fails it"


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
            case ast.Call(func=ast.Name(id="zip"), keywords=[ast.keyword("strict", ast.Constant(value=True))]):
                yield node.lineno, node.lineno, ast.unparse(node)  # of lists that are not equally long


def _one_sided(change: Change, kept: Sequence[StageResult | None]) -> Iterator[str]:
    """Tests that the edit wrote, and conditions of selections in data, of which no input took one side."""
    written = {
        path: _lines_written(change.before[path], change.after[path]) - _effects_of_eager(change.after[path])
        for path in change.changed
    }
    for stage in kept:
        for path, line, value in stage.data.get("one_sided", ()) if stage is not None else ():
            # Numbers below zero are those of probes.
            if line in written.get(str(Path(path).resolve()), ()):
                side = "false" if value else "true"
                yield f"no input that was tried makes the test at {shown(Path(path))}:{line} {side}"
        for path, line, *sides in stage.data.get("selected", ()) if stage is not None else ():
            if line in written.get(str(Path(path).resolve()), ()) and not all(sides):
                side = "true" if not sides[0] else "false"
                place = f"{shown(Path(path))}:{line}"
                yield f"no input that was tried makes the condition of the selection at {place} {side}"


def _effects_of_eager(text: str) -> set[int]:
    return {one.lineno for one in ast.walk(ast.parse(text)) if isinstance(one, ast.stmt) and is_effect_of_eager(one)}


def _lines_written(before: str, after: str) -> set[int]:
    opcodes = difflib.SequenceMatcher(None, before.split("\n"), after.split("\n"), autojunk=False).get_opcodes()
    return {line + 1 for tag, _, _, first, end in opcodes if tag != "equal" for line in range(first, end)}
