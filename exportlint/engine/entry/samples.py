"""Samples: models with the inputs that code gives them, which show what the parameters of a forward are.

A guess by annotation and use is never as good as a call that is written in the file. So the code that makes samples is
looked for (exports in sample_codes and tests, `model` and `example_args` as ExportDB has them, functions that return
both, targets that the configuration names), the engine follows it as it follows a forward, and the forward is run with
what comes out. A sample that is exported decides what its model is given; a call of a model among others only adds to
what is found without it. `dynamic_shapes` say which of the sample's sizes may vary.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name, walked
from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
from exportlint.engine.values.abstract_value import (
    NONE,
    UNKNOWN,
    Container,
    ExportCall,
    Instance,
    Kind,
    Module,
    NoneObject,
    NumberFromData,
    Scalar,
    Shape,
    Size,
    Source,
    Tensor,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.extents import Declaration, DeclaredDim, Extent, declared
from exportlint.engine.values.library import EXPORTERS
from exportlint.engine.values.shapes import extent_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.source.symbols import ClassInfo, Project
    from exportlint.engine.values.abstract_value import Span
    from exportlint.engine.values.extents import Dims


# All calls that take a model and its inputs.
TAKERS = EXPORTERS | {"torch.onnx.export", "torch.jit.trace"}


@dataclass(frozen=True, slots=True)
class Sample:
    """A model with the inputs that it is given.

    exported   it is what is exported; else one call of the model among others, which shows what may arrive
    place      of the call that exports it; None where none in the file does
    """

    model: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value] = field(default_factory=dict)
    exported: bool = True
    dynamic_shapes: Value | None = None
    place: Span | None = None

    def given(self, parameters: Sequence[str]) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The inputs as forward meets them: those by place, and those by name. What is exported has their sizes."""
        spec = self.dynamic_shapes if self.exported else UNKNOWN
        names = (*parameters, *("" for _ in self.args))
        by_place = tuple(as_input(value, _spec_of(spec, i, names[i]), names[i]) for i, value in enumerate(self.args))
        by_name = {name: as_input(value, _spec_of(spec, None, name), name) for name, value in self.keywords.items()}
        return by_place, by_name

    @property
    def export_call(self) -> ExportCall:
        """What is given to the exporter, as rules about the call see it."""
        return ExportCall(self.place, self.model, self.args, self.keywords, self.dynamic_shapes)

    @property
    def declares_dims(self) -> bool:
        return self.exported and self.dynamic_shapes is not None and self.dynamic_shapes.kind is not Kind.NONE

    def is_of(self, module: ModuleInfo) -> bool:
        """Does the class of the model, or of a layer of a torch.nn.Sequential, stand in the file?"""
        return any(_stands_in(option, module) for option in self.model.options)


def _stands_in(option: object, module: ModuleInfo) -> bool:
    if not isinstance(option, Module):
        return False
    inner = (part for item in option.items or () for part in item.options)
    return (option.cls is not None and option.cls.module is module) or any(_stands_in(part, module) for part in inner)


def named_sample(names: dict[str, Value]) -> Iterator[Sample]:
    """`model` and `example_args` at the top level of a file, as targets in the style of ExportDB have them."""
    model, args, keywords = (names.get(name) for name in ("model", "example_args", "example_kwargs"))
    if model is not None and args is not None:
        yield from _samples_given(model, args, keywords, names.get("dynamic_shapes"))


def sample_of_call(
    function: Value, args: tuple[Value, ...], keywords: dict[str, Value], place: Span | None = None
) -> Iterator[Sample]:
    """What a call shows: one of torch.export names a model and its inputs, one of a model is given inputs."""
    if function.name not in TAKERS:
        called = any(isinstance(option, Module) and option.cls for option in function.options)
        if called and any(as_input(value, None, "") != UNKNOWN for value in (*args, *keywords.values())):
            yield Sample(function, args, keywords, exported=False)
        return
    model, given = (*args, None, None)[:2]
    model = model or keywords.get("mod") or keywords.get("model")
    given = given or keywords.get("args")
    if model and given:
        by_name = args[2] if len(args) > 2 and function.name != "torch.onnx.export" else keywords.get("kwargs")  # noqa: PLR2004 - the third
        shapes = keywords.get("dynamic_shapes")
        if function.name == "torch.onnx.export":
            shapes = _shapes_of_onnx(shapes, given, keywords)
        yield from _samples_given(model, given, by_name, shapes, place if function.name in EXPORTERS else None)


def _shapes_of_onnx(shapes: Value | None, given: Value, keywords: dict[str, Value]) -> Value | None:
    """What torch.onnx.export declares: axes by their names, in `dynamic_shapes` or, by the inputs' names, in the older
    `dynamic_axes`. The exporter that traces checks nothing of it."""
    if (traces := keywords.get("dynamo")) is not None and traces.truth is False:
        return None
    axes, names = keywords.get("dynamic_axes"), keywords.get("input_names")
    if shapes is not None or axes is None or axes.container != "dict":
        return _with_named_axes(shapes) if shapes is not None else None
    inputs = given.items if given.items is not None else (given,)
    called = [one.name for one in names.items or ()] if names is not None else []
    if not any(name and axes.field(name) is not None for name in called):
        return _with_named_axes(axes)  # by the names of forward's own parameters
    found = [axes.field(name or "") for name in called[: len(inputs)]]
    return exactly(Container("tuple", items=tuple(_with_named_axes(one) if one else NONE for one in found)))


def _with_named_axes(said: Value) -> Value:
    """With `Dim.DYNAMIC` for names: `{0: "batch"}`, and for a list of axes: `[0, 1]`."""
    match said.lead:
        case Scalar(container="str"):
            return _A_DYNAMIC_DIM
        case Container("list", items=tuple(items)) if all(one.kind is Kind.SCALAR for one in items):
            numbers = (extent_of(one) for one in items)
            return exactly(Container("dict", fields=tuple((str(n.number), _A_DYNAMIC_DIM) for n in numbers if n)))
        case Container() as one:
            named = tuple(map(_with_named_axes, one.items)) if one.items is not None else None
            return exactly(replace(one, items=named, fields=tuple((k, _with_named_axes(v)) for k, v in one.fields)))
    return said


def _samples_given(
    model: Value, given: Value, keywords: Value | None, shapes: Value | None, place: Span | None = None
) -> Iterator[Sample]:
    """Nothing where the inputs are unknown, or some that no forward of the model takes."""
    by_name = dict(keywords.fields) if keywords else {}
    if given.items is not None:
        args = given.items
    elif given.is_tensor:
        args = (given,)
    elif given.container == "dict" and given.fields:
        args, by_name = (), dict(given.fields) | by_name
    else:
        return
    forwards = [o.cls.method("forward") for o in model.options if isinstance(o, Module) and o.cls]
    if all(forward is None or _takes(forward, args, by_name) for forward in forwards):
        yield Sample(model, args, by_name, dynamic_shapes=shapes, place=place)


def _takes(forward: FunctionInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> bool:
    spec = forward.node.args
    positional = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)][1:]
    known = {*positional, *(parameter.arg for parameter in spec.kwonlyargs)}
    return bool((len(args) <= len(positional) or spec.vararg) and (keywords.keys() <= known or spec.kwarg))


def as_input(value: Value, spec: Value | None, name: str) -> Value:
    """A value of the sample as forward meets it: any tensor; a number, text or None is a constant of the export.

    `spec`: what `dynamic_shapes` says of it; `name`: the parameter.
    """
    match value.lead:
        case Tensor(boolean=boolean, dims=dims) if value.certain:
            return exactly(Tensor(Source.INPUT, boolean, dims=given_dims(dims, spec, name)))
        case Scalar() | NoneObject() as constant if value.certain:
            return exactly(constant)
        case Size() | NumberFromData() if value.certain:
            return exactly(Scalar())  # read outside of the model, it is a plain number
        case Shape() if value.certain:
            return exactly(Container("tuple", exactly(Scalar("int")), source=Source.INPUT))
        case Instance() as given if value.certain:
            return exactly(replace(given, source=Source.INPUT))
        case Container() as given:
            items = given.items
            if items is not None:
                items = tuple(as_input(item, _spec_of(spec, i, str(i)), f"{name}[{i}]") for i, item in enumerate(items))
            element = as_input(given.element, None, name).but(dims=None) if given.element else None
            fields = tuple((key, as_input(field, _spec_of(spec, None, key), key)) for key, field in given.fields)
            return exactly(replace(given, source=Source.INPUT, items=items, element=element, fields=fields))
    return UNKNOWN


def _spec_of(spec: Value | None, place: int | None, name: str) -> Value | None:
    """The part of a `dynamic_shapes` that speaks of one input; UNKNOWN where it is not understood."""
    if spec is None or spec.kind is Kind.NONE:
        return None
    if (found := spec.field(name)) is not None:
        return found
    if spec.items is not None and place is not None:
        return spec.items[place] if place < len(spec.items) else UNKNOWN
    return None if spec.container == "dict" and spec.fields else UNKNOWN


# The dims of a sample, with those that `dynamic_shapes` declares dynamic.


DIM = "torch.export.Dim"
_A_DYNAMIC_DIM = exactly(Unknown(f"{DIM}.DYNAMIC"))
_DYNAMIC = {f"{DIM}.AUTO": Declaration.AUTO, f"{DIM}.DYNAMIC": Declaration.DYNAMIC}
_LEAST_DYNAMIC_SIZE = 2  # torch takes dims of 0 and 1 for constants


def given_dims(dims: Dims | None, spec: Value | None, name: str) -> Dims | None:
    """The sample's sizes, but for the dims that are declared dynamic; None where the declaration is not understood."""
    if dims is None or spec is None or spec.kind is Kind.NONE:
        return dims
    if spec.container not in {"dict", "tuple", "list"}:
        return None
    return tuple(_given_extent(extent, _declared_at(spec, i), name, i) for i, extent in enumerate(dims))


def _declared_at(spec: Value, index: int) -> Value | None:
    if spec.container == "dict":
        return spec.field(str(index))
    return spec.items[index] if spec.items is not None and index < len(spec.items) else None


def _given_extent(sample: Extent | None, said: Value | None, name: str, index: int) -> Extent | None:
    if said is None or said.kind is Kind.NONE or extent_of(said) is not None or said.name == f"{DIM}.STATIC":
        return sample
    size = sample.number if sample is not None else None
    if (how := _DYNAMIC.get(said.name or "")) is not None:
        return declared(DeclaredDim(f"{name}.{index}", _LEAST_DYNAMIC_SIZE, how=how, index=index, sample=size))
    if said.kind is Kind.INSTANCE and said.name == DIM:
        return declared(replace(_of_dim(said, f"{name}.{index}", index), sample=size))
    return None


def _of_dim(dim: Value, place: str, index: int) -> DeclaredDim:
    """`Dim("batch", min=2, max=64)`; without a name it is a dim of its own."""
    named = dim.field("0")
    low, high = (extent_of(value) if (value := dim.field(end)) is not None else None for end in ("min", "max"))
    least = max(low.number or 0, _LEAST_DYNAMIC_SIZE) if low else _LEAST_DYNAMIC_SIZE
    most = high.number if high and high.number is not None else math.inf
    return DeclaredDim((named.name if named else None) or place, least, most, index=index)


# Where samples are made.


_EXPORTS = tuple(f"{taker.rpartition('.')[2]}(" for taker in TAKERS)
# What people call the functions and the names that hold a model and its inputs.
_NAMES_OF_MODELS = re.compile(r"(?:get|make|build|create|load)_(?:model|module|net|network)|build|model|net")
_NAMES_OF_INPUTS = re.compile(r"(?:(?:get|make|build|create)_)?(?:(?:example|sample|dummy)_)?(?:inputs?|args)")
_NAMES_OF_KWARGS = re.compile(r"(?:(?:get|make|build|create)_)?(?:(?:example|sample|dummy)_)?kwargs")
_NAMES_OF_SHAPES = re.compile(r"(?:(?:get|make|build|create)_)?dynamic_shapes")
_INPUT_METHODS = ("inputs", "example_inputs", "get_example_inputs")
_MOST_BESIDE = 2  # keyword arguments, dynamic shapes
_REFUSING = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_LIKE_INPUTS = (ast.Tuple, ast.List, ast.Dict, ast.Call)


@dataclass(frozen=True, slots=True)
class SampleCode:
    """Statements that make samples: of the top level, of a function that calls a model, or written for the file."""

    function: FunctionInfo
    statements: list[ast.stmt]


def sample_codes(module: ModuleInfo) -> Iterator[SampleCode]:
    """What of a file is to be followed for its samples; nothing where it gives none."""
    top, missing = list(_top_level(module)), _missing_names(module)
    exports = module.parsed.mentions(_EXPORTS)
    named = missing or {"model", "example_args"} <= module.assignments.keys()
    if exports or named or _calls_what_it_assigns(top, module):
        yield _code_at_top(module, *top, *_parsed_lines(missing))
    for function in _exporting(module) if exports else ():
        yield SampleCode(function, function.node.body)  # type: ignore[arg-type] # a def, whose body is a list
    for function in _calling(module, top):
        body: list[ast.stmt] = function.node.body  # type: ignore[assignment] # as above
        yield SampleCode(function, [node for node in body if not _is_to_fail(node)])
    for lines in (*_returned_together(module), *_of_classes(module)):
        yield _code_at_top(module, *_parsed_lines(lines))


def code_of_target(target: DeclaredTarget, project: Project) -> list[SampleCode]:
    """The calls that make a target of the configuration; nothing where a file of it cannot be found."""
    found: list[SampleCode] = []
    for name, source in (("model", target.model), ("example_args", target.args), ("example_kwargs", target.kwargs)):
        home, _, attribute = (source or "").rpartition(":")
        module = project.file(Path(home)) if home.endswith(".py") else project.find(home)
        if isinstance(module, ModuleInfo) and attribute.replace(".", "").isidentifier():
            found.append(_code_at_top(module, *_parsed_lines([f"{name} = {attribute}()"])))
        elif source:
            return []
    return found


def _code_at_top(module: ModuleInfo, *statements: ast.stmt) -> SampleCode:
    return SampleCode(FunctionInfo.outside("<module>", module), list(statements))


def _parsed_lines(lines: list[str]) -> list[ast.stmt]:
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
    nodes = list(walked(function.node))
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
            ("model", _NAMES_OF_MODELS),
            ("example_args", _NAMES_OF_INPUTS),
            ("example_kwargs", _NAMES_OF_KWARGS),
            ("dynamic_shapes", _NAMES_OF_SHAPES),
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
    return (
        _NAMES_OF_INPUTS.fullmatch(node.id) is not None
        if isinstance(node, ast.Name)
        else isinstance(node, _LIKE_INPUTS)
    )


def _of_classes(module: ModuleInfo) -> Iterator[list[str]]:
    """Classes that are made without arguments and have a method that gives inputs."""
    if not module.parsed.mentions(f"def {name}(" for name in _INPUT_METHODS):
        return
    for name, cls in module.classes.items():
        init = cls.method("__init__")
        method = next((method for method in _INPUT_METHODS if _is_called_without_arguments(cls, method)), None)
        if method and not (init and _required(init)):
            maker = f"{name}().get_eager_model()" if "get_eager_model" in cls.methods else f"{name}()"
            others = (("example_kwargs", "kwargs"), ("dynamic_shapes", "dynamic_shapes"))
            given = [
                f"{held} = {name}().{other}()" for held, other in others if _is_called_without_arguments(cls, other)
            ]
            yield [f"model = {maker}", f"example_args = {name}().{method}()", *given]


def _is_called_without_arguments(cls: ClassInfo, name: str) -> bool:
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
