"""`exportlint init`: find models with inputs, and write a `[tool.exportlint]` table that names them."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from exportlint.commands.grouped import TRY, Command, files, option
from exportlint.commands.reporting import CLEAN, write
from exportlint.config.settings import PYPROJECT, CommandLine, load_config
from exportlint.errors import UserError
from exportlint.files import SourceFile, collect, shown
from exportlint.workflow.progress import say, spinner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.config.new_table import NewTarget
    from exportlint.workflow.first_trial import Tried
    from exportlint.workflow.proposed_targets import Proposal, Script, Seen, Unfinished


@click.command(
    "init",
    cls=Command,
    short_help="Find your models, and write a configuration that names them.",
    examples=(
        ("exportlint init", "On a terminal: asks before it tries, and before it writes."),
        ("exportlint init --yes src/", "Asks nothing, tries what it finds, and writes."),
    ),
)
@click.argument("path", default=".", metavar="[PATH]", shell_complete=files)
@option(TRY, "--yes", is_flag=True, help="Ask nothing: take every target that is found, try each, write the table.")
def command(path: str, yes: bool) -> int:
    """Find the models of a project and write a [tool.exportlint] table for them.

    Files are read, not run. A target that you take is tried shortly (`exportlint trial --quick`), which imports its
    file and runs its model, if you say so: on a terminal you are asked, and `--yes` says so to all. Scripts are never
    run. The table goes to the end of the nearest pyproject.toml, from PATH upwards, or to a new one in PATH; a table
    that is there is never changed.

    Where there is no terminal, and without --yes, the table is printed and nothing is written.
    """
    from exportlint.config.new_table import add_table, refuse_where_written, table_text  # noqa: PLC0415 (tomlkit)
    from exportlint.workflow.proposed_targets import seen_in  # noqa: PLC0415 (for this command only)

    root, sources = _project(path)
    file = root / PYPROJECT
    refuse_where_written(file)
    seen = seen_in(sources, root)
    asks = not yes and _on_terminal()
    if asks or yes:
        _tell(seen, file)
    taken = [one for one in seen.proposals if not asks or click.confirm(f"Take the target {one.name}?", default=True)]
    tried = _tried(taken, root, asks=asks, yes=yes)
    targets = [_new_target(one, tried.get(one.name)) for one in taken]
    text = table_text(targets, _remarks(seen))
    if not asks and not yes:
        write(text)
        say(f"nothing was written: `exportlint init --yes` tries these targets and adds this to {shown(file)}")
        return CLEAN
    if asks and not click.confirm(f"\n{text}\nAdd this to {shown(file)}?", default=True):
        say("nothing was written")
        return CLEAN
    add_table(file, text)
    write(_next(targets, seen, file, tried))
    return CLEAN


def _project(path: str) -> tuple[Path, Sequence[SourceFile]]:
    """The folder of pyproject.toml, and the files below PATH. UserError where a table already holds there."""
    if not Path(path).exists():
        raise UserError(f"{path}: there is no such folder; name the one of your project")
    if not Path(path).is_dir():
        raise UserError(
            f"{path} is no folder: name the one of your project, or `exportlint trial {path}` tries the file"
        )
    if (config := load_config([path], CommandLine())).file is not None:
        raise UserError(
            f"{shown(config.file)} has [tool.exportlint] already, and init never changes one: edit it there"
        )
    folder = Path(path).resolve()
    # Not further up than the repository goes: a file there is another project's.
    above = []
    for one in (folder, *folder.parents):
        above.append(one)
        if (one / ".git").exists():
            break
    root = next((one for one in above if (one / PYPROJECT).is_file()), folder)
    return root, collect([path]).files


def _on_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def _tell(seen: Seen, file: Path) -> None:
    """What was found, before anything is asked, run or written."""
    targets, scripts = len(seen.proposals), len(seen.scripts)
    lines = [f"Read {_count(seen.files, 'file')} below {shown(file.parent)}/: {_count(targets, 'target')} found."]
    for one in seen.proposals:
        lines += ["", f"  {one.name}", f"    {one.seen}"]
    if scripts:
        lines += ["", "Scripts that hand a model to torch, which can be tried as they are:"]
        lines += _some([f"  {one.path}:{one.line} calls {one.call}" for one in seen.scripts])
    if seen.unfinished:
        lines += ["", "Models without named inputs, told as comments in the table:"]
        lines += _some([f"  {one.cls.rpartition(':')[2]} ({one.path}:{one.line})" for one in seen.unfinished])
    write("\n".join(lines) + "\n\n")


def _some(lines: list[str]) -> list[str]:
    """The first ones, and how many more there are."""
    return [*lines[:_MOST], *([f"  … and {len(lines) - _MOST} more"] if len(lines) > _MOST else [])]


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _tried(taken: Sequence[Proposal], root: Path, *, asks: bool, yes: bool) -> dict[str, Tried]:
    """What a short trial says of each, where the user wants one."""
    from exportlint.workflow.first_trial import SECONDS, can_try, try_quickly  # noqa: PLC0415 (for this command only)

    if not taken or not (asks or yes):
        return {}
    if not can_try():
        say("torch is not installed here, so nothing is tried: pip install 'exportlint[torch]'")
        return {}
    imported = ", ".join(dict.fromkeys(path for one in taken for path in one.files))
    limit = f"each stage at most {SECONDS} seconds"
    what = f"this imports {imported} and runs the models in processes of their own, {limit}"
    if yes:
        write(_filled(f"Trying them: {what}.") + "\n")
    elif not click.confirm(_filled(f"{what[0].upper()}{what[1:]}.") + "\nTry them now?", default=False):
        return {}
    found = {}
    for one in taken:
        with spinner(f"trying {one.name}"):
            found[one.name] = try_quickly(one.parts, root)
        write(f"  {one.name}: {found[one.name].text}\n")
    return found


def _filled(text: str) -> str:
    return textwrap.fill(text, 80, break_on_hyphens=False)


def _new_target(one: Proposal, tried: Tried | None) -> NewTarget:
    from exportlint.config.new_table import NewTarget  # noqa: PLC0415 (as above)

    remarks = [f"{one.seen}."]
    if tried and tried.loads:
        remarks.append(f"Tried by `exportlint init`: {tried.text}.")
    elif tried:
        remarks.append(f"Not taken, as it cannot be tried: {tried.text}. Mend that, then remove the `#` of each key.")
    return NewTarget(one.name, one.parts, remarks, active=tried is None or tried.loads)


_MOST = 6


def _remarks(seen: Seen) -> list[str]:
    """Comments about scripts and models that could be targets: some of each, those of which most is known first."""
    models = sorted(seen.unfinished, key=lambda one: (not one.inputs, "(...)" in one.build))
    told = [*map(_script, seen.scripts[:_MOST]), *map(_unfinished, models[:_MOST])]
    left = [
        f"{len(found) - _MOST} more {what}: {', '.join(names[_MOST : 4 * _MOST])}"
        + (", …" if len(names) > 4 * _MOST else "")
        for found, what, names in (
            (seen.scripts, "scripts that hand a model to torch", [one.path for one in seen.scripts]),
            (models, "models without named inputs", [one.cls for one in models]),
        )
        if len(found) > _MOST
    ]
    return [*told, *("\n".join(textwrap.wrap(one, 78, break_on_hyphens=False)) for one in left)]


def _script(one: Script) -> str:
    return (
        f"{one.path}:{one.line} hands a model to {one.call}; the script runs as it is:\n    exportlint trial {one.path}"
    )


def _unfinished(one: Unfinished) -> str:
    """What is to be written so that it becomes a target, as far as calls show it."""
    home, cls = one.path, one.cls.rpartition(":")[2]
    lines = [f"{cls} ({home}:{one.line}) has no inputs with a name.", "Write a function, such as"]
    if not one.model:
        lines += ["    def build():", f"        return {one.build}.eval()"]
    lines += ["    def inputs():", f"        return {one.inputs or '(...,)'}"]
    lines += [
        f"in {home}{f' (as {one.place} calls it)' if one.inputs else ''}, and add:",
        f"[tool.exportlint.targets.{one.name}]",
        f'model = "{one.model or f"{home}:build"}"',
        f'args = "{home}:inputs"',
    ]
    return "\n".join(lines)


def _next(targets: Sequence[NewTarget], seen: Seen, file: Path, tried: dict[str, Tried]) -> str:
    active = [one for one in targets if one.active]
    lines = [f"\nWrote [tool.exportlint] with {_count(len(active), 'target')} to {shown(file)}.", "", "Next:"]
    steps = {}
    if file.parent != Path.cwd().resolve():
        steps[f"cd {shown(file.parent)}"] = "where the table holds"
    steps |= {"exportlint check": "read the source for what torch.export refuses or gets wrong"}
    if active:
        what = "try the targets with every stage" if tried else "try the targets (imports and runs them)"
        steps["exportlint trial"] = what
    elif seen.scripts:
        steps[f"exportlint trial {seen.scripts[0].path}"] = "run the script, and try what it hands to torch"
    steps["exportlint doctor"] = "what is installed, and what would be skipped"
    width = max(map(len, steps))
    return "\n".join([*lines, *(f"  {name:<{width}}  {what}" for name, what in steps.items())]) + "\n"
