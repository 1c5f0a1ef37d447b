"""What `exportlint trial` and `exportlint check --trial` share: options in, a printed report out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.commands.options import flat
from exportlint.commands.reporting import finish
from exportlint.errors import UserError
from exportlint.trial.protocol.options import TrialOptions
from exportlint.workflow.trials import examine, known_lowerings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.commands.options import Output, TrialSettings
    from exportlint.config.settings import Config
    from exportlint.files import Collected
    from exportlint.trial.protocol.target import Target


_DECOMPOSITION = re.compile(r"[\w.:]+=(keep|.+:[\w.]+)")


def try_and_report(
    targets: Sequence[Target],
    found: Collected,
    config: Config,
    output: Output,
    how: TrialSettings,
    *,
    cache: bool = True,
) -> int:
    """Try the targets, lint `found` and what they ran of the project, and print both kinds of evidence as one."""
    if how.show and output.output_format != "full":
        raise UserError(f"--show {how.show[0]} is for people: use it with `--output-format full`")
    for option, given in (("dynamic", how.dynamic), ("decompose", how.decompose), ("read-with", how.read_with)):
        if how.quick and given:
            raise UserError(f"--quick leaves out the stage that --{option} asks for: give one of them")
    if wrong := [text for text in how.decompose if not _DECOMPOSITION.fullmatch(text)]:
        raise UserError(f"--decompose {wrong[0]}: write OP=FILE_OR_MODULE:FUNCTION, or OP=keep")
    examined = examine(targets, found, config, _options(how), save_repro=how.save_repro, cache=cache)
    return finish(examined.gathered, examined.config, output)


def _options(how: TrialSettings) -> TrialOptions:
    limits: dict[str, Any] = {"timeout": how.timeout, "jobs": how.jobs}
    limits["memory_mb"] = int(how.memory * 1000) if how.memory else None
    given = {name: value for name, value in limits.items() if value is not None}
    lower, graph = known_lowerings(flat(how.lower)), "graph" in how.show
    asked = TrialOptions(
        lower=lower,
        dynamic=how.dynamic,
        python=how.python,
        graph=graph,
        grad=how.grad,
        quick=how.quick,
        decompose=how.decompose,
        read_with=how.read_with,
    )
    return replace(asked, **given)
