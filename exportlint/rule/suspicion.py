"""What a rule reports of a place. Needs no parser, so that a run that remembers everything loads none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.finding import Applicability  # noqa: TC001 - an example makes one

if TYPE_CHECKING:
    from exportlint.finding import Link, Severity


@dataclass(frozen=True, slots=True)
class Case:
    """One way to do what a rule is about. Both texts are format strings, filled by the keywords of `Rule.report`.

    message      what the code does; what torch does with it is added from the measured truth
    suggestion   what to write instead
    shown_in     of a rule about targets of deployment: the Good class that shows the suggestion, so that it is made
                 for targets alone that were seen to run it; by default the one that is named like the Bad class

    >>> case = Case("`{code}` branches on a tensor's value", "Choose with `torch.where`.")
    >>> case.message.format(code="x.sum() > 0")
    "`x.sum() > 0` branches on a tensor's value"
    """

    message: str
    suggestion: str
    shown_in: str = ""
    torch_says: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a construct stands: lines and columns from 1, end column exclusive.

    >>> Place(line=7, column=12, end_line=7, end_column=23).end_column
    23
    """

    line: int
    column: int
    end_line: int
    end_column: int


@dataclass(frozen=True, slots=True, order=True)
class Replacement:
    """Text that takes the place of what stands from `start` to `end` (line and column, from 1, end exclusive).

    >>> Replacement((7, 12), (7, 18), "x.detach()").text
    'x.detach()'
    """

    start: tuple[int, int]
    end: tuple[int, int]
    text: str


@dataclass(frozen=True, slots=True)
class SuspectedRewrite:
    """One way to write differently what a rule reports; all replacements are in one file, in order, and none overlap.

    `path`: that file, where it is another one than the place that is reported stands in.

    >>> SuspectedRewrite("read it with `.detach()`", Applicability.SAFE, ()).applicability.value
    'safe'
    """

    description: str
    applicability: Applicability
    replacements: tuple[Replacement, ...]
    both_sides_of: int = 0
    needs_python: bool = False
    path: str = ""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What a rule reports of one place; the static pass makes a finding of it.

    `path` is absolute: a file's forward also runs functions of other files. `at_most` caps the severity that the
    measured truth would give. `links` are the pages of the rule, which the static pass adds. `rewrites` are those of
    the rule's repair, the best one first. `in_python`: torch.compile has left the graph before it comes there, so that
    what it does with such code is not to be told.
    """

    path: str
    rule: str
    case: str
    place: Place
    message: str
    suggestion: str
    at_most: Severity
    links: tuple[Link, ...] = ()
    rewrites: tuple[SuspectedRewrite, ...] = ()
    in_python: bool = False
