"""Today's call in the place of one that is gone, and the arguments that it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, argument
from exportlint.rewriting.interface.constraints import without_constraints
from exportlint.rewriting.interface.gone_imports import change_of_call, replaced_import
from exportlint.rewriting.interface.gone_names import module_of, replaced_name
from exportlint.rewriting.source.call_arguments import with_argument, with_inserted, with_words, without_words

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYWORDS = frozenset(
    {"mod", "args", "kwargs", "dynamic_shapes", "strict", "preserve_module_call_signature"}
    | {"prefer_deferred_runtime_asserts_over_guards"}
)
_PLACES = (None, None, None, "dynamic_shapes", "strict", "preserve_module_call_signature")
_SIGNATURE = "call it as it is called today"
_REPLACED = "use what took its place"


class TodaysCall(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if isinstance(node, cst.ImportAlias):
            yield from self._imported(node)
        elif isinstance(node, cst.Call):
            text = self._called(node, case)
            if text is not None:
                yield Rewrite(_SIGNATURE, (Change(node, text), ModuleImport("torch")))
            elif case == "BadDimName":
                yield from self._dims(node)
            else:
                yield from self._replaced(node)

    def _called(self, node: cst.Call, case: str) -> str | None:
        given = argument(node, 1, "args")
        match case:
            case "BadConstraints":
                return without_constraints(self.code, node)
            case "BadUnknownKeyword":
                return without_words(node, {arg.keyword.value for arg in node.args if arg.keyword} - _KEYWORDS)
            case "BadPositional":
                return with_words(node, _PLACES)
            case "BadDimPositional":
                return with_words(node, (None, "min", "max"))
            case "BadBareArgument" if given is not None:
                return with_argument(node, given, "({},)".format)
            case "BadListOfArguments" if given is not None:
                return self._as_tuple(node, given)
            case "BadNoArguments" if argument(node, 2, "kwargs") is not None and not node.args[0].keyword:
                return with_inserted(node, 1, "()")
        return None

    def _as_tuple(self, node: cst.Call, given: cst.BaseExpression) -> str | None:
        match given:
            case cst.List(elements=[cst.Element(value=only)]):
                return with_argument(node, given, lambda _: f"({self.source(only)},)")
            case cst.List(elements=elements):
                inner = ", ".join(self.source(one.value) for one in elements if isinstance(one, cst.Element))
                return with_argument(node, given, lambda _: f"({inner})")
            case cst.Name() | cst.ListComp():
                return with_argument(node, given, "tuple({})".format)
        return None

    def _dims(self, node: cst.Call) -> Iterator[Rewrite]:
        shapes = argument(node, 9, "dynamic_shapes")
        names = list(_innermost_strings(shapes)) if shapes is not None else []
        if names:
            changes = [Change(name, f"torch.export.Dim({self.source(name)})") for name in names]
            yield Rewrite("make dims of the names", (*changes, ModuleImport("torch")))

    def _replaced(self, node: cst.Call) -> Iterator[Rewrite]:
        name = self.code.name(node.func) or ""
        change = change_of_call(self.code, node, name)
        if change is not None:
            yield Rewrite(_REPLACED, (change, ModuleImport(module_of(replaced_name(name) or ""))))

    def _imported(self, alias: cst.ImportAlias) -> Iterator[Rewrite]:
        """The import goes, with all names of it that are gone; their uses are replaced."""
        line = self.code.parent(alias)
        changes = replaced_import(self.code, line, alias) if isinstance(line, cst.ImportFrom) else None
        if changes:
            yield Rewrite(_REPLACED, changes)


def _innermost_strings(spec: cst.CSTNode) -> Iterator[cst.SimpleString]:
    match spec:
        case cst.Dict(elements=elements) | cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                if isinstance(element.value, cst.SimpleString):
                    yield element.value
                else:
                    yield from _innermost_strings(element.value)
