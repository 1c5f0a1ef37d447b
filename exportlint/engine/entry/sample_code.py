"""Find the code of a file that makes samples, and write the calls that a file leaves to whoever uses its functions."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import nothing
from exportlint.engine.entry.samples import TAKERS
from exportlint.engine.source.parsed import last_name, walked
from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.source.symbols import ClassInfo, Resolver


_EXPORTS = tuple(f"{taker.rpartition('.')[2]}(" for taker in TAKERS)
# What people call the functions and the names that hold a model and its inputs.
_MODEL = re.compile(r"(?:get|make|build|create|load)_(?:model|module|net|network)|build|model|net")
_INPUTS = re.compile(r"(?:(?:get|make|build|create)_)?(?:(?:example|sample|dummy)_)?(?:inputs?|args)")
_KWARGS = re.compile(r"(?:(?:get|make|build|create)_)?(?:(?:example|sample|dummy)_)?kwargs")
_SHAPES = re.compile(r"(?:(?:get|make|build|create)_)?dynamic_shapes")
_INPUT_METHODS = ("inputs", "example_inputs", "get_example_inputs")
_MOST_BESIDE = 2  # keyword arguments, dynamic shapes
_REFUSING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_GIVEN = (ast.Tuple, ast.List, ast.Dict, ast.Call)


@dataclass(frozen=True, slots=True)
class SampleCode:
    """Statements that make samples: of the top level, of a function that calls a model, or written for the file."""

    function: FunctionInfo
    statements: list[ast.stmt]


def scripts(module: ModuleInfo) -> Iterator[SampleCode]:
    """What of a file is to be followed for its samples; nothing where it gives none."""
    top, missing = list(_top_level(module)), _missing_names(module)
    exports = module.parsed.mentions(_EXPORTS)
    named = missing or {"model", "example_args"} <= module.assignments.keys()
    if exports or named or _calls_what_it_assigns(top, module):
        yield _at_top(module, *top, *_statements(missing))
    for function in _exporting(module) if exports else ():
        yield SampleCode(function, function.node.body)  # type: ignore[arg-type] # a def, whose body is a list
    for function in _calling(module, top):
        body: list[ast.stmt] = function.node.body  # type: ignore[assignment] # as above
        yield SampleCode(function, [node for node in body if not _is_to_fail(node)])
    for lines in (*_returned_together(module), *_of_classes(module)):
        yield _at_top(module, *_statements(lines))


def declared(target: DeclaredTarget, project: Resolver) -> list[SampleCode]:
    """The calls that make a target of the configuration; nothing where a file of it cannot be found."""
    found: list[SampleCode] = []
    for name, source in (("model", target.model), ("example_args", target.args), ("example_kwargs", target.kwargs)):
        home, _, attribute = (source or "").rpartition(":")
        module = project.file(Path(home)) if home.endswith(".py") else project.find(home)
        if isinstance(module, ModuleInfo) and attribute.replace(".", "").isidentifier():
            found.append(_at_top(module, *_statements([f"{name} = {attribute}()"])))
        elif source:
            return []
    return found


def _at_top(module: ModuleInfo, *statements: ast.stmt) -> SampleCode:
    return SampleCode(FunctionInfo("<module>", nothing(), module), list(statements))


def _statements(lines: list[str]) -> list[ast.stmt]:
    return ast.parse("\n".join(lines)).body


# Code that is there.


def _top_level(module: ModuleInfo) -> Iterator[ast.stmt]:
    guarded = module.parsed.mentions(["__main__"])
    for node in module.tree.body:
        if guarded and isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            yield from node.body
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.With | ast.For):
            yield node


def _calls_what_it_assigns(statements: list[ast.stmt], module: ModuleInfo) -> bool:
    """Does the file, by its text, call a name that holds what a call at the top level gave, as `model = Net()` does?"""
    made = (node for node in statements if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    names = {target.id for node in made for target in node.targets if isinstance(target, ast.Name)}
    return any(_is_called(name, module.parsed.text) for name in names if module.parsed.mentions([f"{name}("]))


def _is_called(name: str, text: str) -> bool:
    """With arguments, and not as the end of a longer name (which a pattern that begins with the name tells faster)."""
    found = re.finditer(rf"{name}\(\s*[^\s)]", text)
    return any(not re.match(r"[\w.]", text[match.start() - 1 : match.start()]) for match in found)


def _exporting(module: ModuleInfo) -> Iterator[FunctionInfo]:
    for function in module.functions.values():
        if any(isinstance(n, ast.Call) and module.dotted(n.func) in TAKERS for n in walked(function.node)):
            yield function


def _calling(module: ModuleInfo, top: list[ast.stmt]) -> Iterator[FunctionInfo]:
    """Tests, `main`, and what the top level calls, where they call an object that they made."""
    started = {"main"}
    for node in top if module.functions else ():
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            started |= {n.func.id for n in walked(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    tests = module.parsed.mentions(["def test_"])
    methods = (m for cls in module.classes.values() for m in cls.methods.values()) if tests else ()
    for function in (*module.functions.values(), *methods):
        is_test = tests and function.name.startswith("test_")
        if (is_test or (function.cls is None and function.name in started)) and _calls_what_it_makes(function):
            yield function


def _calls_what_it_makes(function: FunctionInfo) -> bool:
    """Does it call, with arguments, what a call has given: `net = Net()` and `net(x)`, or `Net()(x)`?"""
    nodes = walked(function.node)
    made = (node.targets for node in nodes if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call))
    names = {target.id for targets in made for target in targets if isinstance(target, ast.Name)}
    calls = (node.func for node in nodes if isinstance(node, ast.Call) and (node.args or node.keywords))
    return any(isinstance(func, ast.Call) or (isinstance(func, ast.Name) and func.id in names) for func in calls)


def _is_to_fail(node: ast.stmt) -> bool:
    """A test that inputs are refused shows what does not arrive."""
    calls = (item.context_expr for item in node.items) if isinstance(node, ast.With) else ()
    return any(isinstance(call, ast.Call) and last_name(call.func) in _REFUSING for call in calls)


# Calls that are left to others, written as assignments of what named_sample() reads.


def _missing_names(module: ModuleInfo) -> list[str]:
    """The assignments of `model` and its inputs that functions of the file stand for; none where either is unknown."""
    model, args, kwargs, shapes = (
        _expression(module, name, pattern)
        for name, pattern in (
            ("model", _MODEL),
            ("example_args", _INPUTS),
            ("example_kwargs", _KWARGS),
            ("dynamic_shapes", _SHAPES),
        )
    )
    if model is None and {"Model", "get_init_inputs"} <= module.classes.keys() | module.functions.keys():
        model = "Model(*get_init_inputs())"
    if not model or not args:
        return []
    wanted = {"model": model, "example_args": args, "example_kwargs": kwargs, "dynamic_shapes": shapes}
    return [f"{name} = {given}" for name, given in wanted.items() if given and given != name]


def _expression(module: ModuleInfo, name: str, pattern: re.Pattern[str]) -> str | None:
    """What gives it: the name itself, a function without parameters, or another name that people use for it."""
    if name in module.assignments:
        return name
    for other, function in module.functions.items():
        if pattern.fullmatch(other) and not _required(function):
            return f"{other}()"
    if name == "dynamic_shapes":
        return None
    variable = re.compile(rf"(?:example|sample|dummy)_(?:{'inputs?|args' if name == 'example_args' else 'kwargs'})")
    return next((other for other in module.assignments if variable.fullmatch(other)), None)


def _returned_together(module: ModuleInfo) -> Iterator[list[str]]:
    """Functions that return a model with its inputs."""
    for name, function in module.functions.items():
        match function.node:
            case ast.FunctionDef(body=[*_, ast.Return(value=ast.Tuple(elts=[_, given, *rest]))]) if (
                len(rest) <= _MOST_BESIDE and _is_like_inputs(given) and not _required(function)
            ):
                yield [f"model = {name}()[0]", f"example_args = {name}()[1]"]


def _is_like_inputs(node: ast.expr) -> bool:
    return _INPUTS.fullmatch(node.id) is not None if isinstance(node, ast.Name) else isinstance(node, _GIVEN)


def _of_classes(module: ModuleInfo) -> Iterator[list[str]]:
    """Classes that are made without arguments and have a method that gives inputs."""
    if not module.parsed.mentions(f"def {name}(" for name in _INPUT_METHODS):
        return
    for name, cls in module.classes.items():
        init = cls.method("__init__")
        method = next((method for method in _INPUT_METHODS if _gives(cls, method)), None)
        if method and not (init and _required(init)):
            maker = f"{name}().get_eager_model()" if "get_eager_model" in cls.methods else f"{name}()"
            others = (("example_kwargs", "kwargs"), ("dynamic_shapes", "dynamic_shapes"))
            given = [f"{held} = {name}().{other}()" for held, other in others if _gives(cls, other)]
            yield [f"model = {maker}", f"example_args = {name}().{method}()", *given]


def _gives(cls: ClassInfo, name: str) -> bool:
    """Is it a method that is called without arguments? Where its name says little, a static one."""
    method = cls.method(name)
    if method is None or "builtins.property" in method.decorators:
        return False
    static = not {"builtins.staticmethod", "builtins.classmethod"}.isdisjoint(method.decorators)
    return not _required(method) and (static or "example" in name)


def _required(function: FunctionInfo) -> list[str]:
    """The parameters without a default, the object aside."""
    spec = function.node.args
    positional = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)]
    bound = function.cls is not None and "builtins.staticmethod" not in function.decorators
    by_keyword = (p.arg for p, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default is None)
    return [*positional[: len(positional) - len(spec.defaults)][bound:], *by_keyword]
