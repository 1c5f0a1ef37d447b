"""Pages that are made of code: the keys of the configuration, the options of the commands, the public names."""

from __future__ import annotations

import inspect
import re
import types
import typing
from enum import EnumMeta
from typing import TYPE_CHECKING, Any

import click
import msgspec

import exportlint
from exportlint import testing
from exportlint.cli import COMMANDS, _cli
from exportlint.config.pyproject import TABLE, Table, TargetTable
from exportlint.config.settings import MODE_CHOICES
from exportlint.output.markdown import table
from exportlint.trial.protocol.purposes import PURPOSES

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = {"str": "text", "dict": "table", "Any": "anything", "float": "number", "int": "number"}
CHOICES = {"mode": tuple(MODE_CHOICES), "for": tuple(PURPOSES)}


def configuration_page() -> str:
    """What the model that reads pyproject.toml takes; what the keys mean stands in docs/configuration.md."""
    return "\n\n".join(
        [
            "# Keys of pyproject.toml",
            "What each key takes, and what holds without it. What they mean: [Configuration](configuration.md).",
            f"## [{TABLE}]",
            _keys(Table),
            f"## [{TABLE}.targets.NAME]",
            "Each value is `FILE_OR_MODULE:NAME`, as on the command line.",
            _keys(TargetTable),
            "",
        ]
    )


def _keys(struct: type[msgspec.Struct]) -> str:
    hints = typing.get_type_hints(struct)
    rows = [
        [f"`{field.encode_name}`", _type(hints[field.name], CHOICES.get(field.encode_name, ())), _default(field)]
        for field in msgspec.structs.fields(struct)
    ]
    return table(["key", "takes", "default"], rows)


def _type(hint: Any, choices: tuple[str, ...] = ()) -> str:
    if choices:
        return ", ".join(f'`"{one}"`' for one in choices)
    arguments = typing.get_args(hint)
    if isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union:
        return " or ".join(_type(one) for one in arguments if one is not type(None))
    if typing.get_origin(hint) is list:
        return f"list of {_type(arguments[0])}"
    if typing.get_origin(hint) is dict:
        return f"table of {_type(arguments[1])}"
    name = getattr(hint, "__name__", str(hint))
    return WORDS.get(name, name)


def _default(field: Any) -> str:
    if field.required:
        return "must be given"
    value = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
    if value is None:
        return "not set"
    if value in ([], {}):
        return "none"
    return f'`"{value}"`' if isinstance(value, str) else f"`{value}`"


def commands_page() -> str:
    """Every command with its options, in the words of its `--help`."""
    blocks = ["# Commands", "As `exportlint COMMAND --help` has them.", *_exit_codes()]
    context = click.Context(_cli, info_name="exportlint")
    for name in COMMANDS:
        command = _cli.get_command(context, name)
        if command is not None:
            blocks += [f"## exportlint {name}", *_command(command, click.Context(command, context, name))]
    return "\n\n".join(blocks) + "\n"


def _exit_codes() -> Iterator[str]:
    yield from (text for text in _paragraphs(_cli.help or "") if text.startswith("Exit codes"))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f"```text\nexportlint {command.name} {usage}\n```"
    yield from (_escaped(text) for text in _paragraphs(command.help or ""))
    options = [one for one in command.get_params(context) if isinstance(one, click.Option) and "--help" not in one.opts]
    rows = [record for one in options if (record := one.get_help_record(context))]
    yield table(["option", "meaning"], [[f"`{flags}`", text] for flags, text in rows])


def _paragraphs(text: str) -> list[str]:
    return [" ".join(block.replace("\b", "").split()) for block in inspect.cleandoc(text).split("\n\n")]


def use_page() -> str:
    """The names for whoever tries models: in a notebook, in tests, in a program."""
    parts = [
        "# Public names for using exportlint",
        "Examples stand in [Python API](python-api.md); what rules import has [its own page](api-rules.md).",
        *_names(name for name in exportlint.__all__ if _is_for_use(name)),
        _entry("exportlint.testing.assert_exports", testing.assert_exports),
    ]
    return "\n\n".join(parts) + "\n"


def rules_api_page() -> str:
    """The names that a rule may import, by the folder that they come from."""
    parts = [
        "# Public names for writing rules",
        "A rule imports these from `exportlint`, and libcst; [how a rule is written](writing-a-rule.md).",
        *_names(name for name in exportlint.__all__ if not _is_for_use(name)),
    ]
    return "\n\n".join(parts) + "\n"


def _is_for_use(name: str) -> bool:
    place = getattr(getattr(exportlint, name), "__module__", "")  # a constant has none, and is for rules
    return place.startswith(("exportlint.workflow", "exportlint.errors", "exportlint.finding"))


def _names(names: typing.Iterable[str]) -> Iterator[str]:
    yield from (_entry(f"exportlint.{name}", getattr(exportlint, name)) for name in names)


def _entry(name: str, named: Any) -> str:
    return "\n\n".join([f"## {name.removeprefix('exportlint.')}", *_described(name, named)])


def _described(name: str, named: Any) -> Iterator[str]:
    if isinstance(named, (frozenset, tuple, dict)):
        yield "One of: " + ", ".join(f"`{one}`" for one in sorted(map(str, named)))
        return
    yield f"```python\n{_declared(name, named)}\n```"
    yield _docstring(named)
    if isinstance(named, EnumMeta):
        members: dict[str, Any] = dict(named.__members__)
        yield table(["member", "value"], [[f"`{member}`", f"`{one.value}`"] for member, one in members.items()])
    elif inspect.isclass(named):
        yield from _members(named)


def _declared(name: str, named: Any) -> str:
    if isinstance(named, EnumMeta):
        return f"class {name}"
    if inspect.isclass(named):
        shown = "" if _is_not_called(named) else str(_signature(named) or "")
        return f"class {name}{shown}"
    return f"{name}{_signature(named)}"


def _is_not_called(named: type) -> bool:
    """A protocol, or a class that takes its arguments unseen: nobody calls it by what inspect shows."""
    return getattr(named, "_is_protocol", False) or str(_signature(named)) in {
        "(*args, **kwargs)",
        "(*args: Any, **kwargs: Any)",
        "None",
    }


def _signature(named: Any) -> str | None:
    text = _one_line(named)
    if text is None or len(text) <= _WIDE:
        return text
    inner, _, after = text[1:].rpartition(")")
    return "(\n    " + ",\n    ".join(_split(inner)) + f",\n){after}"


_WIDE = 80


def _split(arguments: str) -> Iterator[str]:
    """At the commas that are not inside of brackets."""
    depth, start = 0, 0
    for place, letter in enumerate(arguments):
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            yield arguments[start:place].strip()
            start = place + 1
    yield arguments[start:].strip()


def _docstring(named: Any) -> str:
    text = (named.__doc__ or "") if inspect.isclass(named) else (inspect.getdoc(named) or "")
    text = inspect.cleandoc(text)
    if inspect.isclass(named) and text.startswith(f"{named.__name__}("):
        return ""  # what a dataclass without a docstring writes itself: the signature once more
    return "\n\n".join(_block(block) for block in text.split("\n\n"))


_ARGUMENT = re.compile(r"^(?P<names>\w+(?:, \w+)*) {2,}(?P<text>\S.*)$")


def _block(block: str) -> str:
    """Examples are code; lines of a name, blanks and a text are a table."""
    lines = block.splitlines()
    if lines and lines[0].startswith(">>>"):
        return "\n".join(["```pycon", *lines, "```"])
    if lines and _ARGUMENT.match(lines[0]):
        rows: list[list[str]] = []
        for line in lines:
            if found := _ARGUMENT.match(line):
                rows.append([", ".join(f"`{name}`" for name in found["names"].split(", ")), found["text"]])
            else:
                rows[-1][1] += f" {line.strip()}"
        return table(["argument", "meaning"], [[name, text] for name, text in rows])
    if lines and all(line.startswith("    ") for line in lines):
        return "\n".join(["```python", *(line[4:] for line in lines), "```"])
    return _escaped(block)


def _members(named: type) -> Iterator[str]:
    rows = []
    for name, member in vars(named).items():
        function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
        if name.startswith("_") or not (callable(function) or isinstance(member, property)):
            continue
        if inspect.isclass(member):
            continue
        shown = name if isinstance(member, property) else f"{name}{_one_line(function) or '(…)'}"
        rows.append([f"`{shown}`", " ".join((inspect.getdoc(function) or "").split())])
    if rows:
        yield table(["member", "meaning"], rows)


class _Bare:
    """An annotation as it is written; inspect would put those of our files, which are texts, in quotes."""

    def __init__(self, annotation: Any) -> None:
        self._text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)

    def __repr__(self) -> str:
        return self._text


def _one_line(named: Any) -> str | None:
    try:
        signature = inspect.signature(named)
    except (TypeError, ValueError):
        return None
    none = inspect.Signature.empty
    parameters = [
        one if one.annotation is none else one.replace(annotation=_Bare(one.annotation))
        for one in signature.parameters.values()
        if one.name != "self"
    ]
    gives = signature.return_annotation
    if gives is not none and not inspect.isclass(named):
        gives = _Bare(gives)
    text = str(inspect.Signature(parameters, return_annotation=none if inspect.isclass(named) else gives))
    return re.sub(r"<(\w+\.\w+): [^>]+>", r"\1", re.sub(r"<factory>|<object object at 0x[0-9a-f]+>", "...", text))


def _escaped(text: str) -> str:
    """Outside of code, `<…>` and `*` would be read as markup."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(p if p.startswith("`") else re.sub(r"([<*_|])", r"\\\1", p) for p in parts)
