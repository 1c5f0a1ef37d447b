"""Targets in, reports out: the ladder of every target, side by side where asked, never ended by what a target does."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.cores import cores, result_of
from exportlint.trial.discovery import as_script, hands_a_model_to_torch
from exportlint.trial.ladder import LadderRun, Stop
from exportlint.trial.parent import TrialUnavailable
from exportlint.trial.parent.scripts import run_script
from exportlint.trial.parent.session import kept_session, session
from exportlint.trial.parent.stage_runner import StageRunner
from exportlint.trial.protocol.lowering_file import constant_of_lowering
from exportlint.trial.protocol.purposes import COMPILE, serves
from exportlint.trial.protocol.result import Event, TargetReport
from exportlint.trial.protocol.shown_by import OTHER_SIZE
from exportlint.trial.protocol.stages import LOWERINGS
from exportlint.trial.protocol.target import OLD_ONNX, ONNX, TargetKind

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from exportlint.trial.parent.server import Server
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.target import Target


Listener = Callable[[Event], None]
Judge = Callable[[TargetReport], bool]


def run_trials(
    targets: Sequence[Target],
    options: TrialOptions,
    on_event: Listener | None = None,
    stop: Stop | None = None,
    goes_on: Judge | None = None,
) -> list[TargetReport]:
    """Try every stage of the ladder on every target; reports in the targets' order. `goes_on` is asked after the
    exports of each, whether the other stages are worth it.

    A script's own report comes before those of the targets that its run gave.

    Raises TrialUnavailable when no trial can run at all. An interrupt (Ctrl-C, SIGTERM) ends every process that was
    started and takes the temporary folder away before it goes on; with `stop`, it goes on with reports of what was
    known by then, and `stop` says so.
    """
    lowerings = _lowerings(options.lower)
    listener = on_event or _nobody
    waiting = stop or Stop()
    with _session(options, stop, _compilers(targets, lowerings, options.purpose)) as server:
        work: list[Callable[[], TargetReport]] = []
        for given in targets:
            # What is edited was looked at before the first edit, and would be imported once more at every one.
            target = given if options.is_edited else as_it_runs(server, given, options)
            found = [target]
            if target.kind is TargetKind.SCRIPT:
                if waiting.reason:
                    continue
                report, found = run_script(server, target, options, listener)
                work.append(partial(_with_torch, server, report))
            for one in found:
                # Of a script's call the mode that it asks for is looked at in any case.
                modes = tuple(dict.fromkeys((*options.modes, *one.asked_modes)))
                how, lowered = replace(options, modes=modes), lowerings
                if target.kind is TargetKind.SCRIPT and _wants_other_sizes(report):
                    how = replace(how, dynamic=options.dynamic or "auto")
                if target.kind is TargetKind.SCRIPT and (name := _lowering_of_call(report, one)) and not lowerings:
                    lowered = _lowerings([name])
                work.append(partial(_tried, server, one, how, lowered, listener, waiting, goes_on))
        return _side_by_side(work, options.jobs)


def as_it_runs(server: Server, target: Target, options: TrialOptions) -> Target:
    """The target; in place of one that raises while it is imported, where its own code hands the model to torch, the
    script that the file is: its run tells which of its calls raised, and gives what it had handed over by then."""
    path = Path(target.path or "")
    if target.kind is not TargetKind.MODULE or not hands_a_model_to_torch(path):
        return target
    with StageRunner(server, target, options) as runner:
        seen = runner.load().observations
    top = [frame for one in seen for frame in one.frames if frame.path == str(path.resolve())][:1]
    return as_script(target) if any(frame.line > (target.line or 0) for frame in top) else target


def _wants_other_sizes(report: TargetReport) -> bool:
    """Did the script give a program a size that it was not exported for? Then what could be declared is looked for."""
    return any(seen.check == OTHER_SIZE for stage in report.stages for seen in stage.observations)


# The calls that lower themselves, with the lowering that tells at which lines of the model they refuse it.
_LOWERED_BY = dict.fromkeys(ONNX, "onnxruntime")


def _lowering_of_call(report: TargetReport, target: Target) -> str | None:
    """The lowering of a call that the script gave the target to: what it made is looked at, or where it raised the
    lines. What the exporter that traces made has a stage of its own."""
    raised = (seen.details for stage in report.stages for seen in stage.observations)
    calls = [one["during"] for one in raised if one.get("target") == target.name and "during" in one]
    calls += [call for call in target.calls if call != OLD_ONNX]
    return next((_LOWERED_BY[call] for call in calls if call in _LOWERED_BY), None)


def _session(options: TrialOptions, stop: Stop | None, compilers: Sequence[str]) -> AbstractContextManager[Server]:
    preload = (*options.preload, *compilers)
    return (
        kept_session(options.python, preload)
        if options.keep
        else session(options.python, stop.by if stop else None, preload)
    )


def _compilers(targets: Sequence[Target], lowerings: Iterable[str], purpose: str) -> list[str]:
    """What the compilers of the lowerings import, which every fork of the server would else import anew, at each of its
    targets and after each edit. A script that hands its model to a compiler itself names it. torch.compile loads
    Inductor, whatever its backend, with the first graph that has a gradient."""
    scripts = [Path(one.path) for one in targets if one.kind is TargetKind.SCRIPT and one.path]
    called = {by for call, by in _LOWERED_BY.items() if any(_is_named(call, path) for path in scripts)}
    names = sorted({*lowerings, *called, *(["aotinductor"] if serves(COMPILE, purpose) else ())})
    return list(dict.fromkeys(module for name in names for module in constant_of_lowering(name, "COMPILERS") or ()))


def _is_named(call: str, path: Path) -> bool:
    try:
        return f"{call}(".encode() in path.read_bytes()
    except OSError:
        return False


def _tried(
    server: Server,
    target: Target,
    options: TrialOptions,
    lowerings: Mapping[str, str],
    listener: Listener,
    stop: Stop,
    goes_on: Judge | None,
) -> TargetReport:
    options = options.for_target(target)
    with StageRunner(server, target, options) as runner:
        workers = max(1, cores() // options.jobs)
        ladder = LadderRun(runner, target, options, lowerings, listener, workers=workers, stop=stop, goes_on=goes_on)
        return _with_torch(server, ladder.report())


def _with_torch(server: Server, report: TargetReport) -> TargetReport:
    return replace(report, torch=server.facts["torch"])


def _nobody(_event: Event) -> None:
    pass


def _side_by_side(work: list[Callable[[], TargetReport]], jobs: int) -> list[TargetReport]:
    if jobs <= 1:
        return [one() for one in work]
    pool = ThreadPoolExecutor(jobs)
    try:
        return [result_of(future) for future in [pool.submit(one) for one in work]]
    finally:
        # After an interrupt nobody waits for the threads: the session ends their processes, and so them.
        pool.shutdown(wait=False, cancel_futures=True)


def _lowerings(names: Sequence[str]) -> Mapping[str, str]:
    """Name -> module, from the entry points; the module is only imported in the child."""
    known = {point.name: point.value for point in entry_points(group=LOWERINGS)}
    for name in names:
        if name not in known:
            raise TrialUnavailable(f"there is no lowering {name!r}; there are: {', '.join(sorted(known))}")
    return {name: known[name] for name in names}
