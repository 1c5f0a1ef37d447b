"""What is known of a finding beside what every format shows, each made when it is asked for: most reports ask for none.

Who makes a report knows more than the formats may import: the engine's beliefs, the measured fixtures, a repair.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exportlint.finding import Finding


@dataclass(frozen=True, slots=True)
class MeasuredExample:
    """A model that is like the code of a finding.

    name       of its class
    role       what it is to the finding, such as "a model of what fails"
    measured   what torch did with it, in words
    source     its class, line by line
    """

    name: str
    role: str
    measured: str
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KnownRewrite:
    """One way to write the code of a finding differently.

    outcome   in words: what is known of it, such as "not tried"
    diff      a unified diff, line by line; empty where the edits are not of one text
    """

    description: str
    outcome: str
    diff: tuple[str, ...] = ()


def _no_beliefs(_finding: Finding) -> Mapping[int, tuple[str, ...]]:
    return {}


def _no_examples(_finding: Finding) -> Sequence[MeasuredExample]:
    return ()


def _nothing_tried(_finding: Finding) -> Sequence[KnownRewrite]:
    return ()


@dataclass(frozen=True, slots=True)
class Background:
    """Each is asked with a finding.

    beliefs    line -> what the engine believes of the names on it
    examples   measured models that are like it
    tried      the rewrites of it that a repair tried; those that it did not try stand in the finding
    """

    beliefs: Callable[[Finding], Mapping[int, tuple[str, ...]]] = _no_beliefs
    examples: Callable[[Finding], Sequence[MeasuredExample]] = _no_examples
    tried: Callable[[Finding], Sequence[KnownRewrite]] = _nothing_tried


NOTHING_BEHIND = Background()
