"""A function as transformations see it: its tree, its data flow, and what each of its expressions is.

The engine's beliefs say what an expression was when the engine ran the function. A transformation changes that: a name
that held a number read from a tensor holds the tensor itself afterwards. So a view can be told what names hold `now`,
and judges what is made of them by their use. Where nothing is known at all (a trial failed where the engine saw
nothing), what may be a tensor by its syntax is taken for one: a proposal may be generous, the trial decides.
"""

from __future__ import annotations

import ast
import enum
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import DefUse, path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import UNKNOWN, Kind, Tensor, Value, span_of
from exportlint.engine.values.library import BOOLEAN_METHODS, SCALAR_ATTRIBUTES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.engine.source.parsed import Parsed
    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Belief

    _ByName = Mapping[str, Sequence[ast.expr]]


class Nature(enum.Enum):
    """What sort of thing an expression is, as far as rewriting cares.

    DATA     a tensor, or a number that was read from one: its value is known only when the program runs
    SIZE     a size of a tensor, which export carries along as a symbol
    LISTED   a list, tuple or dict
    PYTHON   anything else that Python knows while torch traces: numbers, flags, None, modules, text
    """

    DATA = "data"
    SIZE = "size"
    LISTED = "listed"
    PYTHON = "python"


_OF_KIND = {
    Kind.TENSOR: Nature.DATA, Kind.UNBACKED: Nature.DATA, Kind.SIZE: Nature.SIZE, Kind.SHAPE: Nature.LISTED,
    Kind.CONTAINER: Nature.LISTED, Kind.SCALAR: Nature.PYTHON, Kind.NONE: Nature.PYTHON, Kind.MODULE: Nature.PYTHON,
    Kind.INSTANCE: Nature.PYTHON, Kind.CLASS: Nature.PYTHON, Kind.FUNCTION: Nature.PYTHON, Kind.CONFIG: Nature.PYTHON,
    Kind.ARRAY: Nature.DATA,
}  # fmt: skip
_SIZE_METHODS = frozenset({"size", "numel", "nelement", "__len__", "stride"})
_PYTHON_METHODS = frozenset(SCALAR_ATTRIBUTES) | {
    "dim", "ndimension", "is_floating_point", "is_complex", "is_contiguous", "element_size", "get_device", "get",
    "keys", "values", "items", "startswith", "endswith", "format", "join", "index", "count",
}  # fmt: skip
_LISTING = frozenset({"tolist", "unbind", "split", "chunk", "tensor_split"})
# Reductions that give one number where they are called without a dim.
_REDUCING = frozenset({
    "sum", "mean", "prod", "max", "min", "any", "all", "norm", "std", "var", "median", "amax", "amin", "argmax",
    "argmin", "logsumexp", "nansum", "nanmean", "count_nonzero", "dot", "item", "trace", "det",
})  # fmt: skip
# For the engine these give a bool of Python, whatever they are asked of.
_ASKING_TRUTH = (ast.BoolOp, ast.Compare)
_TENSOR_FUNCTIONS = ("torch.", "torch.nn.functional.", "numpy.")
_NO_TENSORS = frozenset({
    "torch.is_tensor", "torch.is_grad_enabled", "torch.device", "torch.Size", "torch.finfo", "torch.iinfo",
    "torch.is_floating_point", "torch.is_complex", "torch.numel", "torch.get_default_dtype", "torch.no_grad",
    "torch.Generator", "torch.inference_mode", "torch.enable_grad", "torch.manual_seed",
})  # fmt: skip


@dataclass(eq=False)
class View:
    """One function of a file. `cls`: its class. `data`: places that hold data now, whatever they held before."""

    module: ModuleInfo
    function: FunctionInfo
    belief: Belief
    data: set[str] = field(default_factory=set)
    # Names that hold numbers of Python now: those of loops that count in Python what data counted.
    python: set[str] = field(default_factory=set)
    # Of names that hold the place of a word now: all words; none, where they are just the keys that it is read with.
    words: dict[str, tuple[str, ...]] = field(default_factory=dict)
    # Nodes by identity: tests of sizes that the program is to answer, and `int(size)` that is to stay a symbol.
    asked: set[int] = field(default_factory=set)
    # What names are, told so far: by what `data`, `python` and `asked` held then; and of those being told just now.
    _told: dict[tuple[frozenset[str] | frozenset[int], ...], dict[str, Nature]] = field(default_factory=dict)
    _being_told: dict[str, Nature] | None = None

    @property
    def cls(self) -> ClassInfo | None:
        return self.function.cls

    @property
    def node(self) -> ast.FunctionDef | ast.AsyncFunctionDef:
        """The definition; lambdas have no statements, and so no view."""
        assert not isinstance(self.function.node, ast.Lambda)  # noqa: S101 - see `views_of`
        return self.function.node

    @property
    def body(self) -> Sequence[ast.stmt]:
        return self.node.body

    @property
    def flow(self) -> DefUse:
        return self.module.parsed.kept(self.node, _flow)

    def origin(self, node: ast.expr) -> str | None:
        """The dotted origin of a name or attribute ("torch.where", "builtins.len") that the function does not set."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, ast.Name) and root.id in self._bound:
            return None
        return self.module.dotted(node)

    @property
    def _bound(self) -> frozenset[str]:
        return self.module.parsed.kept(self.node, _bound)

    def value(self, node: ast.AST) -> Value:
        """The engine's belief about a node that the author wrote."""
        span = span_of(node) if id(node) in self._originals else None
        return self.belief.values.get(span, UNKNOWN) if span is not None else UNKNOWN

    @cached_property
    def is_unseen(self) -> bool:
        """Did the engine never run the function, so that nothing is known of its values?"""
        first, last = self.node.lineno, self.node.end_lineno or self.node.lineno
        return not any(first < span[0] <= last for span in self.belief.values)

    @cached_property
    def has_no_gradient(self) -> bool:
        """Does it run under `torch.no_grad` as a whole?"""
        parts = (one for decorator in self.node.decorator_list for one in walked(decorator))
        names = {one.attr for one in parts if isinstance(one, ast.Attribute)}
        return bool(names & {"no_grad", "inference_mode"})

    @property
    def _originals(self) -> frozenset[int]:
        return self.module.parsed.kept(self.node, _identities)

    def nature(self, node: ast.expr) -> Nature:
        """What the expression is, told from what its names hold now, from the engine's belief, else from its syntax."""
        if id(node) in self.asked:
            return Nature.DATA
        asks = isinstance(node, _ASKING_TRUTH) or (isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not))
        if not asks and not self._is_news(node):
            found = self.value(node)
            if found.may_be_data:
                return Nature.DATA
            if found is not UNKNOWN and found.kind is not Kind.UNKNOWN:
                return _OF_KIND[found.kind]
        return self._by_syntax(node)

    def is_data(self, node: ast.expr) -> bool:
        return self.nature(node) is Nature.DATA

    def holds_data(self, node: ast.AST) -> bool:
        """Is data anywhere in it?"""
        return any(isinstance(one, ast.expr) and self.is_data(one) for one in walked(node))

    def _is_news(self, node: ast.AST) -> bool:
        """Does a name in it hold something else than when the engine looked?"""
        news = self.data | self.python
        return bool(news) and any(path in news for one in walked(node) if (path := path_of(one)) is not None)

    def _by_syntax(self, node: ast.expr) -> Nature:
        match node:
            case ast.Constant() | ast.Lambda() | ast.JoinedStr():
                return Nature.PYTHON
            case (
                ast.List() | ast.Tuple() | ast.Dict() | ast.Set() | ast.ListComp() | ast.GeneratorExp() | ast.DictComp()
            ):
                return Nature.LISTED
            case ast.Name(id=name) if name in self.python:
                return Nature.PYTHON
            case ast.Name() | ast.Attribute() if path_of(node) in self.data:
                return Nature.DATA
            case ast.Compare(ops=ops, left=left, comparators=others):
                if any(isinstance(op, ast.Is | ast.IsNot) for op in ops):
                    return Nature.PYTHON
                match ops, others:
                    case [ast.In() | ast.NotIn()], [ast.Call(func=ast.Attribute(value=owner, attr="tolist"), args=[])]:
                        return self.nature(owner)
                return self._joined([left, *others], of_sizes=Nature.PYTHON)
            case ast.BoolOp(values=values):
                return self._joined(values, of_sizes=Nature.PYTHON)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return self._joined([operand], of_sizes=Nature.PYTHON)
            case ast.UnaryOp(operand=operand):
                return self.nature(operand)
            case ast.BinOp(left=left, right=right):
                return self._joined([left, right], of_sizes=Nature.SIZE)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                natures = (self.nature(body), self.nature(orelse))
                return Nature.DATA if Nature.DATA in (*natures, self.nature(test)) else natures[0]
            case ast.NamedExpr(value=value) | ast.Starred(value=value) | ast.Await(value=value):
                return self.nature(value)
            case ast.Call():
                return self._of_call(node)
            case ast.Subscript(value=owner):
                if isinstance(owner, ast.Attribute) and owner.attr == "shape":
                    return Nature.DATA if self._is_chosen(owner.value) else Nature.SIZE
                return self.nature(owner) if self.nature(owner) is not Nature.LISTED else Nature.DATA
            case ast.Attribute(value=owner, attr=attribute):
                return self._of_attribute(owner, attribute)
            case ast.Name(id=name):
                return self._of_name(name)
        return Nature.PYTHON

    def _joined(self, parts: Sequence[ast.expr], of_sizes: Nature) -> Nature:
        natures = {self.nature(one) for one in parts}
        if Nature.DATA in natures:
            return Nature.DATA
        if of_sizes is Nature.PYTHON:
            return Nature.PYTHON
        return of_sizes if Nature.SIZE in natures else Nature.LISTED if Nature.LISTED in natures else Nature.PYTHON

    def _of_call(self, node: ast.Call) -> Nature:
        name = self.origin(node.func) or ""
        if name == "builtins.len" and node.args and self._is_chosen(node.args[0]):
            return Nature.DATA
        if name in {"builtins.len", "builtins.range"}:
            return Nature.SIZE if name.endswith("len") else Nature.LISTED
        if name.startswith("builtins.isinstance") or name in _NO_TENSORS or "is_" in name.rpartition(".")[2]:
            return Nature.PYTHON
        if name.startswith(("builtins.", "math.")):
            given = {self.nature(one) for one in node.args}
            return Nature.DATA if Nature.DATA in given else Nature.SIZE if given == {Nature.SIZE} else Nature.PYTHON
        if name.startswith(_TENSOR_FUNCTIONS):
            return Nature.DATA
        match node.func:
            case ast.Attribute(value=owner, attr=method) if method in _SIZE_METHODS:
                return Nature.DATA if self._is_chosen(owner) else Nature.SIZE
            case ast.Attribute(attr=method) if method in _PYTHON_METHODS:
                return Nature.PYTHON
            case ast.Attribute() if path_of(node.func) in self.data:
                return Nature.DATA  # a method that gives what it was told to hold
            case ast.Attribute(value=owner, attr=method) if self.nature(owner) is Nature.DATA:
                return Nature.LISTED if method in _LISTING else Nature.DATA
        return Nature.DATA if any(self.holds_data(one) for one in node.args) else Nature.PYTHON

    def _is_chosen(self, node: ast.expr) -> bool:
        """Does it hold what a mask chose, so that data says how much it is?"""
        match node:
            case ast.Subscript(slice=mask):
                return not isinstance(mask, ast.Slice | ast.Tuple) and self.is_boolean(mask) and self.is_data(mask)
            case ast.Call(func=ast.Attribute(value=owner, attr="nonzero" | "masked_select" | "unique")):
                return bool(self.origin(node.func)) or self.is_data(owner)
        return False

    def _of_attribute(self, owner: ast.expr, attribute: str) -> Nature:
        if attribute in {"shape", "size"}:
            return Nature.LISTED
        if attribute in _PYTHON_METHODS:
            return Nature.PYTHON
        return Nature.DATA if self.nature(owner) is Nature.DATA else Nature.PYTHON

    def _of_name(self, name: str) -> Nature:
        """What the name holds, by what the function sets it to. Names are made of each other, in circles too: all that
        are met begin as Python's, and are told again by what the others are, until nothing changes."""
        if name in {"self", "cls"} or name not in self._bound:
            return Nature.PYTHON
        if name in self.flow.parameters:
            return Nature.DATA if self.is_unseen else Nature.PYTHON
        if self._being_told is not None:
            return self._being_told.get(name, Nature.PYTHON)
        now = (frozenset(self.data), frozenset(self.python), frozenset(self.asked))
        known = self._told.setdefault(now, {})
        if name not in known:
            order = [one for one in self._made_of(name) if one not in known]
            self._being_told = told = {**known, **dict.fromkeys(order, Nature.PYTHON)}
            try:
                for _ in order:  # in one round, but for circles
                    before = dict(told)
                    told.update((one, self._by_its_values(one)) for one in order)
                    if told == before:
                        break
            finally:
                self._being_told = None
            known |= told
        return known[name]

    def _made_of(self, name: str) -> list[str]:
        """The name, behind all names that it is made of."""
        values, gone_over = self.module.parsed.kept(self.node, _given_to_names)
        found, waiting = dict.fromkeys([name]), [name]
        while waiting:
            now = waiting.pop()
            inside = (one for given in (*values.get(now, ()), *gone_over.get(now, ())) for one in walked(given))
            for one in inside:
                if isinstance(one, ast.Name) and (one.id in values or one.id in gone_over) and one.id not in found:
                    found[one.id] = None
                    waiting.append(one.id)
        return [*reversed(found)]

    def _by_its_values(self, name: str) -> Nature:
        values, gone_over = self.module.parsed.kept(self.node, _given_to_names)
        natures = {self.nature(value) for value in values.get(name, ())}
        natures |= {Nature.DATA for given in gone_over.get(name, ()) if self.is_data(given)}
        return Nature.DATA if Nature.DATA in natures else natures.pop() if len(natures) == 1 else Nature.PYTHON

    # What is known of tensors.

    def is_boolean(self, node: ast.expr) -> bool:
        """Can the code tell that the tensor is of dtype bool?"""
        if not self._is_news(node) and self.value(node).boolean:
            return True
        match node:
            case ast.Compare() | ast.Constant(value=bool()):
                return True
            case ast.UnaryOp(op=ast.Not()):
                return True
            case ast.UnaryOp(op=ast.Invert(), operand=inner):
                return self.is_boolean(inner)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() | ast.BitXor(), left=left, right=right):
                return self.is_boolean(left) and self.is_boolean(right)
            case ast.BoolOp(values=values):
                return all(map(self.is_boolean, values))
            case ast.Call(func=ast.Attribute(attr="stack"), args=[ast.Name(id=name), *_]) if name in self.booleans:
                return True
            case ast.Call(func=ast.Attribute(attr=method)):
                return method in BOOLEAN_METHODS
            case ast.Subscript(value=ast.Name(id=name)):  # a part of it
                return name in self.booleans
            case ast.Name(id=name) if (value := self.only_value(name)) is not None and not _names(value, name):
                return name in self.booleans or self.is_boolean(value)
            case ast.Name() | ast.Attribute():
                return path_of(node) in self.booleans
        return False

    @cached_property
    def booleans(self) -> set[str]:
        """New names that hold tensors of one bool."""
        return set()

    def is_single(self, node: ast.expr) -> bool:
        """Can the code tell that the tensor has no dims, as what a reduction gives?"""
        lead = self.value(node).lead
        if isinstance(lead, Tensor) and lead.dims is not None:
            return lead.dims == ()
        match node:
            case ast.Call(func=ast.Attribute(attr=method), args=args, keywords=keywords) if method in _REDUCING:
                of_torch = (self.origin(node.func) or "").startswith("torch.")
                return len(args) == int(of_torch) and not any(one.arg in {"dim", "axis"} for one in keywords)
            case ast.Call(func=ast.Attribute(attr="reshape"), args=[ast.Tuple(elts=[])]):
                return True
            case ast.Call(func=ast.Attribute(value=owner, attr="detach"), args=[]):
                return self.is_single(owner)
            case ast.Compare(left=left, comparators=others):
                return all(self.is_single(one) or not self.is_data(one) for one in (left, *others))
            case ast.BinOp(left=left, right=right):
                return all(self.is_single(one) or not self.is_data(one) for one in (left, right))
            case ast.UnaryOp(operand=operand):
                return self.is_single(operand)
            case ast.Attribute():
                return path_of(node) in self.singles
            case ast.Name(id=name):
                value = self.only_value(name)
                return name in self.singles or (value is not None and not _names(value, name) and self.is_single(value))
        return False

    def may_be_entry(self, node: ast.expr) -> bool:
        """May the tensor be one entry of another, as what a loop goes through, or `labels[i]`? How many dims it has is
        unknown; it is no mask."""
        lead = self.value(node).lead
        if not self.is_data(node) or self.is_boolean(node) or (isinstance(lead, Tensor) and lead.dims is not None):
            return False
        match node:
            case ast.Subscript(value=owner, slice=ast.Name() | ast.Constant(value=int()) as index):
                of_python = self.nature(index) is Nature.PYTHON
                return self.is_data(owner) and (of_python or self.is_single(index) or self.may_be_entry(index))
            case ast.Name(id=name):
                value = self.only_value(name)
                loops = (one for one in walked(self.node) if isinstance(one, ast.For))
                through = [given for one in loops for given in gone_through(one.target, one.iter, name)]
                gives = bool(through) and all(map(self.is_data, through))
                return gives or (value is not None and not _names(value, name) and self.may_be_entry(value))
        return False

    @cached_property
    def whole(self) -> set[str]:
        """Places that hold tensors of integers now."""
        return set()

    @cached_property
    def singles(self) -> set[str]:
        """Names that hold tensors without dims now."""
        return set()

    def only_value(self, name: str) -> ast.expr | None:
        """What the one statement of the function sets that sets the name; None where there are others, or it is a
        parameter."""
        if name in self.flow.parameters:
            return None
        return self.module.parsed.kept(self.node, _values).get(name)

    @cached_property
    def begun_as_numbers(self) -> frozenset[str]:
        """Names that a statement of the function sets to a number that is written there: `count, best = 0, x`."""
        return frozenset(
            name for one in walked(self.node) if isinstance(one, ast.Assign) for name, value in _pairs(one)
            if isinstance(value, ast.Constant) and isinstance(value.value, int | float)
        )  # fmt: skip

    def literal(self, node: ast.expr) -> ast.expr | None:
        """What the file, or a class in it, sets a name to, where one statement alone does: a dict of constants, say."""
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None
        if name is None:
            return node
        found = self.module.parsed.kept(self.module.tree, _set_in_file).get(name, ())
        return _begun_with(found[0]) if len(found) == 1 else None

    def dims(self, node: ast.expr) -> tuple[int | None, ...] | None:
        """How many elements each dim has, where the engine knows: of a sample, say."""
        lead = self.value(node).lead
        known = lead.dims if isinstance(lead, Tensor) else None
        return tuple(one.number if one is not None else None for one in known) if known is not None else None


# What all views of a function share.


def _flow(_file: Parsed, function: ast.AST) -> DefUse:
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)  # noqa: S101 - see `View.node`
    return DefUse.of(function)


def _bound(file: Parsed, function: ast.AST) -> frozenset[str]:
    stored = (n.id for n in walked(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return frozenset({*stored, *file.kept(function, _flow).parameters})


def _identities(_file: Parsed, function: ast.AST) -> frozenset[int]:
    return frozenset(map(id, walked(function)))


def _set_in_file(_file: Parsed, tree: ast.AST) -> Mapping[str, list[ast.expr]]:
    """By name, or the last name of an attribute, all that statements of the file set it to."""
    found: defaultdict[str, list[ast.expr]] = defaultdict(list)
    for one in walked(tree):
        if isinstance(one, ast.Assign | ast.AnnAssign) and one.value is not None:
            targets = one.targets if isinstance(one, ast.Assign) else [one.target]
            named = {(path_of(target) or "").rpartition(".")[2] for target in targets}
            for name in named - {""}:
                found[name].append(one.value)
    return found


def _values(_file: Parsed, function: ast.AST) -> Mapping[str, ast.expr]:
    """By name, what the one statement of the function sets that sets it."""
    nodes = list(walked(function))
    stored = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    found = Counter[str]()
    values: dict[str, ast.expr] = {}
    for node in nodes:
        if isinstance(node, ast.Assign):
            for name in {target.id for target in node.targets if isinstance(target, ast.Name)}:
                found[name] += 1
                values[name] = node.value
    return {name: value for name, value in values.items() if found[name] == stored[name] == 1}


def _given_to_names(_file: Parsed, function: ast.AST) -> tuple[_ByName, _ByName]:
    """By name, what statements of the function set it to, but for what is made of itself; and what loops give it the
    entries of."""
    values, gone_over = defaultdict[str, list[ast.expr]](list), defaultdict[str, list[ast.expr]](list)
    for node in walked(function):
        match node:
            case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.NamedExpr(value=value) if value is not None:
                inside = {inner.id for inner in walked(value) if isinstance(inner, ast.Name)}
                for name in {path for target in _targets(node) if (path := path_of(target))} - inside:
                    values[name].append(value)
            case ast.For(target=target, iter=over) | ast.comprehension(target=target, iter=over):
                for name in {inner.id for inner in walked(target) if isinstance(inner, ast.Name)}:
                    gone_over[name] += gone_through(target, over, name)
    return values, gone_over


def _pairs(node: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """Of `a, b = 1, x` both."""
    for target in node.targets:
        match target, node.value:
            case ast.Tuple(elts=places), ast.Tuple(elts=values) if len(places) == len(values):
                pairs = list(zip(places, values, strict=True))
            case _:
                pairs = [(target, node.value)]
        yield from ((path, value) for place, value in pairs if (path := path_of(place)) is not None)


def _begun_with(value: ast.expr) -> ast.expr:
    """What a field of a data class holds where nobody gives another value: `{}` of
    `field(default_factory=lambda: {})`."""
    match value:
        case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), args=[], keywords=[word, *_]):
            match word:
                case ast.keyword(arg="default_factory", value=ast.Lambda(body=made)):
                    return made
                case ast.keyword(arg="default", value=made):
                    return made
    return value


def _names(node: ast.AST, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in walked(node))


def gone_through(target: ast.expr, over: ast.expr, name: str) -> Iterator[ast.expr]:
    """What the name gets the entries of, in a loop: `b` of `for i, (a, b) in enumerate(zip(x, y))` those of `y`."""
    match target, over:
        case ast.Name(id=own), _ if own == name:
            yield over
        case ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[given, *_]):
            yield from gone_through(inner, given, name)
        case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=given) if len(parts) == len(given):
            for part, one in zip(parts, given, strict=True):
                yield from gone_through(part, one, name)


def _targets(node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Iterator[ast.expr]:
    for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
        yield from target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
