"""State that outlives the call is kept on the module, outside of buffers.

Why: an exported program knows parameters, buffers and inputs. A counter, a flag, a list or a plain tensor attribute,
such as the KV cache of a decoder, is read once, while tracing, and is a constant from then on: the program gives the
first call's answer to every call, and torch says nothing. A buffer that is replaced instead of written
(`self.mean = …`) loses its new value in strict mode. Attributes that nothing reads again, and those that every call
sets before it reads them, do no harm.

Instead: a registered buffer that is written in place, or state that comes in as an argument and goes out as a result.

    self.register_buffer("calls", torch.zeros((), dtype=torch.int64))
    ...
    self.calls += 1
    self.state.copy_(new_state)
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import ClassVar

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
    Use,
    ValuesUsed,
    adds_nothing,
    called,
    fills_own_tensors,
    flat_targets,
    has_modes,
    held_in,
    is_read_first,
    made_from_inputs,
    methods_of,
    moves_only,
    outlives_calls,
    path_on_self,
    text_argument,
    use_of,
    walked,
)

_BUFFER = Instead("keep it in a registered buffer and write that in place", shown_in="GoodBuffer")
_IN_OUT = Instead(
    "keep it in a registered buffer, or take it as an argument and return it", shown_in="GoodWindowBuffer"
)
_OF_LISTS = frozenset({"append", "appendleft", "extend", "extendleft", "insert"})
_COUNT = "; the count is a constant of the program"
_KEEPS = "`{code}` keeps a value for the next call outside of buffers"


class StateOnSelf(Rule):
    mended_by = ("state-in-buffers", "made-once")
    cases: ClassVar = {
        "BadCounter": Case("`{code}` counts on the module", _BUFFER, in_program=_COUNT),
        "BadDrawnOnce": Case(
            "`{code}` draws random numbers once",
            "register them as a buffer",
            in_program="; the program draws them in every call",
        ),
        "BadWarmUpFlag": Case("`{code}` sets a flag that sends later calls another way", _BUFFER),
        "BadTensorAttribute": Case(_KEEPS, _IN_OUT),
        "BadLazyCache": Case(
            "`{code}` keeps a value made from the first inputs for all later calls",
            Instead(
                "compute it in every call, or in `__init__` if it does not depend on the inputs",
                shown_in="GoodStaticTables",
            ),
        ),
        "BadReassignedBuffer": Case("`{code}` replaces a buffer", "write the buffer in place: `self.buffer.copy_(…)`"),
        "BadFilledBuffer": Case("`{code}` fills a buffer that was None", "give the buffer its tensor in `__init__`"),
        "BadGrowingList": Case("`{code}` changes a container on the module that later calls read", _IN_OUT),
        "BadDictItem": Case(_KEEPS, _IN_OUT),
        "BadDictNumber": Case("`{code}` counts on the module", _BUFFER, in_program=_COUNT),
        "BadSetattr": Case(_KEEPS, _IN_OUT),
        "BadSubmoduleAttribute": Case(_KEEPS, _IN_OUT),
        "BadHelperObject": Case("`{code}` changes an object that the module keeps", _BUFFER),
        "BadClassAttribute": Case("`{code}` counts on a class", _BUFFER, in_program=_COUNT),
        "BadCollectedForTrainer": Case(
            "`{code}` collects on the module",
            Instead("return what the caller needs", shown_in="GoodStateInAndOut"),
            in_program="; the program never adds anything",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is an attribute, or what one holds, written to, of an object that later calls meet?"""
        sketch = code.sketch
        grown = (call.owner for call in sketch.calls if call.method in CONTAINER_METHODS)
        written = (*sketch.targets(), *filter(None, grown))
        return "setattr" in sketch.methods or any(_may_outlive(target, code) for target in written)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._guards: list[cst.BaseExpression] = []
        self._training = 0
        self._function: cst.Module | None = None
        self._reported: set[cst.CSTNode] = set()
        self._calls: list[cst.Call] = []
        self._fresh: dict[str, tuple[int, ...]] = {}

    # Where the visitor stands.

    def visit_Module(self, node: cst.Module) -> None:
        self._function = node

    def visit_If_body(self, node: cst.If) -> None:
        self._guards.append(node.test)
        self._training += _asks_training(node.test)

    def leave_If_body(self, node: cst.If) -> None:
        self._guards.pop()
        self._training -= _asks_training(node.test)

    # What is written.

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if adds_nothing(node):
            return
        value = self.code.value(node.target)
        match node.target:
            case cst.Subscript(value=owner) if value.kind is not Kind.TENSOR and self._is_container(owner):
                if (name := _own_container(owner)) and self._use(name).read:
                    self._report(node, "BadDictNumber")
            case cst.Attribute(value=owner, attr=cst.Name(value=name)) if value.kind is not Kind.TENSOR:
                at_most = Severity.WARNING if value.kind is Kind.UNKNOWN else Severity.ERROR
                self._counted(node, owner, name, at_most)

    def _counted(self, node: cst.AugAssign, owner: cst.BaseExpression, name: str, at_most: Severity) -> None:
        value = self.code.value(owner)
        if _own(node.target):
            if self._is_container(node.target):
                self._changed(node, name)
            elif self._use(name).early:
                self._report(node, "BadCounter", at_most)
            elif self._held():
                self._report(node, "BadHelperObject", at_most)
            elif self._in_kept_object(node.target, name):
                self._report(node, "BadHelperObject", Severity.WARNING)
        elif value.kind in {Kind.CLASS, Kind.FUNCTION}:
            self._report(node, "BadClassAttribute")
        elif self._use(path_on_self(node.target)).early or (value.cls and value.on_self):
            self._report(node, "BadSubmoduleAttribute", at_most)

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in flat_targets(node):
            if name := _own(target):
                self._set(node, target, name, node.value)
            elif isinstance(target, cst.Subscript) and (name := _own_container(target.value)):
                if self._in_kept_object(target.value, name):
                    self._report(node, "BadHelperObject", Severity.WARNING)
                elif self._is_container(target.value) and self._use(name).early and self._carries(node.value, name):
                    self._report(node, "BadDictItem")
            elif isinstance(target, cst.Attribute):
                self._set_elsewhere(node, target)

    def visit_Call(self, node: cst.Call) -> None:
        self._calls.append(node)
        match node.func:
            case cst.Name() if self.code.name(node.func) == "builtins.setattr":
                self._setattr(node)
            case cst.Attribute(value=owner, attr=cst.Name(value=method)) if method in CONTAINER_METHODS:
                name = _own_container(owner)
                if name and node not in self._reported and self._may_grow(owner, method):
                    self._reported.update(arg.value for arg in node.args)
                    self._changed(node, name)

    # What it means.

    def _set(self, node: cst.CSTNode, target: cst.BaseExpression, name: str, new: cst.BaseExpression) -> None:
        """`self.name = new`: does a later call read what this one leaves behind?"""
        if self._held():
            self._set_of_helper(node, name, new)
        if not self._use(name).early or moves_only(new, name):
            return
        old = self.code.value(target)
        if self._is_written_before(name):
            return
        if old.source is Source.BUFFER:
            self._report(node, "BadReassignedBuffer")
        elif name in _empty_buffers(self._methods()):
            self._report(node, "BadFilledBuffer")
        elif self._carries(new, name):
            self._report(node, self._kept_case(new, name), self._doubt(new))
        elif _is_drawn(new):
            self._report(node, "BadDrawnOnce", Severity.WARNING)
        elif _is_constant(new) and self._steers(name):
            self._report(node, "BadWarmUpFlag")
        else:
            self._fresh[name] = tuple(map(id, self._guards))

    def _set_of_helper(self, node: cst.CSTNode, name: str, new: cst.BaseExpression) -> None:
        if not is_read_first(self.code, name):
            return
        if self._mentions(new, name) or self._made_of(new, name):
            self._report(node, "BadHelperObject")
        elif self._carries(new, name):
            self._report(node, "BadHelperObject", self._doubt(new))

    def _is_written_before(self, name: str) -> bool:
        """Did this call, on its way here, write what comes from no earlier one?"""
        guards = tuple(map(id, self._guards))
        return name in self._fresh and guards[: len(self._fresh[name])] == self._fresh[name]

    def _kept_case(self, new: cst.BaseExpression, name: str) -> str:
        if any(_mentions_attribute(guard, name) for guard in self._guards):
            return "BadLazyCache"
        return "BadCounter" if self.code.value(new).kind in {Kind.SCALAR, Kind.SIZE} else "BadTensorAttribute"

    def _set_elsewhere(self, node: cst.Assign, target: cst.Attribute) -> None:
        owner, name = self.code.value(target.value), target.attr.value
        if owner.kind in {Kind.CLASS, Kind.FUNCTION} and _mentions_attribute(node.value, name):
            self._report(node, "BadClassAttribute")
        elif self.code.value(node.value).source is Source.PARAMETER:
            return  # a parameter made in forward has a rule of its own
        elif owner.on_self and owner.cls:
            ran = any(call.func.deep_equals(target.value) for call in self._calls)
            if ran and use_of(name, methods_of(owner.cls)).early and self._carries(node.value, name):
                self._report(node, "BadSubmoduleAttribute")
        elif (path := path_on_self(target)) and self._use(path).early and self._carries(node.value, path):
            self._report(node, "BadSubmoduleAttribute", self._doubt(node.value))

    def _setattr(self, node: cst.Call) -> None:
        match [arg.value for arg in node.args]:
            case [cst.Name(value="self"), _, new]:
                name = text_argument(node, 1) or "*"
                if self._use(name).early and self._carries(new, name):
                    self._report(node, "BadSetattr", self._doubt(new))

    def _changed(self, node: cst.CSTNode, name: str) -> None:
        """A container of the module grows or shrinks."""
        if "forward" not in self._methods():
            if isinstance(node, cst.Call) and self._in_kept_object(node.func, name):
                self._report(node, "BadHelperObject", Severity.WARNING)
            return  # objects that are no modules may live for one call only
        use = self._use(name)
        if use.early or (not use.sets and self._read_by_others(name)):
            self._report(node, "BadGrowingList")
        elif not use.sets and not use.late:
            self._report(node, "BadCollectedForTrainer", Severity.WARNING)

    def _report(self, node: cst.CSTNode, case: str, at_most: Severity = Severity.ERROR) -> None:
        if not (self._training or self.code.in_operator(node)):  # an operator refuses it
            self.report(node, case, at_most=at_most)

    def _doubt(self, new: cst.BaseExpression) -> Severity:
        """A value that is refreshed on a condition may be read only where it is fresh."""
        value = self.code.value(new)
        if has_modes(self._methods().get("forward")):
            return Severity.NOTE  # one call of the model around it mostly does the one and then the other
        sure = value.kind is not Kind.UNKNOWN and value.certain
        refreshed = any(_compares(guard) for guard in self._guards)
        return Severity.ERROR if sure and not refreshed else Severity.WARNING

    # Questions about the code.

    def _methods(self) -> dict[str, ast.FunctionDef]:
        return methods_of(self.code.cls) if self.code.cls else {}

    def _use(self, name: str) -> Use:
        return use_of(name, self._methods())

    def _is_container(self, node: cst.CSTNode) -> bool:
        value = self.code.value(node)
        return value.kind is Kind.CONTAINER or (value.name or "").startswith("collections.") or _own(node) == "__dict__"

    def _may_grow(self, node: cst.BaseExpression, method: str) -> bool:
        """Is it a container of the module, or what one holds and the method says to be a list or a deque?"""
        if self._is_container(node):
            return True
        unknown = isinstance(node, cst.Subscript) and self.code.value(node).kind is Kind.UNKNOWN
        return unknown and method in _OF_LISTS and self._is_container(_outermost(node))

    def _carries(self, new: cst.BaseExpression, name: str) -> bool:
        """Is the new value made from an input's values, or from the old one?"""
        new.visit(values := ValuesUsed(lambda func: self.code.value(func).function))
        return name in values.own or bool(values.names & self._inputs)

    @cached_property
    def _inputs(self) -> set[str]:
        """The names of the function that are made from the values of tensors it was given."""
        if self._function is None:
            return set()
        forward = self.code.function is not None and self.code.function.name == "forward"
        kinds = {Kind.TENSOR, Kind.UNKNOWN} if forward else {Kind.TENSOR}
        return made_from_inputs(
            self._function, lambda name: name.value != "self" and self.code.value(name).kind in kinds
        )

    def _mentions(self, new: cst.BaseExpression, name: str) -> bool:
        new.visit(values := ValuesUsed())
        return name in values.own

    def _made_of(self, new: cst.BaseExpression, name: str) -> bool:
        """`new = self.mean + …; self.mean = new`."""
        function = self.code.function
        if function is None or not isinstance(new, cst.Name | cst.BinaryOperation):
            return False
        assigns = [node for node in walked(function.node) if isinstance(node, ast.Assign)]
        made = {t.id for a in assigns for t in a.targets if isinstance(t, ast.Name) and _reads(a.value, name)}
        new.visit(values := ValuesUsed())
        return not made.isdisjoint(values.names)

    def _steers(self, name: str) -> bool:
        """Does an `if` on the attribute compute, or return, something? (One that only warns once does no harm.)"""
        own = self._methods()
        tests = (node for method in own.values() for node in walked(method) if isinstance(node, ast.If))
        asking = (test for test in tests if _reads(test.test, name))
        return any(_computes(one) or fills_own_tensors(one, own) for test in asking for one in test.body)

    def _held(self) -> bool:
        """Does some class of the file keep an object of this class, which is no module itself?"""
        cls = self.code.cls
        return cls is not None and "forward" not in self._methods() and outlives_calls(cls)

    def _in_kept_object(self, node: cst.CSTNode, name: str) -> bool:
        """Is `self` an object that a module keeps, another method of which reads what is changed here?"""
        while isinstance(node, cst.Attribute | cst.Subscript):
            node = node.value
        value, own = self.code.value(node), self.code.function
        if self.code.cls is None or self.code.cls.is_module or value.kind is not Kind.INSTANCE or not value.on_self:
            return False
        others = (method for other, method in self._methods().items() if own is None or other != own.name)
        read_here = own is not None and bool(use_of(name, self._methods(), own.name).early)
        return read_here or any(_reads(method, name) for method in others if method.name != "__init__")

    def _read_by_others(self, name: str) -> bool:
        return any(
            isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.value, ast.Attribute)
            for node in walked(self.code.module.tree)
        )


def _may_outlive(target: ast.expr, code: Code) -> bool:
    """May what is written there be read by a later call?"""
    match held_in(target):
        case ast.Attribute(value=ast.Name(id="self") as owner):
            return code.cls is not None and (outlives_calls(code.cls) or code.sketch.value(owner).on_self)
        case ast.Attribute(value=held):
            value = code.sketch.value(held)
            return value.kind in {Kind.CLASS, Kind.FUNCTION} or value.on_self or ast.unparse(held).startswith("self.")
    return False


def _own_container(node: cst.BaseExpression) -> str | None:
    """The "state" of `self.state`, and of `self.state[name]`, which it holds."""
    return _own(_outermost(node))


def _outermost(node: cst.BaseExpression) -> cst.BaseExpression:
    """The `self.state` of `self.state[name]["seen"]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node


def _own(node: cst.CSTNode) -> str | None:
    """The "state" of `self.state`."""
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            return name
    return None


def _compares(test: cst.BaseExpression) -> bool:
    """`self.shape != shape`, but not `self.state is None`."""
    match test:
        case cst.BooleanOperation(left=left, right=right):
            return _compares(left) or _compares(right)
        case cst.Comparison(comparisons=[cst.ComparisonTarget(operator=operator)]):
            return isinstance(operator, cst.Equal | cst.NotEqual)
    return False


def _asks_training(test: cst.BaseExpression) -> bool:
    match test:
        case cst.Attribute(attr=cst.Name(value="training")):
            return True
        case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
            return _asks_training(left) or _asks_training(right)
    return False


def _mentions_attribute(node: cst.CSTNode, name: str) -> bool:
    own = isinstance(node, cst.Attribute) and node.attr.value == name
    return own or any(_mentions_attribute(child, name) for child in node.children)


def _is_drawn(node: cst.CSTNode) -> bool:
    """Random numbers, of which later calls would take the same."""
    return isinstance(node, cst.Call) and called(node) in {"randn", "rand", "randint", "randn_like", "rand_like"}


def _is_constant(node: cst.CSTNode) -> bool:
    match node:
        case cst.Name(value=name):
            return name in {"True", "False", "None"}
    return isinstance(node, cst.Integer | cst.Float | cst.SimpleString)


def _empty_buffers(methods: dict[str, ast.FunctionDef]) -> set[str]:
    """The names in `register_buffer(name, None)`."""
    found: set[str] = set()
    for node in walked(methods.get("__init__", ast.Module([], []))):
        match node:
            case ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=name), second, *_]):
                if isinstance(second, ast.Constant) and second.value is None:
                    found.add(str(name))
    return found


def _reads(node: ast.AST, name: str) -> bool:
    """Does the expression read `self.name`?"""
    parts = (part for part in walked(node) if isinstance(part, ast.Attribute) and part.attr == name)
    return any(isinstance(part.value, ast.Name) and part.value.id == "self" for part in parts)


def _computes(statement: ast.stmt) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    local = any(isinstance(target, ast.Name | ast.Tuple) for target in targets)
    return local or isinstance(statement, ast.Return | ast.AugAssign)
