"""What a sweep found: outcomes by library and family, causes over all targets, rewrites, stages, breaks, lowerings.

As a page, and as JSON for programs (sweep-1.json beside schema-1.json describes it).
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from exportlint.output.sweeps.charts import Bars, HeatMap
from exportlint.output.sweeps.page import Cell, Page, Section, Table
from exportlint.sweep.key import compares
from exportlint.sweep.result import SweptOutcome
from exportlint.sweep.store import CommonBreak, CommonCause, Repaired, Row, Sweep
from exportlint.trial.protocol.outcomes import FAILED, PASSED
from exportlint.trial.protocol.stages import LADDER
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.sweep.store import Store

VERSION = 1
_WAITING = ""  # the outcome of what was not tried yet
_MORE = "exportlint sweep show --output-format json"
_MOST_CAUSES, _MOST_IN_CHART = 20, 30
_NO_RULE = "no rule"


@dataclass(frozen=True, slots=True)
class SweepSummary:
    """One sweep of a store.

    packages             name that is imported -> name and version; several where targets had different ones
    outcomes, families   name -> outcome -> how many targets
    stages               name, status, how many targets, their seconds together
    lowerings            family -> lowering -> (passed, tried)
    failing              the targets that did not export, with why
    """

    sweep: Sweep
    packages: Mapping[str, Sequence[str]]
    outcomes: Mapping[str, Mapping[str, int]]
    families: Mapping[str, Mapping[str, int]]
    stages: Sequence[tuple[str, str, int, float]]
    causes: Sequence[CommonCause]
    breaks: Sequence[CommonBreak]
    lowerings: Mapping[str, Mapping[str, tuple[int, int]]]
    repairs: Sequence[Repaired]
    failing: Sequence[Row]

    @property
    def total(self) -> Counter[str]:
        """Outcome -> how many targets."""
        total: Counter[str] = Counter()
        for counts in self.outcomes.values():
            total.update(counts)
        return total

    @property
    def headline(self) -> str:
        """The sweep in one sentence."""
        total = self.total
        number = sum(total.values())
        told = ", ".join(f"{total[one.value]} {one.value}" for one in SweptOutcome if total[one.value])
        waiting = f"{total[_WAITING]} not tried yet" if total[_WAITING] else ""
        said = ", ".join(filter(None, (told, waiting)))
        return f"{number} target{'' if number == 1 else 's'} (torch {self.sweep.torch}): {said or 'none'}"


def summarized(store: Store, sweep: Sweep) -> SweepSummary:
    """What the store knows of a sweep."""
    number = sweep.number
    return SweepSummary(
        sweep,
        store.packages(number),
        store.outcomes(number),
        store.outcomes(number, by="family"),
        store.stages(number),
        store.causes(number),
        store.breaks(number),
        store.lowerings(number) if sweep.options.get("lower") else {},
        store.repairs(number),
        store.failing(number),
    )


def as_json(summary: SweepSummary) -> str:
    """For programs."""
    stages = [
        {"name": name, "status": status, "targets": number, "seconds": round(seconds, 3)}
        for name, status, number, seconds in summary.stages
    ]
    lowerings = [
        {"family": family, "lowering": lowering, "passed": passed, "tried": tried}
        for family, row in summary.lowerings.items()
        for lowering, (passed, tried) in row.items()
    ]
    failing = [{**asdict(one), "outcome": one.outcome.value if one.outcome else None} for one in summary.failing]
    data: dict[str, Any] = {
        "version": VERSION,
        "exportlint": __version__,
        "torch": summary.sweep.torch,
        "sweep": summary.sweep.number,
        "started": summary.sweep.started,
        "specs": list(summary.sweep.specs),
        "options": dict(summary.sweep.options),
        "packages": {name: list(versions) for name, versions in summary.packages.items()},
        "outcomes": _named(summary.outcomes),
        "families": _named(summary.families),
        "stages": stages,
        "causes": [asdict(one) for one in summary.causes],
        "breaks": [asdict(one) for one in summary.breaks],
        "lowerings": lowerings,
        "repairs": [_repair(one) for one in summary.repairs],
        "failing": failing,
    }
    return json.dumps(data, indent=2) + "\n"


def of_json(text: str) -> SweepSummary:
    """The summary again, of what `as_json` made of it, which is small enough for a repository."""
    data = json.loads(text)
    sweep = Sweep(data["sweep"], data["started"], tuple(data["specs"]), data["options"], data["torch"])
    lowerings: dict[str, dict[str, tuple[int, int]]] = {}
    for one in data["lowerings"]:
        lowerings.setdefault(one["family"], {})[one["lowering"]] = (one["passed"], one["tried"])
    return SweepSummary(
        sweep,
        data["packages"],
        _unnamed(data["outcomes"]),
        _unnamed(data["families"]),
        [(one["name"], one["status"], one["targets"], one["seconds"]) for one in data["stages"]],
        [CommonCause(**one) for one in data["causes"]],
        [CommonBreak(**one) for one in data["breaks"]],
        lowerings,
        [_repaired(one) for one in data["repairs"]],
        [Row(**{**one, "outcome": SweptOutcome(one["outcome"])}) for one in data["failing"]],
    )


def _repaired(data: Mapping[str, Any]) -> Repaired:
    rewrites = tuple((one["rule"], one["description"]) for one in data["rewrites"])
    sides = {side: SweptOutcome(data[side]) for side in ("before", "after")}
    return Repaired(**{**data, **sides, "rewrites": rewrites})


def _repair(one: Repaired) -> dict[str, Any]:
    rewrites = [{"rule": rule, "description": description} for rule, description in one.rewrites]
    return {**asdict(one), "before": one.before.value, "after": one.after.value, "rewrites": rewrites}


def _named(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {name: {outcome or "waiting": number for outcome, number in some.items()} for name, some in counts.items()}


def _unnamed(counts: Mapping[str, Mapping[str, int]]) -> dict[str, dict[str, int]]:
    return {
        name: {_WAITING if outcome == "waiting" else outcome: number for outcome, number in some.items()}
        for name, some in counts.items()
    }


def page_of(summary: SweepSummary) -> Page:
    """The page."""
    options = summary.sweep.options
    facts = {
        "torch": summary.sweep.torch,
        "with": ", ".join(version for name in summary.outcomes for version in summary.packages.get(name, ())),
        "modes": ", ".join(options.get("modes", ())),
        "lowered for": ", ".join(options.get("lower", ())),
        "sweep": " ".join(summary.sweep.specs),
        "begun": f"{summary.sweep.started.partition('.')[0].replace('T', ' ')} UTC",
    }
    notes = ["It compared nothing with eager: `exports` says no more than that a model exports."]
    return Page(
        summary.headline,
        list(_sections(summary)),
        _MORE,
        () if compares(options) else notes,
        {name: value for name, value in facts.items() if value},
    )


def _sections(summary: SweepSummary) -> Iterator[Section]:
    yield Section("Outcomes", [_outcomes(summary.outcomes, "library")])
    yield from _families(summary.families)
    if summary.causes:
        chart = Bars(
            "Causes by count",
            {f"{one.rule}: {one.message}": {"": one.targets} for one in summary.causes[:_MOST_CAUSES]},
            "targets",
        )
        rows = [
            (one.targets, one.places, one.rule, one.message, _mend(one), f"exportlint trial {one.example}")
            for one in summary.causes
        ]
        heads = ("targets", "lines", "rule", "what torch does", "what to write", "one to try")
        yield Section("Causes, those of most targets first", [chart, Table(heads, rows, "causes", _MOST_CAUSES)])
    if summary.repairs:
        yield Section("Rewrites that were tried", list(_repairs(summary.repairs)))
    if summary.breaks:
        yield Section("Graph breaks of torch.compile", list(_breaks(summary.breaks)))
    if summary.lowerings:
        yield Section("Lowerings", list(_lowerings(summary.lowerings)))
    untold = [(one.target, _word(one.outcome), one.detail) for one in summary.failing if one.detail]
    if untold:
        yield Section("Targets that do not export", [Table(("target", "outcome", "why"), untold, "targets")])
    if summary.stages:
        yield Section("Stages", list(_stages(summary.stages)))


def _families(families: Mapping[str, Mapping[str, int]]) -> Iterator[Section]:
    failing = {name: some for name, some in families.items() if _failures(some)}
    worst = dict(sorted(failing.items(), key=lambda one: -_failures(one[1])))
    # Those that fail come first; among those that do not, large ones say more.
    order = sorted(families.items(), key=lambda one: (-_failures(one[1]), -sum(one[1].values())))
    chart = Bars("Outcomes by family", _named(dict(order[:_MOST_IN_CHART])), "targets")
    if failing:
        yield Section(
            f"Families with failures ({len(failing)} of {len(families)})",
            [chart, _outcomes(worst, "family")],
        )
    elif len(families) > 1:
        yield Section("Families", [chart])


def _outcomes(counts: Mapping[str, Mapping[str, int]], what: str) -> Table:
    shown = [one.value for one in SweptOutcome if any(some.get(one.value) for some in counts.values())]
    shown += [_WAITING] if any(some.get(_WAITING) for some in counts.values()) else []
    rows: list[list[Cell]] = [
        [name or "files", sum(some.values()), *(some.get(word, 0) for word in shown)] for name, some in counts.items()
    ]
    return Table((what, "targets", *(word or "waiting" for word in shown)), rows, "families")


def _failures(counts: Mapping[str, int]) -> int:
    return sum(number for word, number in counts.items() if word not in (SweptOutcome.EXPORTS.value, _WAITING))


def _mend(cause: CommonCause) -> str:
    """What to write instead, and of how many targets somebody saw that it helps."""
    return f"{cause.mend} (tried on {cause.tried})" if cause.tried else cause.mend


def _repairs(repairs: Sequence[Repaired]) -> Iterator[str | Table]:
    mended = [one for one in repairs if one.after is SweptOutcome.EXPORTS]
    yield (
        f"{len(mended)} of {len(repairs)} that failed export, and agree with eager, with the rewrites that were tried "
        "on them. No file was written."
    )
    rewrites: Counter[tuple[str, str]] = Counter()
    example: dict[tuple[str, str], str] = {}
    for one in mended:
        for rewrite in set(one.rewrites):
            rewrites[rewrite] += 1
            example.setdefault(rewrite, one.target)
    if rewrites:
        rows = [(number, rule, what, example[rule, what]) for (rule, what), number in rewrites.most_common()]
        yield Table(("targets", "rule", "what was written", "one of them"), rows, "rewrites")


def _breaks(breaks: Sequence[CommonBreak]) -> Iterator[Bars | Table]:
    by_rule: Counter[str] = Counter()
    for one in breaks:
        by_rule[one.rule or _NO_RULE] += one.times
    yield Bars("Breaks by rule", {rule: {"": number} for rule, number in by_rule.most_common(_MOST_IN_CHART)}, "breaks")
    rows = [(one.targets, one.times, one.rule or _NO_RULE, one.reason, one.place, one.example) for one in breaks]
    heads = ("targets", "breaks", "rule", "why", "one place", "one target")
    yield Table(heads, rows, "reasons", _MOST_CAUSES)


def _lowerings(lowerings: Mapping[str, Mapping[str, tuple[int, int]]]) -> Iterator[HeatMap | Table]:
    def not_passed(row: Mapping[str, tuple[int, int]]) -> int:
        return sum(of - these for these, of in row.values())

    order = sorted(lowerings.items(), key=lambda one: -not_passed(one[1]))
    yield HeatMap("Lowerings by family", dict(order[:_MOST_IN_CHART]), "passed, of those that were lowered")
    names = sorted({name for row in lowerings.values() for name in row})
    rows = [
        [family, *(f"{row[name][0]} of {row[name][1]}" if name in row else "" for name in names)]
        for family, row in order
    ]
    yield Table(("family", *names), rows, "families")


def _stages(stages: Sequence[tuple[str, str, int, float]]) -> Iterator[Bars | Table]:
    """A row a stage, in the order of the ladder; then the lowerings."""
    order = [row.name for row in LADDER]
    names = sorted({name for name, *_ in stages}, key=lambda name: (order.index(name) if name in order else 99, name))
    rows, times = [], {}
    for name in names:
        own = {status: (number, seconds) for stage, status, number, seconds in stages if stage == name}
        number, total = sum(one[0] for one in own.values()), sum(one[1] for one in own.values())
        counts = [own.get(status, (0, 0.0))[0] or "" for status in (PASSED, *FAILED)]
        times[name] = {"": total / number}
        rows.append((name, *counts, total / number))
    yield Bars("Time by stage", times, "seconds a target, the mean")
    yield Table(("stage", PASSED, *FAILED, "seconds a target"), rows, "stages", len(rows))


def _word(outcome: SweptOutcome | None) -> str:
    return outcome.value if outcome else ""
