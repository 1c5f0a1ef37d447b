"""The class of what is taken or returned is registered with pytree, under a name, below its definition."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Beside, ClassInfo, Elsewhere, Kind, ModuleImport, Repair, Rewrite, Value, Where, last_name
from exportlint.rewriting.interface.distribution_nodes import distribution_registrations
from exportlint.rewriting.interface.registration import named_tuple_registration, node_registration, registration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange

_DESCRIPTION = "register the class with pytree"
_OF_TORCH = "torch.distributions."


class RegisteredClass(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case == "BadDistribution":
            yield from self._distributions(node)
        changes = tuple(self._changes(node, case))
        if changes:
            yield Rewrite(_DESCRIPTION, (*changes, ModuleImport("torch")))

    def unforeseen(self, line: int) -> Iterator[tuple[cst.CSTNode, str]]:
        """The distributions that are made there, and returned elsewhere."""
        self.code.sweep(found := _Calls())
        here = (one for one in found.nodes if self.code.place(one).line == line)
        yield from ((one, "BadDistribution") for one in here if (self.code.value(one).name or "").startswith(_OF_TORCH))

    def _changes(self, node: cst.CSTNode, case: str) -> Iterator[AnyChange]:
        match case:
            case "BadNamedTupleFactory":
                yield from self._factories(node)
            case "BadNamespaceOutput":
                yield from self._namespace()
            case "BadRegisteredWithoutName":
                yield from (one for cls in self._classes(node) for one in self._named(cls))
            case (
                "BadDataclassOutput"
                | "BadDataclassInput"
                | "BadNamedTupleOutput"
                | "BadNamedTupleInput"
                | "BadDistribution"
            ):
                for cls in dict.fromkeys(self._classes(node)):
                    if not self._calls_on(cls.name) and (text := registration(cls)):
                        yield Beside(cls.node, f"\n\n{text}", Where.AFTER)

    def _classes(self, node: cst.CSTNode) -> Iterator[ClassInfo]:
        """The classes of this file in what is returned, or in the annotation of what is taken, and in their fields."""
        own = self.code.module.classes
        if isinstance(node, cst.Param):
            text = cst.Module([]).code_for_node(node.annotation.annotation) if node.annotation else ""
            found = [own[name] for name in re.findall(r"\w+", text) if name in own]
        else:
            values = (self.code.value(part) for part in _parts(node))
            found = [cls for value in values for cls in _classes_of(value) if cls.module is self.code.module]
        for cls in found:
            yield from _with_fields(cls, set())

    def _calls_on(self, name: str) -> list[ast.Call]:
        """The calls that register the class."""
        calls = (one for one in ast.walk(self.code.module.tree) if isinstance(one, ast.Call) and one.args)
        return [
            one
            for one in calls
            if "register_" in last_name(one.func) and isinstance(one.args[0], ast.Name) and one.args[0].id == name
        ]

    def _named(self, cls: ClassInfo) -> Iterator[AnyChange]:
        for call in self._calls_on(cls.name):
            if not any(word.arg == "serialized_type_name" for word in call.keywords):
                last = [*call.args, *(word.value for word in call.keywords)][-1]
                text = ast.get_source_segment(self.code.module.parsed.text, last) or ast.unparse(last)
                yield Elsewhere(last, f'{text}, serialized_type_name="{cls.module.name}.{cls.name}"')

    def _factories(self, node: cst.CSTNode) -> Iterator[AnyChange]:
        names = {
            part.func.value for part in _parts(node) if isinstance(part, cst.Call) and isinstance(part.func, cst.Name)
        }
        for one in self.code.module.tree.body:
            match one:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)) if name in names:
                    if last_name(func) == "namedtuple":
                        text = named_tuple_registration(name, f'"{self.code.module.name}.{name}"')
                        yield Beside(one, text, Where.AFTER)

    def _namespace(self) -> Iterator[AnyChange]:
        known, made = '"types.SimpleNamespace"', "types.SimpleNamespace(**dict(zip(keys, values, strict=True)))"
        text = node_registration("types.SimpleNamespace", known, "vars(value).values()", "vars(value)", made)
        for one in self._below_imports("types.SimpleNamespace", text):
            yield from (one, ModuleImport("types"))

    def _below_imports(self, name: str, text: str) -> Iterator[AnyChange]:
        """The registration of what other packages define, where the file has none yet."""
        body = self.code.module.tree.body
        imports = [i for i, one in enumerate(body) if isinstance(one, ast.Import | ast.ImportFrom)]
        registered = re.search(rf"register_pytree_node\(\s*{re.escape(name)}\b", self.code.module.parsed.text)
        if imports and len(body) > imports[-1] + 1 and not registered:
            yield Beside(body[imports[-1] + 1], f"{text}\n\n", Where.BEFORE)

    def _distributions(self, node: cst.CSTNode) -> Iterator[Rewrite]:
        names = {(self.code.value(part).name or "") for part in _parts(node)}
        for name in (one.rpartition(".")[2] for one in sorted(names) if one.startswith(_OF_TORCH)):
            for parameters, text in distribution_registrations(name):
                changes = tuple(self._below_imports(f"torch.distributions.{name}", text))
                if changes:
                    yield Rewrite(f"{_DESCRIPTION} by its {parameters}", (*changes, ModuleImport("torch")))


def _with_fields(cls: ClassInfo, seen: set[str]) -> Iterator[ClassInfo]:
    """The class, and the records that its fields are annotated with."""
    if cls.name in seen:
        return
    seen.add(cls.name)
    yield cls
    annotations = (one.annotation for one in cls.node.body if isinstance(one, ast.AnnAssign))
    for name in (name for one in annotations for name in re.findall(r"\w+", ast.unparse(one))):
        if cls.is_record and name in cls.module.classes and cls.module.classes[name].is_record:
            yield from _with_fields(cls.module.classes[name], seen)


def _classes_of(value: Value) -> Iterator[ClassInfo]:
    if value.kind is Kind.INSTANCE and value.cls:
        yield value.cls
    for part in (value.element, *(value.items or ()), *(part for _, part in value.fields)):
        if part is not None and value.kind is Kind.CONTAINER:
            yield from _classes_of(part)


def _parts(node: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    """The expressions that one `return` gives, with tuples, lists and dicts taken apart."""
    match node:
        case cst.Return(value=value) if value is not None:
            yield from _parts(value)
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Dict(elements=elements):
            for element in elements:
                yield from _parts(element.value)
        case cst.BaseExpression():
            yield node


class _Calls(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[cst.Call] = []

    def visit_Call(self, node: cst.Call) -> None:
        self.nodes.append(node)
