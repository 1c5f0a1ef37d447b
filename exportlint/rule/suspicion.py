"""What a rule reports of a place. Needs no parser, so that a run that remembers everything loads none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.finding import Applicability  # noqa: TC001 - an example makes one

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.finding import Link, Severity


@dataclass(frozen=True, slots=True)
class Wording:
    """What the code does, and what to write instead: format strings, or what was made of them.

    >>> Wording("`{code}` prints", "return it").filled({"code": "print(x)"}, " (line 3)").message
    '`print(x)` prints (line 3)'
    """

    message: str
    suggestion: str

    def filled(self, texts: Mapping[str, str], trail: str = "") -> Wording:
        """With the texts in the place of their names, and where a value comes from behind the message."""
        return Wording(self.message.format_map(texts) + trail, self.suggestion.format_map(texts))


@dataclass(frozen=True, slots=True)
class Instead:
    """What to write instead, where the text alone does not say it all; cases may share it.

    shown_in   the Good class that shows it, so that it is suggested only for torch.compile and for targets of
               deployment that were seen to take it; by default the one that is named like the Bad class
    compiled   the text where torch.compile is judged, if something else is to be written there

    >>> Instead("use `.item()`, or stay with tensors", "GoodTensor", "stay with tensors").shown_in
    'GoodTensor'
    """

    text: str
    shown_in: str = ""
    compiled: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One way to do what a rule is about. Its texts are format strings, filled by the keywords of `Rule.report`.

    message      what the code does; what torch does with it is added from the measured truth
    suggestion   what to write instead: the text, or an `Instead`
    in_program   what becomes of the code in an exported program: it goes on from `message` where an export is judged,
                 and is left out where torch.compile is, which does it in every call, or compiles again

    >>> case = Case("`{code}` prints", "return it, or export without it", in_program=" once, while tracing")
    >>> case.exported.message
    '`{code}` prints once, while tracing'
    >>> case.compiled.message
    '`{code}` prints'
    """

    message: str
    suggestion: str | Instead
    torch_says: str = ""
    in_program: str = ""

    @property
    def instead(self) -> Instead:
        """The suggestion, with all that is said of it."""
        return self.suggestion if isinstance(self.suggestion, Instead) else Instead(self.suggestion)

    @property
    def exported(self) -> Wording:
        """The texts where an export is judged, or what a target of deployment makes of it."""
        return Wording(self.message + self.in_program, self.instead.text)

    @property
    def compiled(self) -> Wording:
        """The texts where torch.compile is judged."""
        return Wording(self.message, self.instead.compiled or self.instead.text)


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
    what it does with such code is not to be told. `caught_at`: the line of the handler that catches a refusal of it, in
    non-strict mode; 0: there is none. `unmade`: the rewrites wait until it is known whether this judgement is the
    one that speaks of the place. `trail`: where the value comes from, the nearest first, each as what was read, with
    its line and its file. `exported` says it where an export is judged, `compiled` where torch.compile is.
    """

    path: str
    rule: str
    case: str
    place: Place
    exported: Wording
    compiled: Wording
    at_most: Severity
    links: tuple[Link, ...] = ()
    rewrites: tuple[SuspectedRewrite, ...] = ()
    in_python: bool = False
    caught_at: int = 0
    unmade: bool = False
    trail: tuple[tuple[str, int, str], ...] = ()
