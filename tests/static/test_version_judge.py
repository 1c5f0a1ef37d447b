"""How the truth of two versions is compared: which change is how bad, since when, and what nobody knows."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from exportlint import Rule
from exportlint.errors import UserError
from exportlint.finding import Severity
from exportlint.registry import RuleInfo
from exportlint.static.version_judge import ChangedCases, JudgedVersion, VersionPair, judged_version
from exportlint.trial.protocol.outcomes import MODES
from exportlint.version_change import Did, Kind, compared

if TYPE_CHECKING:
    from pathlib import Path

OLD, MIDDLE, NEW = "2.6.0", "2.10.0", "2.13.0"  # of which this repository has measurements


class StoredRule(RuleInfo):
    """Truth without a file of a rule."""

    cls = Rule  # type: ignore[assignment]


def judge(folder: Path, *outcomes: dict[str, Any] | None, ways: tuple[str, ...] = ("non-strict",)) -> ChangedCases:
    """Of one case, `Bad`, as it was measured in the three versions; None: it was not."""
    for torch, record in zip((OLD, MIDDLE, NEW), outcomes, strict=True):
        if record:
            content = {"torch": torch, "exported": {"Bad": dict.fromkeys(MODES, record)}}
            (folder / f"torch-{torch}.json").write_text(json.dumps(content), "utf-8")
    rule = StoredRule("a-rule", "no_module", folder / "a_rule.py", folder / "fixture.py", folder)
    return ChangedCases(rule, VersionPair(JudgedVersion(OLD, (OLD,)), JudgedVersion(NEW, (NEW,)), ways))


EXPORTS, REFUSED, DIFFERS = ({"outcome": word} for word in ("exports", "refused", "differs"))
CRASHED = {"outcome": "crashed"}
FAILS_LATER = {"outcome": "exports", "then": {"decompose": "refused: it is frozen"}}
WARNS = {"outcome": "exports", "deprecated": "`torch.old` is deprecated."}


@pytest.mark.parametrize(
    ("before", "after", "kind", "is_worse"),
    [
        (EXPORTS, DIFFERS, Kind.SILENT, True),
        (REFUSED, DIFFERS, Kind.SILENT, True),
        (EXPORTS, REFUSED, Kind.FAILS, True),
        (EXPORTS, FAILS_LATER, Kind.FAILS, True),
        (DIFFERS, REFUSED, Kind.FAILS, True),
        (REFUSED, CRASHED, Kind.FAILS_OTHERWISE, True),
        (CRASHED, REFUSED, Kind.FAILS_OTHERWISE, False),
        (REFUSED, FAILS_LATER, Kind.FAILS_OTHERWISE, False),
        (DIFFERS, EXPORTS, Kind.AGREES, False),
        (REFUSED, EXPORTS, Kind.HEALS, False),
        (FAILS_LATER, EXPORTS, Kind.HEALS, False),
        (EXPORTS, WARNS, Kind.DEPRECATED, False),
        (REFUSED, REFUSED, Kind.STILL_FAILS, False),
    ],
)
def test_what_changes_for_an_export(
    tmp_path: Path, before: dict[str, Any], after: dict[str, Any], kind: Kind, is_worse: bool
) -> None:
    judged = judge(tmp_path, before, None, after)
    change = judged.change("Bad")
    assert change
    assert (change.kind, change.is_worse) == (kind, is_worse)
    assert judged.severity("Bad") is (Severity.ERROR if is_worse else Severity.NOTE)


@pytest.mark.parametrize(
    ("before", "after", "kind", "is_worse"),
    [
        ("one graph", "breaks", Kind.FAILS, True),
        ("recompiles", "breaks", Kind.FAILS_OTHERWISE, True),
        ("raises", "breaks", Kind.FAILS_OTHERWISE, False),
        ("breaks", "differs", Kind.SILENT, True),
        ("differs", "breaks", Kind.AGREES, False),
        ("differs", "raises", Kind.FAILS, True),
        ("breaks", "one graph", Kind.HEALS, False),
    ],
)
def test_what_changes_for_torch_compile(before: str, after: str, kind: Kind, is_worse: bool) -> None:
    change = compared(Did(OLD, "compile", before, ""), Did(NEW, "compile", after, ""))
    assert change
    assert (change.kind, change.is_worse) == (kind, is_worse)


def test_of_what_both_do_right_nothing_is_said(tmp_path: Path) -> None:
    judged = judge(tmp_path, EXPORTS, REFUSED, EXPORTS)
    assert judged.change("Bad") is None
    assert judged.severity("Bad") is None


@pytest.mark.parametrize(
    ("outcomes", "since"),
    [
        ((EXPORTS, REFUSED, REFUSED), (OLD, MIDDLE)),
        ((EXPORTS, EXPORTS, REFUSED), (MIDDLE, NEW)),
        ((EXPORTS, None, REFUSED), (OLD, NEW)),
        ((EXPORTS, DIFFERS, REFUSED), (MIDDLE, NEW)),
    ],
)
def test_it_changed_where_the_last_measured_version_did_otherwise(
    tmp_path: Path, outcomes: tuple[dict[str, Any] | None, ...], since: tuple[str, str]
) -> None:
    change = judge(tmp_path, *outcomes).change("Bad")
    assert change
    assert change.worst.since == since


def test_an_older_measurement_does_not_stand_in_for_a_missing_one(tmp_path: Path) -> None:
    change = judge(tmp_path, REFUSED, REFUSED, None).change("Bad")
    assert change
    assert change.kind is Kind.NOT_KNOWN
    assert change.worst.may_be_worse
    assert not change.is_worse


def test_what_the_second_version_does_right_cannot_be_worse(tmp_path: Path) -> None:
    change = judge(tmp_path, None, None, EXPORTS).change("Bad")
    assert change
    assert change.kind is Kind.NOT_KNOWN
    assert not change.worst.may_be_worse


def test_modes_that_are_alike_are_told_together(tmp_path: Path) -> None:
    told = judge(tmp_path, EXPORTS, None, REFUSED, ways=MODES).sentence("Bad")
    assert told == (
        "torch 2.6 in either mode exports it correctly; torch 2.13 in either mode refuses to export it"
        " (changed between torch 2.6 and 2.13)"
    )


def test_a_patch_release_is_judged_by_its_release_and_what_lies_beyond_is_refused() -> None:
    measured = [OLD, MIDDLE, NEW]
    assert judged_version("2.10", measured) == JudgedVersion(MIDDLE, (MIDDLE,))
    assert judged_version("2.10.0+cpu", measured) == JudgedVersion(MIDDLE, (MIDDLE,))
    assert "measurements of 2.10.0, of the same release" in judged_version("2.10.1", measured).remark
    assert judged_version("2.8.0", measured).by == (OLD, MIDDLE)
    for beyond in ("2.5", "2.14"):
        with pytest.raises(UserError, match="than all that was measured"):
            judged_version(beyond, measured)
