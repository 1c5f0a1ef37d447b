"""Write `[tool.exportlint]` at the end of a pyproject.toml that has none; every other byte stays as it is."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tomlkit.items import Table

_WIDTH = 78
_LEAD = (
    "exportlint: what torch.export refuses or gets wrong. docs/configuration.md has every key; these are often wanted:"
)
_OFTEN = (
    'mode = "both"               # judge for strict mode, too (default: non-strict)',
    'lower = ["aotinductor"]     # where you ship to: trials compile for it, too',
    'exclude = ["third_party/"]  # patterns as in .gitignore',
)


@dataclass(frozen=True, slots=True)
class NewTarget:
    """`[tool.exportlint.targets.NAME]`. `remarks`: comments above its keys; `active`: or is it a comment itself?"""

    name: str
    parts: Mapping[str, str]
    remarks: Sequence[str] = ()
    active: bool = True


def table_text(targets: Sequence[NewTarget], remarks: Sequence[str] = ()) -> str:
    """The table with its targets. `remarks` are comments at the end, each of lines that stay as they are."""
    import tomlkit  # noqa: PLC0415 (for `exportlint init` only)

    document, tool, ours = tomlkit.document(), tomlkit.table(True), tomlkit.table()
    for line in textwrap.wrap(_LEAD, _WIDTH):
        ours.add(tomlkit.comment(line))
    for line in _OFTEN:
        ours.add(tomlkit.comment(line))
    active = [one for one in targets if one.active]
    if active:
        every = tomlkit.table(True)
        for one in active:
            every.add(one.name, _table(one))
        ours.add("targets", every)
    tool.add("exportlint", ours)
    document.add("tool", tool)
    text = document.as_string().rstrip("\n") + "\n"
    for one in targets:
        if not one.active:
            alone = tomlkit.document()
            home, owner, every = tomlkit.table(True), tomlkit.table(True), tomlkit.table(True)
            every.add(one.name, _table(one))
            owner.add("targets", every)
            home.add("exportlint", owner)
            alone.add("tool", home)
            text += "\n" + _as_comment(alone.as_string().strip("\n"))
    return text + "".join(f"\n{_as_comment(remark)}" for remark in remarks)


def _as_comment(text: str) -> str:
    return "".join(f"# {line.removeprefix('# ')}".rstrip() + "\n" for line in text.splitlines())


def _table(target: NewTarget) -> Table:
    import tomlkit  # noqa: PLC0415 (as above)

    made = tomlkit.table()
    for remark in target.remarks:
        for line in textwrap.wrap(remark, _WIDTH):
            made.add(tomlkit.comment(line))
    for key, value in target.parts.items():
        made.add(key, value)
    return made


def refuse_where_written(path: Path) -> None:
    """UserError where the file has a table of ours, or is no TOML to which one can be added."""
    _with_table(path, _bytes(path), table_text(()))


def add_table(path: Path, text: str) -> None:
    """The file with the table after all else, whole or not at all. UserError where that cannot be done."""
    before = _bytes(path)
    after = _with_table(path, before, text)
    if _bytes(path) != before:
        raise UserError(f"{path} was changed meanwhile, so nothing was written: run `exportlint init` again")
    try:
        write_whole(path.resolve(), after)  # a link stays one
    except OSError as error:
        raise UserError(f"{path} cannot be written: {error.strerror or error}; make it writable") from error


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror or error}") from error


def _with_table(path: Path, before: bytes | None, text: str) -> bytes:
    import tomlkit  # noqa: PLC0415 (as above)
    from tomlkit.exceptions import TOMLKitError  # noqa: PLC0415

    if before is None:
        return text.encode()
    try:
        tool = tomlkit.parse(before).unwrap().get("tool", {})
    except (TOMLKitError, ValueError) as error:
        raise UserError(f"{path}: this is not TOML, so nothing can be added: {error}") from error
    if isinstance(tool, dict) and "exportlint" in tool:
        raise UserError(f"{path} has [tool.exportlint] already, and init never changes one: edit it there")
    ends = b"\r\n" if b"\r\n" in before else b"\n"
    between = b"" if not before else ends if before.endswith(b"\n") else ends + ends
    after = before + between + text.encode().replace(b"\n", ends)
    try:
        tomlkit.parse(after)
    except TOMLKitError as error:
        raise UserError(
            f"{path}: `tool` is written there so that no [tool.exportlint] can follow ({error}): "
            "write it as [tool.NAME] tables"
        ) from error
    return after
