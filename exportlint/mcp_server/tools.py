"""The tools that an agent sees: check, trial, fix, verify and explain, with typed results."""

from __future__ import annotations

import json
from typing import Annotated, Any, cast

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field
from typing_extensions import TypedDict

from exportlint.child_command import Ended, FailedError, run_command
from exportlint.version import __version__

_INSTRUCTIONS = """\
exportlint says where torch.export refuses a PyTorch model, or exports it and silently computes something else.
Begin with `trial` on a file that has `model` and `example_args`, or on a script that hands its model to torch; `check`
reads files without running them. `fix` proposes rewrites that were tried. Give every edit of your own to `verify`
before you call it right: it is, where `taken` is true; else `different`, `worse` and `unproved` say why.
`trial`, `fix` and `verify` run the code of the target."""

_Root = Annotated[str, Field(description="The folder to work in, an absolute path; other paths are relative to it.")]
_Target = Annotated[
    str,
    Field(
        description="A file with `model` and `example_args`, a script that hands a model to torch, FILE.py:CLASS with "
        "`inputs()`, or a model of a library such as transformers:bert."
    ),
]
_Mode = Annotated[str, Field(description="Of torch.export: non-strict (the default of torch), strict or both.")]
_Lower = Annotated[
    str, Field(description="Targets of deployment to lower to and run on, such as aotinductor,executorch; empty: none.")
]


class Checked(TypedDict):
    """What was found. `clean`: no error and no warning; `report` is the JSON report of docs/output.md."""

    clean: bool
    findings: list[dict[str, Any]]
    report: dict[str, Any]


class Fixed(TypedDict):
    """`diff`: the rewrites that were tried, relative to `root`, none of it written; `rewrites` and `rejected` say why;
    `left`: what is shown to be wrong after it."""

    diff: str
    root: str
    rewrites: list[dict[str, Any]]
    rejected: list[dict[str, Any]]
    targets: list[dict[str, Any]]
    left: list[dict[str, Any]]


class Judged(TypedDict):
    """Whether an edit is right: `taken` where it mends, helps or does no harm; else the reasons, by their weight."""

    verdict: str
    taken: bool
    says: str
    different: list[str]
    worse: list[str]
    unproved: list[str]
    told: list[str]
    targets: list[dict[str, Any]]
    left: list[dict[str, Any]]


def server() -> MCPServer:
    """With its tools, ready to run over stdio."""
    made = MCPServer("exportlint", version=__version__, instructions=_INSTRUCTIONS, log_level="WARNING")
    for tool in (check, trial, fix, verify, explain):
        made.tool()(tool)
    return made


async def check(context: Context, root: _Root, paths: list[str], mode: _Mode = "non-strict") -> Checked:
    """Find code that torch.export refuses, or exports wrongly, by reading files or folders; nothing of them runs."""
    return _checked(await _run(context, root, ["check", *_plain(paths), "--mode", mode, "--output-format", "json"]))


async def trial(
    context: Context, root: _Root, target: _Target, mode: _Mode = "non-strict", lower: _Lower = ""
) -> Checked:
    """Export a model for real, stage by stage, and say at which lines torch refuses it, or what the program computes
    else than eager. Runs the target's code in processes of its own; takes from seconds to minutes."""
    asked = ["trial", *_plain([target]), "--mode", mode, "--output-format", "json", *_lowered(lower)]
    return _checked(await _run(context, root, asked))


async def fix(context: Context, root: _Root, target: _Target, mode: _Mode = "non-strict", lower: _Lower = "") -> Fixed:
    """Rewrite what a trial of the target shows, try each rewrite, and give what helps as a diff. Writes nothing."""
    asked = ["fix", *_plain([target]), "--mode", mode, "--output-format", "json", *_lowered(lower)]
    told = json.loads((await _run(context, root, asked)).out)
    return cast("Fixed", {key: told[key] for key in Fixed.__annotations__})


async def verify(
    context: Context,
    root: _Root,
    target: _Target,
    patch: Annotated[
        str, Field(description="A unified diff of the files as they are; empty: judge what git tells.")
    ] = "",
    base: Annotated[str, Field(description="The git revision before the edit; empty: HEAD.")] = "",
    revision: Annotated[str, Field(description="The git revision after it; empty: the working tree.")] = "",
    mode: _Mode = "non-strict",
    lower: _Lower = "",
) -> Judged:
    """Say whether an edit is right: it computes in eager what was computed before, on inputs that are sought for both
    sides, and the export gets further. Writes nothing; runs the code of both sides."""
    asked = ["verify", *_plain([target]), "--mode", mode, "--output-format", "json", *_lowered(lower)]
    asked += ["--patch", "-"] if patch else []
    asked += [*(["--base", base] if base else []), *(["--revision", revision] if revision else [])]
    told = json.loads((await _run(context, root, asked, patch)).out)
    return cast("Judged", {key: told[key] for key in Judged.__annotations__})


async def explain(
    context: Context,
    words: Annotated[
        str,
        Field(description="A rule, an ExportDB case, a graph-break id such as GB0170, or a message of torch."),
    ],
) -> str:
    """Say what a rule, a case, a graph break or a message of torch means, with models that were measured."""
    return (await _run(context, ".", ["explain", "-"], words)).out


async def _run(context: Context, root: str, arguments: list[str], given: str = "") -> Ended:
    told = 0

    async def tell(line: str) -> None:
        nonlocal told
        told += 1
        await context.report_progress(told, message=line)

    try:
        return await run_command(arguments, root, tell, given)
    except FailedError as error:
        raise ToolError(str(error)) from error


def _checked(ended: Ended) -> Checked:
    report = json.loads(ended.out)
    return Checked(clean=ended.code == 0, findings=report["findings"], report=report)


def _plain(paths: list[str]) -> list[str]:
    """No option is smuggled in as a path."""
    if wrong := next((one for one in paths if one.startswith("-")), None):
        raise ToolError(f"{wrong} is no path")
    return paths


def _lowered(lower: str) -> list[str]:
    return ["--lower", lower] if lower else []
