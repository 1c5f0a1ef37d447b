"""A call of torch's export interface that this version does not know or will drop.

Why: the export interface moved fast. `dynamic_dim`, `constraints=`, `constrain_as_value`, `export_for_training`,
`capture_pre_autograd_graph`, `torch.onnx.dynamo_export` and what belonged to it, and most of `torch._export` are gone,
PT2E quantization moved to torchao, keywords of other exporters were never known, and pages recommend `torch.map`,
`torch.scan` and `torch.func.cond`, which do not exist. Each raises when the line runs. `torch._dynamo.export` still
runs, and gives a graph with guards, which nothing can save or lower.

Instead:

    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(model, (x,), dynamic_shapes={"x": {0: batch}})
    torch._check(n >= 0); torch._check(n <= 10)                   # instead of constrain_as_value / constrain_as_size
    torch.export.export(model, (x,)).run_decompositions()         # instead of torch._dynamo.export(model, x)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Instead, ScriptRule, Severity, Visitor, argument, dotted

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEYWORDS = frozenset(
    {"mod", "args", "kwargs", "dynamic_shapes", "strict", "preserve_module_call_signature"}
    | {"prefer_deferred_runtime_asserts_over_guards"}
)
_PLACES = 3  # model, args and kwargs
_EXPORTERS = frozenset({"torch.export.export", "torch.export.draft_export"})
_PROGRAMS = _EXPORTERS | {"torch.export.load"}
_GONE_BY_CASE = {
    "BadDynamicDim": "torch.export.dynamic_dim torch._export.dynamic_dim torch._export.constraints",
    "BadExportForTraining": "torch.export.export_for_training torch.export.export_for_inference",
    "BadCapture": "torch._export.capture_pre_autograd_graph",
    "BadPrivateExport": (
        "torch._export.export torch._export.export_for_training torch._export.save torch._export.load"
        " torch._export.exported_program torch._export.ExportedProgram torch._export.dynamic_shapes"
    ),
    "BadCoreAten": "torch.export.core_aten_decompositions",
    "BadConstrainAsValue": (
        "torch._constrain_as_value torch.export.constrain_as_value torch.export.constrain_as_size"
        " torch._export.constraints.constrain_as_value torch._export.constraints.constrain_as_size"
    ),
    "BadEqualityConstraints": "torch.export.equality_constraints torch._export.constraints.equality_constraints",
    "BadDynamoExport": (
        "torch.onnx.dynamo_export torch.onnx.ExportOptions torch.onnx.enable_fake_mode torch.onnx.OnnxRegistry"
        " torch.onnx.ONNXRuntimeOptions torch.onnx.DiagnosticOptions torch.onnx.ExportOutput"
        " torch.onnx.ResolvedExportOptions torch.onnx.ONNXProgramSerializer torch.onnx.ExportOutputSerializer"
        " torch.onnx.InvalidExportOptionsError torch.onnx.is_onnxrt_backend_supported"
        " torch.onnx.export_to_pretty_string torch.onnx._export"
    ),
    "BadQuantizePt2e": (
        "torch.ao.quantization.quantize_pt2e torch.ao.quantization.quantizer torch.ao.quantization.pt2e"
        " torch.ao.quantization.move_exported_model_to_eval torch.ao.quantization.move_exported_model_to_train"
        " torch.ao.quantization.allow_exported_model_train_eval"
    ),
    "BadDefinitely": (
        "torch.fx.experimental.symbolic_shapes.definitely_true torch.fx.experimental.symbolic_shapes.definitely_false"
    ),
    "BadConstraintsName": "torch.export.constraints",
    "BadMap": "torch.map torch.func.map",
    "BadMapOperator": "torch.ops.higher_order.map",
    "BadScan": "torch.scan torch.func.scan",
    "BadFuncCond": "torch.func.cond torch.func.while_loop torch.associative_scan torch.func.associative_scan",
}
_GONE = {name: case for case, names in _GONE_BY_CASE.items() for name in names.split()}
_OLD = {
    "torch._check_is_size": "BadSizeCheck",
    "torch._constrain_as_size": "GoodConstrainAsSize",
    "torch._dynamo.export": "BadDynamoTrace",
}
_MAP = (
    "use `functorch.experimental.control_flow.map(f, xs, *args)`, in which `torch.cond` may stand, or `torch.vmap` "
    "where f has no branches"
)
# Where the operators are that people look for among torch's transforms of functions.
_SPELLED = {
    "cond": "torch.cond",
    "while_loop": "torch.while_loop",
    "associative_scan": "torch._higher_order_ops.associative_scan",
}
_BOUNDS = "use {checks}"
_FACTORIES = ("torch.rand", "torch.ones", "torch.zeros", "torch.tensor", "torch.arange", "torch.empty", "torch.full")


class OldExportApi(ScriptRule):
    mended_by = ("old-constraints", "templates")
    words = (
        r"export\b|dynamic_dim|constrain_as|equality_constraints|_check_is_size|export_for_|capture_pre_autograd|dynamo_export"
        r"|quantize_pt2e|quantizer|pt2e|torch\.(map|scan|associative_scan)\b|higher_order\.map\b"
        r"|from torch import .*\b(map|scan|associative_scan)\b|func\.(map|scan|cond|while_loop|associative_scan)\b"
        r"|from torch\.func import"
        r"|_export\b|onnx\b|exported_model|definitely_(true|false)|core_aten"
    )
    torch_says = (
        r"export\(\) got an unexpected keyword argument",
        r"Expecting `args` to be a tuple of example positional inputs",
    )
    docs = (("torch.export", "https://docs.pytorch.org/docs/stable/export.html"),)
    cases: ClassVar = {
        "BadUnknownKeyword": Case(
            "torch.export has no keyword `{name}`", "leave it away; sizes are declared by `dynamic_shapes=`"
        ),
        "BadConstraints": Case(
            "torch.export has no keyword `constraints` any more",
            'declare sizes: `dynamic_shapes={{"x": {{0: torch.export.Dim("batch", min=2, max=64)}}}}`',
        ),
        "BadPositional": Case(
            "`{code}` gives more than model, args and kwargs by place",
            "write `dynamic_shapes=…` and the others by name",
        ),
        "BadBareArgument": Case(
            "`{name}` is one tensor, not a tuple of arguments", "write `({name},)`, with the comma"
        ),
        "BadListOfArguments": Case(
            "`{name}` is no tuple of arguments", "write a tuple: `(x, y)`; arguments by name go to `kwargs=`"
        ),
        "BadNoArguments": Case(
            "`{code}` gives no sample arguments", "give a tuple, `()` when all arguments are in `kwargs=`"
        ),
        "BadDimPositional": Case("`{code}` gives the bounds of a dim by place", 'write `Dim("name", min=…, max=…)`'),
        "BadDimName": Case(
            "`{name}` in `dynamic_shapes` is only a name",
            "write `torch.export.Dim({name})`, `Dim.DYNAMIC` or `Dim.AUTO`",
        ),
        "BadDynamicDim": Case("`{name}` is gone", "use `torch.export.Dim` and `dynamic_shapes=`"),
        "BadExportForTraining": Case("`{name}` is gone", "use `torch.export.export`, which gives the same program"),
        "BadCapture": Case("`{name}` is gone", "use `torch.export.export(model, args).module()`"),
        "BadPrivateExport": Case("`{name}` is gone", "use what `torch.export` has of the same name"),
        "BadCoreAten": Case("`{name}` is gone", "call `program.run_decompositions()`"),
        "BadConstraintsName": Case(
            "`{name}` does not exist", "use `torch.export.Dim` and `dynamic_shapes=`, which took their place"
        ),
        "BadConstrainAsValue": Case("`{name}` is gone", _BOUNDS),
        "GoodConstrainAsSize": Case("`{name}` is the old way to bound a size", _BOUNDS),
        "BadEqualityConstraints": Case(
            "`{name}` is gone", "give the sizes the same `Dim` in `dynamic_shapes=`; read `program.range_constraints`"
        ),
        "BadSizeCheck": Case("`{name}` is deprecated", _BOUNDS),
        "BadDynamoTrace": Case(
            "`{name}` is private, and gives a graph with guards, which cannot be saved or lowered",
            "use `torch.export.export(model, args)`",
        ),
        "BadDefinitely": Case(
            "`{name}` is gone", Instead("use `guard_or_false(…)` of the same module", shown_in="GoodGuardOr")
        ),
        "BadDynamoExport": Case("`{name}` is gone", "use `torch.onnx.export(model, args, dynamo=True)`"),
        "BadQuantizePt2e": Case("`{name}` moved to torchao", "import it from `torchao.quantization.pt2e`"),
        "BadMap": Case("`{name}` does not exist", _MAP),
        "BadMapOperator": Case("`{name}` is of the inner namespace, where newer versions have none", _MAP),
        "BadScan": Case("`{name}` does not exist", "`from torch._higher_order_ops.scan import scan`"),
        "BadFuncCond": Case("`{name}` does not exist", "write `{spelled}`"),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a name imported or called that is gone, or an exporter called?"""
        known = (*_GONE, *_OLD, *_EXPORTERS, "torch.export.Dim")
        return any(name.startswith(known) for name in (*code.sketch.origins, *_imported(code)))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._guards = 0

    def visit_Try(self, node: cst.Try) -> None:
        """`try: from torch… import … except ImportError:` knows that the name may be gone."""
        self._guards += 1

    def leave_Try(self, original_node: cst.Try) -> None:
        self._guards -= 1

    def visit_If(self, node: cst.If) -> None:
        self._guards += _asks_version(node.test)

    def leave_If(self, original_node: cst.If) -> None:
        self._guards -= _asks_version(original_node.test)

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = dotted(node.module) if node.module and not node.relative else None
        if module and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                self._gone(alias, f"{module}.{dotted(alias.name)}")

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            self._gone(alias, dotted(alias.name) or "")

    def _gone(self, node: cst.CSTNode, name: str) -> bool:
        """Report a name that is gone, or old. Says whether it did."""
        gone = [old for old in _GONE if name == old or name.startswith(f"{old}.")]
        case = _GONE[max(gone, key=len)] if gone else None
        checks, spelled = self._checks(node, name), _SPELLED.get(name.rpartition(".")[2], "")
        if case and not self._guards:
            self.report(node, case, name=name, checks=checks, spelled=spelled)
        elif name in _OLD:
            self.report(node, _OLD[name], at_most=Severity.NOTE, name=name, checks=checks)
        return case is not None

    def _checks(self, node: cst.CSTNode, name: str) -> str:
        """What to write instead of a bound, with the number and the limits of the call where they can be read."""
        if name == "torch._check_is_size":
            shown = self._shown(argument(node, 0, "b") or argument(node, 0, "i")) if isinstance(node, cst.Call) else "n"
            return f"`torch._check({shown} >= 0)`"
        if not isinstance(node, cst.Call):
            return "`torch._check(n >= low)` and `torch._check(n <= high)`"
        number, low, high = (argument(node, place, word) for place, word in enumerate(("symbol", "min", "max")))
        bounds = {">=": self._limit(low) or ("0" if "size" in name else ""), "<=": self._limit(high)}
        tests = [f"{self._shown(number)} {sign} {limit}" for sign, limit in bounds.items() if limit]
        return " and ".join(f"`torch._check({test})`" for test in tests) or "`torch._check` with what holds of it"

    def _shown(self, number: cst.BaseExpression | None) -> str:
        return number.value if isinstance(number, cst.Name) else "n"

    def _limit(self, node: cst.BaseExpression | None) -> str:
        """The text of a limit; "" where none is given."""
        is_none = node is None or (isinstance(node, cst.Name) and node.value == "None")
        return "" if node is None or is_none else self.code.text(node)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if name in _EXPORTERS:
            self._export(node)
        elif name == "torch.export.Dim":
            if len([arg for arg in node.args if not arg.keyword and not arg.star]) > 1:
                self.report(node, "BadDimPositional")
        elif isinstance(node.func, cst.Attribute):
            self._gone(node, name)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        """`program.equality_constraints`."""
        made = self.bound(node.value)
        is_program = isinstance(made, cst.Call) and self.code.name(made.func) in _PROGRAMS
        if is_program and node.attr.value == "equality_constraints" and not self._guards:
            self.report(node, "BadEqualityConstraints", name=self.code.text(node))

    def _export(self, node: cst.Call) -> None:
        keywords = {arg.keyword.value for arg in node.args if arg.keyword}
        starred = any(arg.star for arg in node.args)
        places = len(node.args) - len(keywords)
        for keyword in sorted(keywords - _KEYWORDS):
            self.report(node, "BadConstraints" if keyword == "constraints" else "BadUnknownKeyword", name=keyword)
        if places > _PLACES and not starred:
            self.report(node, "BadPositional")
        args = argument(node, 1, "args")
        if args is not None:
            self._arguments(node, args)
        elif not starred and not keywords - _KEYWORDS:
            self.report(node, "BadNoArguments")
        for text in _names_only(self.bound(argument(node, 9, "dynamic_shapes") or cst.Name("None"))):
            self.report(node, "BadDimName", name=self.code.text(text))

    def _arguments(self, node: cst.Call, args: cst.BaseExpression) -> None:
        given = self.bound(args)
        if isinstance(given, cst.List | cst.Dict | cst.ListComp):
            self.report(node, "BadListOfArguments", name=self.code.text(args))
        elif isinstance(given, cst.Call) and (self.code.name(given.func) or "").startswith(_FACTORIES):
            self.report(node, "BadBareArgument", name=self.code.text(args))


def _asks_version(test: cst.BaseExpression) -> bool:
    """`hasattr(torch, "…")`, `version.parse(torch.__version__) >= …`, `TORCH_2_6`."""
    test.visit(words := _Words())
    return any(
        word == "hasattr" or "version" in word.lower() or word.upper().startswith(("TORCH_", "IS_TORCH"))
        for word in words.found
    )


class _Words(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)


def _names_only(spec: cst.CSTNode) -> Iterator[cst.SimpleString]:
    """Strings that stand where a dim should: the values of the innermost dictionaries."""
    match spec:
        case cst.Dict(elements=elements) | cst.Tuple(elements=elements) | cst.List(elements=elements):
            for element in elements:
                if isinstance(element.value, cst.SimpleString):
                    yield element.value
                else:
                    yield from _names_only(element.value)


def _imported(code: Code) -> Iterator[str]:
    """The dotted names that the file imports."""
    for node in code.module.parsed.imports:
        prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
        yield from (prefix + alias.name for alias in node.names)
