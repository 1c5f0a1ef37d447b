"""Targets that a project could declare, found by reading its files: nothing is imported and nothing is run.

A model and its inputs are a target where both have a name at the top level of a file: a function without arguments, a
class that is made without arguments, or a value. What has a model and no inputs with a name is told with the inputs
that some call of it shows, so that a person can write the function.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.files import SourceError, SourceFile
from exportlint.trial.discovery import call_that_hands_over, is_fixture_class
from exportlint.trial.protocol.target import EXAMPLE_ARGS, EXAMPLE_INPUTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Proposal:
    """A target: each part is FILE:NAME, relative to the folder of pyproject.toml. `seen`: what was read, and where."""

    name: str
    model: str
    args: str
    seen: str
    kwargs: str | None = None
    dynamic_shapes: str | None = None

    @property
    def parts(self) -> Mapping[str, str]:
        """The keys of its table."""
        every = {
            "model": self.model, "args": self.args, "kwargs": self.kwargs, "dynamic_shapes": self.dynamic_shapes
        }  # fmt: skip
        return {key: value for key, value in every.items() if value}

    @property
    def files(self) -> list[str]:
        """Those that are imported when it is tried."""
        return list(dict.fromkeys(value.rpartition(":")[0] for value in self.parts.values()))


@dataclass(frozen=True, slots=True)
class Script:
    """A file that hands a model to torch when it runs."""

    path: str
    line: int
    call: str


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A model that is built somewhere, and has no inputs, or no maker, with a name.

    build    the expression that makes it; "" where `model` names something that does so without arguments
    inputs   the tuple that some call gives it; "" where none can be read
    """

    name: str
    cls: str  # FILE:CLASS
    path: str
    line: int
    place: str
    model: str
    build: str
    inputs: str


@dataclass(frozen=True, slots=True)
class Seen:
    """All that was found in so many files."""

    files: int
    proposals: tuple[Proposal, ...]
    scripts: tuple[Script, ...]
    unfinished: tuple[Unfinished, ...]


def seen_in(files: Sequence[SourceFile], root: Path) -> Seen:
    """Read all of them; files that cannot be read are no business of a first look."""
    read = [one for file in files if not _is_test(file.path) and (one := _read(file, root))]
    project = _Project(read)
    proposals: list[Proposal] = []
    unfinished: list[Unfinished] = []
    scripts = []
    for file in read:
        found = [*project.declared(file), *project.built(file)]
        proposals += [one for one in found if isinstance(one, Proposal)]
        unfinished += [one for one in found if isinstance(one, Unfinished)]
        if not file.is_declared and (call := call_that_hands_over(file.tree)):
            scripts.append(Script(file.path, *call))
    named = {one.cls for one in unfinished} - project.proposed
    rest = {one.cls: one for one in unfinished if one.cls in named}
    return Seen(len(files), tuple(_with_own_names(proposals)), tuple(scripts), tuple(rest.values()))


def _with_own_names(proposals: Sequence[Proposal]) -> Iterator[Proposal]:
    """With that of its file where several are called alike, and a number where that is not enough."""
    often, taken = Counter(one.name for one in proposals), Counter[str]()
    for one in proposals:
        name = one.name if often[one.name] == 1 else f"{_stem(one.model.rpartition(':')[0])}-{one.name}"
        taken[name] += 1
        yield replace(one, name=name if taken[name] == 1 else f"{name}-{taken[name]}")


def _is_test(path: Path) -> bool:
    """What tests build is small and broken on purpose; they are read by nobody who ships."""
    return path.name == "conftest.py" or path.name.startswith("test_") or path.name.endswith("_test.py")


# One file.


@dataclass(frozen=True)
class _File:
    """A file that was parsed; what is asked for often is looked for once."""

    path: str
    tree: ast.Module
    imported: Mapping[str, str]  # name -> dotted name that it stands for

    @cached_property
    def calls(self) -> list[ast.Call]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]

    @cached_property
    def called(self) -> frozenset[str]:
        """The last names of what it calls."""
        return frozenset(self.dotted(call.func).rpartition(".")[2] for call in self.calls)

    @cached_property
    def scopes(self) -> list[ast.Module | ast.FunctionDef]:
        """Where names are assigned."""
        return [self.tree, *(node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef))]

    @cached_property
    def is_declared(self) -> bool:
        names = set(self.values)
        return {"model", EXAMPLE_ARGS} <= names or ({"model", EXAMPLE_INPUTS} <= names and not self.hands_over)

    @cached_property
    def hands_over(self) -> bool:
        return call_that_hands_over(self.tree) is not None

    @cached_property
    def classes(self) -> list[ast.ClassDef]:
        return [node for node in self.tree.body if isinstance(node, ast.ClassDef)]

    @cached_property
    def functions(self) -> list[ast.FunctionDef]:
        """Those that can be called without arguments."""
        found = [node for node in self.tree.body if isinstance(node, ast.FunctionDef)]
        return [node for node in found if not _required(node.args)]

    @cached_property
    def values(self) -> Mapping[str, ast.Assign | ast.AnnAssign]:
        """What is assigned at the top level; of `a, b = 1, 2` each by itself."""
        found: dict[str, ast.Assign | ast.AnnAssign] = {}
        for node in self.tree.body:
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        for name, part in _each_with_its_value(target, value):
                            found[name.id] = ast.copy_location(ast.Assign([name], part), node)
                case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr()):
                    found[name] = node
        return found

    def dotted(self, node: ast.expr) -> str:
        """`nn.Linear` -> `torch.nn.Linear`; "" for what is no name."""
        match node:
            case ast.Name(id=name):
                return self.imported.get(name, name)
            case ast.Attribute(value=owner, attr=name) if home := self.dotted(owner):
                return f"{home}.{name}"
        return ""


def _read(file: SourceFile, root: Path) -> _File | None:
    try:
        text = file.read()
        # Parsing is what takes time, and most files of a large project know nothing of models.
        if "torch" not in text and "odel" not in text:
            return None
        tree = ast.parse(text)
    except (SourceError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    try:
        path = file.absolute.relative_to(root.resolve()).as_posix()
    except ValueError:  # it lies elsewhere, by a link
        return None
    return _File(path, tree, dict(_imports(tree)))


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (
                (one.asname, one.name) if one.asname else (top, top)
                for one in node.names
                for top in (one.name.partition(".")[0],)
            )
        elif isinstance(node, ast.ImportFrom):
            yield from ((one.asname or one.name, f"{node.module or ''}.{one.name}") for one in node.names)


def _each_with_its_value(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    match target, value:
        case ast.Name(), _:
            yield target, value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for name, part in zip(names, values, strict=True):
                yield from _each_with_its_value(name, part)


def _required(args: ast.arguments) -> bool:
    by_place = [*args.posonlyargs, *args.args]
    return len(by_place) > len(args.defaults) or any(default is None for default in args.kw_defaults)


_MODULE, _SEQUENTIAL = "torch.nn.Module", "torch.nn.Sequential"
_OF_INPUTS = re.compile(r"(^|_)(inputs?|args|arguments|examples?|samples?|dummy|dummies)(_|$)", re.IGNORECASE)
_IN_CHAIN = ("eval", "train", "to", "cpu", "float", "half", "bfloat16", "double", "requires_grad_")
_MAKERS = re.compile(r"^(build|make|create|get|new|load)_|_?(factory|builder)$")
_TENSORS = {
    "arange", "empty", "eye", "full", "linspace", "ones", "rand", "randint", "randn", "randperm", "tensor", "zeros",
    "ones_like", "zeros_like", "rand_like", "randn_like",
}  # fmt: skip


def _without_chain(node: ast.expr) -> ast.expr:
    """`Net().to("cpu").eval()` -> `Net()`."""
    while (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _IN_CHAIN
        and isinstance(node.func.value, ast.Call | ast.Name)
    ):
        node = node.func.value
    return node


def _gives_inputs(file: _File, node: ast.expr | None) -> bool:
    """A tuple, or a tensor that is made."""
    if isinstance(node, ast.Tuple):
        return bool(node.elts)
    called = isinstance(node, ast.Call) and file.dotted(node.func)
    return bool(called) and str(called).startswith("torch.") and str(called).rpartition(".")[2] in _TENSORS


def _returned(function: ast.FunctionDef) -> Iterator[ast.expr]:
    """What it returns, through the names that it assigned."""
    values = {
        target.id: node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            value = _without_chain(node.value)
            yield _without_chain(values.get(value.id, value)) if isinstance(value, ast.Name) else value


# All files.


class _Project:
    def __init__(self, files: Sequence[_File]) -> None:
        self._files = files
        # By FILE:CLASS, since many a project has a `Net` in each of its files.
        self._classes = {f"{file.path}:{node.name}": (file, node) for file in files for node in file.classes}
        self._homes: dict[str, list[str]] = {}
        for key in self._classes:
            self._homes.setdefault(_name(key), []).append(key)
        self._models = self._found_models()
        self._inner = {*self._built_inside(), *self._bases()}
        self.proposed: set[str] = set()

    def _found_models(self) -> frozenset[str]:
        """FILE:CLASS of those that are nn.Modules, as far as their bases can be read."""
        found: set[str] = set()
        while True:
            more = {
                key
                for key, (file, node) in self._classes.items()
                if key not in found and any(self._is_model(file, file.dotted(base), found) for base in node.bases)
            }
            if not more:
                return frozenset(found)
            found |= more

    def _is_model(self, file: _File, base: str, found: set[str]) -> bool:
        return base == _MODULE or base.endswith("LightningModule") or self._class_called(file, base) in found

    def _class_called(self, file: _File, called: str) -> str | None:
        """FILE:CLASS of a dotted name: the file's own class, else the one in the file that its module may be."""
        last = called.rpartition(".")[2]
        keys = self._homes.get(last, [])
        if f"{file.path}:{last}" in keys:
            return f"{file.path}:{last}"
        module = called.rpartition(".")[0].rpartition(".")[2]
        return next((key for key in keys if _stem(key.rpartition(":")[0]) == _snake(module)), next(iter(keys), None))

    def _built_inside(self) -> Iterator[str]:
        """Those that another model makes: its parts."""
        for key in self._models:
            file, node = self._classes[key]
            for call in ast.walk(node):
                if isinstance(call, ast.Call) and (part := self._model_of(file, call)) and part != key:
                    yield part

    def _bases(self) -> Iterator[str]:
        """Those that other models are made of by inheritance."""
        for key in self._models:
            file, node = self._classes[key]
            found = (self._class_called(file, file.dotted(base)) for base in node.bases)
            yield from (one for one in found if one)

    def _model_of(self, file: _File, node: ast.expr) -> str | None:
        """FILE:CLASS of what a call makes, if that is a model."""
        called = file.dotted(node.func) if isinstance(node, ast.Call) else ""
        if called == _SEQUENTIAL:
            return called
        found = self._class_called(file, called) if called else None
        return found if found in self._models else None

    def declared(self, file: _File) -> Iterator[Proposal]:
        """`model` and `example_args` at the top level, as ExportDB has them; classes with static `inputs()`."""
        values, path = file.values, file.path
        if file.is_declared:
            args = EXAMPLE_ARGS if EXAMPLE_ARGS in values else EXAMPLE_INPUTS
            made = _without_chain(values["model"].value or ast.Constant(None))
            if cls := self._model_of(file, made):
                self.proposed.add(cls)
            yield Proposal(
                _stem(path),
                f"{path}:model",
                f"{path}:{args}",
                f"{path}:{values['model'].lineno} has `model` and `{args}` at its top level",
                f"{path}:example_kwargs" if "example_kwargs" in values else None,
                f"{path}:dynamic_shapes" if "dynamic_shapes" in values else None,
            )
        for node in file.classes:
            if is_fixture_class(node):
                own = {one.name for one in node.body if isinstance(one, ast.FunctionDef)}
                self.proposed.add(f"{path}:{node.name}")
                yield Proposal(
                    _snake(node.name),
                    f"{path}:{node.name}",
                    f"{path}:{node.name}.inputs",
                    f"{path}:{node.lineno} class {node.name} has a static method `inputs`",
                    f"{path}:{node.name}.kwargs" if "kwargs" in own else None,
                )

    def built(self, file: _File) -> Iterator[Proposal | Unfinished]:
        """What makes a model in this file, with what gives inputs there, or in the one file that imports it."""
        if file.is_declared:
            return
        makers = {**self._classes_made(file), **self._makers(file)}
        met: set[str] = set()
        for maker, (cls, line) in sorted(makers.items(), key=lambda one: (_rank(file, one[0]), one[1][1])):
            # A class that stands in no file of the project (torch.nn.Sequential) is known by its maker.
            key = cls if cls in self._models else maker
            if key in met or key in self.proposed:
                continue
            met.add(key)
            if inputs := self._inputs_for(file, maker, cls):
                self.proposed.add(key)
                yield Proposal(
                    _named(maker, file.path),
                    f"{file.path}:{maker}",
                    inputs,
                    f"{file.path}:{line} `{maker}` makes {_a(_name(cls))}, `{inputs.rpartition(':')[2]}` its inputs",
                )
            elif cls in self._models and maker != _name(cls):
                yield self._unfinished(cls, maker=f"{file.path}:{maker}", built_at=f"{file.path}:{line}")
            else:
                met.discard(key)  # a class that nobody makes is told of nowhere
        for cls, line, expression in self._calls(file):
            if cls in self._models and cls not in self.proposed | met | self._inner:
                met.add(cls)
                plain = expression.endswith("()") and not _required_of_class(self._classes[cls][1])
                how = {"maker": cls} if plain else {"build": expression}
                yield self._unfinished(cls, **how, built_at=f"{file.path}:{line}")

    def _makers(self, file: _File) -> Mapping[str, tuple[str, int]]:
        """Functions without arguments, and values, by name: the class and the line."""
        found = {}
        for function in file.functions:
            for value in _returned(function):
                if cls := self._model_of(file, value):
                    found[function.name] = (cls, function.lineno)
        for name, node in file.values.items():
            if node.value is not None and (cls := self._model_of(file, _without_chain(node.value))):
                found[name] = (cls, node.lineno)
        return found

    def _classes_made(self, file: _File) -> Mapping[str, tuple[str, int]]:
        """Models of this file that are made without arguments, and are no part of another one."""
        return {
            node.name: (key, node.lineno)
            for node in file.classes
            if (key := f"{file.path}:{node.name}") in self._models - self._inner and not _required_of_class(node)
        }

    def _inputs_for(self, file: _File, maker: str, cls: str) -> str | None:
        here = self._inputs(file)
        if not here:
            # Perhaps they stand with the one file that imports the maker or the class.
            there = [
                one
                for one in self._files
                if one is not file and {maker, _name(cls)} & {name.rpartition(".")[2] for name in one.imported.values()}
            ]
            found = [(one.path, names) for one in there if (names := self._inputs(one)) and not one.is_declared]
            return f"{found[0][0]}:{found[0][1][0]}" if len(found) == 1 and len(found[0][1]) == 1 else None
        words = {word for name in (maker, _name(cls)) for word in _snake(name).split("-")}
        best = max(here, key=lambda name: len(words & set(_snake(name).split("-"))))
        return f"{file.path}:{best}"

    @staticmethod
    def _inputs(file: _File) -> list[str]:
        """Functions without arguments and values that are called as inputs are, and give some."""
        functions = [
            one.name
            for one in file.functions
            if _OF_INPUTS.search(one.name) and any(_gives_inputs(file, value) for value in _returned(one))
        ]
        values = [
            name for name, node in file.values.items() if _OF_INPUTS.search(name) and _gives_inputs(file, node.value)
        ]
        return functions + values

    def _unfinished(self, cls: str, maker: str = "", build: str = "", built_at: str = "") -> Unfinished:
        home, node = self._classes[cls]
        inputs, called = self._inputs_of_calls(cls)
        place = called or built_at or f"{home.path}:{node.lineno}"
        return Unfinished(_snake(_name(cls)), cls, home.path, node.lineno, place, maker, build, inputs)

    def _calls(self, file: _File) -> Iterator[tuple[str, int, str]]:
        """Where the file makes a model, outside of another model: class, line and expression."""
        inside = {id(node) for cls in file.classes if cls.name in self._models for node in ast.walk(cls)}
        for node in file.calls:
            if id(node) not in inside and (cls := self._model_of(file, node)):
                yield cls, node.lineno, _written(file, node, {}, {_name(cls)}) or f"{_name(cls)}(...)"

    def _inputs_of_calls(self, cls: str) -> tuple[str, str]:
        """The tuple that a call of such a model gives it, and the place, where it can be written elsewhere, too."""
        for file in self._files:
            for scope in file.scopes if _name(cls) in file.called else ():
                if (found := self._call_in(file, scope, cls)) is not None:
                    text, line = found
                    return text, f"{file.path}:{line}"
        return "", ""

    def _call_in(self, file: _File, scope: ast.Module | ast.FunctionDef, cls: str) -> tuple[str, int] | None:
        values = {
            target.id: node.value
            for node in scope.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        models = {name for name, value in values.items() if self._model_of(file, _without_chain(value)) == cls}
        for node in (one for statement in scope.body for one in ast.walk(statement) if isinstance(one, ast.Call)):
            given = _given(file, node, models)
            if given is not None and (text := _written(file, given, values, {"torch"})):
                return text, node.lineno
        return None


def _given(file: _File, call: ast.Call, models: set[str]) -> ast.Tuple | None:
    """The inputs of `model(x, y)`, or of a call of torch that is given the model and a tuple."""
    if isinstance(call.func, ast.Name) and call.func.id in models:
        plain = not call.keywords and call.args and not any(isinstance(one, ast.Starred) for one in call.args)
        return ast.Tuple(call.args, ast.Load()) if plain else None
    if not file.dotted(call.func).startswith("torch.") or len(call.args) < 2:  # noqa: PLR2004 (model and inputs)
        return None
    model, given = call.args[:2]
    if not (isinstance(model, ast.Name) and model.id in models):
        return None
    return given if isinstance(given, ast.Tuple) else ast.Tuple([given], ast.Load())


_DEPTH = 5
_LONG = 100


def _written(file: _File, given: ast.expr, values: Mapping[str, ast.expr], needs: set[str]) -> str:
    """As text that needs no other names than these; "" where it does, or is longer than a person would read."""

    class Replaced(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return values.get(node.id, node)

    tree: ast.expr = given
    for _ in range(_DEPTH):
        tree = Replaced().visit(ast.parse(ast.unparse(tree), mode="eval").body)
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if not names <= needs or ("torch" in names and file.imported.get("torch") != "torch"):
        return ""
    text = ast.unparse(tree)
    return text if len(text) <= _LONG else ""


def _required_of_class(node: ast.ClassDef) -> bool:
    init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if init is None:
        # A base of the project may ask for something; torch.nn.Module does not.
        return any(not isinstance(base, ast.Attribute) and ast.unparse(base) != "Module" for base in node.bases)
    args = init.args
    return len([*args.posonlyargs, *args.args]) - 1 > len(args.defaults) or any(
        default is None for default in args.kw_defaults
    )


def _rank(file: _File, maker: str) -> int:
    """A function makes a fresh model in the mode that somebody chose; a class one in train mode."""
    if any(one.name == maker for one in file.functions):
        return 0
    return 1 if maker in file.values else 2


def _named(maker: str, path: str) -> str:
    name = _MAKERS.sub("", maker)
    plain = name in ("", "model", "net", "module", "build", "make", "create", "main")
    return _stem(path) if plain else _snake(name)


def _snake(name: str) -> str:
    """`MyNet2d` and `my_net2d` -> `my-net2d`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_+", "-", name).strip("-").lower()


def _stem(path: str) -> str:
    """`src/models/__init__.py` -> `models`."""
    parts = path.removesuffix(".py").split("/")
    stem = parts[-2] if parts[-1] == "__init__" and len(parts) > 1 else parts[-1]
    return re.sub(r"[^a-z0-9-]", "-", _snake(stem)) or "model"


def _name(key: str) -> str:
    """Of FILE:CLASS, or of a dotted name, the class."""
    return re.split(r"[:.]", key)[-1]


def _a(cls: str) -> str:
    return f"a{'n' if cls[:1] in 'AEIOU' else ''} {cls}"
