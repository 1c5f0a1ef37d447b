"""Hold the moment: what the clock, a draw or the process gives to the model is the same in every call.

A model that asks the clock gives other values at every call, and beside that nothing else of it can be compared: a
count that the program lost looks like one more second. With the moment held, what moves from call to call is the
model's own.

Only the model's code is told the held moment. Torch and the standard library go by the real one, so that nothing of
theirs waits for a clock that stands. It does not stand quite: it goes on a little each time it is asked, or a loop that
waits for it would have no end.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import secrets
import sys
import threading
import time
import uuid
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from exportlint.trial.protocol.frames import is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

    Places = Mapping[tuple[ModuleType, str], Any]

_STEP, _SECOND = 1_000_000, 1_000_000_000  # nanoseconds
_CLOCKS = ("time", "monotonic", "perf_counter", "process_time", "thread_time")
_NUMBERS = ((os, "getpid"), (os, "getppid"), (threading, "get_ident"), (threading, "get_native_id"))
_SEED = 0


class HeldMoment:
    """The moment at which it is made, for every call inside of `held()`, in forks of this process, too."""

    def __init__(self) -> None:
        self._asked = 0  # how often the clock was asked since the call began
        self._began = {name: getattr(time, f"{name}_ns")() for name in _CLOCKS}
        self._numbers = {name: getattr(module, name)() for module, name in _NUMBERS}
        self._draws = random.Random(_SEED)  # noqa: S311 - nothing secret: the same in every call

    def begin_call(self) -> None:
        """A call begins, which is told what every other one is told."""
        self._asked = 0
        self._draws.seed(_SEED)

    @contextmanager
    def held(self) -> Iterator[None]:
        instead = self._instead()
        known = {id(getattr(*place)): function for place, function in instead.items()}
        with ExitStack() as stack:
            for (module, name), function in instead.items():
                stack.enter_context(patch.object(module, name, function))
            for module in _modules_of_models():  # `from time import time`
                for name in [name for name, value in vars(module).items() if id(value) in known]:
                    stack.enter_context(patch.object(module, name, known[id(getattr(module, name))]))
            stack.enter_context(patch.object(sys.modules[__name__], "_now", self))
            self.begin_call()
            yield

    def _clock(self, name: str) -> int:
        self._asked += 1
        began: int = self._began[name]
        return began + self._asked * _STEP

    def _seconds(self, name: str = "time") -> float:
        return self._clock(name) / _SECOND

    def _instead(self) -> Places:
        """What code of a model's is given in place of what stands there."""
        draws = self._draws
        functions: dict[tuple[ModuleType, str], Callable[..., Any]] = {
            (os, "urandom"): draws.randbytes,
            (secrets, "choice"): draws.choice,
            (secrets, "randbits"): draws.getrandbits,
            (secrets, "randbelow"): draws.randrange,
            (secrets, "token_bytes"): lambda number=None: draws.randbytes(number or 32),
            (secrets, "token_hex"): lambda number=None: draws.randbytes(number or 32).hex(),
            (time, "strftime"): self._text(time.strftime, time.localtime),
        }
        for name in _CLOCKS:
            functions[time, name] = lambda name=name: self._seconds(name)
            functions[time, f"{name}_ns"] = lambda name=name: self._clock(name)
        for name in ("localtime", "gmtime", "ctime"):
            functions[time, name] = self._at_now(getattr(time, name))
        for module, name in _NUMBERS:
            functions[module, name] = lambda name=name: self._numbers[name]
        for name in ("uuid1", "uuid4"):
            functions[uuid, name] = lambda *_: uuid.UUID(int=draws.getrandbits(128), version=4)
        if numpy := sys.modules.get("numpy.random"):
            functions[numpy, "default_rng"] = _seeded(getattr(numpy, "default_rng"))  # noqa: B009 - a package of the target's
        places = {place: _told(getattr(*place), function) for place, function in functions.items()}
        return {**places, (dt, "datetime"): self._datetime()}

    def _at_now(self, real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda at=None: real(self._seconds() if at is None else at)

    def _text(self, real: Callable[..., str], local: Callable[..., Any]) -> Callable[..., str]:
        return lambda form, at=None: real(form, local(self._seconds()) if at is None else at)

    def _datetime(self) -> type:
        """`datetime.datetime` whose present is the moment's; for `isinstance` it is the real one."""
        real = dt.datetime

        class OfReal(type):
            def __instancecheck__(cls, value: object) -> bool:
                return isinstance(value, real)

        class Held(real, metaclass=OfReal):  # type: ignore[misc, valid-type]  # as it is now: a variable
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return real.fromtimestamp(self._seconds(), tz) if _is_model(2) else real.now(tz)

            @classmethod
            def today(cls) -> Any:
                return real.fromtimestamp(self._seconds()) if _is_model(2) else real.today()

            @classmethod
            def utcnow(cls) -> Any:
                at = self._seconds() if _is_model(2) else time.time()
                return real.fromtimestamp(at, dt.timezone.utc).replace(tzinfo=None)

        Held.__name__ = Held.__qualname__ = "datetime"
        return Held


_now: HeldMoment | None = None


def held_moment() -> HeldMoment | None:
    """The one that is held now."""
    return _now


def _told(real: Callable[..., Any], held: Callable[..., Any]) -> Callable[..., Any]:
    """`held` for code of a model's, `real` for all else."""

    def asked(*args: Any, **kwargs: Any) -> Any:
        return held(*args, **kwargs) if _is_model(2) else real(*args, **kwargs)

    return asked


def _is_model(depth: int) -> bool:
    """Is the frame that many calls above code of a model's?"""
    return is_user_path(sys._getframe(depth).f_code.co_filename)  # noqa: SLF001 - the documented way


def _seeded(real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda number=None: real(_SEED if number is None else number)


def _modules_of_models() -> Iterator[ModuleType]:
    for module in list(sys.modules.values()):
        if is_user_path(getattr(module, "__file__", None) or ""):
            yield module
