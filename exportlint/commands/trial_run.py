"""What `exportlint trial` and `exportlint check --trial` share: options in, a printed report out."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.commands.options import flat
from exportlint.commands.reporting import finish
from exportlint.errors import UserError
from exportlint.finding import Wanted
from exportlint.output import SHOWN_REWRITES, WITH_PROGRAM
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.purposes import COMPILE, EXPORT
from exportlint.workflow.lowering_choice import chosen_lowerings, lowering_options
from exportlint.workflow.trials import examine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.commands.options import Output, TrialSettings
    from exportlint.config.settings import Config
    from exportlint.files import Collected
    from exportlint.trial.protocol.target import Target
    from exportlint.workflow.adopting import Adopting


_DECOMPOSITION = re.compile(r"[\w.:]+=(keep|.+:[\w.]+)")


def try_and_report(
    targets: Sequence[Target],
    found: Collected,
    config: Config,
    output: Output,
    how: TrialSettings,
    *,
    cache: bool = True,
    adopting: Adopting | None = None,
    suppress: str | None = None,
) -> int:
    """Try the targets, lint `found` and what they ran of the project, and print both kinds of evidence as one.

    `adopting`, `suppress`: as of `finish`.
    """
    if how.show and output.output_format not in WITH_PROGRAM:
        raise UserError(f"--show {how.show[0]} is for people: use it with `--output-format full` or `html`")
    if how.dry_run and how.artifacts:
        raise UserError("--dry-run compiles nothing that --artifacts could keep: give one of them")
    for option, given in (("dynamic", how.dynamic), ("decompose", how.decompose), ("read-with", how.read_with)):
        if how.quick and given:
            raise UserError(f"--quick leaves out the stage that --{option} asks for: give one of them")
    if wrong := [text for text in how.decompose if not _DECOMPOSITION.fullmatch(text)]:
        raise UserError(f"--decompose {wrong[0]}: write OP=FILE_OR_MODULE:FUNCTION, or OP=keep")
    if config.purpose == COMPILE and (given := _only_of_export(how)):
        raise UserError(
            f"{given} is about the exported program, which a trial for compile does not make: use --for both"
        )
    if config.purpose == EXPORT and how.backend:
        raise UserError("--backend is about torch.compile: use it with --for compile")
    options = _options(how, config, cache=cache)
    if not options.lower and (asked := _only_with_lower(how)):
        raise UserError(f"{asked} is about what --lower compiles: name the targets, or `--lower all`")
    examined = examine(
        targets,
        found,
        config,
        options,
        save_repro=how.save_repro,
        artifacts=how.artifacts,
        cache=cache,
        rewrites=SHOWN_REWRITES.get(output.output_format, Wanted.FIRST),
    )
    return finish(
        examined.gathered,
        examined.config,
        output,
        operators="operators" in how.show,
        adopting=adopting,
        suppress=suppress,
    )


def _only_with_lower(how: TrialSettings) -> str | None:
    given = {
        "--dry-run": how.dry_run, "--artifacts": how.artifacts, "--show operators": "operators" in how.show
    }  # fmt: skip
    return next((option for option, value in given.items() if value), None)


def _only_of_export(how: TrialSettings) -> str | None:
    given = {
        "--lower": how.lower, "--dynamic": how.dynamic, "--decompose": how.decompose, "--read-with": how.read_with,
        "--grad": how.grad, "--show graph": "graph" in how.show, "--dry-run": how.dry_run, "--artifacts": how.artifacts,
    }  # fmt: skip
    return next((option for option, value in given.items() if value), None)


def _options(how: TrialSettings, config: Config, *, cache: bool) -> TrialOptions:
    named, graph = flat(how.lower), "graph" in how.show
    asked = TrialOptions(
        # What is quick leaves out what nobody asked for on this command line.
        lower=chosen_lowerings(named, config) if named or not how.quick else (),
        lowering=lowering_options(config, cache=cache, dry_run=how.dry_run, operators="operators" in how.show),
        purpose=config.purpose,
        as_used=not config.purpose_chosen and _only_of_export(how) is None,
        backend=how.backend,
        dynamic=how.dynamic,
        python=how.python,
        graph=graph,
        grad=how.grad,
        quick=how.quick,
        decompose=how.decompose,
        read_with=how.read_with,
    )
    return replace(asked, **limits(how.timeout, how.memory, how.jobs))


def limits(timeout: float | None, memory_gb: float | None, jobs: int | None) -> dict[str, Any]:
    """Those of the options that were given, as fields of TrialOptions."""
    memory_mb = int(memory_gb * 1000) if memory_gb else None
    asked = {"timeout": timeout, "jobs": jobs, "memory_mb": memory_mb}
    return {name: value for name, value in asked.items() if value is not None}
