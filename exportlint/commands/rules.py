"""`exportlint rules`: list the rules, with what was measured."""

from __future__ import annotations

import json
from typing import Any

import click

from exportlint.commands.grouped import OUTPUT, Command, option
from exportlint.commands.options import NearChoice
from exportlint.commands.reporting import write
from exportlint.registry import RuleInfo, all_rules
from exportlint.trial.protocol.outcomes import MODES


@click.command(
    "rules",
    cls=Command,
    short_help="List the rules, with what torch does with what they find.",
    examples=(("exportlint rules --output-format json", "With what each measured version does."),),
)
@option(OUTPUT, "--output-format", type=NearChoice(("full", "json")), default="full", help="How the rules are told.")
def command(output_format: str) -> int:
    """List every installed rule with what the newest measured torch does with the code it finds."""
    from exportlint.pages.catalogue import measured, versions  # noqa: PLC0415 (tabulate, for this command only)

    newest = versions()[:1]
    if output_format == "json":
        write(json.dumps([_as_data(info) for info in all_rules().values()], indent=2) + "\n")
        return 0
    from tabulate import tabulate  # noqa: PLC0415 (as above)

    headers = ["rule", "what it finds", *(f"{version} {mode}" for version in newest for mode in MODES)]
    rows = [
        [info.name, info.summary, *(measured(info, version, mode) for version in newest for mode in MODES)]
        for info in all_rules().values()
    ]
    write(tabulate(rows, headers, disable_numparse=True, maxcolwidths=[None, 60]) + "\n")
    return 0


def _as_data(info: RuleInfo) -> dict[str, Any]:
    from exportlint.pages.catalogue import compiled, lowered, measured, versions  # noqa: PLC0415 (as above)

    return {
        "rule": info.name,
        "summary": info.summary,
        "page": info.page,
        "exportdb": list(info.cls.exportdb),
        "graph_breaks": list(info.cls.graph_breaks),
        "docs": [{"title": title, "url": url} for title, url in info.cls.docs],
        "measured": {v: {mode: measured(info, v, mode) for mode in MODES} for v in versions()},
        "compiled": {v: compiled(info, v) for v in versions() if v in info.compiled()},
        "lowered": {v: {name: lowered(info, v, name) for name in info.cls.lowerings} for v in versions()},
    }
