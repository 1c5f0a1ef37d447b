"""Judge the static pass by what a sweep saw: of each rule what it says rightly, wrongly and not at all."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.settings import measured_version
from exportlint.files import Collected, SourceFile, shown
from exportlint.finding import Severity
from exportlint.output.sweeps.judgement import JudgedRule, Judgement, Missed
from exportlint.sweep.portable import portable
from exportlint.workflow.linting import lint_files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exportlint.config.settings import Config
    from exportlint.sweep.store import FailingLine, Store, Sweep

# torch names a line of a call over several lines, the static pass another one of it.
_NEAR = 1


def judged(store: Store, sweep: Sweep, config: Config, *, cache: bool = True) -> Judgement:
    """Run the static pass over all files that the swept models ran, as they lie here, and compare.

    A finding is a hit where an export failed at its line or one beside it; a false alarm where only targets that export
    and agree ran its line; of the others nothing is known. A line is missed where an export failed and no finding
    stands there. The static pass judges for the torch and the modes of the sweep.
    """
    failing, fine = store.failing_lines(sweep.number), store.fine_lines(sweep.number)
    ran = store.ran(sweep.number)
    here = {path: file for path in sorted(ran) if (file := _file_of(path)) is not None}
    modes = {"non-strict": "non-strict", "strict": "strict"}.get(",".join(sweep.options.get("modes", ())), "both")
    asked = replace(config, torch=measured_version(sweep.torch)[0], mode=modes)
    collected = Collected(tuple(SourceFile(file, shown(file)) for file in here.values()), ())
    found = [
        (portable(one.path), one.line, one.rule)
        for one in lint_files(collected, asked, cache=cache).findings
        if one.severity is not Severity.NOTE
    ]
    bad: dict[str, set[int]] = defaultdict(set)
    for one in failing:
        bad[one.path].add(one.line)
    counts: Counter[tuple[str, str]] = Counter()
    for path, line, rule in found:
        if bad[path] & {*range(line - _NEAR, line + _NEAR + 1)}:
            counts[rule, "hit"] += 1
        else:
            counts[rule, "false alarm" if line in fine.get(path, ()) else "unjudged"] += 1
    said = {(path, line + by) for path, line, _ in found for by in range(-_NEAR, _NEAR + 1)}
    known = [one for one in failing if one.path in here]
    missed = [one for one in known if (one.path, one.line) not in said]
    return Judgement(
        sweep,
        tuple(_rules(counts)),
        tuple(_missed(missed)),
        failing_lines=len({(one.path, one.line) for one in known}),
        missed_lines=len({(one.path, one.line) for one in missed}),
        fine_lines=sum(len(lines) for path, lines in fine.items() if path in here),
        absent=tuple(sorted(ran.keys() - here.keys())),
    )


def _rules(counts: Counter[tuple[str, str]]) -> Iterable[JudgedRule]:
    for rule in sorted({rule for rule, _ in counts}):
        yield JudgedRule(rule, *(counts[rule, word] for word in ("hit", "false alarm", "unjudged")))


def _missed(failing: Iterable[FailingLine]) -> Iterable[Missed]:
    """Once for each thing that torch says, those of most targets first: causes that no rule knows."""
    same: dict[tuple[str, str], list[FailingLine]] = defaultdict(list)
    for one in failing:
        same[one.rule, one.message].append(one)
    for (rule, message), lines in sorted(same.items(), key=lambda one: (-sum(x.targets for x in one[1]), one[0])):
        places = tuple(f"{one.path}:{one.line}" for one in lines)
        yield Missed(rule, message, sum(one.targets for one in lines), places, lines[0].example)


def _file_of(path: str) -> Path | None:
    """Where a file lies here: below the working directory, or where packages are installed."""
    folders = [Path.cwd(), *(Path(entry) for entry in sys.path if entry.endswith(("site-packages", "dist-packages")))]
    return next((file for folder in folders if (file := folder / path).is_file()), None)
