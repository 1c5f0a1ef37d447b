"""The exported program beside eager, call by call. Runs in the child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.calls import INPUTS
from exportlint.trial.observation import Observation, placed
from exportlint.trial.values import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.trial.calls import Record, Row


def differences(eager: Record, again: Record, exported: Record) -> Iterator[Observation]:
    """Everything that parts the exported program from eager. `again` is eager once more, in another process: where
    eager does not repeat itself, its values say nothing."""
    unsteady = {index for index in range(len(eager.rows)) if _row_parts(eager.rows, again.rows, index)}
    told: set[tuple[str, int | None]] = set()
    for index, (ours, theirs) in enumerate(_paired(eager.rows, exported.rows)):
        call = sum(row.draw == ours.draw for row in eager.rows[:index])
        for seen in _row_differences(ours, theirs, call, steady=index not in unsteady, calm=not unsteady):
            # A later call repeats what the first one showed; only what it adds is news.
            check = seen.details["check"]
            key = ("output", ours.draw) if check in ("output", STATE) else (check, None)
            if key not in told:
                told.add(key)
                yield at_its_line(seen, eager, exported)
    if unsteady:
        yield from _frozen(eager.rows, exported.rows)
    for seen in _left_behind(eager, exported, calm=not unsteady):
        yield at_its_line(seen, eager, exported)


STATE = "state"


def at_its_line(seen: Observation, eager: Record, exported: Record) -> Observation:
    """The difference, placed at the line whose effect it is, where one was noticed."""
    check = seen.details["check"]
    if check in (STATE, "observe"):
        asked = eager.mattering if check == STATE else None
        found = next((frame for name, frame in eager.changed.items() if frame and _may_matter(name, asked)), None)
    elif check == "input-effect":
        found = eager.changed.get(INPUTS)
    else:
        rows = (*eager.rows, *exported.rows)
        found = next((row.places[check] for row in rows if check in row.places), None)
    if found is None or seen.user_path:
        return seen
    return placed(seen.kind, seen.text, [found], error_class=seen.error_class, details=seen.details)


def _may_matter(name: str, asked: frozenset[str] | None) -> bool:
    return name != INPUTS if asked is None else name in asked


def as_state(seen: Observation, eager: Record, exported: Record) -> Observation:
    """An output that differs only because of what an earlier call left behind."""
    raw = seen.to_dict()
    renamed = Observation.from_dict({**raw, "details": {**raw["details"], "check": STATE}})
    return at_its_line(renamed, eager, exported)


def eager_after(eager: tuple[Record, Record], after: Record) -> list[Observation]:
    """What the export did to the model it was given: `after` is that model, called again."""
    found = [seen for seen in differences(*eager, after) if seen.details["check"] in ("output", STATE, "raises")]
    return [
        Observation.from_dict(
            {
                **seen.to_dict(),
                "text": "eager after the export is not eager before: " + seen.text.replace(", exported ", ", then "),
                "details": {**seen.details, "check": "eager-after-export"},
            }
        )
        for seen in found
    ]


def _paired(ours: tuple[Row, ...], theirs: tuple[Row, ...]) -> Iterator[tuple[Row, Row]]:
    """Rows of the same draw and the same place in it; a draw that ended early on one side has fewer."""
    waiting = list(theirs)
    for row in ours:
        match = next((other for other in waiting if other.draw == row.draw), None)
        if match is not None:
            waiting.remove(match)
            yield row, match


def _row_parts(ours: tuple[Row, ...], theirs: tuple[Row, ...], index: int) -> bool:
    if index >= len(theirs):
        return True
    a, b = ours[index], theirs[index]
    return (a.raised is None) != (b.raised is None) or compare(a.output, b.output, exact=True) is not None


def _row_differences(ours: Row, theirs: Row, call: int, *, steady: bool, calm: bool) -> Iterator[Observation]:
    place = {"draw": ours.draw, "call": call}
    if ours.raised is not None:
        # Values drawn anew may be none that the model is meant for; the target's own are.
        if theirs.raised is None and ours.meant:
            text = f"eager raises, the exported program does not: {ours.raised.first_line}"
            yield _difference("raises-in-eager-only", text, place)
    elif theirs.raised is not None:
        yield _raised(theirs.raised, place)
    else:
        yield from _value_differences(ours, theirs, place) if steady else ()
        yield from _effect_differences(ours, theirs, place, calm=calm)


def _difference(check: str, text: str, details: Mapping[str, Any]) -> Observation:
    return Observation("difference", text, details={"check": check, **details})


def _value_differences(ours: Row, theirs: Row, place: Mapping[str, Any]) -> Iterator[Observation]:
    output = STATE if place["call"] else "output"
    for check, a, b in ((output, ours.output, theirs.output), ("input-effect", ours.inputs, theirs.inputs)):
        if found := compare(a, b):
            text = f"{found.path}: {found.text}".lstrip(": ")
            yield _difference(check, text, {**place, "output": found.path, "max_error": found.max_error})


def _effect_differences(ours: Row, theirs: Row, place: Mapping[str, Any], *, calm: bool) -> Iterator[Observation]:
    """Where eager does not repeat itself, only what the program does not do at all."""
    if ours.stdout != theirs.stdout and (calm or not theirs.stdout):
        text = f"eager printed {ours.stdout[:80]!r}, the exported program {theirs.stdout[:80]!r}"
        yield _difference("stdout", text, place)
    if ours.log != theirs.log and (calm or not theirs.log):
        text = f"eager logged {len(ours.log)} records, the exported program {len(theirs.log)}"
        yield _difference("log", text, place)
    if len(ours.outside) != len(theirs.outside) and (calm or not theirs.outside):
        text = f"eager reaches outside {len(ours.outside)} times ({', '.join(sorted(set(ours.outside)))})"
        yield _difference("files", f"{text}, the exported program {len(theirs.outside)} times", place)


def _raised(raised: Observation, place: Mapping[str, Any]) -> Observation:
    raw = raised.to_dict()
    return Observation.from_dict(
        {**raw, "kind": "difference", "details": {**raw["details"], "check": "raises", **place}}
    )


def _frozen(ours: tuple[Row, ...], theirs: tuple[Row, ...]) -> Iterator[Observation]:
    pairs = [side[:2] for side in (ours, theirs)]
    if any(len(pair) < 2 or pair[0].draw != pair[1].draw for pair in pairs):  # noqa: PLR2004 - a pair
        return
    moves, exported_moves = (compare(a.output, b.output, exact=True) for a, b in pairs)
    if moves and not exported_moves:
        text = f"eager gives another value at every call ({moves.text}), the exported program always the same"
        details = {"check": "frozen", "draw": 0, "call": 1, "output": moves.path, "max_error": moves.max_error}
        yield Observation("difference", text, details=details)


def _left_behind(eager: Record, exported: Record, *, calm: bool) -> Iterator[Observation]:
    theirs = dict(exported.buffers)
    shared = [(path, value) for path, value in eager.buffers if path in theirs and not path.endswith(".keys()")]
    if calm and (found := compare(shared, [(path, theirs[path]) for path, _ in shared])):
        text = f"buffer {found.path} after the calls: {found.text}"
        yield _difference("buffer", text, {"output": found.path, "max_error": found.max_error})
    if _changed(eager) and not _changed(exported):
        before, after = eager.observed or ("", "")
        yield _difference("observe", f"eager changed {before[:60]} to {after[:60]}, the exported program left it", {})


def _changed(one: Record) -> bool:
    return one.observed is not None and one.observed[0] != one.observed[1]
