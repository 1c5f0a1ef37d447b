"""`exportlint sweep`: many targets, one store of results; and what is read out of that store."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from exportlint.commands.grouped import LIMITS, OUTPUT, TRY, Command, files, option
from exportlint.commands.options import NearChoice, cache_option, flat, lower_option, split
from exportlint.commands.reporting import CLEAN, FINDINGS, write, write_file
from exportlint.config.settings import MODE_CHOICES, CommandLine, load_config
from exportlint.errors import UserError, nearest
from exportlint.sweep.result import FAILURES, TABLES
from exportlint.trial.protocol.options import DEFAULT_SECONDS
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.output.sweeps.page import Page
    from exportlint.sweep.environment import Environment
    from exportlint.sweep.executor import Executor
    from exportlint.sweep.result import Planned, SweepResult
    from exportlint.sweep.store import Row, Store, Sweep
    from exportlint.trial.protocol.options import TrialOptions

DEFAULT_STORE = "exportlint-sweep.sqlite"
_TARGET_SECONDS = 1800.0
_MEMORY_GB = 4.0
_RETRIED = ("failed", *(one.value for one in FAILURES))


@dataclass(frozen=True, slots=True)
class SweepSettings:
    """How a sweep runs."""

    store: Path
    mode: str
    lower: tuple[str, ...]
    dynamic: str | None
    quick: bool
    only: tuple[str, ...]
    fix: bool
    shard: str | None
    retry: tuple[str, ...]
    jobs: int | None
    timeout: float | None
    target_timeout: float
    memory: float
    python: Path | None
    executor: str
    address: str


class _WithActions(Command):
    """A command whose first word may be an action on results: `exportlint sweep show`."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """That of the action, where one is named."""
        if args and args[0] in _ACTIONS:
            action = _ACTIONS[args[0]]
            return action.make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return super().make_context(info_name, args, parent=parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Also the actions."""
        super().format_options(ctx, formatter)
        with formatter.section("Results"):
            formatter.write_dl([(f"exportlint sweep {name}", one.short_help or "") for name, one in _ACTIONS.items()])


_STORE = click.Path(path_type=Path, dir_okay=False)


def _store_option(command: Any) -> Any:
    return option(
        OUTPUT, "--store", type=_STORE, default=DEFAULT_STORE, metavar="FILE", help="The file that keeps the results."
    )(command)


@click.command(
    "sweep",
    cls=_WithActions,
    short_help="Try a whole library, and keep every result.",
    examples=(
        ("exportlint sweep 'timm:resnet*' 'transformers:*'", "All models of a library that match; again: what is new."),
        ("exportlint sweep models/ --shard 2/4", "A folder of targets; one of four machines' share."),
        ("exportlint sweep show", "What became of them, and what they fail of."),
    ),
)
@click.argument("specs", nargs=-1, metavar="[SPEC]…", shell_complete=files)
@_store_option
@option(
    TRY,
    "--retry",
    multiple=True,
    type=NearChoice(_RETRIED),
    metavar="OUTCOME",
    show_default="none",
    help="Try those again that ended so: crashed, timed-out, … (as `sweep show` tells it); failed: all that are no "
    "export.",
)
@option(
    TRY, "--shard", metavar="WHICH/OF", show_default="1/1", help="Only a share of the targets, for several machines."
)
@option(TRY, "--quick", is_flag=True, help="Only load, run in eager and export.")
@option(
    TRY,
    "--only",
    multiple=True,
    metavar="STAGES",
    show_default="all that have something to do",
    help="Only these stages besides load and eager, as export-non-strict,soundness.",
)
@option(
    TRY,
    "--fix",
    is_flag=True,
    help="Try rewrites where an export fails, also of installed packages, and keep what helps in the store; no file is "
    "written.",
)
@option(TRY, "--dynamic", type=NearChoice(("auto",)), help="auto: find out which dims can be declared dynamic.")
@lower_option("Compile for these too, run the result and compare: all, none, or as aotinductor,executorch.", "none")
@option(TRY, "--mode", type=NearChoice(tuple(MODE_CHOICES)), default="both", help="Mode of torch.export.")
@option(
    LIMITS,
    "--address",
    default="auto",
    metavar="ADDRESS",
    help="With --executor ray: of the cluster, as ray.init takes it: auto, HOST:PORT or ray://HOST:PORT.",
)
@option(
    LIMITS,
    "--executor",
    type=NearChoice(("local", "ray")),
    default="local",
    help="local: processes of this machine; ray: an existing Ray cluster, where exportlint is installed.",
)
@option(
    LIMITS,
    "--python",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    show_default="this one",
    help="The interpreter that has torch and the libraries.",
)
@option(
    LIMITS,
    "--memory",
    type=click.FloatRange(min=0.1),
    metavar="GB",
    default=_MEMORY_GB,
    help="Memory limit of one stage; no target starts beside others while less is free.",
)
@option(
    LIMITS,
    "--target-timeout",
    type=click.FloatRange(min=1),
    metavar="SECONDS",
    default=_TARGET_SECONDS,
    help="Time for all stages of a target; those that have not begun then are left out.",
)
@option(
    LIMITS,
    "--timeout",
    type=click.FloatRange(min=0.1),
    metavar="SECONDS",
    show_default=f"{DEFAULT_SECONDS:g}",
    help="Time limit of one stage.",
)
@option(
    LIMITS,
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    show_default="one a core, as far as memory goes",
    help="Targets at the same time.",
)
def command(specs: tuple[str, ...], **options: Any) -> int:
    """Try many targets, and keep each result in a store as soon as it is there.

    SPEC is a pattern of a library's models ('timm:resnet*', 'transformers:*'), what `exportlint trial` takes, the name
    of a target in pyproject.toml, or - for a target a line on stdin; without any, all targets of pyproject.toml. A file
    that is called like an action below is written ./show.

    What has a result of the same source, versions and options is not tried again: the same command goes on where an
    earlier one was stopped, whatever stopped it. Exit code 0 once all were tried, whatever became of them.
    """
    from exportlint.output.sweeps.page import as_text  # noqa: PLC0415 (tabulate)
    from exportlint.output.sweeps.summary import page_of, summarized  # noqa: PLC0415 (as above)
    from exportlint.sweep.store import failed_outcomes, opened  # noqa: PLC0415 (sqlite, and the trial's modules)
    from exportlint.workflow.sweeping import plan, run_sweep, worker  # noqa: PLC0415 (as above)

    how: SweepSettings = split(options, SweepSettings)
    homes = [spec.partition(".py:")[0] for spec in specs]
    config = load_config([home for home in homes if Path(home).exists()] or ["."], CommandLine(mode=how.mode))
    asked = _options(how, config)
    shard = _shard(how.shard)
    planned, found = plan(specs, config, asked, shard, fix=how.fix)
    if not planned:
        raise UserError("there is no target: name files, patterns ('timm:resnet*'), or targets of pyproject.toml")
    executor = _executor(how, worker(asked, how.mode, how.target_timeout, fix=how.fix), planned, found)
    with opened(how.store, create=True) as store:
        torch, again = found.packages.get("torch", "absent"), failed_outcomes(how.retry)
        number = run_sweep(planned, specs, torch, asked, store, executor, again, shard, fix=how.fix)
        summary = summarized(store, _sweep_of(store, number))
    write(as_text(page_of(summary)))
    return CLEAN


def _executor(
    how: SweepSettings, work: Callable[[Planned], SweepResult], planned: Sequence[Planned], found: Environment
) -> Executor[Planned, SweepResult]:
    memory_mb = int(how.memory * 1000)
    if how.executor == "ray":
        from exportlint.sweep.ray_executor import RayExecutor  # noqa: PLC0415 (where it is asked for)

        if how.jobs or how.python:
            raise UserError("--jobs and --python are about this machine: the Ray cluster has workers of its own")
        versions = {"torch": found.packages.get("torch", ""), "exportlint": __version__}
        # Models of libraries need no files.
        folder = Path.cwd() if any(one.sources for one in planned) else None
        return RayExecutor(work, how.address, memory_mb, versions, folder)
    from exportlint.sweep.executor import LocalExecutor  # noqa: PLC0415 (psutil comes with the extra)

    return LocalExecutor(work, how.jobs or _workers(how.memory), memory_mb)


def _options(how: SweepSettings, config: Config) -> TrialOptions:
    from exportlint.commands.trial_run import limits  # noqa: PLC0415 (as above)
    from exportlint.trial.protocol.options import TrialOptions  # noqa: PLC0415 (as above)
    from exportlint.workflow.lowering_choice import chosen_lowerings, lowering_options  # noqa: PLC0415 (as above)

    return TrialOptions(
        modes=MODE_CHOICES[how.mode],
        lower=chosen_lowerings(flat(how.lower), config) if how.lower else (),
        lowering=lowering_options(config, cache=True),
        dynamic=how.dynamic,
        quick=how.quick,
        only=_stages(flat(how.only)),
        python=how.python,
        **limits(how.timeout, how.memory, None),
    )


def _stages(names: Sequence[str]) -> tuple[str, ...]:
    from exportlint.trial.protocol.stages import EAGER, LADDER, LOAD, SCRIPT  # noqa: PLC0415 (as above)

    known = [stage.name for stage in LADDER]
    for name in names:
        if name not in known:
            raise UserError(f"--only: there is no stage {name}{nearest(name, known)}; stages are {', '.join(known)}")
    return (SCRIPT.name, LOAD.name, EAGER.name, *names) if names else ()


def _shard(text: str | None) -> tuple[int, int]:
    if text is None:
        return 1, 1
    which, _, number = text.partition("/")
    with suppress(ValueError):
        if 1 <= int(which) <= int(number):
            return int(which), int(number)
    raise UserError(f"--shard: write WHICH/OF, from 1/N to N/N, as in 2/4, not {text}")


def _workers(memory_gb: float) -> int:
    """As many as there are cores, and as much memory."""
    import psutil  # noqa: PLC0415 (comes with the extra)

    from exportlint.cores import cores  # noqa: PLC0415 (as above)

    return max(1, min(cores(), int(psutil.virtual_memory().total / 1e9 // memory_gb)))


# What is read out of a store.


def _told(command: Any) -> Any:
    """--output-format and --output-file."""
    forms = NearChoice(("full", "markdown", "html", "json"))
    file, folder = (click.Path(path_type=Path, dir_okay=one, file_okay=not one) for one in (False, True))
    for one in (
        option(
            OUTPUT,
            "--pictures",
            type=folder,
            metavar="FOLDER",
            show_default="none",
            help="With markdown: draw the plots into this folder, and show them. HTML always has them.",
        ),
        option(OUTPUT, "--output-file", type=file, show_default="stdout", help="Write it to a file."),
        option(OUTPUT, "--output-format", type=forms, default="full", help="How it is told."),
    ):
        command = one(command)
    return command


def _tell(page: Page, as_json: Callable[[], str], output_format: str, file: Path | None, pictures: Path | None) -> None:
    from exportlint.output.sweeps import page as told  # noqa: PLC0415 (tabulate)

    if pictures and output_format != "markdown":
        raise UserError("--pictures goes with --output-format markdown")
    drawn: dict[str, str] = {}
    match output_format:
        case "markdown":
            text, drawn = told.as_markdown(page, told.relative(pictures, file) if pictures else None)
        case "html":
            text = told.as_html(page)
        case "json":
            text = as_json()
        case _:
            text = told.as_text(page)
    if pictures:
        _write_pictures(pictures, drawn)
    if file:
        write_file(file, text)
    else:
        write(text)


def _write_pictures(folder: Path, drawn: Mapping[str, str]) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--pictures: {folder} cannot be made: {error.strerror}; name another folder") from error
    for name, text in drawn.items():
        write_file(folder / name, text, "--pictures")


@click.command(
    "show",
    cls=Command,
    short_help="Outcomes, causes and stages of a sweep.",
    examples=(
        ("exportlint sweep show --output-format html --output-file page.html", "Tables and plots, for a browser."),
        (
            "exportlint sweep show --output-format markdown --output-file PAGE.md --pictures pictures",
            "The same for a repository.",
        ),
    ),
)
@_store_option
@option(OUTPUT, "--sweep", type=int, metavar="N", show_default="the last", help="Which sweep of the store.")
@_told
def show(store: Path, sweep: int | None, output_format: str, output_file: Path | None, pictures: Path | None) -> int:
    """Show what became of the targets of a sweep, also of one that still runs, and what they fail of."""
    from exportlint.output.sweeps.summary import as_json, page_of, summarized  # noqa: PLC0415 (as above)
    from exportlint.sweep.store import opened  # noqa: PLC0415 (as above)

    with opened(store) as found:
        summary = summarized(found, _sweep_of(found, sweep))
    _tell(page_of(summary), partial(as_json, summary), output_format, output_file, pictures)
    return CLEAN


def _sweep_of(store: Store, number: int | None) -> Sweep:
    """That of the number; the last for None."""
    sweeps = store.sweeps()
    if not sweeps:
        raise UserError(f"{store.path}: holds no sweep yet; `exportlint sweep` makes one")
    sweep = next((one for one in sweeps if one.number == number), None) if number is not None else sweeps[-1]
    if sweep is None:
        known = f"{sweeps[0].number} to {sweeps[-1].number}"
        raise UserError(f"{store.path}: has no sweep {number}; it has {known}")
    return sweep


@click.command(
    "compare",
    cls=Command,
    short_help="What changed from one sweep to another.",
    examples=(
        ("exportlint sweep compare torch-2.10.sqlite torch-2.13.sqlite", "Two stores; of each the last sweep."),
        ("exportlint sweep compare s.sqlite:1 s.sqlite:4", "Two sweeps of one store."),
    ),
)
@click.argument("before", metavar="STORE[:N]")
@click.argument("after", metavar="STORE[:N]")
@_told
def compare(before: str, after: str, output_format: str, output_file: Path | None, pictures: Path | None) -> int:
    """Compare two sweeps: of two torch releases, two versions of a library, or two commits. Targets are the same where
    their names are. Exit code 1 where a target began to fail or to compute something else."""
    from exportlint.output.sweeps.comparison import as_json, page_of  # noqa: PLC0415 (as above)
    from exportlint.sweep.comparison import compared  # noqa: PLC0415 (as above)

    (first, old), (second, new) = (_sweep_with_rows(source) for source in (before, after))
    found = compared(first, second, old, new)
    _tell(page_of(found), partial(as_json, found), output_format, output_file, pictures)
    return FINDINGS if found.began_to_fail or found.became_different else CLEAN


def _sweep_with_rows(source: str) -> tuple[Sweep, list[Row]]:
    """STORE:N is a sweep of a store, STORE its last."""
    from exportlint.sweep.store import opened  # noqa: PLC0415 (as above)

    path, colon, number = source.rpartition(":")
    numbered = bool(colon) and number.isdecimal() and not Path(source).exists()
    with opened(Path(path if numbered else source)) as store:
        sweep = _sweep_of(store, int(number) if numbered else None)
        return sweep, list(store.rows(sweep.number))


@click.command(
    "judge",
    cls=Command,
    short_help="Hits, false alarms and misses of the rules.",
    examples=(("exportlint sweep judge", "What the static pass says of the lines that the swept models ran."),),
)
@_store_option
@option(OUTPUT, "--sweep", type=int, metavar="N", show_default="the last", help="Which sweep of the store.")
@_told
@cache_option
def judge(
    store: Path,
    sweep: int | None,
    output_format: str,
    output_file: Path | None,
    pictures: Path | None,
    no_cache: bool,
) -> int:
    """Judge the static pass by a sweep: it reads the files that the models ran, as they are installed here, and what it
    says of each line is compared with what the exports did there. What no rule tells comes first."""
    from exportlint.output.sweeps.judgement import as_json, page_of  # noqa: PLC0415 (as above)
    from exportlint.sweep.store import opened  # noqa: PLC0415 (as above)
    from exportlint.workflow.sweep_judging import judged  # noqa: PLC0415 (as above)

    with opened(store) as found:
        made = judged(found, _sweep_of(found, sweep), load_config(["."], CommandLine()), cache=not no_cache)
    _tell(page_of(made), partial(as_json, made), output_format, output_file, pictures)
    return CLEAN


@click.command(
    "merge",
    cls=Command,
    short_help="Take the results of other stores over.",
    examples=(("exportlint sweep merge shard-1.sqlite shard-2.sqlite", "The stores of two machines become one."),),
)
@click.argument("stores", nargs=-1, required=True, metavar="STORE…", type=_STORE, shell_complete=files)
@_store_option
def merge(stores: tuple[Path, ...], store: Path) -> int:
    """Take the sweeps and results of STOREs over into one; of the same target the later result stays."""
    from exportlint.sweep.store import opened  # noqa: PLC0415 (as above)

    for path in stores:
        # Each is looked at, and brought up to date, before anything is written.
        with opened(path):
            pass
    with opened(store, create=True) as own:
        for path in stores:
            with opened(path) as other:
                write(f"{path}: {own.merge(other)} results taken over\n")
    return CLEAN


@click.command(
    "export",
    cls=Command,
    short_help="Results as Parquet or JSON lines, for tools of your own.",
    examples=(("exportlint sweep export results.parquet", "A row a target, for DuckDB, pandas or polars."),),
)
@click.argument("file", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), shell_complete=files)
@_store_option
@option(OUTPUT, "--table", type=NearChoice(TABLES), default="results", help="What a row is.")
def export(file: Path, store: Path, table: str) -> int:
    """Write a table of all results to FILE: Parquet for a name that ends in .parquet, JSON lines for one in .jsonl."""
    from exportlint.output.sweeps.tables import FORMATS, written  # noqa: PLC0415 (pyarrow, where it is asked for)
    from exportlint.sweep.store import opened  # noqa: PLC0415 (as above)

    if file.suffix not in FORMATS:
        raise UserError(
            f"{file}: its name decides the format{nearest(file.suffix, FORMATS)}; end it in {' or '.join(FORMATS)}"
        )
    with opened(store) as found:
        columns, rows = found.table(table)
        number = written(file, columns, rows)
    write(f"{number} rows of {table} in {file}\n")
    return CLEAN


_ACTIONS = {one.name or "": one for one in (show, compare, judge, merge, export)}
