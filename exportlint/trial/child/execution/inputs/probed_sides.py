"""What the probes in a source note: calls that `verify` writes around the decisions of an edited file.

Lines show neither which side of `a if test else b` a call takes, nor that the other side of an `if` has no lines. Each
function gives back what it was given, so that the source computes what it computes without it.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

_Given = TypeVar("_Given")
Place = tuple[str, int]  # the file, and the number of the probe in it, below zero: above it are lines
Noted = dict[Place, set[bool]]

_KINDS = (dict, list, tuple)
_while_loading: Noted = defaultdict(set)
_sought: set[Place] = set()
_open: set[Place] = set()  # `match` statements of which no case was taken yet
_looked_up: dict[Place, set[Any]] = defaultdict(set)
_words: dict[Place, str] = {}
_reached: dict[Place, set[str]] = defaultdict(set)
_now = _while_loading


@contextmanager
def probes_noted() -> Iterator[Noted]:
    """What is noted inside of the block, apart from what was before it."""
    global _now  # noqa: PLW0603 - probes stand in a source that knows this module alone
    before, _now = _now, defaultdict(set)
    try:
        yield _now
    finally:
        for place in _open:
            _now[place].add(False)
        _open.clear()
        _now = before


def noted_while_loading() -> Noted:
    """What was noted outside of any such block: by the module's own statements, and by constructors."""
    return _while_loading


def is_sought(place: Place) -> bool:
    """Are inputs worth looking for that turn it?"""
    return place in _sought


def ran(path: str, number: int) -> None:
    """A statement that is about to run."""
    _now[path, number] |= {True, False}


def run(path: str, number: int, value: _Given) -> _Given:
    """An expression that ran: what a lambda gives."""
    ran(path, number)
    return value


def asked(path: str, number: int, value: _Given) -> _Given:
    """A condition; of a tensor, each of its elements is one."""
    _sought.add((path, number))
    return seen(path, number, value)


def seen(path: str, number: int, value: _Given) -> _Given:
    """A condition that inputs hardly turn, or that nobody asks for."""
    with suppress(Exception):  # what has no truth is asked by the source, too
        _now[path, number] |= _truths(value)
    return value


def _truths(value: Any) -> set[bool]:
    if not isinstance(value, torch.Tensor):
        return {bool(value)}
    with torch.no_grad():
        held = value != 0
        return {side for side, some in ((True, held.any()), (False, (~held).any())) if bool(some)}


def rounds(path: str, number: int, given: Iterable[_Given]) -> Iterator[_Given]:
    """What a loop goes over: true of a round, false of none."""
    any_round = False
    for one in given:
        if not any_round:
            any_round = True
            _now[path, number].add(True)
        yield one
    if not any_round:
        _now[path, number].add(False)


def matching(path: str, number: int, subject: _Given) -> _Given:
    """The subject of a `match`: false where no case was taken."""
    place = (path, number)
    if place in _open:
        _now[place].add(False)
    _open.add(place)
    return subject


def matched(path: str, number: int, case: int, guard: Any) -> Any:
    """The guard of a case, which is there once the pattern fits."""
    if guard:
        _open.discard((path, number))
        _now[path, number].add(True)
        _now[path, case] |= {True, False}
    return guard


def held(path: str, number: int, manager: Any) -> Any:
    """The manager of a `with`; whether something was raised, which `suppress` hides."""
    if isinstance(manager, suppress):
        return _Suppressing(manager, (path, number))
    ran(path, number)
    return manager


class _Suppressing(AbstractContextManager[Any]):
    def __init__(self, inner: AbstractContextManager[Any], place: Place) -> None:
        self._inner, self._place = inner, place

    def __enter__(self) -> Any:
        return self._inner.__enter__()

    def __exit__(
        self, cls: type[BaseException] | None, raised: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        _now[self._place].add(raised is not None)
        return self._inner.__exit__(cls, raised, traceback)


def choosing(path: str, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`min` or `max` of two: true where only the first is taken, false where only the second is."""
    if function not in (min, max):
        ran(path, number)
        return function

    def choose(first: Any, second: Any) -> Any:
        given = function(first, second)
        with suppress(Exception):
            if bool(first != second):
                _sought.add((path, number))
                _now[path, number].add(given is first or bool(given == first))
        return given

    return choose


def bounding(path: str, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`clamp` of a tensor: true once each of its bounds was reached, false where it left a value as it was."""
    owner = getattr(function, "__self__", None)

    def bound(*args: Any, **kwargs: Any) -> Any:
        values, *bounds = (owner, *args) if isinstance(owner, torch.Tensor) else (*args, None)
        before = values.detach().clone() if isinstance(values, torch.Tensor) else None
        given = function(*args, **kwargs)
        with suppress(Exception), torch.no_grad():
            _note_bounds((path, number), before, given, [*bounds, *kwargs.values()])
        return given

    return bound


def _note_bounds(place: Place, before: Any, given: Any, bounds: list[Any]) -> None:
    _sought.add(place)
    changed = {"raised": bool((given > before).any()), "lowered": bool((given < before).any())}
    reached = _reached[place]
    reached |= {how for how, seen in changed.items() if seen}
    if len(reached) >= sum(one is not None for one in bounds):
        _now[place].add(True)
    if bool((given == before).any()):
        _now[place].add(False)


_sides: dict[Place, Any] = {}


def one_side(path: str, number: int, value: _Given) -> _Given:
    """Of a comparison, which is about to get its other side."""
    _sides[path, number] = value
    return value


def other_side(path: str, number: int, value: _Given) -> _Given:
    """Were both sides equal?"""
    first = _sides.pop((path, number), None)
    with suppress(Exception), torch.no_grad():
        if True in _truths(first == value):
            ran(path, number)
    return value


def words(path: str, number: int, text: str) -> str:
    """What an f-string makes: seen once there were two of them."""
    _sought.add((path, number))
    if _words.setdefault((path, number), text) != text:
        ran(path, number)
    return text


def option(path: str, number: int, value: _Given) -> _Given:
    """A parameter that is None, empty or a word where nobody gives it; seen once it was another one."""
    if isinstance(value, str):
        words(path, number, value)
    elif value is not None and not (isinstance(value, tuple | dict) and not value):
        ran(path, number)
    return value


def asking(path: str, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
    """`getattr` with a default, or what reads the environment: seen once it found something."""

    def ask(*args: Any, **kwargs: Any) -> Any:
        if kwargs or len(args) == 1:
            found = function(*args, **kwargs)
            if found is not None:
                ran(path, number)
            return found
        nothing = object()
        found = function(*args[:-1], nothing)  # once: what is looked up may be computed
        if found is nothing:
            return args[-1]
        ran(path, number)
        return found

    return ask


def looked_in(path: str, number: int, container: Any) -> Any:
    """What is subscribed, or asked with `get`: true once each of its values was looked up, false once the default."""
    if type(container) not in _KINDS:
        ran(path, number)
        return container
    return _Reader(container, (path, number))


class _Reader:
    """A container, in the one expression that reads it."""

    def __init__(self, container: Any, place: Place) -> None:
        self._container, self._place = container, place

    def __getitem__(self, key: Any) -> Any:
        found = self._container[key]
        with suppress(Exception):
            self._note(key)
        return found

    def get(self, key: Any, default: Any = None) -> Any:
        found = self._container.get(key, default)
        with suppress(Exception):
            if key in self._container:
                self._note(key)
            else:
                _now[self._place].add(False)
        return found

    def _note(self, key: Any) -> None:
        if isinstance(key, slice):
            ran(*self._place)
            return
        size = len(self._container)
        known = _looked_up[self._place]
        known.add(key if isinstance(self._container, dict) else int(key) % size)
        if len(known) >= size:
            _now[self._place].add(True)
