"""Everything that doctor looks at, in the order in which a person would ask."""

from __future__ import annotations

import platform
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from exportlint.cores import cores, result_of
from exportlint.doctor import machine, packages, project
from exportlint.output.checkup import Check, Checkup
from exportlint.workflow.lowering_choice import ALL

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.config.settings import Config


def checkup(tell: Callable[[int, int], None]) -> Checkup:
    """Look at all; `tell` is called with how many of how many things are done."""
    points = packages.lowering_points()
    steps = len(points) + 3
    plugins = [*packages.plugins(packages.RULES), *packages.plugins(packages.ZOOS)]
    tell(1, steps)
    # A package of rules that fails fails in this process too, and took the process of its check along.
    rules_load = not any(check.fails for check in plugins)
    of_rules, of_config, config = _of_project() if rules_load else (None, None, None)
    torch = packages.torch()
    tell(2, steps)
    beside = packages.beside_torch()
    tell(3, steps)
    measured = project.measurements(torch.facts["version"]) if of_rules and torch.facts else None
    compiler = machine.compiler()
    asked = _asked_for(config)
    # As many at a time as there are cores: each import is one thread's work.
    with ThreadPoolExecutor(max(1, min(cores(), 4))) as pool:
        waiting = [
            pool.submit(
                packages.lowering,
                one,
                asked_for=one.name in asked or ALL in asked,
                without_torch=not torch.facts,
                compiler=compiler,
            )
            for one in points
        ]
        lowerings = []
        for number, future in enumerate(waiting, 4):
            lowerings.append(result_of(future))
            tell(number, steps)
    checks: list[Check | None] = [
        of_rules, *plugins, of_config, torch, measured, beside, compiler,
        machine.machine(), machine.cache(), machine.git(), *lowerings,
    ]  # fmt: skip
    system = f"{platform.system()} {platform.machine()}"
    return Checkup(platform.python_version(), system, [check for check in checks if check is not None])


def _of_project() -> tuple[Check, Check | None, Config | None]:
    of_rules = project.rules()
    if of_rules.fails:
        return of_rules, None, None
    of_config, config = project.configuration()
    return of_rules, of_config, config


def _asked_for(config: Config | None) -> tuple[str, ...]:
    return config.lower if config else ()
