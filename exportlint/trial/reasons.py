"""Torch's words become findings at the model's own lines: which rule, how severe, where, with links that exist."""

from __future__ import annotations

import linecache
import os
import re
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding, Fix, Link, Severity, fingerprint
from exportlint.reference import link_for_case, link_for_graph_break
from exportlint.registry import all_rules
from exportlint.trial.report import MODES
from exportlint.trial.target import TARGET_ERROR
from exportlint.trial.wording import Words, one_line, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exportlint.trial.observation import Observation

_STAGES = (
    "eager",
    "explain",
    *(f"export-{mode}" for mode in MODES),
    "draft",
    "further",
    "submodules",
    "soundness",
    "dynamic-shapes",
    "decompose",
    "save-load",
)
# What a finding is called that no rule declares as its own: `trial-` and the stage.
NAMES = (
    *(f"trial-{stage}" for stage in _STAGES),
    *(
        f"trial-lower-{point.name}"
        for point in sorted(entry_points(group="exportlint.lowerings"), key=lambda p: p.name)
    ),
)


@dataclass(frozen=True, slots=True)
class Told:
    """A finding, and what makes two of them one: `refused`, `graph-break`, or which check of a comparison failed.

    `placed`: torch named the line, or a comparison did; else the place is the target's. `outcomes` is by mode.
    `within`: what is said of a submodule, where a refusal at the same line says the rest.
    """

    family: str
    finding: Finding
    placed: bool = True
    outcomes: Mapping[str, str] = field(default_factory=dict)
    within: str = ""


@dataclass(frozen=True, slots=True)
class Where:
    """Whose stage it was: paths become relative to `root`; `path` and `line` stand in where torch names no line."""

    target: str
    stage: str
    root: Path
    path: str | None = None
    line: int | None = None


def findings_of(where: Where, observations: Iterable[Observation]) -> list[Finding]:
    """What one stage found. Messages are without a final stop; evidence is discovered, until the verdict joins it."""
    return [told.finding for told in told_of(where, observations)]


def told_of(where: Where, observations: Iterable[Observation]) -> Iterator[Told]:
    """The same with the family, in the order of the observations."""
    for seen in observations:
        for told in _told(where, seen):
            yield replace(told, placed=seen.user_path is not None)


def _told(where: Where, seen: Observation) -> Iterator[Told]:
    match seen.kind:
        case "exception":
            yield from _exception(where, seen)
        case "graph-break":
            said = words(seen)
            says = f"torch.compile breaks the graph here (export may still pass): {said.says}"
            yield Told("graph-break", _finding(where, seen, Words(says, said.instead), Severity.NOTE))
        case "difference":
            yield from _difference(where, seen)
        case "warning":
            yield from _warning(where, seen)
        case "note":
            yield from _note(where, seen)


def _exception(where: Where, seen: Observation) -> Iterator[Told]:
    if seen.error_class == TARGET_ERROR:
        return  # a mistake of whoever named the target, which is said beside the findings
    if where.stage == "draft" and "draft" not in seen.details:
        return  # draft_export itself failed; the ladder says so, and it is nothing about the model
    if where.stage in ("further", "submodules") and "ended" in seen.details:
        return  # these look for more of what is known; that one of them ended is nothing more about the model
    said = words(seen)
    outcome = "refused"
    if ended := seen.details.get("ended"):
        outcome = str(ended).replace("-", " ")
        said = Words(f"{where.stage} {outcome}: {one_line(seen.text)}")
    elif where.stage == "eager":
        instead = None if rule_of(seen) else "give example inputs that the model accepts"
        said = Words(f"eager itself raises: {said.says}", instead)
    elif says := seen.details.get("says"):
        said = Words(str(says), seen.details.get("instead"))
    elif summary := seen.details.get("summary"):
        said = Words(f"{where.stage}, {one_line(str(summary))}")
    severity = Severity.NOTE if where.stage == "explain" else Severity.ERROR
    mode = _mode(where, seen)
    if path := seen.details.get("submodule"):
        within = f"the submodule `{path}` ({seen.details['kind']}) is refused by itself with {seen.details['inputs']}"
        yield Told(
            "submodule", _finding(where, seen, Words(f"{within}: {said.says}", said.instead), severity), within=within
        )
        return
    yield Told("refused", _finding(where, seen, said, severity, {mode: outcome} if mode else None))


def _mode(where: Where, seen: Observation) -> str | None:
    mode = seen.details.get("mode") or where.stage.removeprefix("export-")
    return str(mode) if mode in MODES else "non-strict" if where.stage == "draft" else None


# Differences that have words of their own, by which a rule can know them.
_OF_SIZES = ("frozen-dim", "narrowed-dim", "sizes")
# A program that is right but no longer prints is no error.
_HARMLESS = ("stdout", "log", "files")
_SAYS = {
    "output": "the exported program gives other values than eager{draw}: {text}",
    "state": "the second call of the exported program differs from eager's: {text}",
    "input-effect": "the exported program leaves other values in its inputs than eager: {text}",
    "raises": "the exported program raises where eager does not{draw}: {text}",
    "eager-after-export": "the export changed the model itself: {text}",
    "sizes": "the exported program is wrong for another size: {text}",
    "baked": "a value of the moment of the export is fixed in the program: {text}",
}
_KEEP = "keep what must outlive a call in a buffer (`register_buffer`), or return it"


def _difference(where: Where, seen: Observation) -> Iterator[Told]:
    check = str(seen.details.get("check", "output"))
    draw = " on other inputs than the sample" if seen.details.get("draw") else ""
    text = one_line(seen.text if check != "raises" else seen.first_line)
    says = _SAYS.get(check, "{text}").format(text=text, draw=draw)
    if where.stage.startswith("lower-"):
        says = f"{where.stage}, {text}"
    if seen.details.get("onward"):
        says += ", as a trace shows that went on after the refusals"
    severity = Severity.WARNING if check in _HARMLESS else Severity.ERROR
    mode = _mode(where, seen)
    said = Words(says, _KEEP if check == "state" else seen.details.get("instead"))
    yield Told(check, _finding(where, seen, said, severity, {mode: "differs"} if mode else None))


# Most warnings are about torch's own future; these are about the model.
_TELLING = re.compile(
    r"side effects happened|were assigned during export|mutated (?:input|buffer)|lru_cache", re.IGNORECASE
)


def _warning(where: Where, seen: Observation) -> Iterator[Told]:
    if _TELLING.search(seen.text):
        says = f"torch warns while it exports: {one_line(seen.text)}"
        yield Told("warning", _finding(where, seen, Words(says), Severity.NOTE))


def _note(where: Where, seen: Observation) -> Iterator[Told]:
    if seen.details.get("note") == "training-mode":
        said = Words(seen.text, "call `.eval()` before the export; torch.export keeps the mode of the moment for good")
        # Dropout in the program may be wanted; statistics of each batch, and their change by every call, hardly are.
        severity = Severity.WARNING if seen.details.get("learns") else Severity.NOTE
        yield Told("training-mode", _finding(where, seen, said, severity))
    elif seen.details.get("note") == "unused-input":
        yield Told(f"unused-input {seen.details.get('input')}", _finding(where, seen, Words(seen.text), Severity.NOTE))
    elif seen.details.get("note") == "non-core":
        yield Told(f"non-core {seen.details['operator']}", _finding(where, seen, Words(seen.text), Severity.NOTE))


def _finding(
    where: Where, seen: Observation, said: Words, severity: Severity, effect: dict[str, str] | None = None
) -> Finding:
    path, line = seen.user_path or where.path, (seen.user_line if seen.user_path else where.line) or 1
    place = shown(path, where.root) if path else where.target
    text = linecache.getline(path, line).rstrip() if path else ""
    indent = len(text) - len(text.lstrip())
    rule = rule_of(seen) or f"trial-{where.stage}"
    says = said.says + _read_at(seen, where.root) + _called_from(seen, where.root)
    return Finding(
        rule, place, line, indent + 1, line, len(text) + 1, severity, says,
        Evidence.DISCOVERED, effect or {}, where.target, where.stage, tuple(_links(seen, rule)),
        Fix(said.instead) if said.instead else None, fingerprint(rule, place, text),
    )  # fmt: skip


def shown(path: str, root: Path) -> str:
    """The path as findings carry it: relative to the root, with forward slashes."""
    return Path(os.path.relpath(path, root)).as_posix()


def _read_at(seen: Observation, root: Path) -> str:
    """What read the number that torch does not know, where another line uses it."""
    read = seen.details.get("read")
    return (
        f"; {read['symbol']} is read by `{read['text']}` ({shown(read['path'], root)}:{read['line']})" if read else ""
    )


def _called_from(seen: Observation, root: Path) -> str:
    """Where the project's own code enters the library whose line is named."""
    if not seen.user_path or not _installed(seen.user_path):
        return ""
    own = [frame for frame in seen.frames if Path(frame.path).is_relative_to(root) and not _installed(frame.path)]
    return f" (called from {shown(own[-1].path, root)}:{own[-1].line})" if own else ""


def _installed(path: str) -> bool:
    return "site-packages" in Path(path).parts or "dist-packages" in Path(path).parts


def rule_of(seen: Observation) -> str | None:
    """The rule that declares these words as its own, or, alone among all, this graph break."""
    if seen.kind not in ("exception", "graph-break", "warning") and seen.details.get("check") not in _OF_SIZES:
        return None
    by_words = [(len(found[0]), name) for name, pattern in _patterns() if (found := pattern.search(seen.text))]
    if by_words:  # the longest match is the most exact one
        return max(by_words, key=lambda pair: pair[0])[1]
    by_id = [name for name, info in all_rules().items() if seen.gb_id and seen.gb_id in info.cls.graph_breaks]
    return by_id[0] if len(by_id) == 1 else None


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    return tuple((name, re.compile(said)) for name, info in all_rules().items() for said in info.cls.torch_says)


_EXPORTDB = re.compile(r"exportdb/index\.html#([\w-]+)")


def _links(seen: Observation, rule: str) -> Iterator[Link]:
    """Pages that exist only: of the break, of cases that the message names, of the rule's cases."""
    if seen.gb_id and (link := link_for_graph_break(seen.gb_id)):
        yield link
    names = _EXPORTDB.findall(seen.text)
    info = all_rules().get(rule)
    cases = [*names, *(info.cls.exportdb if info and seen.kind == "exception" else ())]
    for name in dict.fromkeys(case.replace("-", "_") for case in cases):
        if link := link_for_case(name):
            yield link
