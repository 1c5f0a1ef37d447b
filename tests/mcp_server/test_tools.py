"""The server for agents, asked over stdio by the SDK's own client, as an agent asks it."""

from __future__ import annotations

import difflib
import sys
from typing import TYPE_CHECKING, Any

import anyio
import psutil
import pytest
from mcp import Client, StdioServerParameters

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    from mcp.types import CallToolResult

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("torch_of_its_own")]

GATE = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x: torch.Tensor):
        if x.mean() > 0:
            return x * 2
        return x


model = Gate()
example_args = (torch.ones(2, 3),)
"""
MENDED = GATE.replace(
    "        if x.mean() > 0:\n            return x * 2\n        return x\n",
    "        return torch.where(x.mean() > 0, x * 2, x)\n",
)


def asked(talk: Callable[[Client], Awaitable[Any]]) -> Any:
    """What `talk` gives, with a server in a process of its own."""

    async def run() -> Any:
        server = StdioServerParameters(command=sys.executable, args=["-m", "exportlint", "mcp"])
        async with Client(server) as client:
            return await talk(client)

    return anyio.run(run)


def called(name: str, **arguments: Any) -> CallToolResult:
    return asked(lambda client: client.call_tool(name, arguments))


def diff(after: str) -> str:
    return "".join(difflib.unified_diff(GATE.splitlines(True), after.splitlines(True), "a/gate.py", "b/gate.py"))


@pytest.fixture
def root(tmp_path: Path) -> str:
    (tmp_path / "gate.py").write_text(GATE, "utf-8")
    return str(tmp_path)


def test_every_tool_says_what_it_takes_and_gives() -> None:
    tools = {tool.name: tool for tool in asked(lambda client: client.list_tools()).tools}
    assert set(tools) == {"check", "trial", "fix", "verify", "explain"}
    assert all(tool.description for tool in tools.values())
    assert set(tools["verify"].output_schema["required"]) >= {"verdict", "taken", "different", "worse", "unproved"}
    assert tools["trial"].input_schema["required"] == ["root", "target"]


def test_files_are_checked_without_a_run(root: str) -> None:
    told = called("check", root=root, paths=["gate.py"]).structured_content
    assert told is not None
    assert not told["clean"]
    assert [(one["rule"], one["line"]) for one in told["findings"]] == [("data-dependent-branch", 7)]


def test_a_mend_is_proposed_and_an_edit_is_judged_and_progress_is_told(root: str) -> None:
    lines: list[str | None] = []

    async def progress(_: float, __: float | None, message: str | None) -> None:
        lines.append(message)

    async def talk(client: Client) -> list[dict[str, Any]]:
        fixed = await client.call_tool("fix", {"root": root, "target": "gate.py"}, progress_callback=progress)
        right = await client.call_tool("verify", {"root": root, "target": "gate.py", "patch": diff(MENDED)})
        wrong = GATE.replace("return x * 2", "return x")
        cheat = await client.call_tool("verify", {"root": root, "target": "gate.py", "patch": diff(wrong)})
        return [one.structured_content or {} for one in (fixed, right, cheat)]

    fixed, right, cheat = asked(talk)
    assert "+        return torch.where(x.mean() > 0, x * 2, x)" in fixed["diff"]
    assert (right["verdict"], right["taken"]) == ("mends", True)
    assert (cheat["verdict"], cheat["taken"]) == ("different", False)
    assert any(line and "gate.py" in line for line in lines)


def test_what_a_message_of_torch_means() -> None:
    told = called("explain", words="GB0170").content[0]
    assert "Graph break GB0170" in getattr(told, "text", "")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("trial", {"target": "missing.py"}, "missing.py: no such file or folder"),
        ("check", {"root": "/nowhere", "paths": ["."]}, "/nowhere is no folder to run in"),
        ("check", {"paths": ["--no-cache"]}, "--no-cache is no path"),
        ("verify", {"target": "gate.py", "patch": "a guess"}, "the patch holds no unified diff"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(root: str, name: str, arguments: dict[str, Any], said: str) -> None:
    told = called(name, **{"root": root, **arguments})
    assert told.is_error
    assert said in getattr(told.content[0], "text", "")


def test_a_call_that_is_cancelled_leaves_no_process(tmp_path: Path) -> None:
    sleeps = GATE.replace(
        "        if x.mean() > 0:", "        import time\n        time.sleep(300)\n        if x.mean() > 0:"
    )
    (tmp_path / "sleeper.py").write_text(sleeps, "utf-8")

    def running() -> list[psutil.Process]:
        return [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(tmp_path)]

    async def talk(client: Client) -> tuple[int, CallToolResult]:
        with anyio.move_on_after(6):
            await client.call_tool("trial", {"root": str(tmp_path), "target": "sleeper.py"})
        during = len(running())
        psutil.wait_procs(running(), timeout=20)
        return during, await client.call_tool("check", {"root": str(tmp_path), "paths": ["sleeper.py"]})

    during, after = asked(talk)
    assert during > 0
    assert running() == []
    assert not after.is_error, "the server goes on"
