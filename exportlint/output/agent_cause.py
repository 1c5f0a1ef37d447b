"""One cause for somebody who will mend it: place, source, torch's words, rewrites, measured examples, the next command.

It is at most `MOST_LINES` long. Torch's words and the rewrites have limits of their own; of the rest the examples are
cut first, then the source, and what was cut is said.
"""

from __future__ import annotations

import re
import shlex
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence
from exportlint.output.agent_rewrites import rewrites_lines
from exportlint.output.agent_source import WHOLE, clipped, listing
from exportlint.output.rewrite_diff import fenced
from exportlint.output.verdict import names_only_its_stage
from exportlint.trial.protocol.frames import from_here, is_installed, is_user_path
from exportlint.trial.protocol.outcomes import MODES, NON_STRICT
from exportlint.trial.protocol.purposes import EXPORT
from exportlint.trial.protocol.shortening import without_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.finding import Finding
    from exportlint.output.background import MeasuredExample
    from exportlint.output.report import Report
    from exportlint.output.verdict import Cause
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport

MOST_LINES = 120
_MOST_OF_EXAMPLES = 40
_LEAST_OF_EXAMPLE = 4  # fewer lines of a class show nothing
_MOST_SAID, _MOST_FRAMES, _MOST_PLACES = 12, 4, 6
_LONGEST, _OTHER_PLACE, _OF_TORCH = 700, 160, 300  # letters of a message, and of a line of torch's


def cause_lines(cause: Cause, report: Report, number: int) -> list[str]:
    """The section of the cause, which is the report's so-many-th."""
    first = cause.findings[0]
    head = [f"## {number}. {first.rule}, {_place(first)}", "", *_head(cause, report)]
    said = _section("What torch said", _said(first, report))
    rewrites = _section("Rewrites", rewrites_lines(first, report))
    command = _section("To verify an edit", _command(first, report))
    examples = report.background.examples(first)
    room = MOST_LINES - sum(map(len, (head, said, rewrites, command)))
    shortest = _section("Measured models that are like it", _examples(first, examples, 0))
    source = _section("Source", _source(cause, report, room - len(shortest)))
    room = min(_MOST_OF_EXAMPLES, room - len(source))
    measured = _section("Measured models that are like it", _examples(first, examples, room))
    return [*head, *source, *said, *rewrites, *measured, *command]


_FRAME = 3  # of a section: an empty line, its heading, an empty line


def _section(title: str, lines: Iterator[str]) -> list[str]:
    found = list(lines)
    return ["", f"### {title}", "", *found] if found else []


def _place(finding: Finding) -> str:
    return f"{finding.path}:{finding.line}:{finding.column}"


# Cause and place.


def _head(cause: Cause, report: Report) -> Iterator[str]:
    first = cause.findings[0]
    yield f"- {first.severity.value}, {_status(first, report)}"
    if outcomes := _by_mode(first.effect):
        where = f"measured on models of this rule, torch {report.torch}" if _is_read(first) else "seen in the trial"
        yield f"- {outcomes} ({where})"
    if first.lowerings:
        yield f"- {_on_targets(first)} (measured on models of this rule)"
    raised = _raised(first, report)
    if raised is not None and raised.error_class:
        yield f"- torch raises {raised.error_class}{f' ({raised.gb_id})' if raised.gb_id else ''}"
    yield f"- {_one_line(first.message)}"
    if is_installed(str(Path(first.path).absolute())):
        yield "- the line is in an installed package, which `exportlint fix` does not rewrite"
    for other in cause.findings[1 : 1 + _MOST_PLACES]:
        yield f"- also {_place(other)}: {clipped(_one_line(other.message), _OTHER_PLACE)}"
    if more := len(cause.findings[1 + _MOST_PLACES :]):
        yield f"- … {more} more places of this cause"


def _by_mode(effect: Mapping[str, str]) -> str:
    """As in "refused in non-strict and strict"."""
    modes = {said: [mode for mode, outcome in effect.items() if outcome == said] for said in effect.values()}
    return ", ".join(f"{said} in {' and '.join(names)}" for said, names in modes.items())


def _on_targets(finding: Finding) -> str:
    return ", ".join(f"{status} on {target}" for target, status in finding.lowerings.items())


def _is_read(finding: Finding) -> bool:
    return finding.evidence is Evidence.SUSPECTED


def _status(finding: Finding, report: Report) -> str:
    where = ", ".join(
        [
            *([f"target {finding.target}"] if finding.target else []),
            *([f"stage {finding.stage}"] if finding.stage else []),
        ]
    )
    if not _is_read(finding):
        return f"{finding.evidence.value} by a trial{f': {where}' if where else ''}"
    if not report.targets:
        return "read in the source, not tried"
    lines = range(finding.line, finding.end_line + 1)
    if any(target.ran(finding.path, lines) for target in report.targets):
        return "read in the source; the trial ran the line, and no stage of it showed this"
    return "read in the source; no target of the trial was seen to run the line"


def _one_line(text: str) -> str:
    return clipped(" ".join(text.split()), _LONGEST)


# The function around it.


def _source(cause: Cause, report: Report, room: int) -> Iterator[str]:
    first = cause.findings[0]
    notes = report.background.beliefs(first)
    fence = 2
    shown = listing(cause.findings, report, notes, min(room - _FRAME - fence, WHOLE))
    if not shown:
        yield f"{first.path} could not be read."
        return
    yield from fenced("text", shown)


# What torch said.


# What torch adds for those who debug torch.
_OF_TORCH_ITSELF = re.compile(
    r"\s*(For more (information|debugging)|For extended logs|If you suspect the guard|For C\+\+ stack trace"
    r"|Caused by: \(|Set TORCH|The error above occurred|For more details about this graph break"
    r"|Developer debug context)"
)
# Only places follow, which are told by themselves.
_PLACES_FOLLOW = re.compile(r"\s*(from user code:|The following call raised this error:|Traceback|User stack trace)")


def _said(finding: Finding, report: Report) -> Iterator[str]:
    raised = _raised(finding, report)
    if raised is None:
        stage = _stage(finding, report)
        if stage is None:
            yield "Nothing: no trial shows this finding."
        else:
            yield from fenced("text", [f"{stage.name} {stage.status}: {_one_line(stage.full_detail)}"])
        return
    text = list(_what_matters(raised.text))
    left = len(text) - _MOST_SAID
    yield from fenced("text", [*text[:_MOST_SAID], *([f"… {left} more lines"] if left > 0 else [])])
    frames = [one for one in raised.frames if is_user_path(one.path)][-_MOST_FRAMES:]
    if frames:
        yield "It came there by:"
        yield from fenced("text", [f"{from_here(one.path)}:{one.line} {one.function}: {one.text}" for one in frames])


def _what_matters(text: str) -> Iterator[str]:
    """Without what is for those who debug torch, and without empty lines."""
    for line in without_tensors(text).splitlines():
        if _PLACES_FOLLOW.match(line):
            return
        if line.strip() and not _OF_TORCH_ITSELF.match(line):
            yield clipped(line.rstrip(), _OF_TORCH)


def _target(finding: Finding, report: Report) -> TargetReport | None:
    return next((one for one in report.targets if one.name == finding.target), None)


def _stage(finding: Finding, report: Report) -> StageResult | None:
    target = _target(finding, report)
    return target.stage(finding.stage) if target is not None and finding.stage else None


def _raised(finding: Finding, report: Report) -> Observation | None:
    """What was raised at the place, in the finding's own stage, or in another one of its target. Where the file was
    edited meanwhile, the line is known by its text."""
    target, own = _target(finding, report), _stage(finding, report)
    stages = [*([own] if own is not None else []), *(target.stages if target is not None else ())]
    raised = [(stage, one) for stage in stages for one in stage.observations if one.kind == "exception"]
    here = [(stage, one, one.user) for stage, one in raised if one.user and from_here(one.user.path) == finding.path]
    lines = range(finding.line, finding.end_line + 1)
    text = (report.source(finding.path, finding.line) or "").strip()
    at_line = (one for _, one, user in here if user.line in lines and user.text in ("", text))
    by_text = (one for _, one, user in here if text and user.text == text)
    nowhere = (one for stage, one in raised if one.user is None and stage is own)
    return next(chain(at_line, by_text, nowhere), None)


# Measured models.


def _examples(finding: Finding, examples: Sequence[MeasuredExample], room: int) -> Iterator[str]:
    """The models in so many lines, the section's heading included; in fewer than any fit, their outcomes alone."""
    if not examples:
        if names_only_its_stage(finding):
            yield "None: no rule foresees this, so no model of it was measured."
        return
    told = 4  # its name, the fences, and what is left out
    left = room - _FRAME - told * len(examples)
    for number, one in enumerate(examples):
        yield f"{one.name}, {one.role}; {one.measured}:"
        rest = len(examples) - number
        lines = one.source if len(one.source) <= left // rest else one.source[: max(0, left // rest)]
        hidden = len(one.source) - len(lines)
        if len(lines) < min(_LEAST_OF_EXAMPLE, len(one.source)):
            yield f"… {len(one.source)} more lines: exportlint explain {finding.rule}"
            continue
        left -= len(lines)
        yield from fenced(
            "python", [*lines, *([f"# … {hidden} more lines: exportlint explain {finding.rule}"] if hidden else [])]
        )


# The one command.


def _command(finding: Finding, report: Report) -> Iterator[str]:
    target = _target(finding, report) or next((one for one in report.targets if one.command_line), None)
    if target is None or not target.command_line:
        # Not `trial`, which would pass an edit that exports and computes something else.
        yield f"`exportlint verify {shlex.quote(finding.path)}`"
        yield _COMPARED
        yield "Nothing was run so far. The file has to be a script, or to hold `model` and `example_args`; else name"
        yield "the model by `--model` and `--args`."
        return
    options = " ".join(_options(finding, report))
    yield f"`exportlint verify {options}{' ' if options else ''}{target.command_line}`"
    yield _COMPARED


_COMPARED = "tries the working tree beside `HEAD` and writes nothing; without git, give the edit as `--patch FILE`."


def _options(finding: Finding, report: Report) -> Iterator[str]:
    """What has to be asked for, so that the stage runs which shows the finding."""
    failing = {mode for mode in MODES if finding.effect.get(mode, "exports") != "exports"}
    shows = not failing or report.mode in (*failing, "both")
    if not shows or report.mode != NON_STRICT:
        yield f"--mode {report.mode if shows else 'both'}"
    if report.purpose != EXPORT:
        yield f"--for {report.purpose}"
    stage = _stage(finding, report)
    lowerings = dict.fromkeys([*finding.lowerings, *([stage.row.lowering] if stage and stage.row.lowering else [])])
    if lowerings:
        yield f"--lower {','.join(lowerings)}"
