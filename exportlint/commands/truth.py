"""`exportlint truth`: measure what the installed torch does with the fixtures."""

from __future__ import annotations

from pathlib import Path

import click

from exportlint.commands.grouped import LIMITS, TRY, Command, lowering_names, option, rule_names
from exportlint.commands.options import flat


@click.command(
    "truth",
    cls=Command,
    short_help="Measure what torch does with the fixtures of rules.",
    examples=(("exportlint truth your-rule", "One rule, under the torch that is installed."),),
)
@click.argument("rules", nargs=-1, metavar="[RULE]…", shell_complete=rule_names)
@option(
    LIMITS,
    "--python",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    show_default="this one",
    help="The interpreter whose torch is measured.",
)
@option(
    TRY,
    "--lower",
    multiple=True,
    metavar="NAMES",
    show_default="the rule's own",
    shell_complete=lowering_names,
    help="Of targets of deployment measure these.",
)
@option(TRY, "--repaired", is_flag=True, help="Measure only what becomes of the Bad models after the rules' repairs.")
@option(TRY, "--compiled", is_flag=True, help="Measure only what torch.compile does with the models.")
@option(
    LIMITS,
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="one a core",
    help="Models measured at the same time.",
)
def command(
    rules: tuple[str, ...],
    python: Path | None,
    lower: tuple[str, ...],
    repaired: bool,
    compiled: bool,
    jobs: int | None,
) -> int:
    """Measure what torch does with the fixtures of rules, and write it beside them; needs torch.

    What becomes of the Bad models after their repair is measured, too, and what torch.compile does with all.

    A rule about targets of deployment is measured there too; of one whose package is missing, nothing is said.

    A rule that is not written yet can be measured as soon as its fixture stands.
    """
    # The trial's modules, for this command only.
    from exportlint.truth.truth_files import measure_compile, measure_repairs, measure_rules  # noqa: PLC0415

    if compiled:
        return measure_compile(list(rules), python, jobs)
    if repaired:
        return measure_repairs(list(rules), python, jobs)
    return measure_rules(list(rules), python, jobs, flat(lower))
