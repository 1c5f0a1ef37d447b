"""A model is exported in train mode.

Why: `training` is a Python flag; the program keeps what it was. In train mode dropout stays on and batch norm
normalises by the statistics of each batch, and changes its running ones in every call, forever. Modules are built in
train mode. What counts is the mode of each submodule: where all that ask for it were put in eval mode one by one, the
program is that of the eval model.

Instead: `model.eval()` before the export. To train the program later, export twice.

    program = torch.export.export(model.eval(), (x,))
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import libcst as cst

from exportlint import Case, ClassInfo, FunctionInfo, ScriptRule, Severity, called, functions_below, walked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exportlint import Code, ModuleInfo

_EVAL = "call `.eval()` on the model before the export"
_DROPOUT = frozenset(
    {"Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout", "FeatureAlphaDropout", "RReLU", "DropPath"}
)
_NORM = frozenset({"BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm"}) | {
    f"LazyBatchNorm{n}d" for n in (1, 2, 3)
}
_FUNCTIONAL = frozenset({"torch.nn.functional.dropout", "torch.dropout"})
_FUNCTION = "dropout"
_ANY = "*"  # a step of a path that is not known: the item of a container
_RATE_AT = {"TransformerEncoderLayer": 3, "TransformerDecoderLayer": 3, "Transformer": 5}  # and called `dropout`
_CHAINED = frozenset(
    {"to", "cpu", "cuda", "float", "half", "double", "bfloat16", "requires_grad_", "to_empty", "type", "train"}
)
_MODES = frozenset({"eval", "train"})
_MAKER = "get_model"


class ExportInTrainMode(ScriptRule):
    mended_by = ("eval-mode",)
    words = r"torch\.export|from torch import .*\bexport\b|example_args\b|get_inputs\b|example_inputs\b"
    checks = ("training-mode",)
    cases: ClassVar = {
        "BadDropout": Case("`{target}` is exported in train mode and holds {part}: it stays on", _EVAL),
        "BadBatchNorm": Case("`{target}` is exported in train mode and holds {part}: it goes by each batch", _EVAL),
        "BadTrainCalled": Case("`{target}` is exported after `train()` and holds {part}", _EVAL),
        "BadUnseen": Case("`{target}` may still be in train mode: no `eval()` is seen on the way", _EVAL),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a model exported, or kept with its inputs for an exporter elsewhere?"""
        return super().concerns(code) or _is_kept(code)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._functions: list[str] = []
        self._switches: dict[int, list[_Switch]] = {}
        self._touched: set[int] = set()
        self._later: list[tuple[cst.Call, cst.BaseExpression]] = []

    def visit_Call(self, node: cst.Call) -> None:
        target = self.exported(node)
        if target is None:
            return
        if self._is_from_outside(target):
            self._later.append((node, target))
        else:
            self._judge(node, target)

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        super().visit_FunctionDef(node)
        self._functions.append(node.name.value)

    def leave_FunctionDef(self, original_node: cst.FunctionDef) -> None:
        super().leave_FunctionDef(original_node)
        self._functions.pop()

    def visit_Return(self, node: cst.Return) -> None:
        """`def get_model(): return Net()`, beside the inputs that are kept for it."""
        if self._functions == [_MAKER] and node.value is not None and _is_kept(self.code):
            self._kept(node.value, node.value)

    def leave_Call(self, original_node: cst.Call) -> None:
        """`model.stem.eval()` is remembered, and that a function was given the model that may switch it."""
        super().leave_Call(original_node)
        path = _path_of(original_node.func)
        if path and path[1] and (mode := _mode(original_node)):
            self._remember(*path, mode)
        if self._may_switch(original_node):
            given = [arg.value for arg in original_node.args]
            given += [original_node.func.value] if isinstance(original_node.func, cst.Attribute) else []
            self._touched.update(id(self.unchained(value)[0]) for value in given)

    def leave_Assign(self, original_node: cst.Assign) -> None:
        """`model.norm.training = False`."""
        super().leave_Assign(original_node)
        for target in original_node.targets:
            match target.target:
                case cst.Attribute(attr=cst.Name(value="training")) as flag if path := _path_of(flag):
                    self._remember(*path, "eval")

    def leave_For(self, original_node: cst.For) -> None:
        """`for part in model.modules(): part.eval()` may switch anything of the model."""
        if _switches(_syntax(original_node)):
            parts = walked(_syntax(original_node.iter))
            names = (cst.Name(part.id) for part in parts if isinstance(part, ast.Name))
            self._touched.update(id(self.unchained(name)[0]) for name in names)

    def leave_Module(self, original_node: cst.Module) -> None:
        """A model of the file that a function exports: the mode may be set below the function, and before the call."""
        del original_node
        kept = cst.Name("model")
        if "model" in self._scopes[0] and _is_kept(self.code):
            origin, _ = self.unchained(kept)
            if isinstance(origin, cst.Call):
                self._kept(origin, kept)
        for node, target in self._later:
            if not any(_mode(step) == "eval" for step in self.unchained(target)[1]):
                self._judge(node, target)

    def _remember(self, base: cst.Name, path: tuple[str, ...], mode: str) -> None:
        origin, steps = self.unchained(base)
        self._switches.setdefault(id(origin), []).append(_Switch(path, mode, len(steps)))

    def _is_from_outside(self, target: cst.BaseExpression) -> bool:
        """Is it a variable of the file, exported in a function?"""
        inside = isinstance(target, cst.Name) and not any(target.value in scope for scope in self._scopes[1:])
        return inside and len(self._scopes) > 1

    def _may_switch(self, node: cst.Call) -> bool:
        """Does it run a function of the project that sets modes, by its name or by `apply`?"""
        functions = [arg.value for arg in node.args] if called(node) == "apply" else [node.func]
        for function in functions:
            made = self.bound(function)
            if isinstance(made, cst.FunctionDef | cst.Lambda | cst.ClassDef):
                return _switches(_syntax(made))
            found = self.code.module.project.find(self.code.name(function) or "")
            if isinstance(found, FunctionInfo) and _switches(found.node):
                return True
        return False

    def _kept(self, node: cst.BaseExpression, target: cst.BaseExpression) -> None:
        """A model that a file keeps with its inputs; one that is put into train mode in so many words is meant so."""
        if not any(_mode(step) for step in self.unchained(target)[1]):
            self._judge(node, target)

    def _judge(self, node: cst.BaseExpression, target: cst.BaseExpression) -> None:
        origin, steps = self.unchained(target)
        if not isinstance(origin, cst.Call) or id(origin) in self._touched:
            return
        modes = [(at, mode) for at, step in enumerate(steps) if (mode := _mode(step))]
        switches = [_Switch((), mode, at) for at, mode in modes]
        own = [switch._replace(at=switch.at - 0.5) for switch in self._switches.get(id(origin), ())]
        switches = sorted([*switches, *own], key=lambda switch: switch.at)
        parts = [part for part in self._parts(origin) if part.in_train_mode(switches)]
        text = target.value if isinstance(target, cst.Name) else self.code.text(target)
        if parts:
            part = min(parts, key=lambda one: not one.certain)
            told = "BadTrainCalled" if modes and modes[-1][1] == "train" else part.case
            at_most = Severity.ERROR if part.certain else Severity.WARNING
            self.report(node, told, at_most=at_most, target=text, part=f"`{part.name}`")
        elif not switches and self._unseen(origin):
            self.report(node, "BadUnseen", at_most=Severity.NOTE, target=text)

    def _parts(self, origin: cst.Call) -> list[_Part]:
        expression = _syntax(origin)
        return [*_Reader(self._class_named).of(expression, self.code.module, (), certain=True)]

    def _class_named(self, func: ast.expr, module: ModuleInfo) -> ClassInfo | None:
        """The class of the project; of this file, what the name stands for here."""
        if module is self.code.module and isinstance(func, ast.Name):
            made = self.bound(cst.Name(func.id))
            known = self.code.module.classes.get(func.id)
            if isinstance(made, cst.ClassDef):
                node = _syntax(made)
                assert isinstance(node, ast.ClassDef)  # noqa: S101 - a class is what was asked for
                return known or ClassInfo(func.id, node, module)
            if isinstance(made, cst.FunctionDef | cst.Ellipsis):
                return None
        found = module.project.find(module.dotted(func) or "")
        return found if isinstance(found, ClassInfo) else None

    def _unseen(self, origin: cst.Call) -> bool:
        """A function of the project that builds a module, and never says `eval`. A library's may say it: silence."""
        made, module = self.bound(origin.func), self.code.module
        own = module.functions.get(made.name.value) if isinstance(made, cst.FunctionDef) else None
        known = own or module.project.find(self.code.name(origin.func) or "")
        below = functions_below([known]) if isinstance(known, FunctionInfo) and known.cls is None else []
        return any(map(self._builds, below)) and not any(_switches(function.node) for function in below)

    def _builds(self, function: FunctionInfo) -> bool:
        calls = (node.func for node in walked(function.node) if isinstance(node, ast.Call))
        classes = (self._class_named(func, function.module) for func in calls)
        return any(cls is not None and cls.is_module for cls in classes)


def _is_kept(code: Code) -> bool:
    """Does the file keep a model with its inputs, and export it nowhere itself?"""
    return bool(code.exports) and all(one.place is None for one in code.exports)


class _Switch(NamedTuple):
    """A submodule (by its path) that is put into a mode; `at`: after how many calls of the whole model."""

    path: tuple[str, ...]
    mode: str
    at: float


class _Part(NamedTuple):
    """What behaves differently in train mode. `certain`: it surely is there, and does something."""

    path: tuple[str, ...]
    name: str
    certain: bool

    @property
    def case(self) -> str:
        return "BadBatchNorm" if self.name in _NORM else "BadDropout"

    def in_train_mode(self, switches: Iterable[_Switch]) -> bool:
        """After the switches in their order; what may have been put in eval mode counts as being in it."""
        training = True
        for switch in switches:
            both = [*zip(self.path, switch.path, strict=False)]
            if self.name == _FUNCTION and len(switch.path) > len(self.path):
                continue  # of a submodule, and the function goes by the flag of its own
            if all(one == other or _ANY in (one, other) for one, other in both):
                sure = all(one == other != _ANY for one, other in both) and len(switch.path) <= len(self.path)
                training = switch.mode == "train" and (sure or training)
        return training


class _Reader:
    """Reads, in the `ast` of any file of the project, what a model is built of; `find` gives the class of a name."""

    def __init__(self, find: Callable[[ast.expr, ModuleInfo], ClassInfo | None]) -> None:
        self._find = find
        self._seen: set[ClassInfo] = set()

    def of(
        self, node: ast.AST, module: ModuleInfo, path: tuple[str, ...], *, certain: bool, known: _Known | None = None
    ) -> Iterator[_Part]:
        """The parts that an expression builds, which stands for what is kept at the path."""
        if isinstance(node, ast.Call):
            if _ast_mode(node) == "eval":
                return
            if isinstance(node.func, ast.Attribute) and node.func.attr in _CHAINED:
                yield from self.of(node.func.value, module, path, certain=certain, known=known)
                return
            yield from self._made(node, module, path, certain=certain, known=known)
            path = (*path, _ANY)
        for child in ast.iter_child_nodes(node):
            doubted = isinstance(node, ast.IfExp | ast.BoolOp)
            yield from self.of(child, module, path, certain=certain and not doubted, known=known)

    def _made(
        self, call: ast.Call, module: ModuleInfo, path: tuple[str, ...], *, certain: bool, known: _Known | None
    ) -> Iterator[_Part]:
        name = module.dotted(call.func) or ""
        last = name.rpartition(".")[2]
        if name.startswith("torch.nn.") and last in _DROPOUT | _NORM | _RATE_AT.keys():
            works = _works(call, last, known)
            if works is not False:
                yield _Part(path, last, certain and works is True)
        cls = self._find(call.func, module)
        if cls is not None and cls not in self._seen:
            self._seen.add(cls)
            yield from self._of_class(cls, call, path, certain=certain, known=known)
            self._seen.discard(cls)

    def _of_class(
        self, cls: ClassInfo, call: ast.Call, path: tuple[str, ...], *, certain: bool, known: _Known | None
    ) -> Iterator[_Part]:
        """What its constructors keep. A class that sets its own modes is left alone."""
        if any(cls.method(mode) for mode in _MODES):
            return
        taken: set[str] = set()
        for base in cls.lineage:
            functions = [*_construction(base, cls)]
            if any(_switches(function.node, of_new=False) for function in functions):
                return
            kept: set[str] = set()
            for function in functions:
                is_called = base is cls.lineage[0] and function.name == "__init__"
                built = _Known(function, call if is_called else None, known)
                for target, value, sure in _kept(ast.iter_child_nodes(function.node)):
                    kept.add(target)
                    if target not in taken:
                        where = (*path, target)
                        yield from self.of(value, base.module, where, certain=certain and sure, known=built)
            taken |= kept - {_ANY}
            yield from self._functional(base, path, certain=certain)

    def _functional(self, cls: ClassInfo, path: tuple[str, ...], *, certain: bool) -> Iterator[_Part]:
        """`F.dropout(x, p, self.training)`: without the flag it is on in either mode."""
        for node in walked(cls.node):
            if isinstance(node, ast.Call) and cls.module.dotted(node.func) in _FUNCTIONAL:
                given = [*node.args, *(word.value for word in node.keywords)]
                if any(ast.unparse(value) == "self.training" for value in given):
                    yield _Part(path, _FUNCTION, certain)


class _Known(NamedTuple):
    """A function that builds, with the call that runs it where that is known, and what is known around the call."""

    function: FunctionInfo
    call: ast.Call | None
    around: _Known | None

    def number(self, node: ast.expr) -> float | None:
        """The number that an expression is, as far as constants, defaults and the call show."""
        if not isinstance(node, ast.Name) or self.call is None:
            return _constant(node)
        arguments = self.function.node.args
        places = [one.arg for one in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(reversed(places), reversed(arguments.defaults), strict=False))
        defaults |= {k.arg: v for k, v in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if v}
        words = {word.arg or "": word.value for word in self.call.keywords}
        if "" in words or any(isinstance(one, ast.Starred) for one in self.call.args):
            return None
        given = dict(zip(places[1:], self.call.args, strict=False)) | words
        if node.id in given:
            return self.around.number(given[node.id]) if self.around else _constant(given[node.id])
        return _constant(defaults[node.id]) if node.id in defaults else None


def _constant(node: ast.expr) -> float | None:
    known = isinstance(node, ast.Constant) and isinstance(node.value, int | float)
    return float(node.value) if known else None  # type: ignore[attr-defined] # a constant is what was asked for


def _works(call: ast.Call, name: str, known: _Known | None) -> bool | None:
    """Does the layer do another thing in train mode? `nn.Dropout(0.0)` does not; None: its rate is not known."""
    words = {word.arg: word.value for word in call.keywords}
    if name in _NORM:
        tracks = words.get("track_running_stats")
        return None if tracks is not None and _constant(tracks) is None else tracks is None or bool(_constant(tracks))
    place, word = (_RATE_AT[name], "dropout") if name in _RATE_AT else (0, "p")
    rate = words.get(word, call.args[place] if place < len(call.args) else None)
    if rate is None or name == "RReLU":
        return True
    number = known.number(rate) if known else _constant(rate)
    return None if number is None else number > 0


def _construction(base: ClassInfo, cls: ClassInfo) -> Iterator[FunctionInfo]:
    """The constructor that a class defines, and what it calls on itself."""
    waiting, seen = [base.methods["__init__"]] if "__init__" in base.methods else [], set()
    while waiting:
        function = waiting.pop()
        if function.name not in seen:
            seen.add(function.name)
            yield function
            calls = (node.func for node in walked(function.node) if isinstance(node, ast.Call))
            names = (
                func.attr for func in calls if isinstance(func, ast.Attribute) and ast.unparse(func.value) == "self"
            )
            waiting += [method for name in names if (method := cls.method(name))]


def _kept(body: Iterable[ast.AST], *, sure: bool = True) -> Iterator[tuple[str, ast.AST, bool]]:
    """What statements build: the attribute of self that keeps it, `_ANY` where that is not known; is it surely run?"""
    for node in body:
        match node:
            case ast.Assign(targets=[ast.Attribute(value=ast.Name(id="self"), attr=name)], value=value):
                yield name, value, sure
            case ast.AnnAssign(target=ast.Attribute(value=ast.Name(id="self"), attr=name), value=ast.expr() as value):
                yield name, value, sure
            case ast.If(body=inner, orelse=other):
                yield from _kept([*inner, *other], sure=False)
            case ast.For() | ast.While() | ast.With() | ast.Try():
                yield from _kept(ast.iter_child_nodes(node), sure=sure and not isinstance(node, ast.Try))
            case ast.stmt() if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                yield _ANY, node, sure


def _switches(node: ast.AST, *, of_new: bool = True) -> bool:
    """Does it set a mode? `of_new`: or that of what it has just built, as in `Net().eval()`."""
    for part in walked(node):
        match part:
            case ast.Call(func=ast.Attribute(value=owner, attr=name)) if name in _MODES:
                if of_new or not any(isinstance(inner, ast.Call) for inner in walked(owner)):
                    return True
            case ast.Attribute(attr="training", ctx=ast.Store()):
                return True
    return False


def _ast_mode(call: ast.Call) -> str | None:
    match call.func:
        case ast.Attribute(attr="eval"):
            return "eval"
        case ast.Attribute(attr="train"):
            given = [*call.args, *(word.value for word in call.keywords)]
            return "train" if not given or ast.unparse(given[0]) == "True" else "eval"
    return None


def _mode(call: cst.Call) -> str | None:
    """What a call leaves the module in: `train(False)` is `eval()`, and `train(flag)` may be."""
    syntax = _syntax(call) if called(call) in _MODES else None
    return _ast_mode(syntax) if isinstance(syntax, ast.Call) else None


def _path_of(node: cst.BaseExpression) -> tuple[cst.Name, tuple[str, ...]] | None:
    """`model` and the steps from it to the module whose method or attribute it is: `model.stem.eval`."""
    if not isinstance(node, cst.Attribute):
        return None
    steps: list[str] = []
    inner = node.value
    while isinstance(inner, cst.Attribute | cst.Subscript):
        steps.append(inner.attr.value if isinstance(inner, cst.Attribute) else _ANY)
        inner = inner.value
    return (inner, tuple(reversed(steps))) if isinstance(inner, cst.Name) else None


def _syntax(node: cst.CSTNode) -> ast.AST:
    """The same in `ast`, in which files elsewhere are read."""
    text = cst.Module([]).code_for_node(node)
    if isinstance(node, cst.BaseExpression):  # it may go on in the next line, in the brackets around it
        return ast.parse(f"({text}\n)", mode="eval").body
    return ast.parse(text.strip()).body[0]
