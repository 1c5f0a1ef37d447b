"""`exportlint truth`: measure what the installed torch does with the fixtures."""

from __future__ import annotations

from pathlib import Path

import click

from exportlint.commands.options import flat


@click.command("truth")
@click.argument("rules", nargs=-1, metavar="[RULE]…")
@click.option(
    "--python",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The interpreter whose torch is measured (default: this one).",
)
@click.option(
    "--lower", multiple=True, metavar="NAMES", help="Of targets of deployment measure these (default: the rule's own)."
)
@click.option("--repaired", is_flag=True, help="Measure only what becomes of the Bad models after the rules' repairs.")
@click.option("--compiled", is_flag=True, help="Measure only what torch.compile does with the models.")
@click.option(
    "--jobs", type=click.IntRange(min=1), metavar="N", help="Models measured at the same time (default: one a core)."
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
