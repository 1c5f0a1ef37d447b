"""Trials that an editor asks for: each in processes of its own, its progress told, until it ends or is cancelled."""

from __future__ import annotations

import asyncio
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.exceptions import JsonRpcException

from exportlint.child_command import FailedError, run_command
from exportlint.files import shown
from exportlint.finding import Evidence, Finding, Fix, Link, Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygls.lsp.server import LanguageServer

_SECONDS_TO_AGREE = 5.0  # for a client to make room for a sign of progress
_SHOWN_BY_A_RUN = (Evidence.CONFIRMED.value, Evidence.DISCOVERED.value)  # the others are judged while code is typed


@dataclass(frozen=True, slots=True)
class Wish:
    """A trial: the arguments of `exportlint trial`, and the folder that it runs in.

    `mode`: of torch.export, where the editor's settings overrule that of pyproject.toml
    """

    root: str
    arguments: tuple[str, ...]
    mode: str | None = None

    @property
    def name(self) -> str:
        return self.arguments[-1]


class Trials:
    """Those that run now. `done` is given the findings of one that ended, which may be none."""

    def __init__(self, server: LanguageServer, done: Callable[[Wish, tuple[Finding, ...]], None]) -> None:
        self._server = server
        self._done = done
        self._running: dict[Wish, asyncio.Task[None]] = {}

    def start(self, wish: Wish) -> None:
        """Begin it; one of the same model that still runs is of older code, and ends."""
        before = self._running.get(wish)
        if before is not None:
            before.cancel()
        task = asyncio.ensure_future(self._tried(wish, before))
        self._running[wish] = task
        task.add_done_callback(lambda _: self._forget(wish, task))

    async def stop(self) -> None:
        """End all of them; when it returns, no process is left."""
        running = list(self._running.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _forget(self, wish: Wish, task: asyncio.Task[None]) -> None:
        if self._running.get(wish) is task:
            del self._running[wish]

    async def _tried(self, wish: Wish, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        progress = _Progress(self._server, f"exportlint trial {wish.name}")
        await progress.begin(asyncio.current_task())
        said = "cancelled"
        try:
            asked = ["trial", *wish.arguments, "--output-format", "json"]
            asked += ["--mode", wish.mode] if wish.mode else []
            ended = await run_command(asked, wish.root, progress.tell)
            report = json.loads(ended.out)
            findings = tuple(
                _finding(one, wish.root) for one in report["findings"] if one["evidence"] in _SHOWN_BY_A_RUN
            )
            said = _summary(report, len(findings))
            self._done(wish, findings)
        except FailedError as error:
            said = str(error)
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Error, said))
        finally:
            progress.end(said)


class _Progress:
    """Of one trial, where the client shows progress."""

    def __init__(self, server: LanguageServer, title: str) -> None:
        self._server = server
        self._title = title
        self._token = str(uuid.uuid4())
        window = server.client_capabilities.window
        self._shown = bool(window and window.work_done_progress)

    async def begin(self, task: asyncio.Task[Any] | None) -> None:
        """The task is cancelled when the person says so."""
        if not self._shown:
            return
        progress = self._server.work_done_progress
        try:
            await asyncio.wait_for(progress.create_async(self._token), _SECONDS_TO_AGREE)
        except (JsonRpcException, TimeoutError, asyncio.TimeoutError):  # the trial matters more than its bar
            self._shown = False
            return
        progress.tokens[self._token].add_done_callback(lambda asked: task and asked.cancelled() and task.cancel())
        progress.begin(self._token, types.WorkDoneProgressBegin(self._title, cancellable=True))

    async def tell(self, line: str) -> None:
        if self._shown:
            self._server.work_done_progress.report(self._token, types.WorkDoneProgressReport(message=line))

    def end(self, said: str) -> None:
        """Where the client shows no progress, it shows the end at least."""
        if not self._shown:
            self._server.window_show_message(types.ShowMessageParams(types.MessageType.Info, f"{self._title}: {said}"))
        else:
            self._server.work_done_progress.end(self._token, types.WorkDoneProgressEnd(message=said))
            self._server.work_done_progress.tokens.pop(self._token, None)


def _summary(report: dict[str, Any], findings: int) -> str:
    """Of each target, the stages that say no; or that nothing does."""
    unlike = [
        f"{target['name']}: {stage['name']} {stage['status']}"
        for target in report["targets"]
        for stage in target["stages"]
        if stage["status"] not in ("passed", "compiled", "skipped")
    ]
    return "; ".join(unlike) or ("nothing is refused" if not findings else f"{findings} findings")


def _finding(told: dict[str, Any], root: str) -> Finding:
    """From the JSON of a report, whose paths are relative to its folder."""
    fix = told["fix"]
    return Finding(
        told["rule"],
        shown(Path(root, told["path"])),
        told["line"],
        told["column"],
        told["end_line"],
        told["end_column"],
        Severity(told["severity"]),
        told["message"],
        Evidence(told["evidence"]),
        target=told["target"],
        stage=told["stage"],
        links=tuple(Link(**link) for link in told["links"]),
        fix=Fix(fix["description"]) if fix else None,
    )
