"""An effect outside the tensors happens while tracing and never again.

Why: an exported program is a list of tensor operations. `print`, log records, files, lists and counters of the file
are touched by the tracer, once (in non-strict mode) or not at all (strict mode keeps some out, refuses files), and
never by the program. What forward reads back from them is a constant. Torch says nothing about most of it.

Instead: return what the caller wants to know; keep counts in a registered buffer; print with the operator that a
program keeps (`torch._higher_order_ops.print`); leave other bookkeeping out of the export by
`if not torch.compiler.is_compiling():`.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import (
    CONTAINER_METHODS,
    Case,
    Code,
    Instead,
    Kind,
    Rule,
    Severity,
    Source,
    Visitor,
    called,
    dotted,
    flat_targets,
    walked,
)

if TYPE_CHECKING:
    from exportlint import Called, Sketch

_RETURN = Instead(
    "return what the caller needs, or leave it out with `if not torch.compiler.is_compiling():`",
    shown_in="GoodReturned",
)
_ONCE = " once, while tracing"
_SHOWN = frozenset({"warning", "warn", "error", "critical", "exception", "log"})
_LOGGED = _SHOWN | {"info", "debug"}
_WRITERS = frozenset({"torch.save", "pickle.dump", "json.dump", "numpy.save", "numpy.savetxt"})
_STREAMS = frozenset({"sys.stdout.write", "sys.stderr.write"})


class SideEffectInForward(Rule):
    mended_by = ("printed-by-program", "effect-operator", "interface", "state-in-buffers")
    graph_breaks = ("GB0059", "GB0156", "GB0291")
    cases: ClassVar = {
        "BadPrint": Case("`{code}` prints", _RETURN, in_program=_ONCE),
        "BadStdout": Case("`{code}` writes", _RETURN, in_program=_ONCE),
        "BadLogging": Case("`{code}` logs", _RETURN, in_program=_ONCE),
        "BadFileWrite": Case("`{code}` writes to a file", _RETURN, in_program=_ONCE),
        "BadGlobalStatement": Case(
            "`{code}` counts in a global",
            Instead("keep the count in a registered buffer", shown_in="GoodBufferCount"),
            in_program=", which is a constant of the program",
        ),
        "BadNonlocalCount": Case(
            "`{code}` counts in a variable of the function around",
            Instead("keep the count in a registered buffer", shown_in="GoodBufferCount"),
            in_program=", which is a constant of the program",
        ),
        "BadGlobalWriteOnly": Case("`{code}` assigns a global", _RETURN, in_program=_ONCE),
        "BadGlobalList": Case("`{code}` changes a container of the file", _RETURN, in_program=_ONCE),
        "BadMutableDefault": Case(
            "`{code}` changes a default argument, which all calls share",
            Instead("use None and make it anew", shown_in="GoodFreshDefault"),
        ),
        "BadCallback": Case(
            "the result of `{code}` is not used",
            _RETURN,
            in_program="; it runs once, while tracing",
        ),
        "BadGlobalListRead": Case(
            "`{code}` changes a container of the file, which forward reads",
            Instead("keep state in a registered buffer, or return it", shown_in="GoodBufferCount"),
            in_program="; what it reads is a constant of the program",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is something shown, stored outside of the module, or called for its effect alone?"""
        sketch = code.sketch
        written = [target.value for target in sketch.targets() if isinstance(target, ast.Subscript)]
        written += (call.owner for call in sketch.calls if call.method in CONTAINER_METHODS and call.owner)
        return (
            any(True for kind in (ast.Global, ast.Nonlocal) for _ in sketch.nodes(kind))
            or any(_outlives_the_call(sketch, node) for node in written)
            or any(_shows_or_writes(sketch, call) for call in sketch.calls)
            or any(_is_for_effect(code, node.value) for node in sketch.nodes(ast.Expr))
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._ifs = 0
        self._in_function = False
        self._globals: set[str] = set()
        self._enclosing: set[str] = set()
        self._own: set[str] = set()
        self._uses: dict[str, int] = {}
        self._defaults: set[str] = set()
        self._kept: set[str] = set()

    def visit_Module(self, node: cst.Module) -> None:
        self.code.sweep(names := _Names())
        self._globals, self._uses = names.shared, names.uses
        outlives = self.code.function is not None and self.code.function.made_before
        self._enclosing = names.enclosing if outlives else set()
        self._own = names.own - names.shared
        self._defaults = names.defaults

    def visit_For(self, node: cst.For) -> None:
        if isinstance(node.target, cst.Name) and self._is_given(node.iter):
            self._kept.add(node.target.value)

    def visit_Expr(self, node: cst.Expr) -> None:
        """A call whose result nobody uses, of something that the maker of the module handed in."""
        match node.value:
            case cst.Call(func=cst.Name(value=name)) if name in self._kept:
                self.report(node, "BadCallback", at_most=Severity.WARNING)
            case cst.Call(func=function) if self._is_given(function):
                self.report(node, "BadCallback", at_most=Severity.WARNING)
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value=method))) if self._is_given(owner):
                if not method.endswith("_") and not self._computes(owner):
                    self.report(node, "BadCallback", at_most=Severity.WARNING)

    def _computes(self, owner: cst.BaseExpression) -> bool:
        """Is it called for a result, too, as a module is? What its methods set is traced as its forward is."""
        nodes = list(walked(self.code.cls.node)) if self.code.cls else []
        ignored = {id(one.value) for one in nodes if isinstance(one, ast.Expr)}
        calls = (one for one in nodes if isinstance(one, ast.Call) and id(one) not in ignored)
        return any(ast.unparse(one.func) == dotted(owner) for one in calls)

    def _is_given(self, node: cst.CSTNode) -> bool:
        """Is this an attribute that `__init__` takes from an argument, of a kind the engine does not know?"""
        name = (dotted(node) or "").removeprefix("self.")
        return (
            dotted(node) == f"self.{name}"
            and self.code.cls is not None
            and self.code.value(node).kind in {Kind.UNKNOWN, Kind.FUNCTION, Kind.NONE}
            and name in _given(self.code.cls.node)
        )

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        if not self._in_function:
            self._in_function, self._ifs = True, 0

    def visit_If(self, node: cst.If) -> None:
        self._ifs += not self._is_on(node.test)

    def leave_If(self, original_node: cst.If) -> None:
        self._ifs -= not self._is_on(original_node.test)

    def _is_on(self, test: cst.BaseExpression) -> bool:
        """Is this a flag of the module that `__init__` switches on unless it is told not to?"""
        name = (dotted(test) or "").removeprefix("self.")
        return dotted(test) == f"self.{name}" and self.code.cls is not None and name in _flags_on(self.code.cls.node)

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        self._ifs += 1

    def leave_ExceptHandler(self, original_node: cst.ExceptHandler) -> None:
        self._ifs -= 1

    def visit_Assign(self, node: cst.Assign) -> None:
        self._assigned(node, counts=_mentions(node.value, self._globals | self._enclosing))

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._assigned(node, counts=True)

    def visit_Del(self, node: cst.Del) -> None:
        self._assigned(node, counts=False)

    def _assigned(self, node: cst.CSTNode, *, counts: bool) -> None:
        if self.code.in_operator(node):
            return  # what is changed in a branch of `torch.cond` is refused
        for target in flat_targets(node):
            if isinstance(target, cst.Name) and target.value in self._enclosing and counts:
                self.report(node, "BadNonlocalCount")
            elif isinstance(target, cst.Name) and target.value in self._globals:
                if counts:
                    self.report(node, "BadGlobalStatement")
                elif not self._ifs:
                    self.report(node, "BadGlobalWriteOnly", at_most=Severity.WARNING)
            elif isinstance(target, cst.Subscript):
                self._container(node, target.value)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        method = called(node) or ""
        if name == "builtins.open":
            if _opens_for_writing(node):
                self.report(node, "BadFileWrite")
        elif name in _WRITERS:
            self.report(node, "BadFileWrite", at_most=Severity.WARNING)
        elif method in CONTAINER_METHODS and isinstance(node.func, cst.Attribute):
            self._container(node, node.func.value)
        elif not self._ifs:
            self._shows(node, name, method)

    def _shows(self, node: cst.Call, name: str, method: str) -> None:
        """Output behind an `if` is taken for a debugging aid that is off, and left alone."""
        if name == "builtins.print":
            self.report(node, "BadPrint", at_most=Severity.WARNING)
        elif name in _STREAMS:
            self.report(node, "BadStdout", at_most=Severity.WARNING)
        elif method in _LOGGED and (_is_logger(node.func, name) or self._makes_logger(node.func)):
            shown = method in _SHOWN or (method == "info" and self._shows_info)
            self.report(node, "BadLogging", at_most=Severity.WARNING if shown else Severity.NOTE)

    @cached_property
    def _shows_info(self) -> bool:
        """Does the file switch on what `info` says?"""
        return self.code.module.matches(r"(setLevel\(|level=)(logging\.)?[\"']?(INFO|DEBUG)")

    def _makes_logger(self, function: cst.BaseExpression) -> bool:
        """A method of what `logging.getLogger` gave."""
        return isinstance(function, cst.Attribute) and self.code.value(function.value).name == "logging.getLogger"

    def _container(self, node: cst.CSTNode, owner: cst.BaseExpression) -> None:
        """A list, dictionary or set of the file, reached by its plain name."""
        if self.code.in_operator(node):
            return
        if isinstance(owner, cst.Name) and owner.value in self._defaults:
            self.report(node, "BadMutableDefault", at_most=Severity.WARNING)
            return
        if not isinstance(owner, cst.Name) or owner.value in self._own:
            return
        value = self.code.value(owner)
        if value.kind is not Kind.CONTAINER or not value.certain or value.source is Source.INPUT:
            return
        if self._uses.get(owner.value, 0) > 1 and not self._ifs:
            self.report(node, "BadGlobalListRead")
        else:
            self.report(node, "BadGlobalList", at_most=Severity.WARNING)


class _Names(Visitor):
    """Which names a function binds itself, which it declares global, and how often each is used."""

    def __init__(self) -> None:
        super().__init__()
        self.own: set[str] = set()
        self.shared: set[str] = set()
        self.enclosing: set[str] = set()
        self.uses: dict[str, int] = {}
        self.defaults: set[str] = set()

    def visit_Global(self, node: cst.Global) -> None:
        self.shared.update(item.name.value for item in node.names)

    def visit_Nonlocal(self, node: cst.Nonlocal) -> None:
        self.enclosing.update(item.name.value for item in node.names)

    def visit_Param(self, node: cst.Param) -> None:
        self.own.add(node.name.value)
        if isinstance(node.default, cst.List | cst.Dict):
            self.defaults.add(node.name.value)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._bind(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._bind(node.target)

    def visit_NamedExpr(self, node: cst.NamedExpr) -> None:
        self._bind(node.target)

    def visit_For(self, node: cst.For) -> None:
        self._bind(node.target)

    def visit_CompFor(self, node: cst.CompFor) -> None:
        self._bind(node.target)

    def visit_AsName(self, node: cst.AsName) -> None:
        self._bind(node.name)

    def visit_Name(self, node: cst.Name) -> None:
        self.uses[node.value] = self.uses.get(node.value, 0) + 1

    def _bind(self, node: cst.CSTNode) -> None:
        match node:
            case cst.Name(value=name):
                self.own.add(name)
            case cst.Tuple(elements=elements) | cst.List(elements=elements):
                for element in elements:
                    self._bind(element.value)


def _mentions(node: cst.CSTNode, names: set[str]) -> bool:
    if not names:
        return False
    node.visit(found := _Names())
    return bool(found.uses.keys() & names)


def _given(cls: ast.ClassDef) -> set[str]:
    """The attributes that `__init__` sets to one of its arguments."""
    inits = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    if not inits:
        return set()
    arguments = {argument.arg for argument in (*inits[0].args.args, *inits[0].args.kwonlyargs)}
    assigns = (node for node in walked(inits[0]) if isinstance(node, ast.Assign))
    return {
        target.attr
        for node in assigns
        for target in node.targets
        if isinstance(target, ast.Attribute)
        and any(isinstance(n, ast.Name) and n.id in arguments for n in walked(node.value))
    }


def _flags_on(cls: ast.ClassDef) -> set[str]:
    """The attributes that are True, or an argument of `__init__` whose default is True."""
    inits = [node for node in cls.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    body = (node for node in cls.body if isinstance(node, ast.Assign) and ast.unparse(node.value) == "True")
    constants = {target.id for node in body for target in node.targets if isinstance(target, ast.Name)}
    if not inits:
        return constants
    arguments = inits[0].args
    pairs = zip(reversed(arguments.args), reversed(arguments.defaults), strict=False)
    on = {"True", *(argument.arg for argument, default in pairs if ast.unparse(default) == "True")}
    assigns = (node for node in walked(inits[0]) if isinstance(node, ast.Assign) and ast.unparse(node.value) in on)
    return constants | {t.attr for node in assigns for t in node.targets if isinstance(t, ast.Attribute)}


def _opens_for_writing(call: cst.Call) -> bool:
    for index, arg in enumerate(call.args):
        is_mode = arg.keyword.value == "mode" if arg.keyword else index == 1
        if is_mode and isinstance(arg.value, cst.SimpleString):
            return any(letter in arg.value.raw_value for letter in "wax+")
    return False


def _is_logger(function: cst.CSTNode, name: str) -> bool:
    """`logging.warning` and methods of what is called logger, log or the like."""
    if name.startswith(("logging.", "loguru.", "wandb.")):
        return True
    owner = (dotted(function.value) or "") if isinstance(function, cst.Attribute) else ""
    return owner.rpartition(".")[2].strip("_").lower() in {"logger", "log", "logging"}


def _outlives_the_call(sketch: Sketch, node: ast.expr) -> bool:
    """A container of the file, or a parameter's default."""
    defaults = (default for spec in sketch.nodes(ast.arguments) for default in (*spec.defaults, *spec.kw_defaults))
    return isinstance(node, ast.Name) and (
        node.id not in sketch.bound or any(isinstance(default, ast.List | ast.Dict) for default in defaults)
    )


def _shows_or_writes(sketch: Sketch, call: Called) -> bool:
    if call.origin in _WRITERS | _STREAMS or call.origin in {"builtins.open", "builtins.print"}:
        return True
    return call.method in _LOGGED and not (call.owner and sketch.value(call.owner).is_tensor)


def _is_for_effect(code: Code, node: ast.expr) -> bool:
    """`callback(x)`, `self.callback(x)`, `self.tracker.add(x)`."""
    match node:
        case ast.Call(func=ast.Name(id=name)):
            targets = (loop.target for loop in code.sketch.nodes(ast.For))
            return any(isinstance(target, ast.Name) and target.id == name for target in targets)
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="self"), attr=name)
            | ast.Attribute(value=ast.Attribute(value=ast.Name(id="self"), attr=name))
        ):
            return code.cls is not None and name in _given(code.cls.node)
    return False
