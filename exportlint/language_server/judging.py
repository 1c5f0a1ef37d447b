"""One judgement at a time: begun at once where nothing is judged, else of the newest texts when that is done."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

_STACK_BYTES = 64 << 20  # the trees of long expressions are deep, and a thread has no room of its own for them
_P = ParamSpec("_P")
_T = TypeVar("_T")


class Worker:
    """The one thread that judges, so that the protocol is never kept waiting and nothing is judged side by side."""

    def __init__(self) -> None:
        usual = threading.stack_size(_STACK_BYTES)
        self._thread = ThreadPoolExecutor(1, "judging")
        self._thread.submit(int).result()  # it starts with this size
        threading.stack_size(usual)

    async def run(self, work: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """What `work` gives, after what was asked before."""
        return await asyncio.wrap_future(self._thread.submit(work, *args, **kwargs))

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)


class NewestOnly:
    """Runs a round whenever one was asked for since the last began; however many ask meanwhile, one follows."""

    def __init__(self, round_of_work: Callable[[], Awaitable[None]]) -> None:
        self._round = round_of_work
        self._asked = False
        self._task: asyncio.Task[None] | None = None

    def ask(self) -> None:
        self._asked = True
        if self._task is None or self._task.done():
            self._task = asyncio.ensure_future(self._rounds())

    async def _rounds(self) -> None:
        while self._asked:
            self._asked = False
            await self._round()
