"""An input or output belongs to a class that pytree does not know.

Why: export takes the arguments and the results of the exported module apart into tensors. It knows tuples, lists,
dictionaries, named tuples and classes that somebody registered. Any other class is refused by name and without a line
of yours. A NamedTuple, and a dataclass registered without `serialized_type_name`, export, and then
`torch.export.save` refuses the program. Objects that only pass between a module and its submodules are no concern of
pytree.

Instead: return a dictionary or a tuple of tensors, or register the class:

    torch.export.register_dataclass(Prediction, serialized_type_name="my_package.Prediction")
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar, cast

import libcst as cst

from exportlint import Case, Kind, Rule, Severity, Value, is_part, last_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import ClassInfo, Code, ModuleInfo


_RETURN = "return a dictionary or a tuple, or register the class with `torch.export.register_dataclass`"
_TAKE = "take the tensors as separate arguments, or register the class with `torch.export.register_dataclass`"
_NAMED = "register a name: `torch.utils._pytree._register_namedtuple({name}, serialized_type_name=…)`"
_KNOWN_BASES = frozenset({"Tensor", "TypedDict", "OrderedDict", "ModelOutput", "Enum", "IntEnum", "Module", "Protocol"})


class UnregisteredPytree(Rule):
    mended_by = ("interface",)
    torch_says = (
        r"Found <class '[^']+'> in output, which is not a known type",
        r"Unsupported input type <class",
        r"It looks like one of the inputs with type .* is not supported or pytree-flattenable",
        r"Encountered unrecognized type .* at output",
        r"Can't serialize TreeSpec of namedtuple class",
        r"No registered serialization name for <class",
    )
    cases: ClassVar = {
        "BadDataclassOutput": Case("`{name}` is returned and no class that pytree knows", _RETURN),
        "BadDataclassInput": Case("`{name}` is an argument and no class that pytree knows", _TAKE),
        "BadNamedTupleOutput": Case("`{name}` is returned, a named tuple without a name for saving", _NAMED),
        "BadNamedTupleInput": Case("`{name}` is an argument, a named tuple without a name for saving", _NAMED),
        "BadRegisteredWithoutName": Case(
            "`{name}` is registered without a name for saving",
            "give `serialized_type_name` where the class is registered",
        ),
        "BadNamedTupleFactory": Case("`{code}` is a named tuple without a name for saving", _NAMED),
        "BadNamespaceOutput": Case("`{name}` is returned and no class that pytree knows", _RETURN),
        "BadSetOutput": Case("a set is returned, which pytree does not know", _RETURN),
        "BadDtypeOutput": Case(
            "`{code}`: pytree knows no dtype and no device", "return tensors, numbers and text only"
        ),
        "BadDistribution": Case("`{name}` is returned and no class that pytree knows", "return its parameters"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is this the forward of a whole model that takes, or returns, an object?"""
        function = code.function
        if function is None or code.cls is None or function.name != "forward" or isinstance(function.node, ast.Lambda):
            return False
        arguments = function.node.args.args
        required = arguments[1 : len(arguments) - len(function.node.args.defaults)]
        names = (n for arg in required if arg.annotation for n in _words(ast.unparse(arg.annotation)))
        returned = (part for node in code.sketch.nodes(ast.Return) if node.value for part in _elements(node.value))
        return any(_may_be_object(code, part) for part in returned) or any(
            (found := _class_named(code.module, name)) and _fault(code.module, found) for name in names
        )

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        function, cls = self.code.function, self.code.cls
        if function is None or cls is None or node.name.value != "forward":
            return False
        if is_part(cls):
            return False
        for parameter in node.params.params[1:]:
            if parameter.annotation and not parameter.default:
                self._argument(parameter)
        return True

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return False

    def visit_Return(self, node: cst.Return) -> None:
        if node.value:
            self._result(node, node.value)

    def _argument(self, parameter: cst.Param) -> None:
        annotation = parameter.annotation.annotation if parameter.annotation else None
        for name in _names_in(annotation):
            cls = _class_named(self.code.module, name)
            if cls and (case := _fault(self.code.module, cls)):
                as_input = {"BadDataclassOutput": "BadDataclassInput", "BadNamedTupleOutput": "BadNamedTupleInput"}
                # It may be a part of a model in another file, which makes the object itself.
                at_most = Severity.NOTE if _is_made_inside(cls) and not self.code.sampled else Severity.WARNING
                self.report(parameter, as_input.get(case, case), at_most=at_most, name=name)
                return

    def _named_tuple(self, expression: cst.BaseExpression) -> str | None:
        """The name of the class, made by `collections.namedtuple` in this file, that the call makes an object of."""
        if not isinstance(expression, cst.Call) or not isinstance(expression.func, cst.Name):
            return None
        name = expression.func.value
        made = (ast.unparse(node) for node in self.code.module.tree.body if isinstance(node, ast.Assign))
        return name if any(re.match(rf"{name} = (\w+\.)?namedtuple\(", text) for text in made) else None

    def _result(self, node: cst.Return, expression: cst.BaseExpression) -> None:
        if isinstance(expression, cst.Tuple | cst.List):
            for element in expression.elements:
                self._result(node, element.value)
            return
        if isinstance(expression, cst.Dict):
            for entry in expression.elements:
                self._result(node, entry.value)
            return
        value = self.code.value(expression)
        if held := next(_held_objects(value), None):
            self._instance(node, held)
        elif value.kind is Kind.CONTAINER and value.container == "set":
            self.report(node, "BadSetOutput")
        elif isinstance(expression, cst.Attribute) and expression.attr.value in {"dtype", "device"}:
            self.report(node, "BadDtypeOutput")
        elif (name := self._named_tuple(expression)) and not _registered(self.code.module, name):
            self.report(node, "BadNamedTupleFactory", name=name)
        elif value.kind is Kind.INSTANCE and value.certain:
            self._instance(node, value)

    def _instance(self, node: cst.Return, value: Value) -> None:
        if value.cls and (case := _fault(self.code.module, value.cls)):
            self.report(node, case, because=value, name=value.cls.name)
        elif (name := value.name or "") in {"types.SimpleNamespace", "argparse.Namespace"}:
            self.report(node, "BadNamespaceOutput", because=value, name=name.rpartition(".")[2])
        elif (value.name or "").startswith("torch.distributions."):
            self.report(node, "BadDistribution", because=value, name=(value.name or "").rpartition(".")[2])


def _held_objects(value: Value) -> Iterator[Value]:
    """The objects in a list or a dict that a name holds."""
    parts = (value.element, *(value.items or ()), *(part for _, part in value.fields))
    for part in filter(None, parts if value.kind is Kind.CONTAINER else ()):
        if part.kind is Kind.INSTANCE and part.certain:
            yield part
        yield from _held_objects(part)


def _is_made_inside(cls: ClassInfo) -> bool:
    """Does a function beside the class make its objects? Then they may travel between the model's own modules only."""
    functions = (f.node for f in cls.module.functions.values())
    calls = (n for node in functions for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(last_name(call.func) == cls.name for call in calls)


def _names_in(annotation: cst.BaseExpression | None) -> list[str]:
    if annotation is None:
        return []
    return _words(cst.Module([]).code_for_node(annotation))


def _elements(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from _elements(element)
    elif isinstance(node, ast.Dict):
        for value in node.values:
            yield from _elements(value)
    else:
        yield node


def _may_be_object(code: Code, node: ast.expr) -> bool:
    match node:
        case ast.Attribute(attr="dtype" | "device"):
            return True
        case ast.Call(func=ast.Name(id=name)) if name in code.module.assignments:
            return True
    value = code.sketch.value(node)
    objects = [one for one in (value, *_held_objects(value)) if one.kind is Kind.INSTANCE]
    faulty = any(one.cls is None or _fault(code.module, one.cls) is not None for one in objects)
    return value.container == "set" or faulty


def _words(annotation: str) -> list[str]:
    """The class names of an annotation: "Batch" for `list[Batch]`, `"Batch"` and `Batch | None`."""
    return re.findall(r"\b[A-Za-z_]\w*", annotation)


def _class_named(module: ModuleInfo, name: str) -> ClassInfo | None:
    if name in module.classes:
        return module.classes[name]
    origin = module.imports.get(name)
    found = module.project.find(origin) if origin else None
    return cast("ClassInfo", found) if hasattr(found, "base_names") else None


def _fault(module: ModuleInfo, cls: ClassInfo) -> str | None:
    """The case that an object of the class commits as an output; None for classes that pytree knows."""
    bases = {name.rpartition(".")[2] for name in (*cls.foreign_bases, *cls.base_names)}
    if "NamedTuple" in bases:
        return None if _registered(module, cls.name) else "BadNamedTupleOutput"
    if any(base in _KNOWN_BASES or base.endswith("Output") for base in bases):
        return None
    if registered := _registered(module, cls.name):
        return None if "serialized_type_name" in registered else "BadRegisteredWithoutName"
    return "BadDataclassOutput"


def _registered(module: ModuleInfo, name: str) -> str | None:
    """The call of the file that registers the class with pytree."""
    if "register_" not in module.parsed.text:
        return None
    pattern = re.compile(rf"\w*register_(dataclass|pytree_node|namedtuple|constant|pytree_with_keys)\w*\({name}\b")
    calls = [node for node in ast.walk(module.tree) if isinstance(node, ast.Call)]
    found = (text for text in map(ast.unparse, calls) if pattern.search(text))
    return next(found, None) or next(filter(None, (_registering(module, call, name) for call in calls)), None)


def _registering(module: ModuleInfo, call: ast.Call, name: str) -> str | None:
    """The function of the file that the class is given to, where that registers its argument."""
    function = module.functions.get(last_name(call.func))
    given = any(isinstance(arg, ast.Name) and arg.id == name for arg in call.args)
    text = ast.unparse(function.node) if given and function is not None else ""
    return text if "register_" in text else None
