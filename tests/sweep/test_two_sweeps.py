"""Two sweeps side by side."""

from __future__ import annotations

import json
from importlib.resources import files

import jsonschema

from exportlint.output.sweeps.comparison import as_json, of_json, page_of
from exportlint.output.sweeps.page import as_markdown, as_text
from exportlint.sweep.comparison import Comparison, compared
from exportlint.sweep.result import SweptOutcome
from exportlint.sweep.store import Row, Sweep

SCHEMA = json.loads((files("exportlint.output") / "sweep-comparison-1.json").read_text("utf-8"))


def row(target: str, outcome: str | None, seconds: float = 10.0) -> Row:
    detail = "" if outcome in (None, "exports") else f"torch | says {outcome}"
    return Row(f"key of {target}", target, "zoo", "nets", SweptOutcome(outcome) if outcome else None, detail, seconds)


def comparison(before: dict[str, str | None], after: dict[str, str | None], seconds: float = 10.0) -> Comparison:
    sweeps = [Sweep(number, "2026-01-01", ("zoo:*",), {}, torch) for number, torch in ((1, "2.10.0"), (4, "2.13.0"))]
    old = [row(*one) for one in before.items()]
    return compared(*sweeps, old, [row(*one, seconds) for one in after.items()])


def names(changes: object) -> list[str]:
    return [one.target for one in changes]  # type: ignore[attr-defined] # changes of any kind


BEFORE = {"a": "exports", "b": "exports", "c": "refused", "d": "refused", "e": "crashed", "f": None, "g": "exports"}
AFTER = {"a": "refused", "b": "differs", "c": "exports", "d": "differs", "e": "refused", "f": "exports", "h": "exports"}


def test_each_target_is_told_once_by_what_became_of_it() -> None:
    found = comparison(BEFORE, AFTER)
    assert names(found.began_to_fail) == ["a"]
    assert names(found.became_different) == ["b", "d"]
    assert names(found.healed) == ["c"]
    assert names(found.otherwise) == ["e"]
    assert (found.unknown, found.only_before, found.only_after) == (["f"], ["g"], ["h"])
    assert (found.same, found.slower) == (0, [])


def test_slower_is_told_where_nothing_else_changed() -> None:
    same = {"a": "exports", "b": "refused"}
    assert names(comparison(same, same, 16).slower) == ["a", "b"]
    assert names(comparison(same, same, 14).slower) == []
    assert names(comparison(same, same | {"a": "refused"}, 16).slower) == ["b"]


def test_what_was_asked_differently_and_what_nobody_compared_is_said() -> None:
    sweeps = [Sweep(1, "2026-01-01", (), {"quick": quick, "modes": ["strict"]}, "2.13.0") for quick in (False, True)]
    text = as_text(page_of(compared(*sweeps, [row("a", "refused")], [row("a", "exports")])))
    assert "The sweeps were not asked for the same (quick): what changed may come of that." in text
    assert "One of them compared nothing with eager: what silently computes something else is not seen." in text
    assert "agrees" not in text


def test_it_reads_as_a_page_and_is_there_for_programs() -> None:
    found = comparison(BEFORE, AFTER)
    jsonschema.validate(json.loads(as_json(found)), SCHEMA)
    assert page_of(of_json(as_json(found))) == page_of(found)
    text = as_text(page_of(found))
    said = "torch 2.10.0 to 2.13.0: 1 began to fail, 2 silently different, 1 healed, 1 fail in another way"
    assert text.splitlines()[0] == said
    assert "a         exports   refused  torch | says refused" in text
    assert "1 not tried in one of them: f" in text
    assert "| a        | exports  | refused | torch \\| says refused |" in as_markdown(page_of(found))[0]
