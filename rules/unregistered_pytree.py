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

from exportlint import Case, Instead, Kind, Rule, Scope, Severity, Value, given_parts, is_part, last_name, walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import ClassInfo, Code, ExportCall, ModuleInfo


_RETURN = Instead(
    "return a dictionary or a tuple, or register the class with `torch.export.register_dataclass`",
    shown_in="GoodDict",
    compiled="return a dictionary or a tuple",
)
_TAKE = "take the tensors as separate arguments, or register the class with `torch.export.register_dataclass`"
_TAKE_APART = (
    "take its tensors as separate arguments, or register the class with `torch.utils._pytree.register_pytree_node`"
)
_NAMED = "register a name: `torch.utils._pytree._register_namedtuple({name}, serialized_type_name=…)`"
_KNOWN_BASES = frozenset({"Tensor", "TypedDict", "OrderedDict", "ModelOutput", "Enum", "IntEnum", "Module", "Protocol"})


_AS_ANNOTATED = {"BadDataclassOutput": "BadDataclassInput", "BadNamedTupleOutput": "BadNamedTupleInput"}
_AS_INPUT = _AS_ANNOTATED | dict.fromkeys(
    ("BadDataclassOutput", "BadNamespaceOutput", "BadDistribution"), "BadObjectGiven"
)
_NUMBERS = frozenset({"int", "float", "bool", "str"})


class UnregisteredPytree(Rule):
    scope = Scope.EVERYWHERE
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
        "BadDataclassOutput": Case(
            "`{name}` is returned and no class that pytree knows",
            _RETURN,
        ),
        "BadDataclassInput": Case("`{name}` is an argument and no class that pytree knows", _TAKE),
        "BadObjectGiven": Case("`{name}`{where} is given to the export and no class that pytree knows", "{how}"),
        "BadNamedTupleOutput": Case("`{name}` is returned, a named tuple without a name for saving", _NAMED),
        "BadNamedTupleInput": Case("`{name}` is an argument, a named tuple without a name for saving", _NAMED),
        "BadRegisteredWithoutName": Case(
            "`{name}` is registered without a name for saving",
            "give `serialized_type_name` where the class is registered; `register_constant` takes none, "
            "`torch.export.register_dataclass` does",
        ),
        "BadNamedTupleFactory": Case("`{code}` is a named tuple without a name for saving", _NAMED),
        "BadNamespaceOutput": Case(
            "`{name}` is returned and no class that pytree knows",
            _RETURN,
        ),
        "BadSetOutput": Case(
            "a set is returned, which pytree does not know",
            _RETURN,
        ),
        "BadDtypeOutput": Case(
            "`{code}`: pytree knows no dtype and no device", "return tensors, numbers and text only"
        ),
        "BadDistribution": Case("`{name}` is returned and no class that pytree knows", "return its parameters"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is this the forward of a whole model that takes, or returns, an object?"""
        function = code.function
        if function is None:
            return any(_objects_given(code))
        if code.cls is None or function.name != "forward" or isinstance(function.node, ast.Lambda):
            return False
        arguments = function.node.args.args
        required = arguments[1 : len(arguments) - len(function.node.args.defaults)]
        names = (n for arg in required if arg.annotation for n in _words(ast.unparse(arg.annotation)))
        returned = (part for node in code.sketch.nodes(ast.Return) if node.value for part in _elements(node.value))
        return any(_may_be_object(code, part) for part in returned) or any(
            (found := _class_named(code.module, name)) and _fault(code.module, found) for name in names
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._is_inside = False
        given = _objects_given(code) if code.function is None else ()
        self._given = {_start(code, node): value for node, value in given}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        function, cls = self.code.function, self.code.cls
        if function is None:
            return True
        if cls is None or node.name.value != "forward":
            return False
        if is_part(cls):
            return False
        for parameter in node.params.params[1:]:
            if parameter.annotation and not parameter.default:
                self._argument(parameter)
        return True

    def visit_Lambda(self, node: cst.Lambda) -> bool:
        return self.code.function is None

    def visit_Call(self, node: cst.Call) -> None:
        self._object(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._object(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self._object(node)

    def visit_Subscript(self, node: cst.Subscript) -> None:
        self._object(node)

    def visit_ListComp(self, node: cst.ListComp) -> None:
        self._object(node)

    def _object(self, node: cst.CSTNode) -> None:
        """What gives an object to an export: of the expressions that begin there, the whole one."""
        if not self._given:
            return
        place = self.code.place(node)
        value = self._given.pop((place.line, place.column - 1), None)
        cls = value.cls if value is not None else None
        case = _fault_of(self.code.module, value) if value is not None else None
        if value is None or case is None:
            return
        at_most = Severity.WARNING if cls is None or _may_be_registered(self.code.module, cls) else Severity.ERROR
        name = cls.name if cls is not None else (value.name or "").rpartition(".")[2]
        where, how = _where(self.code.module, cls), _register_text(cls)
        self.report(node, _AS_INPUT.get(case, case), at_most=at_most, because=value, name=name, where=where, how=how)

    def visit_Return(self, node: cst.Return) -> None:
        if node.value and self.code.function is not None:
            self._result(node, node.value)

    def _argument(self, parameter: cst.Param) -> None:
        annotation = parameter.annotation.annotation if parameter.annotation else None
        for name in _names_in(annotation):
            cls = _class_named(self.code.module, name)
            if cls and (case := _fault(self.code.module, cls)):
                # It may be a part of a model in another file, which makes the object itself.
                self._is_inside = _is_made_inside(cls) and not self.code.sampled
                at_most = Severity.NOTE if self._is_inside else Severity.WARNING
                self.report(parameter, _AS_ANNOTATED.get(case, case), at_most=at_most, name=name)
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
        if case := _fault_of(self.code.module, value):
            name = value.cls.name if value.cls else (value.name or "").rpartition(".")[2]
            # What takes such an object from a module beside it gives one to a module, too.
            at_most = Severity.NOTE if self._is_inside else Severity.ERROR
            self.report(node, case, at_most=at_most, because=value, name=name)


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
    calls = (n for node in functions for n in walked(node) if isinstance(n, ast.Call))
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


def _objects_given(code: Code) -> Iterator[tuple[ast.expr, Value]]:
    """The expressions that surely give an object of an unknown class to an export, but those that the annotation of a
    parameter of this file tells of."""
    for call in code.exports:
        told = set[object]()  # a class is registered once, however many objects of it there are
        for node, value in given_parts(code.module, call):
            for one in (value, *_held_objects(value)):
                surely = one.kind is Kind.INSTANCE and one.certain and (one.cls or one.name) not in told
                if surely and _fault_of(code.module, one) and not _is_annotated(code, call, one):
                    told.add(one.cls or one.name)
                    yield node, one
                    break


def _is_annotated(code: Code, call: ExportCall, value: Value) -> bool:
    """Is the class named by the annotation of a parameter without a default, which this rule reports?"""
    model = call.model.cls
    forward = model.method("forward") if model is not None else None
    if model is None or forward is None or value.cls is None or is_part(model) or forward.module is not code.module:
        return False
    given = forward.node.args
    required = given.args[1 : len(given.args) - len(given.defaults)]
    return any(value.cls.name in _words(ast.unparse(one.annotation)) for one in required if one.annotation)


def _start(code: Code, node: ast.expr) -> tuple[int, int]:
    """As libcst counts, in characters; a comprehension in parentheses begins behind them."""
    line = code.module.parsed.lines[node.lineno - 1]
    return node.lineno, len(line.encode()[: node.col_offset].decode())


def _where(module: ModuleInfo, cls: ClassInfo | None) -> str:
    if cls is None:
        return ""
    return f" (line {cls.node.lineno})" if cls.module is module else f" ({cls.module.path.name}:{cls.node.lineno})"


def _register_text(cls: ClassInfo | None) -> str:
    """What to write, and what becomes of numbers, which no program takes."""
    if cls is None or not cls.is_record:
        return _TAKE_APART
    name = f"{cls.module.name}.{cls.name}"
    fields = [one for one in cls.node.body if isinstance(one, ast.AnnAssign)]
    plain = [f"`{ast.unparse(one.target)}`" for one in fields if ast.unparse(one.annotation) in _NUMBERS]
    told = f"; what the sample has as {' and '.join(plain)} is a constant of the program then" if plain else ""
    return (
        "register it below its definition: "
        f'`torch.export.register_dataclass({cls.name}, serialized_type_name="{name}")`{told}'
    )


def _may_be_registered(module: ModuleInfo, cls: ClassInfo) -> bool:
    """By a file that is not read, or by a base that is not read?"""
    known = {"builtins.object", "abc.ABC", "typing.Generic", "typing.NamedTuple", "builtins.dict"}
    return cls.module is not module or not known.issuperset(cls.foreign_bases)


def _fault_of(module: ModuleInfo, value: Value) -> str | None:
    """The case that an object commits as an output; None for what pytree knows, and for what nobody knows."""
    if value.cls:
        return _fault(module, value.cls)
    if value.name in {"types.SimpleNamespace", "argparse.Namespace"}:
        return "BadNamespaceOutput"
    return "BadDistribution" if (value.name or "").startswith("torch.distributions.") else None


def _fault(module: ModuleInfo, cls: ClassInfo) -> str | None:
    """The case that an object of the class commits as an output; None for classes that pytree knows."""
    bases = {name.rpartition(".")[2] for name in (*cls.foreign_bases, *cls.base_names)}
    if "NamedTuple" in bases:
        return None if _registration(module, cls) else "BadNamedTupleOutput"
    if any(base in _KNOWN_BASES or base.endswith("Output") for base in bases):
        return None
    if registered := _registration(module, cls):
        return None if "serialized_type_name" in registered else "BadRegisteredWithoutName"
    return "BadDataclassOutput"


def _registration(module: ModuleInfo, cls: ClassInfo) -> str | None:
    """What registers it: in this file or its own, a decorator, or a base that registers what derives from it."""
    by_base = (one.methods.get("__init_subclass__") for one in cls.lineage[1:])
    texts = [*map(ast.unparse, cls.node.decorator_list), *(ast.unparse(one.node) for one in by_base if one)]
    found = next((f"{text} serialized_type_name" for text in texts if "register" in text), None)
    return found or _registered(module, cls.name) or _registered(cls.module, cls.name)


def _registered(module: ModuleInfo, name: str) -> str | None:
    """The call of the file that registers the class with pytree."""
    if "register_" not in module.parsed.text:
        return None
    pattern = re.compile(rf"\w*register_(dataclass|pytree_node|namedtuple|constant|pytree_with_keys)\w*\({name}\b")
    calls = [node for node in walked(module.tree) if isinstance(node, ast.Call)]
    found = (text for text in map(ast.unparse, calls) if pattern.search(text))
    by_call = next(found, None) or next(filter(None, (_registering(module, call, name) for call in calls)), None)
    return by_call or next(_registering_loops(module, name), None)


def _registering_loops(module: ModuleInfo, name: str) -> Iterator[str]:
    """`for cls in (Batch, Pair): register_dataclass(cls)`."""
    for node in walked(module.tree):
        if isinstance(node, ast.For) and "register_" in (text := ast.unparse(node)) and name in _words(text):
            yield text


def _registering(module: ModuleInfo, call: ast.Call, name: str) -> str | None:
    """The function of the file that the class is given to, where that registers its argument."""
    function = module.functions.get(last_name(call.func))
    given = any(isinstance(arg, ast.Name) and arg.id == name for arg in call.args)
    text = ast.unparse(function.node) if given and function is not None else ""
    return text if "register_" in text else None
