"""Answers about a project that are worked out once, and what each of them rests on.

The files of a run lead to the same classes again and again, so that what is asked of one (its bases, the attributes
that its constructor gives) is asked for each file that is judged. The answer is the same for all of them, but each
judgement has to know what it rests on. So every answer is kept together with what was read for it (`Reading`), and
whoever is given the answer rests on that as well: the memoized queries of salsa, as in rust-analyzer and ruff's ty.

Answers must not depend on who asks first. A question that leads back to itself gets the answer that `meanwhile` says;
what was worked out from it is right only as a part of the question that is open, and is forgotten when that is
answered.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar, overload

from exportlint.engine.source.dependence import Reading

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

_Asker = TypeVar("_Asker")
_Answer = TypeVar("_Answer")
_NONE_OPEN = sys.maxsize


@dataclass(frozen=True, slots=True)
class _Kept:
    """An answer.

    reading   what was read for it
    rests_on  the outermost open question that it rests on, by its depth
    circles   the questions below it that lead back to themselves: while one of them is open, it is another answer
    """

    answer: Any
    reading: Reading
    rests_on: int
    circles: frozenset[Hashable]


class Memo:
    """The answers so far. `reading` is what the question in hand has read.

    >>> memo = Memo()
    >>> def even(n):
    ...     memo.reading.probed[str(n)] = True
    ...     return n == 0 or not memo.of(("even", n - 1), lambda: even(n - 1))
    >>> memo.of(("even", 2), lambda: even(2)), sorted(memo.reading.whole()[2])
    (True, ['0', '1', '2'])
    """

    def __init__(self) -> None:
        self.reading = Reading()
        self._known: dict[Hashable, _Kept] = {}
        self._open: dict[Hashable, int] = {}  # question -> its depth
        self._passing: list[Hashable] = []  # those whose answers rest on an open question
        # Of the question in hand, as in `_Kept`.
        self._rests_on = _NONE_OPEN
        self._circles: frozenset[Hashable] = frozenset()

    def begin(self) -> Reading:
        """What is asked from now on is read for somebody else."""
        self.reading, self._rests_on, self._circles = Reading(), _NONE_OPEN, frozenset()
        return self.reading

    def of(self, question: Hashable, work_out: Callable[[], _Answer], meanwhile: Any = None) -> _Answer:
        """The answer; `meanwhile` where the question is asked while it is worked out."""
        kept = self._known.get(question)
        if kept is None or (kept.circles and self._is_another_now(kept)):
            if question in self._open:
                self._rests_on = min(self._rests_on, self._open[question])
                found: _Answer = meanwhile
                return found
            kept = self._worked_out(question, work_out)
        self.reading.rests_on(kept.reading)
        self._rests_on = min(self._rests_on, kept.rests_on)
        if kept.circles and not kept.circles <= self._circles:
            self._circles |= kept.circles
        answer: _Answer = kept.answer
        return answer

    def _is_another_now(self, kept: _Kept) -> bool:
        return kept.rests_on == _NONE_OPEN and not kept.circles.isdisjoint(self._open)

    def _worked_out(self, question: Hashable, work_out: Callable[[], Any]) -> _Kept:
        outer, first = (self.reading, self._rests_on, self._circles), len(self._passing)
        depth = self._open[question] = len(self._open)
        self.reading, self._rests_on, self._circles = Reading(), _NONE_OPEN, frozenset()
        try:
            answer = work_out()
        finally:
            reading, rests_on, circles = self.reading, self._rests_on, self._circles
            self.reading, self._rests_on, self._circles = outer
            self.reading.rests_on(reading)
            del self._open[question]
            if rests_on >= depth:  # on itself at most: what was asked for it meanwhile is asked again
                if rests_on == depth:
                    circles |= {question, *self._passing[first:]}
                for passing in self._passing[first:]:
                    self._known.pop(passing, None)
                del self._passing[first:]
                rests_on = _NONE_OPEN
            self._rests_on = min(self._rests_on, rests_on)
        if rests_on < depth:
            self._passing.append(question)
        kept = self._known[question] = _Kept(answer, reading, rests_on, circles)
        return kept

    def forget(self) -> None:
        """All answers: what they rest on may be found elsewhere now."""
        self._known.clear()


class _HasMemo(Protocol):
    @property
    def memo(self) -> Memo: ...


class remembered(Generic[_Asker, _Answer]):  # noqa: N801 - a decorator, as cached_property
    """A property that is worked out once, and notes what it rests on for all who ask for it."""

    def __init__(self, work_out: Callable[[_Asker], _Answer]) -> None:
        self._work_out = work_out
        self.__doc__ = work_out.__doc__

    @overload
    def __get__(self, asker: None, owner: type) -> remembered[_Asker, _Answer]: ...
    @overload
    def __get__(self, asker: _HasMemo, owner: type) -> _Answer: ...
    def __get__(self, asker: Any, owner: type) -> Any:
        if asker is None:
            return self
        return asker.memo.of((self, asker), lambda: self._work_out(asker))
