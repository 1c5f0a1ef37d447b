"""Sizes that old torch declared: `constraints=[dynamic_dim(x, 0) <= 8]` as `dynamic_shapes=({0: Dim("x_0", max=8)},)`,
and `constrain_as_value(n, 0, 8)` as `torch._check(n >= 0)` and `torch._check(n <= 8)`.

What is declared is the same: which dims of which argument vary, between which bounds, and which are equal. All of a
file is written at once, with its imports: a file in which one of the names that are gone is left does not run.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import changed_copy, expression, stands_for, statements
from exportlint.rewrite.place import Place, around
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import FunctionInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site

_EXPORTERS = frozenset({"torch.export.export", "torch._export.export", "torch.export.export_for_training"})
_DYNAMIC_DIM = frozenset({"torch.export.dynamic_dim", "torch._export.dynamic_dim", "torch._dynamo.dynamic_dim"})
_OLD_MODULE = "torch._export.constraints"
_BOUNDING = frozenset(
    f"{module}.{name}" for module, prefix in (("torch", "_"), ("torch.export", ""), (_OLD_MODULE, ""))
    for name in (f"{prefix}constrain_as_value", f"{prefix}constrain_as_size")
)  # fmt: skip
_UNUSED = frozenset({"torch.export.equality_constraints", "torch.export.Constraint", "torch._export.Constraint"})
_GONE = _DYNAMIC_DIM | _BOUNDING | _UNUSED
_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
_Dim = tuple[str, int]  # the argument as it is written, and the number of the dim


class OldConstraints:
    """At a name of the old interface, wherever it stands: the whole file in that of today."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        draft = site.draft()
        now: ast.AST | None = site.node
        while now is not None and not isinstance(now, ast.stmt):
            now = draft.parent(now)
        file = _File(site, draft)
        if now is None or not file.speaks_of_old(now):
            return
        said = file.rewritten()
        if said:
            yield Proposal(" and ".join(said), draft)


@dataclass
class _Block:
    """The statements among which the export stands, and those of them that only gather its constraints."""

    lines: Sequence[ast.stmt]
    consumed: list[ast.stmt] = field(default_factory=list)


class _File:
    def __init__(self, site: Site, draft: Draft) -> None:
        self.site = site
        self.draft = draft
        self.gone = set[int]()  # names that are written no more
        self.spelled = "torch.export.Dim"
        self.whole = Place(site, site.module.tree, None, draft)
        self.places = dict[int, Place]()

    def place(self, node: ast.AST) -> Place:
        """The function that a node stands in, or the file."""
        scope = around(self.draft, node)
        return self.places.setdefault(id(scope), Place(self.site, scope, None, self.draft))

    def origin(self, node: ast.AST) -> str:
        return self.place(node).origin(node) or "" if isinstance(node, ast.Name | ast.Attribute) else ""

    def speaks_of_old(self, statement: ast.stmt) -> bool:
        for node in walked(statement):
            match node:
                case ast.ImportFrom(module=str(module), level=0, names=names):
                    if any(f"{module}.{one.name}" in _GONE for one in names):
                        return True
                case ast.Call(func=func) if self.origin(func) in _DYNAMIC_DIM | _BOUNDING:
                    return True
                case ast.Call() if self._constraints(node) is not None:
                    return True
                case ast.Attribute(attr="equality_constraints") if self._is_program(node.value):
                    return True
        return False

    def _constraints(self, call: ast.Call) -> ast.keyword | None:
        if self.origin(call.func) not in _EXPORTERS:
            return None
        return next((one for one in call.keywords if one.arg == "constraints"), None)

    def _is_program(self, node: ast.expr) -> bool:
        made = self.place(node).value_of(node)
        return isinstance(made, ast.Call) and self.origin(made.func) in _EXPORTERS

    def rewritten(self) -> list[str]:
        """What was done. Raises CannotError where a part has no form of today."""
        calls = [one for one in walked(self.site.module.tree) if isinstance(one, ast.Call)]
        self._spell_dim()
        said = dict[str, None]()
        for call in calls:
            if (declared := self._constraints(call)) is not None:
                self._declared(call, declared)
                said["declare the dims with `dynamic_shapes=`"] = None
        for call in calls:
            if self.origin(call.func) in _BOUNDING:
                self._bounded(call)
                said["say the bounds with `torch._check`"] = None
        for node in walked(self.site.module.tree):
            if (
                isinstance(node, ast.Attribute)
                and node.attr == "equality_constraints"
                and path_of(node.value) != "self"
            ):
                self.draft.swap(node, changed_copy(node, attr="range_constraints"))
                said["read `range_constraints`"] = None
        for call in calls:  # what the old exporter gave was called itself
            made = self.place(call).value_of(call.func)
            old = isinstance(made, ast.Call) and self.origin(made.func) in _EXPORTERS - {"torch.export.export"}
            if old and isinstance(call.func, ast.Name):
                self.draft.swap(call.func, expression("PROGRAM.module()", PROGRAM=call.func))
        self._imports()
        return list(said) or ["import what there is"]

    def _spell_dim(self) -> None:
        """`Dim`, where the file imports it, or imported `dynamic_dim` from the same module."""
        for line in self.site.module.tree.body:
            if isinstance(line, ast.ImportFrom) and line.module == "torch.export" and not line.level:
                known = next((one.asname or one.name for one in line.names if one.name == "Dim"), "")
                instead = any(one.name == "dynamic_dim" for one in line.names)
                if known or (instead and self.draft.free_name("Dim") == "Dim"):
                    self.spelled = known or "Dim"

    # What an export declares.

    def _declared(self, call: ast.Call, declared: ast.keyword) -> None:
        place = self.place(call)
        found = _Declared(self, place)
        block = _Block(self._around(call))
        for one in self._listed(place, declared.value, block):
            found.read(one)
        arguments, named = self._arguments(place, call)
        shapes: ast.expr = ast.Tuple([found.of(one, texts) for one, texts in arguments], ast.Load())
        if named:
            values = [found.of(value, set()) for value in self._in_order(place, call, named)]
            shapes = ast.Tuple([*shapes.elts, *values], ast.Load())  # type: ignore[attr-defined] # a tuple
        if missing := found.dims.keys() - found.placed:
            raise CannotError(f"`{min(missing)[0]}` is no argument of the export")
        found.name_dims()
        if (line := self.draft.statement_of(call)) is not None:
            self.draft.above(line, found.shared)
        new = [ast.keyword("dynamic_shapes", shapes) if one is declared else one for one in call.keywords]
        func = call.func
        if self.origin(func) != "torch.export.export":
            self.gone |= _names(func)
            func = expression("torch.export.export")
        self.gone |= _names(declared.value)
        self.draft.swap(call, changed_copy(call, func=func, keywords=new))
        for statement in block.consumed:
            self.gone |= _names(statement)
            self.draft.replace(statement, [])
        if left := {path_of(one) for one in self._lists(block.consumed)} & self._read(place):
            raise CannotError(f"`{min(map(str, left))}` is read elsewhere, too")

    def _around(self, call: ast.Call) -> list[ast.stmt]:
        """The statements of the block in which the call stands."""
        line = self.draft.statement_of(call)
        above = self.draft.parent(line) if line is not None else None
        blocks = (getattr(above, name, ()) for name in ("body", "orelse", "finalbody"))
        return next((block for block in blocks if isinstance(block, list) and line in block), [])

    @staticmethod
    def _lists(consumed: Sequence[ast.stmt]) -> Iterator[ast.expr]:
        for one in consumed:
            if isinstance(one, ast.Assign):
                yield from one.targets

    def _read(self, place: Place) -> set[str]:
        names = (one for one in walked(place.node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load))
        return {one.id for one in names if id(one) not in self.gone}

    def _listed(self, place: Place, node: ast.expr, block: _Block) -> Iterator[ast.expr]:
        """The constraints of a list: as it is written, as a name holds it, and what is added to that."""
        match node:
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                yield from elts
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from self._listed(place, left, block)
                yield from self._listed(place, right, block)
            case ast.Call(func=ast.Name(id="list"), args=[]):
                return
            case ast.ListComp(elt=each, generators=[ast.comprehension(target=ast.Name(id=name), iter=source, ifs=[])]):
                parts = self.value(place, source)
                if not isinstance(parts, ast.Tuple | ast.List):
                    raise CannotError("a constraint is made for each of what is not written here")
                yield from (expression(ast.unparse(each), **{name: one}) for one in parts.elts)
            case ast.Name(id=name):
                yield from self._kept(place, name, block)
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in self.site.module.functions:
                function = self.site.module.functions[name]
                yield from self._listed(place, self._given_by(function, given), block)
                block.consumed.append(function.node)  # type: ignore[arg-type] # of the file, so no lambda
            case _:
                raise CannotError("the constraints are computed")

    def _given_by(self, function: FunctionInfo, given: Sequence[ast.expr]) -> ast.expr:
        """What a function gives that only names what it returns, and that the file calls once."""
        named = (one for one in walked(self.site.module.tree) if isinstance(one, ast.Name))
        if sum(one.id == function.name for one in named) != 1 or len(given) != len(function.parameters):
            raise CannotError(f"`{function.name}` is called in another way, too")
        known: dict[str, ast.expr] = dict(zip(function.parameters, given, strict=True))
        for line in getattr(function.node, "body", ()):
            match line:
                case ast.Expr(value=ast.Constant()):
                    pass
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    known[name] = expression(ast.unparse(value), **known)
                case ast.Return(value=ast.expr() as value):
                    return expression(ast.unparse(value), **known)
                case _:
                    break
        raise CannotError(f"`{function.name}` computes the constraints")

    def _kept(self, place: Place, name: str, block: _Block) -> Iterator[ast.expr]:
        for line in block.lines:
            match line:
                case ast.Assign(targets=[ast.Name(id=own)], value=value) if own == name:
                    pass
                case ast.AugAssign(target=ast.Name(id=own), op=ast.Add(), value=value) if own == name:
                    pass
                case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=own), attr="append"), args=[one])) if own == name:
                    value = ast.List([one], ast.Load())
                case ast.Expr(ast.Call(ast.Attribute(ast.Name(id=own), attr="extend"), args=[value])) if own == name:
                    pass
                case _:
                    continue
            yield from self._listed(place, value, block)
            block.consumed.append(line)
        inside = {id(inner) for one in block.consumed for inner in walked(one)}
        writes = [one for one in walked(place.node) if isinstance(one, ast.Assign | ast.AugAssign)]
        writes = [one for one in writes if name in {path_of(t) for t in getattr(one, "targets", None) or [one.target]}]  # type: ignore[union-attr] # one of the two
        if not block.consumed or any(id(one) not in inside for one in writes):
            raise CannotError("the constraints are gathered under a condition")

    def value(self, place: Place, node: ast.expr) -> ast.expr:
        """What a name holds; one that the function does not set, in the file."""
        found = place.value_of(node)
        if found is node and isinstance(node, ast.Name) and node.id not in _parameters(place.node):
            found = self.whole.value_of(node)
        return found

    def _arguments(
        self, place: Place, call: ast.Call
    ) -> tuple[list[tuple[ast.expr, set[str]]], list[tuple[str, ast.expr]]]:
        """Those by place, each with other texts that mean it; and those by name."""
        words = {one.arg: one.value for one in call.keywords}
        by_place = words.get("args", call.args[1] if len(call.args) > 1 else ast.Tuple([], ast.Load()))
        by_name = words.get("kwargs", call.args[2] if len(call.args) > 2 else None)  # noqa: PLR2004 - its place
        held = self.value(place, by_place)
        if not isinstance(held, ast.Tuple | ast.List) or any(isinstance(one, ast.Starred) for one in held.elts):
            raise CannotError("the arguments are not written here")
        owner = path_of(by_place)
        given = [(one, {f"{owner}[{number}]"} if owner else set[str]()) for number, one in enumerate(held.elts)]
        match self.value(place, by_name) if by_name is not None else None:
            case None | ast.Constant(value=None):
                return given, []
            case ast.Dict(keys=keys, values=values) if all(isinstance(one, ast.Constant) for one in keys):
                names = [str(getattr(one, "value", "")) for one in keys]
                return given, list(zip(names, values, strict=True))
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if all(one.arg for one in keywords):
                return given, [(str(one.arg), one.value) for one in keywords]
        raise CannotError("the arguments by name are not written here")

    def _in_order(self, place: Place, call: ast.Call, named: list[tuple[str, ast.expr]]) -> list[ast.expr]:
        """As the parameters of the model's forward stand, which is how torch takes them."""
        if len(named) == 1:
            return [named[0][1]]
        model = self.value(place, call.args[0]) if call.args else None
        while isinstance(model, ast.Call) and isinstance(model.func, ast.Attribute) and not model.args:
            model = self.value(place, model.func.value)  # `.eval()`
        made = path_of(model.func) if isinstance(model, ast.Call) else None
        cls = self.site.module.classes.get(made or "")
        forward = cls.method("forward") if cls is not None else None
        order = forward.parameters if forward is not None else ()
        if any(name not in order for name, _ in named):
            raise CannotError("the order of the arguments by name is not known")
        return [value for _, value in sorted(named, key=lambda one: order.index(one[0]))]

    # Bounds of numbers.

    def _bounded(self, call: ast.Call) -> None:
        origin = self.origin(call.func)
        given: dict[str | None, ast.expr] = dict(zip(("symbol", "min", "max"), call.args, strict=False))
        given |= {one.arg: one.value for one in call.keywords}
        number = given.get("symbol")
        statement = self.draft.statement_of(call)
        if number is None or statement is None or None in given or any(isinstance(a, ast.Starred) for a in call.args):
            raise CannotError("a bound is given in another way")
        lows = [given.get("min"), ast.Constant(0)] if "size" in origin else [given.get("min")]
        low = next((one for one in lows if one is not None and not _is_none(one)), None)
        high = given.get("max")
        self.gone |= _names(call.func)
        new: list[ast.stmt] = []
        name: str | None = number.id if isinstance(number, ast.Name) else None
        match statement:
            case ast.Expr(value=value) if value is call:
                pass
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if value is call:
                new = [changed_copy(statement, value=number)]
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.Return() | ast.Expr():
                pass
            case _:
                raise CannotError("a bound stands in a condition")
        if name is None:
            name = self.draft.free_name("number")
            new = statements("NAME = NUMBER", NAME=name, NUMBER=number)
        if low is not None:
            new += statements("torch._check(N >= LIMIT)", N=name, LIMIT=low)
        if high is not None and not _is_none(high):
            new += statements("torch._check(N <= LIMIT)", N=name, LIMIT=high)
        if getattr(statement, "value", None) is call and isinstance(statement, ast.Expr | ast.Assign):
            if new:
                stands_for(new[0], statement)
            self.draft.replace(statement, new)
        else:
            self.draft.above(statement, new)
            self.draft.swap(call, ast.Name(name, ast.Load()))

    # Names that are gone.

    def _imports(self) -> None:
        for node in walked(self.site.module.tree):
            if not isinstance(node, ast.Name | ast.Attribute) or not isinstance(node.ctx, ast.Load):
                continue
            if self.origin(node) in _GONE and not _names(node) <= self.gone:
                raise CannotError(f"`{ast.unparse(node)}` is used in another way")
        for line in walked(self.site.module.tree):
            if not isinstance(line, ast.ImportFrom) or line.level:
                continue
            scope = around(self.draft, line)
            uses = [one for one in walked(scope) if isinstance(one, ast.Name)]
            new = list[ast.alias]()
            for one in line.names:
                own = [id(use) for use in uses if use.id == (one.asname or one.name)]
                dotted = f"{line.module}.{one.name}"
                old_exporter = dotted in _EXPORTERS and dotted != "torch.export.export"
                if dotted not in _GONE and not (old_exporter and own and set(own) <= self.gone):
                    new.append(one)
            instead = line.module == "torch.export" and any(one.name == "dynamic_dim" for one in line.names)
            if instead and self.spelled == "Dim" and all(one.name != "Dim" for one in new):
                new = sorted([*new, ast.alias("Dim")], key=lambda one: one.name)
            if new != line.names:
                self.draft.replace(line, [changed_copy(line, names=new)] if new else [])


@dataclass(eq=False)
class _Bounds:
    name: str
    low: ast.expr | None = None
    high: ast.expr | None = None
    is_made: bool = False

    def at_least(self, limit: ast.expr) -> None:
        self.low = limit if self.low is None else _farther(self.low, limit, max)

    def at_most(self, limit: ast.expr) -> None:
        self.high = limit if self.high is None else _farther(self.high, limit, min)


def _farther(one: ast.expr, other: ast.expr, which: object) -> ast.expr:
    match one, other:
        case ast.Constant(value=int(first)), ast.Constant(value=int(second)):
            return ast.Constant(max(first, second) if which is max else min(first, second))
    if ast.unparse(one) == ast.unparse(other):
        return one
    raise CannotError("a dim has two bounds of one kind")


class _Declared:
    """What the constraints of an export say of each dim."""

    def __init__(self, file: _File, place: Place) -> None:
        self.file = file
        self.place = place
        self.dims: dict[_Dim, _Bounds] = {}
        self.placed = set[_Dim]()
        self.shared = list[ast.stmt]()
        self.names = defaultdict[int, list[tuple[str, ast.Call]]](list)  # the author's, by the identity of the bounds

    def read(self, node: ast.expr) -> None:
        match self.file.value(self.place, node):
            case ast.Call() as call:
                self._bounds(call, node)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                for number, op in enumerate(ops):
                    self._compared(sides[number], type(op), sides[number + 1])
            case _:
                raise CannotError("a constraint is no call and no comparison")

    def _compared(self, left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> None:
        ours, theirs = self._dim_of(left), self._dim_of(right)
        if ours is not None and theirs is not None and op is ast.Eq:
            self._equal(ours, theirs)
        elif theirs is not None and ours is None and op in _MIRRORED:
            self._compared(right, _MIRRORED[op], left)
        elif ours is not None and theirs is None and op in {ast.Lt, ast.LtE}:
            ours.at_most(_moved(right, -(op is ast.Lt)))
        elif ours is not None and theirs is None and op in {ast.Gt, ast.GtE}:
            ours.at_least(_moved(right, +(op is ast.Gt)))
        else:
            raise CannotError("a constraint is of another kind")

    def _equal(self, ours: _Bounds, theirs: _Bounds) -> None:
        if ours is theirs:
            return
        if theirs.low is not None:
            ours.at_least(theirs.low)
        if theirs.high is not None:
            ours.at_most(theirs.high)
        self.dims = {dim: ours if held is theirs else held for dim, held in self.dims.items()}
        self.names[id(ours)] += self.names.pop(id(theirs), [])

    def _dim_of(self, node: ast.expr) -> _Bounds | None:
        held = self.file.value(self.place, node)
        is_dim = isinstance(held, ast.Call) and self.file.origin(held.func) in _DYNAMIC_DIM
        return self._bounds(held, node) if is_dim and isinstance(held, ast.Call) else None

    def _bounds(self, call: ast.Call, node: ast.expr) -> _Bounds:
        if self.file.origin(call.func) not in _DYNAMIC_DIM:
            raise CannotError("a constraint is of another function")
        self.file.gone |= _names(call.func)
        words = {one.arg: one.value for one in call.keywords}
        argument = words.get("t", call.args[0] if call.args else None)
        index = words.get("index", call.args[1] if len(call.args) > 1 else None)
        index = self.file.value(self.place, index) if index is not None else None
        if argument is None or not isinstance(index, ast.Constant) or not isinstance(index.value, int):
            raise CannotError("the dim is computed")
        text = self._text(argument)
        name = "_".join([*re.findall(r"[A-Za-z_]\w*", text), str(index.value)])
        bounds = self.dims.setdefault((text, index.value), _Bounds(name if name[0].isalpha() else f"dim_{index.value}"))
        named = (node.id, call) if isinstance(node, ast.Name) else None
        if named is not None and named not in self.names[id(bounds)]:
            self.names[id(bounds)].append(named)
        return bounds

    def _text(self, node: ast.expr) -> str:
        """How an argument is called: names that mean another name or a part of something are followed."""
        held = self.file.value(self.place, node)
        match held:
            case ast.Subscript(value=owner, slice=ast.Constant(value=key)):
                parts = self.file.value(self.place, owner)
                if isinstance(parts, ast.Tuple | ast.List) and isinstance(key, int) and key < len(parts.elts):
                    part = parts.elts[key]
                    return self._text(part) if isinstance(part, ast.Name) else ast.unparse(held)
                if isinstance(parts, ast.Dict):
                    keys = [getattr(one, "value", None) for one in parts.keys]
                    part = parts.values[keys.index(key)] if key in keys else held
                    return self._text(part) if isinstance(part, ast.Name) else ast.unparse(held)
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return ast.unparse(held)
        return ast.unparse(held if isinstance(held, ast.Subscript) else node)

    def name_dims(self) -> None:
        """`batch = dynamic_dim(x, 0)` as `batch = Dim("batch", …)`."""
        for bounds in {id(one): one for one in self.dims.values()}.values():
            first: ast.AST | None = None
            for _, call in self.names[id(bounds)]:
                line = self.file.draft.statement_of(call)
                again = first is not None and first is not line
                new = expression("NAME", NAME=bounds.name) if again else self._made(bounds)
                self.file.draft.swap(call, new)
                first = first or line

    def of(self, argument: ast.expr, texts: set[str]) -> ast.expr:
        """What `dynamic_shapes` says of an argument."""
        own_text = self._text(argument)
        texts = {*texts, own_text}
        own = [(dim, bounds) for dim, bounds in self.dims.items() if dim[0] in texts]
        self.placed |= {dim for dim, _ in own}
        if own:
            keys: list[ast.expr | None] = [ast.Constant(number) for (_, number), _ in own]
            return ast.Dict(keys, [self._spelled(bounds) for _, bounds in own])
        held = self.file.value(self.place, argument)
        inner: list[ast.expr] = []
        match held:
            case ast.Tuple(elts=elts) | ast.List(elts=elts):
                inner = [self.of(one, {f"{t}[{number}]" for t in texts}) for number, one in enumerate(elts)]
                made: ast.expr = changed_copy(held, elts=inner)
            case ast.Dict(keys=keys, values=values) if all(isinstance(one, ast.Constant) for one in keys):
                inner = [
                    self.of(one, {f"{t}[{ast.unparse(key)}]" for t in texts})
                    for key, one in zip(keys, values, strict=True) if key is not None
                ]  # fmt: skip
                made = ast.Dict([ast.Constant(getattr(one, "value", None)) for one in keys], inner)
        if any(not _is_none(one) for one in inner):
            return made
        return ast.Constant(None)

    def _spelled(self, bounds: _Bounds) -> ast.expr:
        if named := self.names[id(bounds)]:
            bounds.name = named[0][0]
            return ast.Name(bounds.name, ast.Load())
        if sum(one is bounds for one in self.dims.values()) > 1:  # the same one in both places
            if not bounds.is_made:
                bounds.is_made, bounds.name = True, self.file.draft.free_name(bounds.name)
                self.shared += statements("NAME = DIM", NAME=bounds.name, DIM=self._made(bounds))
            return ast.Name(bounds.name, ast.Load())
        return self._made(bounds)

    def _made(self, bounds: _Bounds) -> ast.expr:
        made = expression(f"{self.file.spelled}(NAME)", NAME=ast.Constant(bounds.name))
        limits = [("min", bounds.low), ("max", bounds.high)]
        words = [ast.keyword(word, limit) for word, limit in limits if limit is not None]
        assert isinstance(made, ast.Call)  # noqa: S101 - it is written above
        return changed_copy(made, keywords=words)


def _moved(limit: ast.expr, by: int) -> ast.expr:
    match limit:
        case ast.Constant(value=int(number)):
            return ast.Constant(number + by)
        case ast.Name() | ast.Attribute():
            return limit if by == 0 else expression(f"X {'+' if by > 0 else '-'} 1", X=limit)
    raise CannotError("a bound is computed")


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _names(node: ast.AST) -> set[int]:
    return {id(one) for one in walked(node) if isinstance(one, ast.Name)}


def _parameters(node: ast.AST) -> set[str]:
    arguments = getattr(node, "args", None)
    return {one.arg for one in walked(arguments) if isinstance(one, ast.arg)} if arguments is not None else set()
