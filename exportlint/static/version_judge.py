"""Compare what two torch versions do with the cases of a rule, by the measured truth, and tell suspicions by that.

The suspicions of a file are the same whatever torch is judged for, so that one run of the static pass is enough. Unlike
where one version is judged, nothing stands in for what was not measured: a case that the truth of a version does not
have is not known there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError
from exportlint.finding import Severity
from exportlint.registry import all_rules, measured_versions, version_key
from exportlint.static.severity import (
    breaks_of,
    is_of_rule,
    later_step,
    release,
    shown_in,
    torch_compile_does,
    torch_does,
)
from exportlint.trial.protocol.outcomes import NON_STRICT, STRICT
from exportlint.trial.protocol.purposes import COMPILE as FOR_COMPILE
from exportlint.trial.protocol.purposes import EXPORT
from exportlint.version_change import COMPILE, Change, Did, Kind, WayChange, compared

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.registry import RuleInfo
    from exportlint.rule.suspicion import Suspicion, Wording


DEFAULT = "default"  # the mode of a call that passes no `strict=`
_NON_STRICT_SINCE = (2, 8)


# The versions.


@dataclass(frozen=True, slots=True)
class JudgedVersion:
    """A torch version, and the measured ones that it is judged by: itself, or the two that it lies between.

    remark   what is to be said of that; "" where it was measured
    """

    asked: str
    by: tuple[str, ...]
    remark: str = ""

    @property
    def name(self) -> str:
        """The release, as people call it: 2.13 for 2.13.0."""
        return release(self.asked).strip()


def judged_version(asked: str, measured: Sequence[str] | None = None) -> JudgedVersion:
    """Raises UserError for what is no version, and for one beyond what was measured: to compare with its neighbour
    would say that nothing changed between the two."""
    known = list(measured_versions() if measured is None else measured)
    if not re.fullmatch(r"\d+(\.\d+)+\S*", asked):
        raise UserError(f"torch version `{asked}`: write it as in 2.13 or 2.13.0; measured are {', '.join(known)}")
    wanted = version_key(asked)[:2]
    same = [one for one in known if version_key(one)[:2] == wanted]
    if same:
        used = next((one for one in same if version_key(one) == version_key(asked)), same[-1])
        is_other = version_key(used)[: len(version_key(asked))] != version_key(asked)
        said = f"torch {asked} was not measured; the measurements of {used}, of the same release, are used"
        return JudgedVersion(used, (used,), said if is_other else "")
    older = [one for one in known if version_key(one)[:2] < wanted]
    newer = [one for one in known if version_key(one)[:2] > wanted]
    if not (older and newer):
        side = "newer" if older else "older"
        raise UserError(
            f"torch {asked} is {side} than all that was measured, so nobody knows what it changes: "
            f"measured are {', '.join(known)}"
        )
    said = f"torch {asked} was not measured; it does what {older[-1]} and {newer[0]} both do, and the rest is not known"
    return JudgedVersion(asked.partition("+")[0], (older[-1], newer[0]), said)


@dataclass(frozen=True, slots=True)
class VersionPair:
    """From which torch version to which. `ways`: modes of export, "default", "compile"."""

    before: JudgedVersion
    after: JudgedVersion
    ways: tuple[str, ...]

    @property
    def is_downgrade(self) -> bool:
        return version_key(self.after.asked) < version_key(self.before.asked)

    @property
    def between(self) -> tuple[str, ...]:
        """The measured versions between the two, on the way from one to the other."""
        low, high = sorted((version_key(self.before.asked), version_key(self.after.asked)))
        found = [one for one in measured_versions() if low < version_key(one) < high]
        return tuple(reversed(found) if self.is_downgrade else found)


def version_pair(before: str, after: str, purpose: str, modes: Sequence[str]) -> VersionPair:
    """Raises UserError as `judged_version`, and where both are judged by the same measurements.

    modes   modes of export, or "default" for that of a call that passes no `strict=`
    """
    old, new = judged_version(before), judged_version(after)
    if old.by == new.by:
        by = " and ".join(old.by)
        same = f"--from and --to are both torch {before}"
        if before != after:
            same = f"torch {before} and {after} are both judged by the measurements of {by}"
        raise UserError(f"{same}, so there is nothing to compare; measured are {', '.join(measured_versions())}")
    for version in (old, new):
        if purpose != EXPORT and not any(one in info.compiled() for info in all_rules().values() for one in version.by):
            raise UserError(f"torch.compile was not measured in torch {version.name}: compare it --for export")
    exported = tuple(modes) if purpose != FOR_COMPILE else ()
    return VersionPair(old, new, (*exported, *(() if purpose == EXPORT else (COMPILE,))))


def default_mode(torch: str) -> str:
    """The mode of a call of torch.export.export that passes no `strict=`.

    >>> default_mode("2.6.0"), default_mode("2.13.0")
    ('strict', 'non-strict')
    """
    return NON_STRICT if version_key(torch)[:2] >= _NON_STRICT_SINCE else STRICT


# What they do.


class ChangedCases:
    """What of the cases of a rule the second version does in another way than the first: a judge of the static pass.

    in_python   torch.compile has left the graph before it comes to the code, so that it changes nothing there
    """

    def __init__(self, rule: RuleInfo, versions: VersionPair, *, in_python: bool = False) -> None:
        self._rule = rule
        self._versions = versions
        # What a target of deployment does was measured in one version only.
        is_of_torch = not rule.cls.lowerings
        self._ways = tuple(way for way in versions.ways if is_of_torch and not (in_python and way == COMPILE))
        self._changes: dict[str, Change | None] = {}

    @cached_property
    def _exported(self) -> Mapping[str, Mapping[str, Any]]:
        return self._rule.truth()

    @cached_property
    def _compiled(self) -> Mapping[str, Mapping[str, Any]]:
        return self._rule.compiled()

    def change(self, case: str) -> Change | None:
        """None: both do it right."""
        if case not in self._changes:
            ways = tuple(found for way in self._ways if (found := self._way_change(case, way)))
            self._changes[case] = Change(ways) if ways else None
        return self._changes[case]

    def _way_change(self, case: str, way: str) -> WayChange | None:
        versions = self._versions
        before, after = self._judged(case, way, versions.before), self._judged(case, way, versions.after)
        if not before.is_known and not after.is_known and self._is_out_of_question(case, way):
            return None
        return compared(before, after, self._since(case, way, before, after))

    def _is_out_of_question(self, case: str, way: str) -> bool:
        """Was torch.compile never seen to come to what the rule is about? A script that calls export is no case of
        torch.compile, and before some cases the graph breaks."""
        records = [cases[case] for cases in self._compiled.values() if case in cases]
        return way == COMPILE and not any(is_of_rule(self._rule, one) for one in records)

    def _judged(self, case: str, way: str, version: JudgedVersion) -> Did:
        """As the version does it; one between two measured ones does what both of them do."""
        way = default_mode(version.asked) if way == DEFAULT else way
        found = [self._did(case, way, torch) for torch in version.by]
        if all(one.is_known and one.is_like(found[0]) for one in found):
            return replace(found[-1], torch=version.asked)
        if len(found) == 1:
            return found[0]
        each = "; ".join(f"torch{release(one.torch)} {one.words}" for one in found)
        return Did(version.asked, way, "", f"lies between two that are not known to be alike ({each})")

    def _did(self, case: str, way: str, torch: str) -> Did:
        if way == COMPILE:
            record = self._compiled.get(torch, {}).get(case)
            if record and is_of_rule(self._rule, record):
                words, breaks = torch_compile_does(record), breaks_of(record)
                return Did(torch, way, record["outcome"], words, record.get("error") or "", graph_breaks=breaks)
            return Did(torch, way, "", "never comes to it" if record else _NOT_MEASURED)
        record = self._exported.get(torch, {}).get(case, {}).get(way)
        if not record:
            return Did(torch, way, "", _NOT_MEASURED)
        if missing := _FOREIGN.fullmatch(record.get("error") or ""):
            return Did(torch, way, "", f"was measured where {missing['package']} is not installed")
        later = later_step(record)
        words = f"{torch_does(record)}, and {later}" if later else torch_does(record)
        told = next(iter(record["then"].values())).partition(": ")[2] if later else record.get("error")
        steps = tuple(record["then"]) if later else ()
        break_id = record.get("graph_break")
        return Did(
            torch,
            way,
            record["outcome"],
            words,
            told or "",
            steps,
            record.get("deprecated") or "",
            (break_id,) if break_id else (),
        )

    def _since(self, case: str, way: str, before: Did, after: Did) -> tuple[str, str]:
        """The last version on the way that was seen to do otherwise, and the first from which all do as the second."""
        between = [
            self._did(case, default_mode(torch) if way == DEFAULT else way, torch) for torch in self._versions.between
        ]
        seen = [before, *(one for one in between if one.is_known), after]
        first = len(seen) - 1
        while first > 1 and _is_same(seen[first - 1], after):
            first -= 1
        return seen[first - 1].torch, seen[first].torch

    # As a judge of the static pass.

    def severity(self, case: str) -> Severity | None:
        """None: there is nothing to say. What is an error if it is sure is one where it gets worse."""
        change = self.change(case)
        if change is None:
            return None
        return Severity.ERROR if change.is_worse else Severity.NOTE

    def message(self, suspicion: Suspicion) -> str:
        """The rule's, of an export, unless it is about torch.compile alone."""
        return self._wording(suspicion).message

    def suggestion(self, suspicion: Suspicion) -> str:
        """What to write instead, where it gets worse or may; "" where the second version was seen not to take it."""
        change = self.change(suspicion.case)
        if change is None or not (change.is_worse or any(one.may_be_worse for one in change.ways)):
            return ""
        way = change.worst.after.way
        good = self._did(shown_in(self._rule, suspicion.case), way, self._versions.after.by[-1])
        return "" if good.is_known and not good.is_right else self._wording(suspicion).suggestion

    def _wording(self, suspicion: Suspicion) -> Wording:
        change = self.change(suspicion.case)
        is_of_compile = change is not None and change.worst.after.way == COMPILE
        return suspicion.compiled if is_of_compile else suspicion.exported

    def sentence(self, case: str) -> str:
        """What the first version does, and what the second."""
        change = self.change(case)
        return _in_words(change, self._versions.ways) if change else ""

    def effect(self, case: str) -> dict[str, str]:
        """What the second version does in each way, as far as it is known and any of it changed."""
        change = self.change(case)
        return {one.after.way: one.after.outcome for one in change.ways if one.after.is_known} if change else {}

    def lowerings(self, case: str) -> dict[str, str]:  # noqa: ARG002 - it is about torch
        """None."""
        return {}

    def graph_breaks(self, case: str) -> tuple[str, ...]:
        """The ids under which the second version refuses it, or ends the graph."""
        change = self.change(case)
        return tuple(sorted({one for way in change.ways for one in way.after.graph_breaks})) if change else ()

    def shown_by(self, case: str) -> dict[str, tuple[str, ...]]:  # noqa: ARG002 - nothing is tried
        """Nothing."""
        return {}


_NOT_MEASURED = "was not measured with it"
# A refusal that says nothing of torch: what it needs was not there. Where a module of torch is gone, torch changed.
_FOREIGN = re.compile(r"No module named '(?P<package>(?!torch[.'])[^']*)'")


def _is_same(one: Did, other: Did) -> bool:
    return one.is_like(other) and bool(one.deprecated) == bool(other.deprecated)


def _in_words(change: Change, ways: Sequence[str]) -> str:
    """The worst way first; beside what changed, neither what fails as before nor what the second does right whatever
    the first did. Modes that are alike are told together, and named where several are judged, or where each version
    has its own."""
    modes = [way for way in ways if way != COMPILE]
    alike: dict[tuple[bool, Kind, str, str, str], list[WayChange]] = {}
    for one in sorted(change.ways, key=lambda one: one.kind.rank):
        is_beside = one.kind is Kind.STILL_FAILS or (one.kind is Kind.NOT_KNOWN and not one.may_be_worse)
        if one.kind is change.kind or not is_beside:
            told = (one.after.way == COMPILE, one.kind, one.before.words, one.after.words, one.when)
            alike.setdefault(told, []).append(one)
    return "; ".join(_sentence(group, modes) for group in alike.values())


def _sentence(alike: Sequence[WayChange], modes: Sequence[str]) -> str:
    one = alike[0]
    parts = []
    for did in (one.before, one.after):
        who = f"torch{release(did.torch)}"
        if did.way == COMPILE:
            who = f"torch.compile in {who}"
        elif DEFAULT in modes:
            who = f"{who} ({did.way})"
        elif len(modes) > 1:
            who = f"{who} in {did.way if len(alike) == 1 else 'either'} mode"
        parts.append(f"{who} {did.words}")
    if one.kind is Kind.STILL_FAILS:
        return f"{parts[1]}, as before"
    warns = f', and warns "{one.after.deprecated}"' if one.kind is Kind.DEPRECATED else ""
    when = f" (changed {one.when})" if one.when else ""
    return f"{parts[0]}; {parts[1]}{warns}{when}"
