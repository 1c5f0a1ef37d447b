"""`exportlint fix`: rewrite what export refuses or gets wrong, and try each rewrite before it is offered."""

from __future__ import annotations

import json
import signal
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exportlint.commands.grouped import EDIT, LIMITS, OUTPUT, files, option
from exportlint.commands.options import (
    BeforeDashes,
    NearChoice,
    backend_option,
    flat,
    lower_option,
    means_options,
    purpose_option,
    rule_options,
    script_arguments,
    target_options,
)
from exportlint.commands.reporting import CLEAN, FAILED, FINDINGS, SIGNALLED, render_options, say_problems, write
from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError
from exportlint.finding import Evidence, Severity, Wanted
from exportlint.output import AGENT
from exportlint.output.repair_text import diff_text, ladders_text, left_text, rejected_text
from exportlint.repair.improvement import breaking_lines, failed, functions_left, is_shown, operators_in_graphs, runs
from exportlint.repair.rounds import Stopped
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.purposes import EXPORT
from exportlint.trial.protocol.stages import BREAKS, LOAD
from exportlint.version import __version__
from exportlint.workflow.progress import say

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.config.settings import Config
    from exportlint.finding import Finding
    from exportlint.output.report import Report
    from exportlint.repair.edition import Edition
    from exportlint.repair.rounds import Repaired
    from exportlint.trial.protocol.target import Target


_UNSAFE = (
    "With a target: take what computes the same on its inputs and takes something else away, too, such as gradients,"
    " other settings, or the numbers that Python or NumPy drew; it is told. Without one: show what was not tried, too."
)


FORMATS = ("full", "json", AGENT)


@click.command(
    "fix",
    cls=BeforeDashes,
    short_help="Rewrite what export refuses, each rewrite tried first.",
    examples=(
        ("exportlint fix net.py", "Show the rewrites that were tried and help, as a diff."),
        ("exportlint fix net.py --write", "Write them."),
    ),
)
@click.argument("paths", nargs=-1, metavar="[PATH]… [-- SCRIPT_ARGUMENTS]", shell_complete=files)
@target_options
@option(EDIT, "--write/--diff", "writes", default=False, help="Write the files, or only show the diff.")
@option(EDIT, "--unsafe", is_flag=True, help=_UNSAFE)
@option(
    EDIT,
    "--no-trial",
    is_flag=True,
    help="Run nothing, and take only the rewrites that are right whatever the inputs are; needs no torch.",
)
@option(OUTPUT, "--exit-zero", is_flag=True, help="Exit 0 even when something is left.")
@option(
    LIMITS,
    "--budget",
    type=click.FloatRange(min=0),
    default=None,
    metavar="SECONDS",
    show_default="twice as long as the trial takes, after the last that helped",
    help="After which no further rewrite is tried.",
)
@purpose_option
@backend_option
@rule_options
@means_options
@lower_option("Targets of deployment that the result has to run on.")
@option(OUTPUT, "--output-format", type=NearChoice(FORMATS), default="full", help="How the result is told.")
@click.pass_context
def command(ctx: click.Context, /, paths: tuple[str, ...], names: tuple[str, ...], **options: Any) -> int:
    """Rewrite what torch.export refuses or gets wrong, and show it as a diff.

    With a target (a file with `model` and `example_args`, FILE.py:CLASS, LIBRARY:MODEL, --model and --args, --target),
    each rewrite is tried: it stays if the model computes in eager what it computed before, and gets further.
    A script that hands its model to torch is run (with SCRIPT_ARGUMENTS), as `exportlint trial` runs it, and is tried
    likewise.
    Other files get the rewrites that are right whatever the inputs are.
    """
    chosen = (flat(options["select"]), flat(options["ignore"]), options["mode"], options["torch"])
    asked = CommandLine(*chosen, options["purpose"])
    config = load_config([path.partition(".py:")[0] for path in paths] or ["."], asked)
    if options["no_trial"]:
        if names or options["model"]:
            raise UserError("--no-trial runs nothing, so it takes files and folders: leave --target and --model out")
        return _unless_zero(_by_construction(paths or (".",), config, options), options)
    targets = _targets(paths, names, options, config, script_arguments(ctx))
    done = _tried(targets, config, options) if targets else _by_construction(paths, config, options)
    return _unless_zero(done, options)


def _unless_zero(code: int, options: dict[str, Any]) -> int:
    return CLEAN if code == FINDINGS and options["exit_zero"] else code


def _targets(
    paths: Sequence[str],
    names: Sequence[str],
    options: dict[str, Any],
    config: Config,
    arguments: Sequence[str] | None,
) -> list[Target]:
    """Those that the arguments name; a file that declares none is run if it hands a model to torch."""
    from exportlint.workflow.target_choice import chosen, is_worth_no_run  # noqa: PLC0415 (the trial's modules, when needed)

    if not paths and not names and not options["model"] and not config.targets:
        raise UserError("name a file, a folder or a target (--model and --args, --target NAME)")
    folders = [path for path in paths if Path(path).is_dir()]
    if folders and not (names or options["model"]) and len(folders) == len(paths):
        return []
    found = chosen(paths, options, names, config, arguments)
    plain = [one for one in found if is_worth_no_run(one)]
    targets = [target for target in found if target not in plain]
    if targets and (rest := [*folders, *(one.name for one in plain)]):
        raise UserError(
            f"{rest[0]} is no target, and the others are tried as targets: run `exportlint fix {rest[0]}` by itself"
        )
    return targets


def _tried(targets: Sequence[Target], config: Config, options: dict[str, Any]) -> int:
    from exportlint.commands.trial_run import limits  # noqa: PLC0415 (as above)
    from exportlint.trial.protocol.options import TrialOptions  # noqa: PLC0415
    from exportlint.workflow.lowering_choice import chosen_lowerings, lowering_options  # noqa: PLC0415
    from exportlint.workflow.repairing import as_they_run, mend, purpose_of_scripts  # noqa: PLC0415

    how = TrialOptions(
        modes=config.modes,
        lower=chosen_lowerings(flat(options["lower"]), config),
        lowering=lowering_options(config),
        python=options["python"],
        unsafe=options["unsafe"],
        purpose=config.purpose,
        as_used=not config.purpose_chosen,
        backend=options["backend"],
        **limits(options["timeout"], options["memory"], options["jobs"]),
    )
    targets = as_they_run(targets, how)
    if (purpose := purpose_of_scripts(targets, how)) != config.purpose:
        say("judged for torch.compile, which is all that the script hands a model to: --for export judges for export")
        config = replace(config, purpose=purpose)
    how = replace(how, purpose=purpose, as_used=False)  # one question for all that is tried
    if how.backend and purpose == EXPORT:
        raise UserError("--backend is about torch.compile: use it with --for compile")
    try:
        done = mend(targets, config, how, options["budget"])
    except Stopped as stop:
        say(f"the run was stopped by {_signal_in_words(stop.number)} before anything was found")
        return SIGNALLED + stop.number
    if not done.before.targets and not done.edition.texts:
        say_problems(done.after.problems)
        say("a script that gives nothing to try is mended as any other file: what follows was not tried")
        return max(FINDINGS, _by_construction([one.source for one in targets], config, options))
    if (files := _files_not_loaded(done)) and not done.edition.texts:
        say_problems(done.after.problems)
        say("a target that does not load cannot be compared: what follows of its file was not tried")
        return max(FINDINGS, _by_construction(files, config, options))
    left = [one for one in done.after.findings if is_shown(one)]
    if not options["writes"] or options["output_format"] == AGENT:  # the lines of what a person has before the eyes
        left = [replace(one, line=done.edition.line_before(one.path, one.line)) for one in left]
    if options["output_format"] == "full":
        ladders = ladders_text(done.before.targets, done.after.targets, render_options(None), done.costs)
        write(ladders + rejected_text(done.rejected))
    say_problems(done.after.problems)
    shown = _shown(done.edition, left, options, done.before, config, done)
    return _ended(done, options, shown)


def _files_not_loaded(done: Repaired[Report]) -> list[str]:
    """The files of the project at whose lines no target loads."""
    if any(map(runs, done.before.targets)):
        return []
    stages = [stage for one in done.before.targets for stage in one.stages if stage.name == LOAD.name]
    places = [one.user for stage in stages for one in stage.observations if one.user is not None]
    return sorted({one.path for one in places if not is_installed(one.path)})


def _ended(done: Repaired[Report], options: dict[str, Any], shown: int) -> int:
    """The exit code, and why the run ended where something is left that was not tried."""
    if done.out_of_time:
        spent = "" if options["budget"] is None else f" of {options['budget']:g} seconds"
        say(f"the budget{spent} is spent, after {done.tried} rewrites that were tried: --budget SECONDS gives more")
    if done.stopped:
        say(f"the run was stopped by {_signal_in_words(done.stopped)}: this is what was found by then")
        return SIGNALLED + done.stopped
    suspected = sum(
        one.evidence is Evidence.SUSPECTED and one.severity is not Severity.NOTE for one in done.after.findings
    )
    code = FAILED if done.after.problems else max(shown, _hidden(done.after))
    if code == CLEAN and suspected and not done.edition.texts:
        if options["output_format"] == "full":
            say(f"no trial shows anything wrong; {suspected} suspected in the source, which `exportlint trial` lists")
        return code
    return _said_where_nothing(code, done.edition, options)


def _said_where_nothing(code: int, edition: Edition, options: dict[str, Any]) -> int:
    """The exit code; where nothing is wrong and nothing was rewritten, that is said."""
    if code == CLEAN and not edition.texts and options["output_format"] == "full":
        say("nothing to do")
    return code


def _signal_in_words(number: int) -> str:
    return "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name


def _hidden(after: Report) -> int:
    """What still fails where no finding says so."""
    failing = [f"{one.name}: {stage.name} {stage.status}" for one in after.targets for stage in failed(one)]
    if not failing or after.findings:
        return CLEAN
    say(f"{failing[0]}, and why is hidden, by --select, --ignore or a comment")
    return FINDINGS


def _by_construction(paths: Sequence[str], config: Config, options: dict[str, Any]) -> int:
    from exportlint.workflow.linting import collect_files, lint_files  # noqa: PLC0415 (as above)
    from exportlint.workflow.repairing import rewritten  # noqa: PLC0415
    from exportlint.workflow.report_building import build_report  # noqa: PLC0415

    gathered = lint_files(collect_files(paths, None, config), config, rewrites=Wanted.ALL)
    report = build_report(gathered, config)
    edition, left = rewritten(report.findings, unsafe=options["unsafe"])
    if left and not options["unsafe"] and not options["no_trial"] and options["output_format"] == "full":
        say("rewrites for what is left are to be tried: `exportlint fix FILE.py:CLASS`, or with --model and --args")
    say_problems(gathered.problems)
    shown = _shown(edition, left, options, report, config)
    if options["unsafe"] and edition.texts:
        say("none of this was tried: `exportlint fix FILE.py:CLASS`, or with --model and --args, tries it")
        shown = FINDINGS
    return _said_where_nothing(FAILED if gathered.problems else shown, edition, options)


def _shown(
    edition: Edition,
    left: Sequence[Finding],
    options: dict[str, Any],
    report: Report,
    config: Config,
    done: Repaired[Report] | None = None,
) -> int:
    lines = list(edition.diff())
    if options["output_format"] == "json":
        write(json.dumps(_data(lines, edition, left, done), indent=2) + "\n")
    elif options["output_format"] == AGENT:
        from exportlint.output.agent_repair import repair_for_agents  # noqa: PLC0415 (the engine and the pages, if asked)
        from exportlint.workflow.background import background_of  # noqa: PLC0415 (as above)

        behind = replace(report, background=background_of(config, report.targets))
        write(repair_for_agents(edition, left, behind, done))
    else:
        write(diff_text(lines, render_options(None)) + left_text(left))
    if (root := edition.root) != Path.cwd().resolve() and lines:
        say(f"the paths of the diff are relative to {root}: `patch -p1 -d {root}` takes it")
    if options["writes"]:
        for path in edition.write():
            say(f"wrote {path}; the diff, given to `patch -R {path}`, brings the old text back")
    elif lines and options["output_format"] == "full":
        say("nothing is written yet: --write does")
    return FINDINGS if left else CLEAN


def _data(
    lines: Sequence[str], edition: Edition, left: Sequence[Finding], done: Repaired[Report] | None
) -> dict[str, Any]:
    """`tried` of a rewrite is `verified` where a run showed that it helps and changes no result, else `not tried`."""
    tried = "verified" if done else "not tried"
    return {
        "version": 1,
        "exportlint": __version__,
        "diff": "\n".join(lines),
        "root": str(edition.root),
        "rewrites": [
            {
                "path": one.path,
                "line": one.line,
                "rule": one.rule,
                "description": one.description,
                "tried": tried,
                "shown": one.shown,
                "caveat": one.caveat,
            }
            for one in edition.reasons
        ],
        "targets": list(_ladders(done)) if done else [],
        "rejected": [
            {"rewrites": [fix.description for _, fix in one.proposal.parts], "tried": "failed", "why": one.why}
            for one in (done.rejected if done else [])
        ],
        "left": [_left(one) for one in left],
    }


def _left(finding: Finding) -> dict[str, Any]:
    installed = is_installed(str(Path(finding.path).absolute()))
    place = {"path": finding.path, "line": finding.line, "rule": finding.rule}
    return {**place, "message": finding.message, "installed": installed}


def _ladders(done: Repaired[Report]) -> Iterator[dict[str, Any]]:
    for number, (old, new) in enumerate(zip(done.before.targets, done.after.targets, strict=True)):
        before, after = ({stage.name: stage.status for stage in one.stages} for one in (old, new))
        shown: dict[str, Any] = {"target": old.name, "before": before, "after": after}
        if BREAKS.name in after:
            shown["breaking_lines"] = [len(breaking_lines(one)) for one in (old, new)]
            shown["functions_left"] = [len(functions_left(one)) for one in (old, new)]
            shown["operators_in_graphs"] = [operators_in_graphs(one) for one in (old, new)]
            shown["cost"] = list(done.costs[number]) if number < len(done.costs) else None
        yield shown
