"""What one torch version does with a construct and another does not: plain data, and which change is how bad.

Nothing here knows where it was measured; `exportlint.static.version_judge` reads that.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

from exportlint.trial.protocol.outcomes import Compiled, Outcome

COMPILE = "compile"  # a way beside the modes of export: what torch.compile does


class Kind(str, enum.Enum):
    """How the second version differs from the first, the worst first.

    silent           it gives something else than eager, and says nothing
    fails            it fails, where the first went through
    fails-otherwise  both fail, in different ways
    agrees           it gives what eager gives, where the first silently did not
    heals            it does it right, where the first failed
    deprecated       it does it right, and warns that this will end
    not-known        one of the two was not measured
    still-fails      both fail alike
    """

    SILENT = "silent"
    FAILS = "fails"
    FAILS_OTHERWISE = "fails-otherwise"
    AGREES = "agrees"
    HEALS = "heals"
    DEPRECATED = "deprecated"
    NOT_KNOWN = "not-known"
    STILL_FAILS = "still-fails"

    @property
    def rank(self) -> int:
        """0 for the worst."""
        return list(type(self)).index(self)


@dataclass(frozen=True, slots=True)
class Did:
    """What a torch version did in one way.

    torch    the version, as it was asked for or measured
    way      "non-strict", "strict" or "compile"
    outcome  a word of the truth; "" where it is not known, and `words` say why
    words    the rest of a sentence that begins with torch: "refuses to export it"
    says     torch's own message, or what showed that the program differs
    later    the steps after an export that fail
    """

    torch: str
    way: str
    outcome: str
    words: str
    says: str = ""
    later: tuple[str, ...] = ()
    deprecated: str = ""
    graph_breaks: tuple[str, ...] = ()

    @property
    def is_known(self) -> bool:
        return bool(self.outcome)

    @property
    def is_right(self) -> bool:
        return self.outcome in _RIGHT and not self.later

    def is_like(self, other: Did) -> bool:
        """Do both do the same? Another message, or another way to see that results differ, is no other behaviour."""
        return (self.outcome, self.later) == (other.outcome, other.later)


@dataclass(frozen=True, slots=True)
class WayChange:
    """One way, before and after. `since`: the last version that did otherwise, and the first that does as `after`."""

    kind: Kind
    is_worse: bool
    before: Did
    after: Did
    since: tuple[str, str] | None = None

    @property
    def when(self) -> str:
        """In a release, if the one before it was measured too; else somewhere between the two. "": nobody knows.

        >>> old, new = Did("2.6.0", "strict", "exports", ""), Did("2.13.0", "strict", "refused", "")
        >>> compared(old, new, ("2.6.0", "2.10.0")).when, compared(old, new, ("2.12.0", "2.13.0")).when
        ('between torch 2.6 and 2.10', 'in torch 2.13')
        """
        if not self.since:
            return ""
        old, new = (one.split(".")[:2] for one in self.since)
        is_next = old[0] == new[0] and int(new[1]) == int(old[1]) + 1
        return f"in torch {'.'.join(new)}" if is_next else f"between torch {'.'.join(old)} and {'.'.join(new)}"

    @property
    def may_be_worse(self) -> bool:
        """Of what is not known: could it be worse? Not where the second version does it right."""
        return self.kind is Kind.NOT_KNOWN and not self.after.is_right


@dataclass(frozen=True, slots=True)
class Change:
    """What a case of a rule does in each way that is asked for, where any of them is worth a word."""

    ways: tuple[WayChange, ...]

    @property
    def worst(self) -> WayChange:
        """The way that decides what kind of change it is."""
        return min(self.ways, key=lambda one: one.kind.rank)

    @property
    def kind(self) -> Kind:
        return self.worst.kind

    @property
    def is_worse(self) -> bool:
        return any(one.is_worse for one in self.ways)


def compared(before: Did, after: Did, since: tuple[str, str] | None = None) -> WayChange | None:
    """None: both do it right, and neither warns more than the other.

    >>> right = Did("2.6.0", "strict", "exports", "exports it correctly")
    >>> wrong = Did("2.13.0", "strict", "differs", "exports it and the program computes something else, silently")
    >>> compared(right, wrong).kind.value, compared(wrong, right).kind.value, compared(right, right)
    ('silent', 'agrees', None)
    """
    if not (before.is_known and after.is_known):
        return WayChange(Kind.NOT_KNOWN, False, before, after)
    if before.is_like(after):
        if not after.is_right:
            return WayChange(Kind.STILL_FAILS, False, before, after)
        begins = after.deprecated and not before.deprecated
        return WayChange(Kind.DEPRECATED, False, before, after, since) if begins else None
    kind = _compile_kind(before, after) if after.way == COMPILE else _export_kind(before, after)
    is_worse = kind in {Kind.SILENT, Kind.FAILS} or (kind is Kind.FAILS_OTHERWISE and _is_graver(before, after))
    return WayChange(kind, is_worse, before, after, since)


_DIFFERS = "differs"  # of both enums
_RIGHT = frozenset({Outcome.EXPORTS.value, Compiled.ONE_GRAPH.value})
# A process that dies or never ends is worse than an exception. What torch.compile breaks runs, and costs time.
_GRAVITY = {
    Outcome.EXPORTS.value: 0,  # a later step fails
    Compiled.RECOMPILES.value: 0,
    Compiled.BREAKS.value: 1,
    Outcome.REFUSED.value: 1,
    Compiled.RAISES.value: 2,
    Outcome.CRASHED.value: 2,
    Outcome.TIMED_OUT.value: 2,
}


def _is_graver(before: Did, after: Did) -> bool:
    return _GRAVITY[after.outcome] > _GRAVITY[before.outcome]


def _export_kind(before: Did, after: Did) -> Kind:
    exports = Outcome.EXPORTS.value
    if after.outcome == _DIFFERS:
        return Kind.SILENT
    if after.outcome != exports:
        return Kind.FAILS if before.outcome in {exports, _DIFFERS} else Kind.FAILS_OTHERWISE
    if set(after.later) - set(before.later) and before.outcome == exports:
        return Kind.FAILS
    if before.outcome == _DIFFERS:
        return Kind.AGREES
    return Kind.FAILS_OTHERWISE if after.later else Kind.HEALS


def _compile_kind(before: Did, after: Did) -> Kind:
    if after.outcome == _DIFFERS:
        return Kind.SILENT
    if after.is_right:
        return Kind.AGREES if before.outcome == _DIFFERS else Kind.HEALS
    if before.outcome == _DIFFERS:  # where the graph breaks, Python gives what eager gives
        return Kind.FAILS if after.outcome == Compiled.RAISES.value else Kind.AGREES
    return Kind.FAILS if before.is_right else Kind.FAILS_OTHERWISE
