"""An argument of the model is a Python number, text or size, which becomes a constant.

Why: only tensors are inputs of a program. An int, a float, a bool, a string, a tuple of them or None that is given for
an argument is built into the program, and with another value the exported module raises ("Guard failed: step == 3");
the bare graph, an AOTInductor package and a .pte do not even check. Arguments with a default that callers
leave out, and numbers that other modules of the project pass along, are constants anyway and do no harm.

Only a class that code outside of any class builds, and no other class does, counts as a model here.

Instead: a tensor where the value changes from call to call (`step: torch.Tensor`), an argument of `__init__` where it
does not, or one exported program for each value.

The rewrite of a number gives it as a tensor wherever the file makes the model's inputs, and goes on with the tensor in
`forward` and in what that gives it to. Sizes, and other tuples of numbers, are read from the tensor again, as symbols
that a program carries along. A word becomes its place among all words that are asked for, and None the zeros or ones
that `forward` begins with. Callers in other files have to change with it, so that `--unsafe` takes it only.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar, TypeVar

import libcst as cst

from exportlint import Case, Instead, Rule, Scope, Severity, Visitor, called, last_name, walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Code, Parsed


_INSTEAD = "pass a tensor, or make it an argument of `__init__`"
_SAYS, _OF_PROGRAM = "the value given for `{name}` becomes a constant", " of the program"
_SCALARS = {"int": "BadInt", "float": "BadFloat", "bool": "BadBool", "str": "BadStr"}
_SEQUENCES = frozenset({"tuple", "Tuple", "list", "List", "Sequence", "Iterable"})
# Arguments of torch functions that take Python values only.
_SIZES = frozenset({"size", "output_size", "scale_factor", "kernel_size", "normalized_shape"})
# What makers of inputs are called.
_INPUTS = re.compile(r"(inputs?|args|sample|example|batch)$")
_WORDS = frozenset({"mode", "reduction", "padding_mode", "align_corners"})
_Node = TypeVar("_Node", bound=ast.AST)


class PythonScalarInput(Rule):
    scope = Scope.FILE
    words = r"\bdef forward\b"
    mended_by = ("given-as-tensors",)
    torch_says = (r"Guard failed: \w+(\[\d+\])? ==",)
    shown_by = ("own-inputs",)
    cases: ClassVar = {
        "BadInt": Case(_SAYS, _INSTEAD, in_program=_OF_PROGRAM),
        "BadFloat": Case(_SAYS, _INSTEAD, in_program=_OF_PROGRAM),
        "BadBool": Case(_SAYS, _INSTEAD, in_program=_OF_PROGRAM),
        "BadStr": Case(
            _SAYS,
            Instead(
                "export one program for each value, or make it an argument of `__init__`",
                compiled="make it an argument of `__init__`",
            ),
            in_program=_OF_PROGRAM,
        ),
        "BadTuple": Case("the sizes given for `{name}` become constants", _INSTEAD, in_program=_OF_PROGRAM),
        "BadSizeUntyped": Case("the size given for `{name}` becomes a constant", _INSTEAD, in_program=_OF_PROGRAM),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """May a forward take a number, of a class of the file that code outside of classes builds?"""
        parsed = code.module.parsed
        return _is_built(parsed) and any(_may_take_number(parsed, one) for one in _models(parsed))

    def visit_Module(self, node: cst.Module) -> bool:
        census = _Census()
        node.visit(census)
        for name, forward in census.forwards.items():
            if name in census.outside - census.inside:
                self._arguments(forward)
        return False

    def _is_given_numbers(self, forward: cst.FunctionDef, name: str) -> bool:
        """Does a sample give a list of numbers where the default is None?"""
        values = (self.code.value(node) for node in _names(forward.body, name))
        return any(v.container in {"list", "tuple"} and v.element and v.element.container == "int" for v in values)

    def _arguments(self, forward: cst.FunctionDef) -> None:
        uses = _Uses()
        forward.body.visit(uses)
        given = _given_numbers(self.code.module.parsed, len(forward.params.params) - 1)
        own = [param.name.value for param in forward.params.params[1:]]
        for param in (*forward.params.params[1:], *forward.params.kwonly_params):
            name = param.name.value
            told = given.get(own.index(name)) if name in own else None
            if param.default is not None and told is None and not self._is_given_numbers(forward, name):
                continue
            case = _annotated(param.annotation.annotation) if param.annotation else uses.found.get(name, told)
            if case:
                self.report(param, case, at_most=Severity.WARNING, name=param.name.value)


def _names(body: cst.CSTNode, name: str) -> Iterator[cst.Name]:
    body.visit(found := _Named(name))
    yield from found.found


def _is_built(parsed: Parsed) -> bool:
    """Does code outside of the file's classes call one of them? By its text, which is cheaper than its tree."""
    lines = [*parsed.lines]
    for node in reversed(parsed.tree.body):
        if isinstance(node, ast.ClassDef):
            del lines[node.lineno - 1 : node.end_lineno]
    outside = "\n".join(lines)
    named = {name for name in re.findall(r"\bclass (\w+)", parsed.text) if name in outside}
    # A pattern that begins with the name is found ten times faster than one that begins with `\b`.
    called_there = (found.start() for name in named for found in re.finditer(rf"{name}\s*\(", outside))
    return any(not re.match(r"\w", outside[max(start - 1, 0) : start]) for start in called_there)


def _models(parsed: Parsed) -> list[ast.FunctionDef]:
    """The forwards that the census below finds, in the syntax tree that is there already."""
    classes = _of(parsed, parsed.tree, ast.ClassDef)
    names = {node.name for node in classes}
    lines = {n for node in classes for n in range(node.lineno, (node.end_lineno or 0) + 1)}
    inside = {last_name(base) for node in classes for base in node.bases}
    outside: set[str] = set()
    for call in _of(parsed, parsed.tree, ast.Call):
        if (name := last_name(call.func)) in names:
            (inside if call.lineno in lines else outside).add(name)
    methods = (part for node in classes if node.name in outside - inside for part in node.body)
    return [part for part in methods if isinstance(part, ast.FunctionDef) and part.name == "forward"]


def _may_take_number(parsed: Parsed, forward: ast.FunctionDef) -> bool:
    """Does an annotation, or a use, tell that an argument is no tensor?"""
    arguments = (*forward.args.args[1:], *forward.args.kwonlyargs)
    words = {word for arg in arguments if arg.annotation for word in re.findall(r"\w+", ast.unparse(arg.annotation))}
    plain = {arg.arg for arg in arguments if arg.annotation is None}
    used = not words.isdisjoint({*_SCALARS, *_SEQUENCES, "Literal"}) or not plain.isdisjoint(_used(forward))
    return used or bool(_given_numbers(parsed, len(forward.args.args) - 1))


def _given_numbers(parsed: Parsed, count: int) -> dict[int, str]:
    """The places at which a function that makes inputs, so many of them, gives a number that is written there."""
    makers = (one for one in parsed.tree.body if isinstance(one, ast.FunctionDef) and _INPUTS.search(one.name))
    returned = (one.value for maker in makers for one in walked(maker) if isinstance(one, ast.Return))
    tuples = (one.elts for one in returned if isinstance(one, ast.Tuple) and len(one.elts) == count)
    numbers = (
        (place, one.value) for given in tuples for place, one in enumerate(given) if isinstance(one, ast.Constant)
    )
    kinds = {place: _SCALARS.get(type(number).__name__) for place, number in numbers if not isinstance(number, str)}
    return {place: case for place, case in kinds.items() if case}


def _used(forward: ast.FunctionDef) -> Iterator[str]:
    """The names that are used as sizes, counts or words."""
    for node in walked(forward):
        match node:
            case ast.keyword(arg=word, value=ast.Name(id=name)) if word in _SIZES | _WORDS:
                yield name
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                yield from (arg.id for arg in arguments if isinstance(arg, ast.Name))
            case ast.Compare(left=ast.Name(id=name)):
                yield name


def _of(parsed: Parsed, part: ast.AST, kind: type[_Node]) -> list[_Node]:
    return [node for node in parsed.by_type(part).get(kind, ()) if isinstance(node, kind)]


def _annotated(node: cst.BaseExpression) -> str | None:
    match node:
        case cst.Name(value=name):
            return _SCALARS.get(name)
        case cst.Subscript(value=cst.Name(value=name), slice=[first, *_]) if name in _SEQUENCES:
            inner = first.slice.value if isinstance(first.slice, cst.Index) else None
            return "BadTuple" if inner is not None and _annotated(inner) else None
        case cst.Subscript(value=cst.Name(value="Literal")):
            return "BadStr"
        case cst.Subscript(
            value=cst.Name(value="Optional"), slice=[cst.SubscriptElement(slice=cst.Index(value=inner))]
        ):
            return _annotated(inner)
        case cst.BinaryOperation(left=left, operator=cst.BitOr(), right=cst.Name(value="None")):
            return _annotated(left)
    return None


class _Named(Visitor):
    """Where a name is read."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.found: list[cst.Name] = []

    def visit_Name(self, node: cst.Name) -> None:
        if node.value == self.name:
            self.found.append(node)


class _Census(Visitor):
    """Which classes have a forward, and which are built inside and outside of classes."""

    def __init__(self) -> None:
        super().__init__()
        self.forwards: dict[str, cst.FunctionDef] = {}
        self.inside: set[str] = set()
        self.outside: set[str] = set()
        self._classes: list[str] = []

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        self._classes.append(node.name.value)
        for statement in node.body.body:
            if isinstance(statement, cst.FunctionDef) and statement.name.value == "forward":
                self.forwards[node.name.value] = statement
        self.inside.update(_bases(node))

    def leave_ClassDef(self, original_node: cst.ClassDef) -> None:
        self._classes.pop()

    def visit_Call(self, node: cst.Call) -> None:
        name = called(node)
        if name:
            (self.inside if self._classes else self.outside).add(name)


def _bases(node: cst.ClassDef) -> Iterator[str]:
    """A base class is built through its subclasses."""
    for base in node.bases:
        match base.value:
            case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
                yield name


class _Uses(Visitor):
    """Parameters without annotation that are used the way only Python values are."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, str] = {}

    def visit_Call(self, node: cst.Call) -> None:
        for arg in node.args:
            if isinstance(arg.value, cst.Name):
                word = arg.keyword.value if arg.keyword else None
                if word in _SIZES:
                    self.found[arg.value.value] = "BadSizeUntyped"
                elif word in _WORDS:
                    self.found[arg.value.value] = "BadStr"
                elif called(node) == "range" and isinstance(node.func, cst.Name):
                    self.found.setdefault(arg.value.value, "BadInt")

    def visit_Comparison(self, node: cst.Comparison) -> None:
        match node:
            case cst.Comparison(left=cst.Name(value=name), comparisons=[cst.ComparisonTarget(comparator=right)]):
                literals = [e.value for e in right.elements] if isinstance(right, cst.Tuple | cst.List) else [right]
                if literals and all(isinstance(literal, cst.SimpleString) for literal in literals):
                    self.found[name] = "BadStr"
