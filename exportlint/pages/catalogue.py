"""Make the pages that people read from rules, fixtures and truth.

`python -m exportlint.pages.catalogue` writes them anew. A test fails while they are stale.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError
from exportlint.output.markdown import table
from exportlint.registry import TESTED_TORCH, RuleInfo, all_rules, version_key
from exportlint.trial.protocol.outcomes import MODES, NON_STRICT, Outcome
from exportlint.trial.protocol.stages import LADDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exportlint.truth.fixture import Fixture, FixtureClass


NOTE = "<!-- Written by `python -m exportlint.pages.catalogue` from rules, fixtures and measurements. -->"


def source(fixture: Fixture, found: FixtureClass) -> str:
    """The text of one class of the fixture, decorators included."""
    return "\n".join(fixture.path.read_text("utf-8").split("\n")[found.line - 1 : found.end_line])


def outcome(record: Mapping[str, Any]) -> str:
    """The outcome of one record of a truth file, in a word or two."""
    if record["outcome"] != "exports":
        return str(record["outcome"])
    return "fails later" if record.get("then") else "deprecated" if record.get("deprecated") else "exports"


def measured(info: RuleInfo, version: str, mode: str) -> str:
    """What the version did with the Bad classes: `refused`, or `refused 5, differs 2`; empty when not measured."""
    classes = info.truth().get(version, {})
    bad = [modes[mode] for name, modes in classes.items() if name.startswith("Bad") and mode in modes]
    return _counted(outcome(one) for one in bad)


def compiled(info: RuleInfo, version: str) -> str:
    """What torch.compile did with the Bad classes, as in `measured`."""
    classes = info.compiled().get(version, {})
    return _counted(record["outcome"] for name, record in classes.items() if name.startswith("Bad"))


def judged_torch(measured: Mapping[str, Any]) -> str:
    """Of measured versions, the one that single models are judged by: the tested torch, or else the newest."""
    return TESTED_TORCH if TESTED_TORCH in measured else max(measured, key=version_key)


def lowered(info: RuleInfo, version: str, target: str) -> str:
    """What the target did with the Bad classes, as in `measured`."""
    records = (by_target.get(target) for name, by_target in _bad_lowered(info, version))
    return _counted(record["status"] for record in records if record)


def _counted(words: Iterable[str]) -> str:
    counts = Counter(words)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def repaired(info: RuleInfo, version: str, mode: str) -> str:
    """What became of the Bad classes after their repair: `exports 12, none 3`; empty when not measured."""
    counts = Counter(record[mode] for record in info.repaired().get(version, {}).values())
    return ", ".join(f"{name} {number}" for name, number in counts.most_common())


def repaired_share(info: RuleInfo, version: str) -> str:
    """`12 of 15`: how many Bad classes export after their repair, in the default mode; empty when not measured."""
    records = info.repaired().get(version, {}).values()
    if not (records and info.cls.mended_by):
        return ""
    return f"{sum(one[NON_STRICT] == Outcome.EXPORTS.value for one in records)} of {len(records)}"


def repaired_fixtures() -> tuple[int, int]:
    """Of how many Bad classes the tested torch exports what a repair makes of them, and how many there are."""
    ours = [info for info in all_rules().values() if _is_ours(info) and not info.cls.lowerings]
    records = [one for info in ours for one in info.repaired().get(TESTED_TORCH, {}).values()]
    return sum(one[NON_STRICT] == Outcome.EXPORTS.value for one in records), len(records)


def _bad_lowered(info: RuleInfo, version: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    classes = info.lowered().get(version, {})
    return ((name, by_target) for name, by_target in classes.items() if name.startswith("Bad"))


def versions() -> list[str]:
    """Every measured torch version, the newest first."""
    found = {version for info in all_rules().values() for version in info.truth()}
    return sorted(found, key=version_key, reverse=True)


def rules_page() -> str:
    """rules/README.md: the tested torch first, since that is the one that people install; then the others."""
    others = [version for version in versions() if version != TESTED_TORCH]
    return "\n".join(
        [
            "# The rules",
            "",
            NOTE,
            "",
            "What torch did with the `Bad…` models of the rule's fixture: `refused` (torch raised), `differs` (it",
            "exports, and the program computes something else), `crashed`, `timed out`, or `exports` (and agrees with",
            "eager: there the rule is silent or leaves a note). `fails later`: it exports and agrees, and a later step",
            "such as the decomposition fails. `deprecated`: it exports, and torch warns that this will end. A number",
            "counts fixture classes, as in `refused 5, differs 2`; a word alone means all of them. A model that a",
            "version cannot define is not counted. `after repair`: how many export in the default mode and agree with",
            "eager after what `exportlint fix` writes; empty where the rule has no repair, and its page says why.",
            "",
            "`torch.compile`, which `--for compile` judges by, fails on other models than export does: `one graph`",
            "(nothing to say), `breaks` (Dynamo ends a graph there and goes on in Python), `recompiles` (it compiles",
            "again each time that something changes), `differs` (what is compiled does something else than eager,",
            "silently) or `raises` (where eager does not). A model counts once, by the gravest of these. One that",
            "brings its own call of export, or that eager refuses, is not counted; empty where there is no other.",
            "",
            "`exportlint explain RULE` shows the models and what was measured of each, `exportlint explain GB0170` the",
            "models that torch.compile breaks under this id.",
            "",
            _table([TESTED_TORCH], with_summary=True),
            "",
            *_targets_of_deployment(),
            "## Other versions",
            "",
            _table(others, with_summary=False),
            "",
        ]
    )


def _targets_of_deployment() -> list[str]:
    return [
        "## Targets of deployment",
        "",
        f"What torch {TESTED_TORCH} exports and a target does not run. With `--lower`, or `lower` in",
        "`pyproject.toml`, these rules speak of the targets named there: `refused`, `differs` (it computes",
        "something else), `crashed`, or `passed` (there the rule is silent).",
        "",
        _lowered_table(),
        "",
    ]


def _table(columns: list[str], *, with_summary: bool) -> str:
    summary = ["what it finds"] if with_summary else []
    after = ["after repair"] if with_summary else []
    measurements = [one for version in columns for one in _measurements(version)]
    headers = ["rule", *summary, *(header for header, _ in measurements), *after]
    rows = [
        [
            _link(info),
            *([info.summary] if with_summary else []),
            *(cell(info) for _, cell in measurements),
            *([repaired_share(info, TESTED_TORCH)] if with_summary else []),
        ]
        for info in all_rules().values()
        if _is_ours(info) and not info.cls.lowerings
    ]
    return table(headers, rows)


def _measurements(version: str) -> Iterator[tuple[str, Callable[[RuleInfo], str]]]:
    """The columns of the version, as header and cell: torch.compile was not measured in all of them."""
    for mode in MODES:
        yield f"torch {version}, {mode}", partial(measured, version=version, mode=mode)
    if any(version in info.compiled() for info in all_rules().values()):
        yield f"torch {version}, `torch.compile`", partial(compiled, version=version)


def _lowered_table() -> str:
    ours = [info for info in all_rules().values() if _is_ours(info) and info.cls.lowerings]
    targets = sorted({target for info in ours for target in info.cls.lowerings})
    rows = [[_link(info), info.summary, *(lowered(info, TESTED_TORCH, target) for target in targets)] for info in ours]
    return table(["rule", "what it finds", *targets], rows)


def _is_ours(info: RuleInfo) -> bool:
    """The pages of this repository list what ships with it, whatever else is installed."""
    return info.cls.__module__.startswith("exportlint_rules.")


def _link(info: RuleInfo) -> str:
    return f"[{info.name}]({info.cls.__module__.rpartition('.')[2]}.py)"


def stages_table() -> str:
    """Every stage of the ladder, and what it does."""
    return table(["stage", "what it does"], [[f"`{stage.name}`", stage.summary] for stage in LADDER])


def folders_table() -> str:
    """Every folder of the package, and what goes in and comes out: the first line of its `__init__`."""
    package = Path(__file__).parents[1]
    files = sorted(package.rglob("__init__.py"), key=lambda path: path.parent.parts)
    named = [(path.parent.relative_to(package.parent).as_posix(), _docstring(path)) for path in files]
    return table(["folder", "in, and out"], [[f"`{folder}/`", text] for folder, text in named])


def _docstring(path: Path) -> str:
    return (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]


def with_table(page: str, name: str, text: str) -> str:
    """The page with the text between its markers `<!-- name -->` and `<!-- /name -->`."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise UserError(f"the table `{name}` goes between the markers {start} and {end}; add them")
    return f"{before}{start}\n{text}\n{end}{after}"


def pages(root: Path) -> Iterator[tuple[Path, str]]:
    """Every page of the repository that is written by machine, or holds such a table, as path and text."""
    yield root / "rules/README.md", rules_page()
    for name, (page, made) in _TABLES.items():
        path = root / page
        yield path, with_table(path.read_text("utf-8"), name, made())


_TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "stages": ("docs/targets-and-trials.md", stages_table),
    "folders": ("docs/architecture.md", folders_table),
}


if __name__ == "__main__":
    for path, text in pages(Path(__file__).parents[2]):
        path.write_text(text, "utf-8")
        sys.stdout.write(f"{path}\n")
