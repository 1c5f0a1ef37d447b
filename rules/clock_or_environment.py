"""The clock, the environment, a file or a counter is read while exporting only.

Why: what Python reads from the world around it is read once, by the tracer. The value is a literal of the graph from
then on, or decides which branch is kept. Non-strict mode says nothing about it; strict mode refuses clocks, files and
process ids, and keeps the environment, the command line and counters just as silently. A clock whose difference is
only printed, logged or kept does no harm to the outputs: strict mode refuses it all the same.

Instead: read it in `__init__` when it belongs to the model, make it an input when it changes from call to call, and
keep counters in a registered buffer.

    def forward(self, x, age): ...                    # instead of time.time() - self.born
    self.register_buffer("step", torch.zeros((), dtype=torch.long))   # instead of itertools.count()
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Kind, Rule, Severity, Visitor, called, walked

if TYPE_CHECKING:
    from exportlint import Called, Code, FunctionInfo, Sketch

_INPUT = "make it an input of forward, or read it in `__init__` when it belongs to the model"
_INIT = "read it in `__init__`, or make it an input of forward"
_BUFFER = "keep the count in a registered buffer and add to it in place"
_READ, _ONCE = "`{code}` is read", " once, while exporting, and is a constant of the program"
_FILE, _CONTENT = "`{code}` reads a file", " once, while exporting; its content is a constant of the program"
_NEXT, _NEVER = "`{code}` takes the next value", " while exporting, and the program never takes another"
_BY_NAME = {
    "BadTime": (
        "time.time time.time_ns time.perf_counter time.perf_counter_ns time.monotonic time.monotonic_ns"
        " time.process_time"
        " time.process_time_ns time.thread_time time.ctime time.localtime time.gmtime time.strftime time.asctime"
        " timeit.default_timer"
    ),
    "BadDatetime": ("datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today datetime.date.today"),
    "BadEnvironmentGet": (
        "os.environ.get os.environ.setdefault os.environ.pop os.environ.items os.environ.keys os.environ.copy"
    ),
    "BadGetenv": "os.getenv os.environb.get",
    "BadFileRead": "builtins.open io.open gzip.open numpy.load numpy.loadtxt numpy.fromfile",
    "BadFileTest": (
        "os.path.exists os.path.isfile os.path.isdir os.path.getmtime os.path.getsize os.listdir os.stat os.scandir"
        " os.walk glob.glob"
    ),
    "BadUuid": "uuid.uuid1 uuid.uuid4 os.urandom secrets.token_hex secrets.token_bytes",
    "BadProcess": "os.getpid os.getppid os.cpu_count os.getcwd os.uname os.getlogin getpass.getuser",
    "BadHost": (
        "socket.gethostname socket.gethostbyname platform.node platform.system platform.machine platform.platform"
    ),
    "BadSleep": "time.sleep",
}
_CASE_OF = {name: case for case, names in _BY_NAME.items() for name in names.split()}
# What is the same where the program was exported and where it runs, as a rule.
_RARELY_CHANGES = frozenset({"BadEnvironmentGet", "BadGetenv", "BadFileTest", "BadProcess", "BadHost"})
_READERS = frozenset({"read_text", "read_bytes"})
_TABLES = frozenset({"os.environ", "os.environb", "sys.argv"})
_LOGS = frozenset({"debug", "info", "warning", "error", "critical", "log"})
_COUNTERS = frozenset({"itertools.count", "itertools.cycle"})


class ClockOrEnvironment(Rule):
    mended_by = ("interface", "made-once", "state-in-buffers", "reading-operator")
    graph_breaks = ("GB0007", "GB0059", "GB0156")
    shown_by = ("other-environment",)
    cases: ClassVar = {
        "BadTime": Case(_READ, _INPUT, in_program=_ONCE),
        "BadTimer": Case(
            "`{code}` is read for a time that no output depends on",
            "measure the calls of the model from outside, or behind `if not torch.compiler.is_compiling():`",
            in_program=", and the program has no clock",
        ),
        "BadDatetime": Case(_READ, _INPUT, in_program=_ONCE),
        "BadEnvironmentGet": Case(_READ, _INIT, in_program=_ONCE),
        "BadGetenv": Case(_READ, _INIT, in_program=_ONCE),
        "BadEnvironmentItem": Case(_READ, _INIT, in_program=_ONCE),
        "BadFileRead": Case(_FILE, _INIT, in_program=_CONTENT),
        "BadPathRead": Case(_FILE, _INIT, in_program=_CONTENT),
        "BadFileTest": Case("`{code}` looks at the file system", _INIT, in_program=" once, while exporting"),
        "BadUuid": Case(_READ, "let the caller make the id and keep it outside of the model", in_program=_ONCE),
        "BadCounter": Case(_NEXT, _BUFFER, in_program=_NEVER),
        "BadCounterOnSelf": Case(_NEXT, _BUFFER, in_program=_NEVER),
        "BadProcess": Case(_READ, _INIT, in_program=_ONCE),
        "BadHost": Case(_READ, _INIT, in_program=_ONCE),
        "BadSleep": Case(
            "`{code}` waits", "wait outside of the model", in_program=" once, while exporting; the program never waits"
        ),
        "BadCommandLine": Case("`{code}` is the command line of the process", _INIT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called or read?"""
        sketch = code.sketch
        read = [node.value for node in sketch.nodes(ast.Subscript)]
        read += (part for node in sketch.nodes(ast.Compare) for part in node.comparators)
        return (
            not sketch.origins.isdisjoint(_CASE_OF)
            or not sketch.methods.isdisjoint(_READERS)
            or not _TABLES.isdisjoint(map(sketch.name, read))
            or any(c.origin == "builtins.next" and _is_counter(sketch, c) for c in sketch.calls)
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._timed: frozenset[tuple[int, int]] | None = None

    @property
    def _rarely(self) -> Severity:
        """Outside of a module's own methods it is a library's switch, which who exports knows."""
        return Severity.WARNING if self.code.cls is not None and self.code.cls.is_module else Severity.NOTE

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if case := _CASE_OF.get(name):
            case = "BadTimer" if case == "BadTime" and self._only_timed(node) else case
            if case != "BadFileRead" or not _writes(node):
                self.report(node, case, at_most=self._rarely if case in _RARELY_CHANGES else Severity.ERROR)
        elif name == "builtins.next" and node.args:
            self._next(node, node.args[0].value)
        elif called(node) in _READERS and self._may_be_path(node):
            self.report(node, "BadPathRead")

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if self.code.name(node.value) in {"os.environ", "os.environb"}:
            self.report(node, "BadEnvironmentItem", at_most=self._rarely)

    def visit_Comparison(self, node: cst.Comparison) -> None:
        for target in node.comparisons:
            match self.code.name(target.comparator):
                case "os.environ":
                    self.report(node, "BadEnvironmentItem", at_most=self._rarely)
                case "sys.argv":
                    self.report(node, "BadCommandLine")

    def _next(self, node: cst.Call, iterator: cst.BaseExpression) -> None:
        """An iterator that lives longer than the call: kept on the module or in the file."""
        value = self.code.value(iterator)
        on_self = isinstance(iterator, cst.Attribute)
        if value.certain and value.name in _COUNTERS and (on_self or not self._is_local(iterator)):
            self.report(node, "BadCounterOnSelf" if on_self else "BadCounter")

    def _only_timed(self, node: cst.Call) -> bool:
        """Does what the clock says end in a number that is printed, logged or kept on self, and in nothing else?"""
        if self._timed is None:
            function = self.code.function
            self._timed = _Timing(self.code.sketch, function).places if function else frozenset()
        place = self.code.place(node)
        return (place.line, place.column - 1) in self._timed

    def _is_local(self, node: cst.BaseExpression) -> bool:
        """Is the name bound in the function at hand?"""
        return isinstance(node, cst.Name) and node.value in self._bound

    def visit_Module(self, node: cst.Module) -> None:
        node.visit(names := _Bound())
        self._bound = names.names

    def _may_be_path(self, node: cst.Call) -> bool:
        """`path.read_text()`: no module has a method of this name, so only tensors and modules are ruled out."""
        owner = self.code.value(node.func.value) if isinstance(node.func, cst.Attribute) else None
        return owner is not None and owner.kind not in (Kind.MODULE, Kind.TENSOR)


class _Timing:
    """The readings of a clock in a function whose value reaches nothing that the function computes.

    places   the lines and columns of those calls
    """

    def __init__(self, sketch: Sketch, function: FunctionInfo) -> None:
        self._function = function
        self._parents = {child: node for node in walked(function.node) for child in ast.iter_child_nodes(node)}
        names = [node for node in walked(function.node) if isinstance(node, ast.Name)]
        self._read = [node for node in names if isinstance(node.ctx, ast.Load)]
        bound = [node for node in names if not isinstance(node.ctx, ast.Load)]
        self._timers = {node.id for node in bound}
        while wrong := {node.id for node in bound if not self._is_set(node)} & self._timers or self._escaping():
            self._timers -= wrong
        clocks = (call.node for call in sketch.calls if _CASE_OF.get(call.origin) == "BadTime")
        self.places = frozenset((node.lineno, node.col_offset) for node in clocks if self._ends(node))

    def _escaping(self) -> set[str]:
        return {node.id for node in self._read if node.id in self._timers and not self._ends(node)}

    def _is_set(self, node: ast.Name) -> bool:
        """By a plain statement, and not by a loop, a `with` or the like."""
        parent = self._parents[node]
        return isinstance(parent, ast.Assign | ast.AnnAssign | ast.AugAssign)

    def _ends(self, node: ast.expr) -> bool:
        """Is the number, or what is computed of it, given to another timer, kept on self, printed or logged?"""
        inner: ast.AST = node
        parent = self._parents[inner]
        while isinstance(parent, ast.BinOp | ast.UnaryOp | ast.FormattedValue | ast.JoinedStr) or _rounds(parent):
            inner, parent = parent, self._parents[parent]
        match parent:
            case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.AugAssign(target=target):
                return (isinstance(target, ast.Name) and target.id in self._timers) or self._is_only_kept(target)
            case ast.Call(func=func) if isinstance(self._parents[parent], ast.Expr) and inner is not func:
                return _tells(func) or (isinstance(func, ast.Attribute) and self._is_only_kept(func.value))
        return False

    def _is_only_kept(self, node: ast.expr) -> bool:
        """An attribute of self, or a name of the file, that nothing reads other than to put more into it; or a place in
        what it names."""
        match node:
            case ast.Subscript(value=owner):
                return self._is_only_kept(owner)
            case ast.Name(id=name) if self._function.module.is_constant(name):
                return not _reads(self._function.module.tree, name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if self._function.cls:
                classes = self._function.cls.lineage
                return not any(_reads(cls.node, f"self.{name}") for cls in classes)
        return False


def _reads(node: ast.AST, name: str) -> bool:
    """Is the name read, other than by a statement such as `name.append(…)` or `name[key] = …`?"""
    parents = {child: inner for inner in walked(node) for child in ast.iter_child_nodes(inner)}
    for part in walked(node):
        if isinstance(part, ast.Name | ast.Attribute) and isinstance(part.ctx, ast.Load) and ast.unparse(part) == name:
            parent = parents[part]
            call = parents.get(parent)
            is_set = isinstance(parent, ast.Subscript) and isinstance(parent.ctx, ast.Store)
            is_told = isinstance(call, ast.Call) and call.func is parent and isinstance(parents[call], ast.Expr)
            if not is_set and not is_told:
                return True
    return False


def _rounds(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"round", "float", "int"}


def _tells(func: ast.expr) -> bool:
    """`print`, `logging.info`, `logger.debug`, `self.log`."""
    match func:
        case ast.Name(id=name):
            return name == "print"
        case ast.Attribute(attr=name):
            return name in _LOGS
    return False


class _Bound(Visitor):
    """The names a function binds itself."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        if isinstance(node.target, cst.Name):
            self.names.add(node.target.value)

    def visit_Param(self, node: cst.Param) -> None:
        self.names.add(node.name.value)


def _writes(call: cst.Call) -> bool:
    """`open(path, "w")` is a side effect, and another rule's business."""
    modes = [
        arg.value
        for i, arg in enumerate(call.args)
        if (i == 1 and not arg.keyword) or (arg.keyword and arg.keyword.value == "mode")
    ]
    return any(isinstance(mode, cst.SimpleString) and set(str(mode.evaluated_value)) & set("wax+") for mode in modes)


def _is_counter(sketch: Sketch, call: Called) -> bool:
    return any(sketch.value(arg).name in _COUNTERS for arg in call.arguments)
