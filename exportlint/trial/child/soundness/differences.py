"""Compare the runs of the exported program with those of eager, call by call."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.call_record import INPUTS, kept_records, record_calls
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.value_divergence import at_divergence
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, PASSED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.child.execution.call_record import CallRecord, RunRecord


STATE = "state"
_PAIR = 2
_OF_RESULTS = ("output", "input-effect", "raises", "raises-in-eager-only")


def differences(eager: RunRecord, again: RunRecord, exported: RunRecord) -> Iterator[Observation]:
    """Everything in which the exported program differs from eager.

    `again` is eager once more, in another process: where eager does not repeat itself, its values are not compared, nor
    what it prints: a time that it took, say.
    """
    unsteady = {index for index in range(len(eager.calls)) if _differs_again(eager.calls, again.calls, index)}
    known: set[tuple[str, int | None]] = set()
    for index, (ours, theirs) in enumerate(_paired(eager.calls, exported.calls)):
        number = sum(call.input_set == ours.input_set for call in eager.calls[:index])
        calm = not unsteady and not _says_otherwise_again(eager.calls, again.calls, index)
        for seen in _call_differences(ours, theirs, number, steady=index not in unsteady, calm=calm):
            # A later call repeats what the first one showed; only what it adds is news.
            check = str(seen.check)
            key = ("output", ours.input_set) if check in ("output", STATE) else (check, None)
            if key not in known:
                known.add(key)
                yield at_its_line(seen, eager, exported)
    if unsteady:
        yield from _frozen(eager.calls, exported.calls)
    for seen in _left_behind(eager, exported, calm=not unsteady):
        yield at_its_line(seen, eager, exported)
    yield from _left_outside(eager, exported)


def in_results(seen: Observation) -> bool:
    """Is it a difference in what a single call computes, and not in what it prints or leaves behind?"""
    return seen.check in _OF_RESULTS and not seen.is_about_containers


def is_unsteady(eager: RunRecord, again: RunRecord) -> bool:
    """Does eager give other values in another run?"""
    return any(compare(a.output, b.output, exact=True) for a, b in zip(eager.calls, again.calls, strict=False))


def at_its_line(seen: Observation, eager: RunRecord, exported: RunRecord) -> Observation:
    """The difference, placed at the line whose effect it is, where one was noticed."""
    check = str(seen.check)
    if check in (STATE, "observe"):
        asked = eager.mattering if check == STATE else None
        found = next((frame for name, frame in eager.changed.items() if frame and _may_matter(name, asked)), None)
    elif check == "input-effect":
        found = eager.changed.get(INPUTS)
    else:
        calls = (*eager.calls, *exported.calls)
        found = next((call.places[check] for call in calls if check in call.places), None)
    return seen if found is None or seen.user else seen.at([found])


def _may_matter(name: str, asked: frozenset[str] | None) -> bool:
    return name != INPUTS if asked is None else name in asked


def as_state(seen: Observation, eager: RunRecord, exported: RunRecord) -> Observation:
    """An output that differs only because of what an earlier call left behind."""
    return at_its_line(seen.with_details(check=STATE), eager, exported)


def _paired(ours: tuple[CallRecord, ...], theirs: tuple[CallRecord, ...]) -> Iterator[tuple[CallRecord, CallRecord]]:
    """Calls on the same input set, at the same place in it; where one side ended early it has fewer."""
    waiting = list(theirs)
    for call in ours:
        match = next((other for other in waiting if other.input_set == call.input_set), None)
        if match is not None:
            waiting.remove(match)
            yield call, match


def _differs_again(ours: tuple[CallRecord, ...], again: tuple[CallRecord, ...], index: int) -> bool:
    if index >= len(again):
        return True
    a, b = ours[index], again[index]
    return (a.raised is None) != (b.raised is None) or compare(a.output, b.output, exact=True) is not None


def _says_otherwise_again(ours: tuple[CallRecord, ...], again: tuple[CallRecord, ...], index: int) -> bool:
    return index < len(again) and (ours[index].stdout, ours[index].log) != (again[index].stdout, again[index].log)


def _call_differences(
    ours: CallRecord, theirs: CallRecord, number: int, *, steady: bool, calm: bool
) -> Iterator[Observation]:
    where = {"input_set": ours.input_set, "call": number}
    if ours.did_not_end or theirs.did_not_end:
        return  # how long a call takes is no difference
    if ours.raised is not None:
        # Values drawn anew may be none that the model is meant for; the target's own are.
        if theirs.raised is None and ours.meant:
            yield _difference("raises-in-eager-only", where, raised=ours.raised.first_line)
    elif theirs.raised is not None:
        yield replace(theirs.raised, kind="difference").with_details(check="raises", **where)
    else:
        yield from _value_differences(ours, theirs, where) if steady else ()
        yield from _effect_differences(ours, theirs, where, calm=calm)


def _difference(check: str, where: Mapping[str, Any], **fields: Any) -> Observation:
    return Observation("difference", details={"check": check, **where, **fields})


def _value_differences(ours: CallRecord, theirs: CallRecord, where: Mapping[str, Any]) -> Iterator[Observation]:
    output = STATE if where["call"] else "output"
    for check, a, b in ((output, ours.output, theirs.output), ("input-effect", ours.inputs, theirs.inputs)):
        if found := compare(a, b):
            yield _difference(check, where, **found.fields())


def _effect_differences(
    ours: CallRecord, theirs: CallRecord, where: Mapping[str, Any], *, calm: bool
) -> Iterator[Observation]:
    """Where eager does not repeat itself, only what the program does not do at all."""
    if ours.stdout != theirs.stdout and (calm or not theirs.stdout):
        yield _difference("stdout", where, ours=ours.stdout[:80], theirs=theirs.stdout[:80])
    if ours.log != theirs.log and (calm or not theirs.log):
        yield _difference("log", where, ours=len(ours.log), theirs=len(theirs.log))
    if len(ours.outside) != len(theirs.outside) and (calm or not theirs.outside):
        events = sorted(set(ours.outside))
        yield _difference("files", where, ours=len(ours.outside), theirs=len(theirs.outside), events=events)


def _frozen(ours: tuple[CallRecord, ...], theirs: tuple[CallRecord, ...]) -> Iterator[Observation]:
    """Eager gives another value at every call, the program always the same."""
    pairs = [side[:_PAIR] for side in (ours, theirs)]
    if any(len(pair) < _PAIR or pair[0].input_set != pair[1].input_set for pair in pairs):
        return
    moves, exported_moves = (compare(a.output, b.output, exact=True) for a, b in pairs)
    if moves and not exported_moves:
        yield _difference("frozen", {"input_set": 0, "call": 1}, **moves.fields())


def _left_behind(eager: RunRecord, exported: RunRecord, *, calm: bool) -> Iterator[Observation]:
    theirs = dict(exported.buffers)
    shared = [(path, value) for path, value in eager.buffers if path in theirs and not path.endswith(".keys()")]
    if calm and (found := compare(shared, [(path, theirs[path]) for path, _ in shared])):
        yield _difference("buffer", {}, **found.fields())
    if _changed(eager) and not _changed(exported):
        before, after = eager.observed or ("", "")
        yield _difference("observe", {}, before=before[:60], after=after[:60])


def _left_outside(eager: RunRecord, exported: RunRecord) -> Iterator[Observation]:
    """What every call of eager changes outside of the model, and no call of the program."""
    for name in sorted(eager.repeated - exported.repeated - (eager.mattering or frozenset())):
        if " " in name:
            seen = _difference("outside-state", {}, name=name)
            frame = eager.changed.get(name)
            yield seen.at([frame]) if frame else seen


def _changed(one: RunRecord) -> bool:
    return one.observed is not None and one.observed[0] != one.observed[1]


# Check: after the export the model still gives what eager gives.


_OF_VALUES = ("output", STATE, "raises")


def eager_after(eager: RunRecord, again: RunRecord, after: RunRecord) -> Iterator[Observation]:
    """Differences between eager and `after`, the calls of the model after its export."""
    for seen in differences(eager, again, after):
        if seen.check in _OF_VALUES:
            yield seen.with_details(check="eager-after-export")


# Compare one call of a program with eager on the sample; stages that go on from an export need it to pass.


_SAMPLE = (0,)


def program_or_refusal(module: Callable[[], Callable[..., Any]]) -> Callable[..., Any]:
    """The program as a module; where torch cannot make one of it, what raises as that does when it is called: export
    has passed by then."""
    try:
        return module()
    except Exception as exc:  # noqa: BLE001 - whatever torch raises here is the answer
        refused = exc

    def raises(*_args: Any, **_kwargs: Any) -> Any:
        raise refused

    return raises


def compared_on_sample(
    request: StageRequest, module: Callable[[], Callable[..., Any]], detail: str = ""
) -> StageAnswer:
    """The answer of a stage: does the program that `module` gives agree with eager? `detail` is for when it does.

    The call is made in a fork, so that the program stays as it is.
    """
    eager, again = kept_records(request.folder.parent)
    if eager.calls[0].raised:
        return StageAnswer(PASSED, "eager raises: nothing to compare with")
    theirs = in_fork(lambda: record_calls(request.loaded, program_or_refusal(module), _SAMPLE), request.folder)
    if theirs.raised:
        request.emit(theirs.raised)
        return StageAnswer(CRASHED, None)
    if theirs.ended:
        return StageAnswer(CRASHED, short(theirs.ended))
    # A program that computes the right thing goes on to the lowerings, whatever it no longer prints.
    found = list(filter(in_results, differences(eager, again, theirs.value)))
    for difference in found:
        request.emit(at_divergence(request, difference, module, request.mode))
    return StageAnswer(DIFFERS, None) if found else StageAnswer(PASSED, detail)
